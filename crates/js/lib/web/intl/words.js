// Intl.PluralRules, RelativeTimeFormat, ListFormat and DisplayNames in English.
import { resolveLocale, optionsOf, choice, finish } from "jackfield:web/intl/shared";
import { NumberFormat } from "jackfield:web/intl/number";

export class PluralRules {
  #o; #numbers;
  constructor(locales = undefined, given = undefined) {
    const options = optionsOf(given);
    this.#o = { locale: resolveLocale(locales).locale, type: choice(options, "type", ["cardinal", "ordinal"], "cardinal") };
    const { minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits, minimumSignificantDigits, maximumSignificantDigits } = options;
    this.#numbers = new NumberFormat("en-US", { minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits, minimumSignificantDigits, maximumSignificantDigits, useGrouping: false });
  }
  select(value) {
    const number = Number(value);
    if (this.#o.type === "cardinal") return this.#numbers.format(Math.abs(number)) === "1" ? "one" : "other";
    const n = Math.abs(number);
    if (!Number.isInteger(n)) return "other";
    if (n % 10 === 1 && n % 100 !== 11) return "one";
    if (n % 10 === 2 && n % 100 !== 12) return "two";
    return n % 10 === 3 && n % 100 !== 13 ? "few" : "other";
  }
  selectRange(start, end) {
    if (start === undefined || end === undefined) throw new TypeError("start or end cannot be undefined");
    return this.#o.type === "cardinal" ? "other" : this.select(end);
  }
  resolvedOptions() {
    const { minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits, minimumSignificantDigits, maximumSignificantDigits } = this.#numbers.resolvedOptions();
    const shown = { ...this.#o, minimumIntegerDigits };
    for (const [key, value] of Object.entries({ minimumFractionDigits, maximumFractionDigits, minimumSignificantDigits, maximumSignificantDigits })) if (value !== undefined) shown[key] = value;
    shown.pluralCategories = this.#o.type === "cardinal" ? ["one", "other"] : ["few", "one", "two", "other"];
    return Object.assign(shown, { roundingIncrement: 1, roundingMode: "halfExpand", roundingPriority: "auto", trailingZeroDisplay: "auto" });
  }
}
finish(PluralRules, "PluralRules");

// unit: [short one, short other, narrow]
const SHORT = {
  second: ["sec.", "sec.", "s"], minute: ["min.", "min.", "m"], hour: ["hr.", "hr.", "h"], day: ["day", "days", "d"], week: ["wk.", "wk.", "w"],
  month: ["mo.", "mo.", "mo"], quarter: ["qtr.", "qtrs.", "q"], year: ["yr.", "yr.", "y"],
};

export class RelativeTimeFormat {
  #o; #numbers;
  constructor(locales = undefined, given = undefined) {
    const options = optionsOf(given);
    const { locale } = resolveLocale(locales);
    this.#o = { locale, style: choice(options, "style", ["long", "short", "narrow"], "long"), numeric: choice(options, "numeric", ["always", "auto"], "always"), numberingSystem: "latn" };
    this.#numbers = new NumberFormat(locale);
  }
  format(value, unit) { return this.formatToParts(value, unit).map((part) => part.value).join(""); }
  formatToParts(value, unit) {
    const number = Number(value);
    const name = `${unit}`.replace(/s$/, "");
    if (!Object.hasOwn(SHORT, name)) throw new RangeError(`Invalid unit argument for format() '${unit}'`);
    if (!Number.isFinite(number)) throw new RangeError("The value needs to be finite number for Intl.RelativeTimeFormat.prototype.format()");
    if (this.#o.numeric === "auto") {
      const word = this.#word(number, name);
      if (word) return [{ type: "literal", value: word }];
    }
    const past = number < 0 || Object.is(number, -0);
    const size = Math.abs(number);
    const parts = this.#numbers.formatToParts(size).map((part) => ({ ...part, unit: name }));
    const one = parts.length === 1 && parts[0].value === "1";
    const { style } = this.#o;
    const word = style === "long" ? ` ${name}${one ? "" : "s"}` : style === "short" ? ` ${SHORT[name][one ? 0 : 1]}` : SHORT[name][2];
    return past ? [...parts, { type: "literal", value: `${word} ago` }] : [{ type: "literal", value: "in " }, ...parts, { type: "literal", value: word }];
  }
  #word(number, unit) {
    const zero = number === 0;
    if (unit === "second") return zero ? "now" : "";
    if (unit === "day") return zero ? "today" : number === 1 ? "tomorrow" : number === -1 ? "yesterday" : "";
    const long = this.#o.style === "long" || unit === "minute" || unit === "hour" ? unit : SHORT[unit][0];
    if (zero) return `this ${unit === "minute" || unit === "hour" ? unit : long}`;
    if (unit === "minute" || unit === "hour") return "";
    return number === 1 ? `next ${long}` : number === -1 ? `last ${long}` : "";
  }
  resolvedOptions() { return { ...this.#o }; }
}
finish(RelativeTimeFormat, "RelativeTimeFormat");

export class ListFormat {
  #o;
  constructor(locales = undefined, given = undefined) {
    const options = optionsOf(given);
    this.#o = {
      locale: resolveLocale(locales).locale, type: choice(options, "type", ["conjunction", "disjunction", "unit"], "conjunction"),
      style: choice(options, "style", ["long", "short", "narrow"], "long"),
    };
  }
  format(list) { return this.formatToParts(list).map((part) => part.value).join(""); }
  formatToParts(list) {
    const items = list === undefined ? [] : [...list];
    for (const item of items) if (typeof item !== "string") throw new TypeError("Iterable yielded a non-String value");
    const { type, style, locale } = this.#o;
    const word = type === "unit" ? "" : type === "disjunction" ? "or" : style === "long" ? "and" : style === "short" ? "&" : "";
    const comma = type === "unit" && style === "narrow" ? " " : ", ";
    // British English has no comma before the last word.
    const british = /^en-(GB|AU|NZ|IE|IN|ZA)$/.test(locale);
    const parts = [];
    items.forEach((value, i) => {
      if (i > 0) {
        const last = i === items.length - 1;
        let sign = comma;
        if (last && word) sign = items.length === 2 || british ? ` ${word} ` : `, ${word} `;
        parts.push({ type: "literal", value: sign });
      }
      parts.push({ type: "element", value });
    });
    return parts;
  }
  resolvedOptions() { return { ...this.#o }; }
}
finish(ListFormat, "ListFormat");

const NAMES = {
  language: {
    en: "English", "en-US": "American English", "en-GB": "British English", de: "German", fr: "French", es: "Spanish", it: "Italian", pt: "Portuguese", "pt-BR": "Brazilian Portuguese", nl: "Dutch",
    sv: "Swedish", da: "Danish", nb: "Norwegian Bokmål", fi: "Finnish", pl: "Polish", cs: "Czech", ru: "Russian", uk: "Ukrainian", tr: "Turkish", ja: "Japanese", zh: "Chinese", "zh-Hans": "Simplified Chinese", "zh-Hant": "Traditional Chinese",
    ko: "Korean", ar: "Arabic", he: "Hebrew", hi: "Hindi", el: "Greek", hu: "Hungarian", ro: "Romanian", vi: "Vietnamese", th: "Thai", id: "Indonesian", la: "Latin",
  },
  region: {
    US: "United States", GB: "United Kingdom", DE: "Germany", FR: "France", ES: "Spain", IT: "Italy", PT: "Portugal", BR: "Brazil", NL: "Netherlands", BE: "Belgium", CH: "Switzerland", AT: "Austria", SE: "Sweden", NO: "Norway", DK: "Denmark",
    FI: "Finland", PL: "Poland", CZ: "Czechia", RU: "Russia", UA: "Ukraine", TR: "Türkiye", JP: "Japan", CN: "China", TW: "Taiwan", KR: "South Korea", IN: "India", CA: "Canada", MX: "Mexico", AU: "Australia", NZ: "New Zealand", IE: "Ireland", ZA: "South Africa", IL: "Israel", AR: "Argentina",
  },
  script: { Latn: "Latin", Cyrl: "Cyrillic", Grek: "Greek", Arab: "Arabic", Hebr: "Hebrew", Hans: "Simplified Han", Hant: "Traditional Han", Jpan: "Japanese", Kore: "Korean", Deva: "Devanagari" },
  currency: {
    USD: "US Dollar", EUR: "Euro", GBP: "British Pound", JPY: "Japanese Yen", CNY: "Chinese Yuan", INR: "Indian Rupee", CHF: "Swiss Franc", CAD: "Canadian Dollar", AUD: "Australian Dollar", BRL: "Brazilian Real", KRW: "South Korean Won", MXN: "Mexican Peso", SEK: "Swedish Krona",
  },
  calendar: { gregory: "Gregorian Calendar" },
  dateTimeField: { era: "era", year: "year", quarter: "quarter", month: "month", weekOfYear: "week", weekday: "day of the week", day: "day", dayPeriod: "AM/PM", hour: "hour", minute: "minute", second: "second", timeZoneName: "time zone" },
};

export class DisplayNames {
  #o;
  constructor(locales, given) {
    if (given === undefined) throw new TypeError("Cannot convert undefined or null to object");
    const options = optionsOf(given);
    const type = choice(options, "type", Object.keys(NAMES), undefined);
    if (type === undefined) throw new TypeError('Required option "type" must not be undefined');
    this.#o = { locale: resolveLocale(locales).locale, style: choice(options, "style", ["narrow", "short", "long"], "long"), type, fallback: choice(options, "fallback", ["code", "none"], "code") };
    if (type === "language") this.#o.languageDisplay = choice(options, "languageDisplay", ["dialect", "standard"], "dialect");
  }
  of(code) {
    const text = `${code}`;
    const { type, fallback } = this.#o;
    const names = NAMES[type];
    const key = type === "currency" ? text.toUpperCase() : text;
    if (Object.hasOwn(names, key)) return names[key];
    if (type === "language" && text.includes("-")) {
      const [language, ...rest] = text.split("-");
      const inner = rest.map((part) => NAMES.region[part.toUpperCase()] ?? NAMES.script[part] ?? part).join(", ");
      if (Object.hasOwn(names, language)) return `${names[language]} (${inner})`;
    }
    return fallback === "code" ? key : undefined;
  }
  resolvedOptions() { return { ...this.#o }; }
}
finish(DisplayNames, "DisplayNames");
