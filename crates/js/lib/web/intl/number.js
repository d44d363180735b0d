// Intl.NumberFormat: decimal, percent, currency and unit styles; fraction and significant digits; grouping; compact,
// scientific and engineering notation; sign display. A number is rounded as the decimal text that JavaScript shows for
// it, half away from zero unless `roundingMode` says otherwise. Not covered: rounding increments, other digits.
import { resolveLocale, optionsOf, choice, digits, signsOf, finish, callable } from "jackfield:web/intl/shared";
import { CURRENCIES, CURRENCY_NAMES, ZERO_DIGITS, unitPieces, isUnit } from "jackfield:web/intl/units";

const MODES = ["ceil", "floor", "expand", "trunc", "halfCeil", "halfFloor", "halfExpand", "halfTrunc", "halfEven"];

class Format {
  #o; #format;
  constructor(locales = undefined, given = undefined) {
    const options = optionsOf(given);
    const { locale } = resolveLocale(locales);
    const o = (this.#o = { locale, numberingSystem: "latn" });
    o.style = choice(options, "style", ["decimal", "percent", "currency", "unit"], "decimal");
    const currency = options.currency === undefined ? undefined : `${options.currency}`;
    if (currency !== undefined && !/^[A-Za-z]{3}$/.test(currency)) throw new RangeError(`Invalid currency code : ${currency}`);
    if (o.style === "currency") {
      if (currency === undefined) throw new TypeError("Currency code is required with currency style.");
      o.currency = currency.toUpperCase();
      o.currencyDisplay = choice(options, "currencyDisplay", ["code", "symbol", "narrowSymbol", "name"], "symbol");
      o.currencySign = choice(options, "currencySign", ["standard", "accounting"], "standard");
    }
    if (options.unit !== undefined && !isUnit(`${options.unit}`)) throw new RangeError(`Invalid unit argument for Intl.NumberFormat() '${options.unit}'`);
    if (o.style === "unit") {
      if (options.unit === undefined) throw new TypeError("Required unit is missing.");
      o.unit = `${options.unit}`;
      o.unitDisplay = choice(options, "unitDisplay", ["short", "narrow", "long"], "short");
    }
    o.notation = choice(options, "notation", ["standard", "scientific", "engineering", "compact"], "standard");
    this.#digitOptions(o, options);
    if (o.notation === "compact") o.compactDisplay = choice(options, "compactDisplay", ["short", "long"], "short");
    const grouping = options.useGrouping;
    if (grouping === undefined) o.useGrouping = o.notation === "compact" ? "min2" : "auto";
    else if (grouping === false) o.useGrouping = false;
    else if (grouping === true) o.useGrouping = "always";
    else if (["true", "false"].includes(`${grouping}`)) o.useGrouping = "auto";
    else o.useGrouping = grouping ? choice(options, "useGrouping", ["min2", "auto", "always"], "auto") : false;
    o.signDisplay = choice(options, "signDisplay", ["auto", "never", "always", "exceptZero", "negative"], "auto");
    o.roundingMode = choice(options, "roundingMode", MODES, "halfExpand");
  }
  #digitOptions(o, options) {
    const money = o.style === "currency" && o.notation === "standard" ? (ZERO_DIGITS.has(o.currency) ? 0 : 2) : undefined;
    o.minimumIntegerDigits = digits(options, "minimumIntegerDigits", 1, 21, 1);
    const lowF = options.minimumFractionDigits;
    const highF = options.maximumFractionDigits;
    const lowS = options.minimumSignificantDigits;
    const highS = options.maximumSignificantDigits;
    if (lowS !== undefined || highS !== undefined) {
      o.minimumSignificantDigits = digits(options, "minimumSignificantDigits", 1, 21, 1);
      o.maximumSignificantDigits = digits(options, "maximumSignificantDigits", o.minimumSignificantDigits, 21, 21);
    } else if (lowF !== undefined || highF !== undefined || o.notation !== "compact") {
      const standardLow = money ?? 0;
      const standardHigh = money ?? (o.style === "percent" ? 0 : 3);
      let low = digits(options, "minimumFractionDigits", 0, 100, undefined);
      let high = digits(options, "maximumFractionDigits", 0, 100, undefined);
      if (low === undefined) low = Math.min(standardLow, high ?? standardLow);
      else if (high === undefined) high = Math.max(standardHigh, low);
      high ??= Math.max(standardHigh, low);
      if (low > high) throw new RangeError("maximumFractionDigits value is out of range.");
      o.minimumFractionDigits = low;
      o.maximumFractionDigits = high;
    } else {
      o.compactRounding = true;
    }
    o.trailingZeroDisplay = choice(options, "trailingZeroDisplay", ["auto", "stripIfInteger"], "auto");
  }
  get format() { return (this.#format ??= (value) => this.formatToParts(value).map((part) => part.value).join("")); }
  formatToParts(value = undefined) { return parts(this.#o, numeric(value)); }
  formatRange(start, end) { return this.formatRangeToParts(start, end).map((part) => part.value).join(""); }
  formatRangeToParts(start, end) {
    const from = this.formatToParts(start);
    const to = this.formatToParts(end);
    const text = (list) => list.map((part) => part.value).join("");
    if (text(from) === text(to)) return [{ type: "approximatelySign", value: "~", source: "shared" }, ...from.map((part) => ({ ...part, source: "shared" }))];
    const wide = from.some((part) => part.type === "currency" || part.type === "unit");
    return [
      ...from.map((part) => ({ ...part, source: "startRange" })), { type: "literal", value: wide ? " – " : "–", source: "shared" },
      ...to.map((part) => ({ ...part, source: "endRange" })),
    ];
  }
  resolvedOptions() {
    const o = this.#o;
    const shown = {};
    const keys = ["locale", "numberingSystem", "style", "currency", "currencyDisplay", "currencySign", "unit", "unitDisplay", "minimumIntegerDigits",
      "minimumFractionDigits", "maximumFractionDigits", "minimumSignificantDigits", "maximumSignificantDigits", "useGrouping", "notation", "compactDisplay", "signDisplay"];
    const all = o.compactRounding ? { ...o, minimumFractionDigits: 0, maximumFractionDigits: 0, minimumSignificantDigits: 1, maximumSignificantDigits: 2 } : o;
    for (const key of keys) if (all[key] !== undefined) shown[key] = all[key];
    shown.roundingIncrement = 1;
    shown.roundingMode = o.roundingMode;
    shown.roundingPriority = o.compactRounding ? "morePrecision" : "auto";
    shown.trailingZeroDisplay = o.trailingZeroDisplay;
    return shown;
  }
}
Object.defineProperty(Format, "name", { value: "NumberFormat" });
finish(Format, "NumberFormat");
export const NumberFormat = callable(Format);

/** A number as `{ negative, digits, point }`: the value is 0.digits times ten to the power of point. */
function numeric(value) {
  if (typeof value === "object" && value !== null) value = value[Symbol.toPrimitive]?.("number") ?? value.valueOf();
  let text;
  if (typeof value === "bigint") text = value.toString();
  else if (typeof value === "string" && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value)) text = value.trim().toLowerCase().replace(/^\+/, "");
  else {
    const number = Number(value);
    if (Number.isNaN(number)) return { nan: true, negative: false };
    if (!Number.isFinite(number)) return { infinite: true, negative: number < 0 };
    text = Object.is(number, -0) ? "-0" : String(number);
  }
  const negative = text.startsWith("-");
  const [mantissa, exponent = "0"] = text.replace(/^-/, "").split("e");
  const [whole, fraction = ""] = mantissa.split(".");
  const all = whole + fraction;
  const stripped = all.replace(/^0+/, "");
  return { negative, digits: stripped.replace(/0+$/, ""), point: stripped === "" ? 0 : whole.length - (all.length - stripped.length) + Number(exponent) };
}

/** Keeps `count` of the digits (which may be zero or fewer), rounded. */
function keep(n, count, mode) {
  if (count >= n.digits.length) return n;
  if (count < 0) {
    const up = (mode === "expand" || (mode === "ceil" && !n.negative) || (mode === "floor" && n.negative)) && n.digits !== "";
    return up ? { ...n, digits: "1", point: n.point - count + 1 } : { ...n, digits: "", point: 0 };
  }
  const kept = n.digits.slice(0, count);
  const rest = n.digits.slice(count);
  const half = rest[0] > "5" || (rest[0] === "5" && /[1-9]/.test(rest.slice(1))) ? 1 : rest[0] === "5" ? 0 : -1;
  const even = count === 0 || Number(kept[count - 1]) % 2 === 0;
  const up = {
    expand: true, trunc: false, ceil: !n.negative, floor: n.negative, halfExpand: half >= 0, halfTrunc: half > 0,
    halfCeil: half > 0 || (half === 0 && !n.negative), halfFloor: half > 0 || (half === 0 && n.negative), halfEven: half > 0 || (half === 0 && !even),
  }[mode];
  if (!up) return trim({ ...n, digits: kept });
  const raised = (BigInt(`0${kept}`) + 1n).toString().padStart(count, "0");
  return trim({ ...n, digits: raised, point: n.point + raised.length - count });
}
function trim(n) {
  const text = n.digits.replace(/0+$/, "");
  return text === "" ? { ...n, digits: "", point: 0 } : { ...n, digits: text };
}

/** Rounds as the options say: `{ n, low }`, the number and how many fraction digits it shows at least. */
function rounded(o, n) {
  const mode = o.roundingMode;
  if (o.maximumSignificantDigits !== undefined) {
    const r = keep(n, o.maximumSignificantDigits, mode);
    return { n: r, low: Math.max(0, o.minimumSignificantDigits - (r.digits === "" ? 1 : r.point)) };
  }
  if (o.compactRounding) {
    const r = keep(n, Math.max(2, n.point), mode);
    return { n: r, low: 0 };
  }
  return { n: keep(n, n.point + o.maximumFractionDigits, mode), low: o.minimumFractionDigits };
}

function integerAndFraction(n, low) {
  const whole = n.point <= 0 ? "" : n.digits.slice(0, n.point).padEnd(n.point, "0");
  const fraction = (n.point < 0 ? "0".repeat(-n.point) : "") + (n.digits === "" ? "" : n.digits.slice(Math.max(0, n.point)));
  return [whole === "" ? "0" : whole, fraction.padEnd(low, "0")];
}

function numberParts(o, n, low) {
  const [group, decimal, least = 1] = signsOf(o.locale);
  let [whole, fraction] = integerAndFraction(n, low);
  if (o.trailingZeroDisplay === "stripIfInteger" && /^0*$/.test(fraction)) fraction = "";
  whole = whole.padStart(o.minimumIntegerDigits, "0");
  const list = [];
  const wanted = o.useGrouping === "always" ? 1 : o.useGrouping === "min2" ? 2 : least;
  if (o.useGrouping !== false && whole.length >= 3 + wanted) {
    const indian = o.locale === "en-IN" || o.locale === "hi-IN";
    const groups = [whole.slice(-3)];
    for (let rest = whole.slice(0, -3); rest !== ""; rest = rest.slice(0, indian ? -2 : -3)) groups.unshift(rest.slice(indian ? -2 : -3));
    groups.forEach((value, i) => {
      if (i > 0) list.push({ type: "group", value: group });
      list.push({ type: "integer", value });
    });
  } else {
    list.push({ type: "integer", value: whole });
  }
  if (fraction !== "") list.push({ type: "decimal", value: decimal }, { type: "fraction", value: fraction });
  return list;
}

const SHORT = ["", "K", "M", "B", "T"];
const LONG = ["", "thousand", "million", "billion", "trillion"];

function parts(o, n) {
  if (o.style === "percent" && n.digits) n = { ...n, point: n.point + 2 };
  let list;
  let zero = false;
  let plural = "other";
  if (n.nan) list = [{ type: "nan", value: "NaN" }];
  else if (n.infinite) list = [{ type: "infinity", value: "∞" }];
  else {
    let power = 0;
    const step = o.notation === "scientific" ? 1 : o.notation === "standard" ? 0 : 3;
    if (step > 0 && n.digits !== "") {
      const fit = (value) => {
        const wanted = Math.floor((value.point - 1) / step) * step;
        return o.notation === "compact" ? Math.min(Math.max(wanted, 0), 12) : wanted;
      };
      power = fit(n);
      // Rounding may reach the next power: 999,999 is 1M, not 1000K.
      const after = rounded(o, { ...n, point: n.point - power }).n;
      const again = after.digits === "" ? power : fit({ ...after, point: after.point + power });
      power = Math.max(power, again);
      n = { ...n, point: n.point - power };
    }
    const { n: r, low } = rounded(o, n);
    zero = r.digits === "";
    list = numberParts(o, r, low);
    plural = list.length === 1 && list[0].value === "1" && power === 0 ? "one" : "other";
    if (o.notation === "compact") {
      const word = (o.compactDisplay === "long" ? LONG : SHORT)[power / 3];
      if (word) list.push(...(o.compactDisplay === "long" ? [{ type: "literal", value: " " }] : []), { type: "compact", value: word });
    } else if (step > 0) {
      list.push({ type: "exponentSeparator", value: "E" });
      if (power < 0) list.push({ type: "exponentMinusSign", value: "-" });
      list.push({ type: "exponentInteger", value: String(Math.abs(power)) });
    }
  }
  const sign = signOf(o.signDisplay, n.negative, zero, n.nan);
  return decorated(o, list, sign, plural);
}

function signOf(display, negative, zero, nan) {
  switch (display) {
    case "never": return "";
    case "always": return negative ? "-" : "+";
    case "exceptZero": return zero || nan ? "" : negative ? "-" : "+";
    case "negative": return negative && !zero ? "-" : "";
    default: return negative ? "-" : "";
  }
}

function decorated(o, list, sign, plural) {
  // Scandinavian languages write the real minus sign.
  const minus = /^(sv|nb|no|fi)\b/.test(o.locale) ? "\u2212" : "-";
  const signPart = sign === "" ? [] : [sign === "-" ? { type: "minusSign", value: minus } : { type: "plusSign", value: sign }];
  if (o.style === "percent") {
    const gap = /^(de|fr|es|sv|nb|no|fi|cs|ru|da)\b/.test(o.locale) && o.locale !== "de-CH" ? [{ type: "literal", value: "\u00a0" }] : [];
    return [...signPart, ...list, ...gap, { type: "percentSign", value: "%" }];
  }
  if (o.style === "unit") return [...signPart, ...unitPieces(o.unit, o.unitDisplay, plural, list)];
  if (o.style !== "currency") return [...signPart, ...list];
  if (o.currencyDisplay === "name") {
    const names = CURRENCY_NAMES[o.currency];
    return [...signPart, ...list, { type: "literal", value: " " }, { type: "currency", value: names ? names[plural === "one" ? 0 : 1] : o.currency }];
  }
  const symbol = o.currencyDisplay === "code" ? o.currency : (CURRENCIES[o.currency]?.[o.currencyDisplay === "narrowSymbol" ? 1 : 0] ?? o.currency);
  const part = { type: "currency", value: symbol };
  if (/^(de|fr|es|it|sv|nb|no|fi|cs|pl|ru|da|uk|hu|pt-PT)\b/.test(o.locale) && !/^(de-CH|de-AT|es-MX|es-US)$/.test(o.locale)) {
    return [...signPart, ...list, { type: "literal", value: "\u00a0" }, part];
  }
  const gap = (/[A-Za-z]$/.test(symbol) && list[0].type !== "nan" && list[0].type !== "infinity") || /^pt\b/.test(o.locale) ? [{ type: "literal", value: "\u00a0" }] : [];
  if (sign === "-" && o.currencySign === "accounting") return [{ type: "literal", value: "(" }, part, ...gap, ...list, { type: "literal", value: ")" }];
  return [...signPart, part, ...gap, ...list];
}
