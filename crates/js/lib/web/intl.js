// Intl: formats and comparisons in the way of en-US, each class loaded when used. Numbers and numeric dates also follow
// the conventions of the most used other locales (see intl/shared.js); words are always English.
import { getCanonicalLocales, supportedValuesOf, Locale } from "jackfield:web/intl/shared";
import { NumberFormat } from "jackfield:web/intl/number";
import { DateTimeFormat } from "jackfield:web/intl/date";
import { Collator } from "jackfield:web/intl/collator";
import { Segmenter } from "jackfield:web/intl/segmenter";
import { PluralRules, RelativeTimeFormat, ListFormat, DisplayNames } from "jackfield:web/intl/words";

export const Intl = {};
const classes = {
  NumberFormat: () => NumberFormat, DateTimeFormat: () => DateTimeFormat, Collator: () => Collator, Segmenter: () => Segmenter,
  PluralRules: () => PluralRules, RelativeTimeFormat: () => RelativeTimeFormat, ListFormat: () => ListFormat, DisplayNames: () => DisplayNames,
  Locale: () => Locale, getCanonicalLocales: () => getCanonicalLocales, supportedValuesOf: () => supportedValuesOf,
};
for (const [name, get] of Object.entries(classes)) {
  Object.defineProperty(Intl, name, {
    configurable: true, enumerable: false, get,
    set(value) { Object.defineProperty(Intl, name, { value, writable: true, configurable: true, enumerable: false }); },
  });
}
Object.defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });
