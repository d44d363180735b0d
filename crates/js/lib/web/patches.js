// The methods of numbers, dates and strings that depend on a language. The engine's own know none; these load the
// needed part of Intl when they are called.
import { localized } from "jackfield:web/intl/patched";

const patch = { value: undefined, writable: true, configurable: true, enumerable: false };

function localize(prototype, name, kind) {
  const method = { [name](locales = undefined, options = undefined) { return localized(kind, this, locales, options); } };
  patch.value = method[name];
  Object.defineProperty(prototype, name, patch);
}

export function install() {
  localize(Number.prototype, "toLocaleString", "number");
  localize(BigInt.prototype, "toLocaleString", "bigint");
  localize(Date.prototype, "toLocaleString", "any");
  localize(Date.prototype, "toLocaleDateString", "date");
  localize(Date.prototype, "toLocaleTimeString", "time");
  localize(Array.prototype, "toLocaleString", "list");
  // The engine has one function for both; so have we.
  patch.value = Array.prototype.toLocaleString;
  Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), "toLocaleString", patch);
  const { localeCompare } = {
    localeCompare(that, locales = undefined, options = undefined) { return localized("compare", this, locales, options, that); },
  };
  patch.value = localeCompare;
  Object.defineProperty(String.prototype, "localeCompare", patch);
}
