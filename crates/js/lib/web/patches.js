// The methods of numbers, dates and strings that depend on a language. The engine's own know none; these load the
// needed part of Intl when they are called.
import { numberText, dateText, arrayText, compareText } from "jackfield:web/intl/patched";

export function install() {
  const patch = (prototype, methods) => {
    for (const [name, value] of Object.entries(methods)) Object.defineProperty(prototype, name, { value, writable: true, configurable: true, enumerable: false });
  };
  patch(Number.prototype, { toLocaleString(locales = undefined, options = undefined) { return numberText(Number.prototype.valueOf.call(this), locales, options); } });
  patch(BigInt.prototype, { toLocaleString(locales = undefined, options = undefined) { return numberText(BigInt.prototype.valueOf.call(this), locales, options); } });
  patch(Date.prototype, {
    toLocaleString(locales = undefined, options = undefined) { return dateText(Date.prototype.getTime.call(this), locales, options, "any"); },
    toLocaleDateString(locales = undefined, options = undefined) { return dateText(Date.prototype.getTime.call(this), locales, options, "date"); },
    toLocaleTimeString(locales = undefined, options = undefined) { return dateText(Date.prototype.getTime.call(this), locales, options, "time"); },
  });
  patch(String.prototype, {
    localeCompare(that, locales = undefined, options = undefined) { return compareText(String(this), String(that), locales, options); },
    toLocaleUpperCase() { return String.prototype.toUpperCase.call(this); },
    toLocaleLowerCase() { return String.prototype.toLowerCase.call(this); },
  });
  const list = { toLocaleString(locales = undefined, options = undefined) { return arrayText(this, locales, options); } };
  patch(Array.prototype, list);
  patch(Object.getPrototypeOf(Uint8Array.prototype), list);
}
