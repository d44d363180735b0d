// Words and signs of Intl.NumberFormat: currencies and the units that ECMA-402 allows, in English.

/** Code → [symbol, narrow symbol]; a code without an entry is shown as it is. */
export const CURRENCIES = {
  USD: ["$", "$"], EUR: ["€", "€"], GBP: ["£", "£"], JPY: ["¥", "¥"], CNY: ["CN¥", "¥"], INR: ["₹", "₹"], KRW: ["₩", "₩"], BRL: ["R$", "R$"],
  CAD: ["CA$", "$"], AUD: ["A$", "$"], NZD: ["NZ$", "$"], MXN: ["MX$", "$"], HKD: ["HK$", "$"], TWD: ["NT$", "$"], ILS: ["₪", "₪"], VND: ["₫", "₫"],
  PHP: ["₱", "₱"], XAF: ["FCFA", "FCFA"], XOF: ["F\u202fCFA", "F\u202fCFA"], XPF: ["CFPF", "CFPF"], XCD: ["EC$", "$"], RUB: ["RUB", "₽"], UAH: ["UAH", "₴"], PLN: ["PLN", "zł"],
  SEK: ["SEK", "kr"], NOK: ["NOK", "kr"], DKK: ["DKK", "kr"], TRY: ["TRY", "₺"], CZK: ["CZK", "Kč"], HUF: ["HUF", "Ft"], SGD: ["SGD", "$"], NGN: ["NGN", "₦"],
};
export const CURRENCY_NAMES = {
  USD: ["US dollar", "US dollars"], EUR: ["euro", "euros"], GBP: ["British pound", "British pounds"], JPY: ["Japanese yen", "Japanese yen"], CNY: ["Chinese yuan", "Chinese yuan"],
  INR: ["Indian rupee", "Indian rupees"], CHF: ["Swiss franc", "Swiss francs"], CAD: ["Canadian dollar", "Canadian dollars"], AUD: ["Australian dollar", "Australian dollars"],
  BRL: ["Brazilian real", "Brazilian reals"], KRW: ["South Korean won", "South Korean won"], MXN: ["Mexican peso", "Mexican pesos"], SEK: ["Swedish krona", "Swedish kronor"],
};
export const ZERO_DIGITS = new Set(["JPY", "KRW", "VND", "CLP", "ISK", "UGX", "XAF", "XOF", "XPF", "PYG", "RWF", "KMF", "GNF", "DJF", "BIF", "VUV"]);

// name: [short one, short other, narrow, long one, long other]; a leading space is part of the form.
const UNITS = {
  acre: [" ac", " ac", "ac", " acre", " acres"], bit: [" bit", " bit", "bit", " bit", " bits"], byte: [" byte", " byte", "B", " byte", " bytes"],
  celsius: ["°C", "°C", "°C", " degree Celsius", " degrees Celsius"], centimeter: [" cm", " cm", "cm", " centimeter", " centimeters"], day: [" day", " days", "d", " day", " days"],
  degree: [" deg", " deg", "°", " degree", " degrees"], fahrenheit: ["°F", "°F", "°", " degree Fahrenheit", " degrees Fahrenheit"], "fluid-ounce": [" fl oz", " fl oz", "fl oz", " fluid ounce", " fluid ounces"],
  foot: [" ft", " ft", "′", " foot", " feet"], gallon: [" gal", " gal", "gal", " gallon", " gallons"], gigabit: [" Gb", " Gb", "Gb", " gigabit", " gigabits"], gigabyte: [" GB", " GB", "GB", " gigabyte", " gigabytes"],
  gram: [" g", " g", "g", " gram", " grams"], hectare: [" ha", " ha", "ha", " hectare", " hectares"], hour: [" hr", " hr", "h", " hour", " hours"], inch: [" in", " in", "″", " inch", " inches"],
  kilobit: [" kb", " kb", "kb", " kilobit", " kilobits"], kilobyte: [" kB", " kB", "kB", " kilobyte", " kilobytes"], kilogram: [" kg", " kg", "kg", " kilogram", " kilograms"], kilometer: [" km", " km", "km", " kilometer", " kilometers"],
  liter: [" L", " L", "L", " liter", " liters"], megabit: [" Mb", " Mb", "Mb", " megabit", " megabits"], megabyte: [" MB", " MB", "MB", " megabyte", " megabytes"], meter: [" m", " m", "m", " meter", " meters"],
  microsecond: [" μs", " μs", "μs", " microsecond", " microseconds"], mile: [" mi", " mi", "mi", " mile", " miles"], "mile-scandinavian": [" smi", " smi", "smi", " mile-scandinavian", " miles-scandinavian"], milliliter: [" mL", " mL", "mL", " milliliter", " milliliters"],
  millimeter: [" mm", " mm", "mm", " millimeter", " millimeters"], millisecond: [" ms", " ms", "ms", " millisecond", " milliseconds"], minute: [" min", " min", "m", " minute", " minutes"], month: [" mth", " mths", "m", " month", " months"],
  nanosecond: [" ns", " ns", "ns", " nanosecond", " nanoseconds"], ounce: [" oz", " oz", "oz", " ounce", " ounces"], percent: ["%", "%", "%", " percent", " percent"], petabyte: [" PB", " PB", "PB", " petabyte", " petabytes"],
  pound: [" lb", " lb", "#", " pound", " pounds"], second: [" sec", " sec", "s", " second", " seconds"], stone: [" st", " st", "st", " stone", " stones"], terabit: [" Tb", " Tb", "Tb", " terabit", " terabits"],
  terabyte: [" TB", " TB", "TB", " terabyte", " terabytes"], week: [" wk", " wks", "w", " week", " weeks"], yard: [" yd", " yd", "yd", " yard", " yards"], year: [" yr", " yrs", "y", " year", " years"],
};
// Divisors as they are written after a slash.
const PER = { second: "s", minute: "min", hour: "h", day: "d", week: "w", month: "m", year: "y" };
const WHOLE = { "kilometer-per-hour": ["km/h", "km/h"], "mile-per-hour": ["mph", "mph"], "mile-per-gallon": ["mpg", "mpg"] };

export function isUnit(unit) {
  const [first, second, more] = unit.split("-per-");
  return more === undefined && Object.hasOwn(UNITS, first) && (second === undefined || Object.hasOwn(UNITS, second));
}

/** A number's parts with its unit after them. */
export function unitPieces(unit, display, plural, list) {
  const [first, second] = unit.split("-per-");
  const forms = UNITS[first];
  const at = display === "long" ? (plural === "one" ? 3 : 4) : display === "narrow" ? 2 : plural === "one" ? 0 : 1;
  let form = forms[at];
  if (second !== undefined) {
    if (display === "long") form += ` per${UNITS[second][3]}`;
    else if (WHOLE[unit]) form = (display === "short" ? " " : "") + WHOLE[unit][0];
    else form += `/${PER[second] ?? UNITS[second][0].trim()}`;
  }
  const type = first === "percent" && display !== "long" ? "percentSign" : "unit";
  return form.startsWith(" ") ? [...list, { type: "literal", value: " " }, { type, value: form.slice(1) }] : [...list, { type, value: form }];
}
