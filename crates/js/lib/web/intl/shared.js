// What all of Intl shares: checking of locale tags and options, and the conventions of locales for numbers and numeric
// dates. A locale that is not listed behaves as en-US and is reported as the tag that was asked for.

const TAG = /^[A-Za-z]{2,3}(-[A-Za-z]{3}){0,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|\d{3}))?(-([A-Za-z0-9]{5,8}|\d[A-Za-z0-9]{3}))*(-[A-WYZa-wyz0-9](-[A-Za-z0-9]{2,8})+)*(-x(-[A-Za-z0-9]{1,8})+)?$/;

function canonical(tag) {
  if (typeof tag !== "string" && (typeof tag !== "object" || tag === null)) throw new TypeError("Language ID should be string or object.");
  const text = `${tag}`;
  if (!TAG.test(text)) throw new RangeError(`Incorrect locale information provided`);
  let extension = false;
  return text.split("-").map((part, i) => {
    if (i === 0 || extension) return part.toLowerCase();
    if (part.length === 1) {
      extension = true;
      return part.toLowerCase();
    }
    if (part.length === 4 && !/^\d/.test(part)) return part[0].toUpperCase() + part.slice(1).toLowerCase();
    return part.length === 2 ? part.toUpperCase() : part.toLowerCase();
  }).join("-");
}

export function getCanonicalLocales(locales = undefined) {
  if (locales === undefined) return [];
  const list = typeof locales === "string" || locales instanceof Locale ? [locales] : Array.from(Object(locales));
  return [...new Set(list.map(canonical))];
}

/** `{ locale, keys }`: the tag without its extensions, and the `-u-` keys. */
export function resolveLocale(locales) {
  if (locales === undefined) return { locale: "en-US", keys: {} };
  const [tag = "en-US"] = getCanonicalLocales(locales);
  const keys = {};
  const unicode = /-u((?:-[a-z0-9]{2,8})+)/.exec(tag);
  if (unicode) {
    let key = "";
    for (const part of unicode[1].slice(1).split("-")) {
      if (part.length === 2) keys[(key = part)] = "";
      else if (key) keys[key] += (keys[key] ? "-" : "") + part;
    }
  }
  return { locale: tag.replace(/-[a-z0-9]-.*$/, ""), keys };
}

export function supportedLocalesOf(locales = undefined) { return getCanonicalLocales(locales); }

export function optionsOf(options) {
  if (options === undefined) return {};
  if (options === null) throw new TypeError("Cannot convert undefined or null to object");
  return Object(options);
}

/** One option, checked against what it may be. */
export function choice(options, name, allowed, fallback) {
  const value = options[name];
  if (value === undefined) return fallback;
  const text = `${value}`;
  if (allowed && !allowed.includes(text)) throw new RangeError(`Value ${text} out of range for Intl options property ${name}`);
  return text;
}

export function digits(options, name, low, high, fallback) {
  const value = options[name];
  if (value === undefined) return fallback;
  const number = Math.floor(Number(value));
  if (!(number >= low && number <= high)) throw new RangeError(`${name} value is out of range.`);
  return number;
}

// Group and decimal signs by language, then by locale where it differs.
const SIGNS = {
  en: [",", "."], de: [".", ","], es: [".", ",", 2], it: [".", ","], nl: [".", ","], pt: [".", ","], da: [".", ","], id: [".", ","], tr: [".", ","], el: [".", ","],
  fr: ["\u202f", ","], sv: ["\u00a0", ","], nb: ["\u00a0", ","], no: ["\u00a0", ","], fi: ["\u00a0", ","], cs: ["\u00a0", ","], pl: ["\u00a0", ",", 2], ru: ["\u00a0", ","], uk: ["\u00a0", ","], hu: ["\u00a0", ","],
  "de-CH": ["'", "."], "de-AT": ["\u00a0", ","], "es-MX": [",", "."], "es-US": [",", "."], "pt-PT": ["\u00a0", ",", 2], "en-ZA": ["\u00a0", ","],
};
/** `[group, decimal, least digits before a group]` of a locale. */
export function signsOf(locale) {
  return SIGNS[locale] ?? SIGNS[locale.split("-")[0]] ?? SIGNS.en;
}

