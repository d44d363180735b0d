// What the patched methods of numbers, dates, strings and arrays do. Formats without options are made once.
import { NumberFormat } from "jackfield:web/intl/number";
import { DateTimeFormat } from "jackfield:web/intl/date";
import { Collator } from "jackfield:web/intl/collator";

const kept = new Map();
function made(kind, locales, options, make) {
  if (options !== undefined || (locales !== undefined && typeof locales !== "string")) return make();
  const key = `${kind} ${locales}`;
  let format = kept.get(key);
  if (!format) {
    if (kept.size > 50) kept.clear();
    kept.set(key, (format = make()));
  }
  return format;
}

const numberText = (value, locales, options) => made("number", locales, options, () => new NumberFormat(locales, options)).format(value);

function dateText(ms, locales, options, kind) {
  if (Number.isNaN(ms)) return "Invalid Date";
  const parts = kind === "any" ? ["date", "time"] : [kind];
  return made(kind, locales, options, () => DateTimeFormat.withDefaults(locales, options, parts)).format(ms);
}

const compareText = (a, b, locales, options) => made("compare", locales, options, () => new Collator(locales, options)).compare(a, b);

function arrayText(list, locales, options) {
  const texts = [];
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    texts.push(item === null || item === undefined ? "" : item.toLocaleString(locales, options));
  }
  return texts.join(",");
}

/** What the method of this kind says of a value. */
export function localized(kind, value, locales, options, other) {
  switch (kind) {
    case "number": return numberText(Number.prototype.valueOf.call(value), locales, options);
    case "bigint": return numberText(BigInt.prototype.valueOf.call(value), locales, options);
    case "compare": return compareText(String(value), String(other), locales, options);
    case "list": return arrayText(value, locales, options);
    default: return dateText(Date.prototype.getTime.call(value), locales, options, kind);
  }
}