// Numeric dates: the order and signs, whether hours run to 24, whether day and month have two digits.
const DATES = {
  "en-US": ["M/D/Y", true, false], "en-GB": ["D/M/Y", false, true], "en-CA": ["Y-M-D", true, true], "en-AU": ["D/M/Y", true, true], "en-NZ": ["D/M/Y", true, true], "en-IE": ["D/M/Y", false, false], "en-IN": ["D/M/Y", true, false],
  sv: ["Y-M-D", false, true], de: ["D.M.Y", false, false], fr: ["D/M/Y", false, true], es: ["D/M/Y", false, false], it: ["D/M/Y", false, false], pt: ["D/M/Y", false, true], nl: ["D-M-Y", false, false], pl: ["D.M.Y", false, false], ru: ["D.M.Y", false, true], da: ["D.M.Y", false, false], nb: ["D.M.Y", false, false], ja: ["Y/M/D", false, false], zh: ["Y/M/D", false, false], "fr-CA": ["Y-M-D", false, true],
};
/** `[pattern, twelve hours, two digits]` of a locale. */
export function datesOf(locale) {
  return DATES[locale] ?? DATES[locale.split("-")[0]] ?? DATES["en-US"];
}

export class Locale {
  #tag;
  constructor(tag, options = undefined) {
    if (typeof tag !== "string" && (typeof tag !== "object" || tag === null)) throw new TypeError("First argument to Intl.Locale constructor can't be empty or missing");
    let text = canonical(`${tag}`);
    if (options?.language !== undefined || options?.script !== undefined || options?.region !== undefined) {
      const old = new Locale(text);
      const parts = [options.language ?? old.language, options.script ?? old.script, options.region ?? old.region].filter((part) => part !== undefined);
      text = canonical(parts.join("-"));
    }
    this.#tag = text;
  }
  get baseName() { return this.#tag.replace(/-[a-z0-9]-.*$/, ""); }
  get language() { return this.baseName.split("-")[0]; }
  get script() { return this.baseName.split("-").find((part, i) => i > 0 && /^[A-Z][a-z]{3}$/.test(part)); }
  get region() { return this.baseName.split("-").find((part, i) => i > 0 && /^([A-Z]{2}|\d{3})$/.test(part)); }
  get calendar() { return resolveLocale(this.#tag).keys.ca || undefined; }
  get numberingSystem() { return resolveLocale(this.#tag).keys.nu || undefined; }
  get hourCycle() { return resolveLocale(this.#tag).keys.hc || undefined; }
  get collation() { return resolveLocale(this.#tag).keys.co || undefined; }
  get caseFirst() { return resolveLocale(this.#tag).keys.kf || undefined; }
  get numeric() { const { keys } = resolveLocale(this.#tag); return keys.kn !== undefined && keys.kn !== "false"; }
  maximize() { return this; }
  minimize() { return this; }
  toString() { return this.#tag; }
  get [Symbol.toStringTag]() { return "Intl.Locale"; }
}

export function supportedValuesOf(key) {
  const values = { calendar: ["gregory"], collation: ["default"], currency: ["CNY", "EUR", "GBP", "JPY", "USD"], numberingSystem: ["latn"], timeZone: ["UTC"], unit: ["byte", "day", "hour", "minute", "second"] };
  if (!Object.hasOwn(values, `${key}`)) throw new RangeError(`Invalid key : ${key}`);
  return values[key];
}

/** Gives a class of Intl what all of them have. */
export function finish(Class, name) {
  Object.defineProperty(Class, "supportedLocalesOf", { value: supportedLocalesOf, writable: true, configurable: true });
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: `Intl.${name}`, configurable: true });
}

/** Lets a class be called without `new`, as three of Intl's may be. */
export function callable(Class) {
  const Callable = function (...args) { return Reflect.construct(Class, args, new.target ?? Callable); };
  Object.defineProperty(Callable, "name", { value: Class.name });
  Object.defineProperty(Callable, "length", { value: 0 });
  Object.setPrototypeOf(Callable, Class);
  Callable.prototype = Class.prototype;
  Object.defineProperty(Class.prototype, "constructor", { value: Callable, writable: true, configurable: true });
  return Callable;
}
