// Intl.DateTimeFormat for the Gregorian calendar in English: dateStyle and timeStyle, the component options, time zones
// (offsets come from the host's zone data), twelve and twenty-four hours, parts and ranges. Numeric dates follow the
// order of the asked locale where it is a common one. Not covered: other calendars, flexible day periods.
import { native } from "jackfield:host";
import { resolveLocale, optionsOf, choice, digits, datesOf, finish, callable } from "jackfield:web/intl/shared";
import { zoneName } from "jackfield:web/intl/zones";

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const WIDTHS = ["narrow", "short", "long"];
const NUMERIC = ["2-digit", "numeric"];
const DATE_STYLES = {
  full: { weekday: "long", month: "long", day: "numeric", year: "numeric" }, long: { month: "long", day: "numeric", year: "numeric" },
  medium: { month: "short", day: "numeric", year: "numeric" }, short: { month: "numeric", day: "numeric", year: "2-digit" },
};
const TIME_STYLES = {
  full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" }, long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
  medium: { hour: "numeric", minute: "2-digit", second: "2-digit" }, short: { hour: "numeric", minute: "2-digit" },
};

class Format {
  #o; #c; #format;
  constructor(locales = undefined, given = undefined, defaults = ["date"], required = ["date", "time"]) {
    const options = optionsOf(given);
    const { locale, keys } = resolveLocale(locales);
    const o = (this.#o = { locale, calendar: "gregory", numberingSystem: "latn" });
    o.timeZone = zoneOf(options.timeZone);
    const c = (this.#c = {});
    const take = (name, allowed) => { const value = choice(options, name, allowed, undefined); if (value !== undefined) c[name] = value; };
    take("weekday", WIDTHS);
    take("era", WIDTHS);
    take("year", NUMERIC);
    take("month", [...NUMERIC, ...WIDTHS]);
    take("day", NUMERIC);
    take("dayPeriod", WIDTHS);
    take("hour", NUMERIC);
    take("minute", NUMERIC);
    take("second", NUMERIC);
    const fraction = digits(options, "fractionalSecondDigits", 1, 3, undefined);
    if (fraction !== undefined) c.fractionalSecondDigits = fraction;
    take("timeZoneName", ["short", "long", "shortOffset", "longOffset", "shortGeneric", "longGeneric"]);
    o.dateStyle = choice(options, "dateStyle", Object.keys(DATE_STYLES), undefined);
    o.timeStyle = choice(options, "timeStyle", Object.keys(TIME_STYLES), undefined);
    if (o.dateStyle !== undefined || o.timeStyle !== undefined) {
      const [other] = Object.keys(c);
      if (other !== undefined) throw new TypeError(`Can't set option ${other} when ${o.dateStyle ? "dateStyle" : "timeStyle"} is used`);
      if (o.dateStyle !== undefined && !required.includes("date")) throw new TypeError("Invalid option : dateStyle");
      if (o.timeStyle !== undefined && !required.includes("time")) throw new TypeError("Invalid option : timeStyle");
      Object.assign(c, DATE_STYLES[o.dateStyle], TIME_STYLES[o.timeStyle]);
    } else {
      const has = (names) => names.some((name) => c[name] !== undefined);
      const dated = required.includes("date") && has(["weekday", "year", "month", "day"]);
      const timed = required.includes("time") && has(["dayPeriod", "hour", "minute", "second", "fractionalSecondDigits"]);
      if (!dated && !timed) {
        if (defaults.includes("date")) for (const name of ["year", "month", "day"]) c[name] = "numeric";
        if (defaults.includes("time")) for (const name of ["hour", "minute", "second"]) c[name] = "numeric";
      }
    }
    const twelve = options.hour12 === undefined ? undefined : Boolean(options.hour12);
    const cycle = choice(options, "hourCycle", ["h11", "h12", "h23", "h24"], undefined) ?? (keys.hc || undefined);
    if (c.hour !== undefined) {
      if (twelve !== undefined) o.hourCycle = twelve ? "h12" : datesOf(locale)[1] ? "h24" : "h23";
      else o.hourCycle = cycle ?? (datesOf(locale)[1] ? "h12" : "h23");
      o.hour12 = o.hourCycle === "h12" || o.hourCycle === "h11";
      // Twenty-four hours by `hour12: false` show midnight as 24 in American English.
      if (!o.hour12 && c.hour === "numeric") o.padHour = true;
    }
  }
  /** What the `toLocale…String` methods use: `parts` are shown when no option asks for anything. */
  static withDefaults(locales, options, parts) { return new Format(locales, options, parts, parts); }
  get format() { return (this.#format ??= (date) => join(this.formatToParts(date))); }
  formatToParts(date = undefined) {
    const ms = date === undefined ? Date.now() : Number(date);
    if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) throw new RangeError("Invalid time value");
    return build(this.#o, this.#c, fieldsOf(Math.trunc(ms), this.#o.timeZone));
  }
  formatRange(start, end) { return join(this.formatRangeToParts(start, end)); }
  formatRangeToParts(start, end) {
    if (start === undefined || end === undefined) throw new TypeError("startDate or endDate cannot be undefined");
    const from = this.formatToParts(start);
    const to = this.formatToParts(end);
    if (join(from) === join(to)) return from.map((part) => ({ ...part, source: "shared" }));
    return [
      ...from.map((part) => ({ ...part, source: "startRange" })), { type: "literal", value: "\u2009–\u2009", source: "shared" },
      ...to.map((part) => ({ ...part, source: "endRange" })),
    ];
  }
  resolvedOptions() {
    const { locale, calendar, numberingSystem, timeZone, hourCycle, hour12, dateStyle, timeStyle } = this.#o;
    const shown = { locale, calendar, numberingSystem, timeZone };
    if (hourCycle !== undefined) Object.assign(shown, { hourCycle, hour12 });
    if (dateStyle === undefined && timeStyle === undefined) {
      const c = { ...this.#c };
      if (c.hour !== undefined) {
        if (c.minute !== undefined) c.minute = "2-digit";
        if (c.second !== undefined) c.second = "2-digit";
        if (!hour12) c.hour = "2-digit";
      }
      for (const name of ["weekday", "era", "year", "month", "day", "dayPeriod", "hour", "minute", "second", "fractionalSecondDigits", "timeZoneName"]) if (c[name] !== undefined) shown[name] = c[name];
    }
    if (dateStyle !== undefined) shown.dateStyle = dateStyle;
    if (timeStyle !== undefined) shown.timeStyle = timeStyle;
    return shown;
  }
}
Object.defineProperty(Format, "name", { value: "DateTimeFormat" });
finish(Format, "DateTimeFormat");
export const DateTimeFormat = callable(Format);

// Parts have the narrow space before AM and PM that CLDR has; texts have a plain one, as in Node.
const join = (parts) => parts.map((part) => part.value).join("").replace(/\u202f(?=[ap])/i, " ");

/** The zone's own name; a RangeError for one that the host does not know. */
function zoneOf(given) {
  if (given === undefined) return native("tz") || "UTC";
  const name = `${given}`;
  const offset = /^([+-])(\d{2}):?(\d{2})?$/.exec(name);
  if (offset && Number(offset[2]) < 24 && Number(offset[3] ?? 0) < 60) return `${offset[1]}${offset[2]}:${offset[3] ?? "00"}`;
  if (/^(utc|gmt|etc\/(utc|gmt)|zulu)$/i.test(name)) return "UTC";
  let found;
  try {
    found = /^[A-Za-z][A-Za-z0-9_+\-/]*$/.test(name) ? native("format_date", 0, name) : null;
  } catch {
    found = null;
  }
  if (!found) throw new RangeError(`Invalid time zone specified: ${name}`);
  return typeof found.tz === "string" && found.tz.toLowerCase() === name.toLowerCase() ? found.tz : name;
}

function offsetOf(ms, zone) {
  if (zone === "UTC") return 0;
  const fixed = /^([+-])(\d{2}):(\d{2})$/.exec(zone);
  if (fixed) return (fixed[1] === "-" ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3]));
  try {
    return native("format_date", ms, zone)?.offset_min ?? 0;
  } catch {
    // A local zone that the host has no data for is what the engine itself goes by.
    return -new Date(ms).getTimezoneOffset();
  }
}

function fieldsOf(ms, zone) {
  const offset = offsetOf(ms, zone);
  const local = new Date(ms + offset * 60000);
  return {
    year: local.getUTCFullYear(), month: local.getUTCMonth(), day: local.getUTCDate(), weekday: local.getUTCDay(), hour: local.getUTCHours(),
    minute: local.getUTCMinutes(), second: local.getUTCSeconds(), ms: local.getUTCMilliseconds(), offset, at: ms,
  };
}

const two = (value) => String(value).padStart(2, "0");
const literal = (value) => ({ type: "literal", value });

function build(o, c, f) {
  const date = dateParts(o, c, f);
  const time = timeParts(o, c, f);
  if (date.length === 0) return time;
  if (time.length === 0) return date;
  // Only a zone after a date, and long months before a time, are joined in their own way.
  const lone = time.length === 1 && time[0].type === "timeZoneName";
  const long = o.dateStyle ? o.dateStyle === "full" || o.dateStyle === "long" : c.month === "long" && !lone;
  const bare = date.length === 1 && date[0].type === "weekday" && !lone;
  return [...date, literal(long ? " at " : bare || /^(sv|fr-CA)/.test(o.locale) ? " " : ", "), ...time];
}

function dateParts(o, c, f) {
  const text = c.month === "long" || c.month === "short" || c.month === "narrow";
  const year = c.year && { type: "year", value: yearText(o, c, f) };
  const month = c.month && { type: "month", value: monthText(o, c, f) };
  const day = c.day && { type: "day", value: c.day === "2-digit" || (twoDigits(o, c) && !text) ? two(f.day) : String(f.day) };
  const weekday = c.weekday && { type: "weekday", value: cut(DAYS[f.weekday], c.weekday) };
  const era = c.era && { type: "era", value: { long: ["Anno Domini", "Before Christ"], short: ["AD", "BC"], narrow: ["A", "B"] }[c.era][f.year > 0 ? 0 : 1] };
  let list = [];
  const british = /^en-(GB|AU|NZ|IE|IN|ZA)$/.test(o.locale);
  if (text && british) {
    list = spaced([day, month, year], " ");
    if (weekday) list.unshift(weekday, ...(list.length > 0 ? [literal(c.weekday === "long" ? ", " : " ")] : []));
  } else if (text) {
    list = spaced([month, day], " ");
    if (year) list.push(literal(day ? ", " : " "), year);
    if (weekday) list.unshift(weekday, literal(", "));
  } else if (month || year || day) {
    const [pattern] = datesOf(o.locale);
    const sign = pattern[1];
    const order = { Y: year, M: month, D: day };
    if (day && !month && !year) list = weekday ? [day, literal(" "), weekday] : [day];
    else {
      list = spaced([...pattern.replace(/[^YMD]/g, "")].map((key) => order[key]), sign);
      if (weekday) list.unshift(weekday, literal(", "));
    }
  } else if (weekday) {
    list = [weekday];
  }
  if (era && list.length > 0) list.push(literal(" "), era);
  else if (era) list = [era];
  return list;
}

// Locales that write 02/01/2024; in a two-digit year style English ones do not.
function twoDigits(o, c) {
  return datesOf(o.locale)[2] && c.month !== undefined && c.day !== undefined && !(c.year === "2-digit" && /^en-(AU|NZ)$/.test(o.locale)) && (c.year !== undefined || !o.locale.startsWith("en"));
}

function yearText(o, c, f) {
  const year = c.era && f.year <= 0 ? 1 - f.year : f.year;
  return c.year === "2-digit" && !(o.dateStyle === "short" && !/^en-(US|IN|AU|NZ)|^de/.test(o.locale)) ? two(Math.abs(year) % 100) : String(year);
}

function monthText(o, c, f) {
  if (c.month === "numeric") return twoDigits(o, c) ? two(f.month + 1) : String(f.month + 1);
  return c.month === "2-digit" ? two(f.month + 1) : cut(MONTHS[f.month], c.month);
}

const cut = (word, width) => (width === "long" ? word : word.slice(0, width === "narrow" ? 1 : 3));

function spaced(parts, sign) {
  const list = [];
  for (const part of parts) {
    if (!part) continue;
    if (list.length > 0) list.push(literal(sign));
    list.push(part);
  }
  return list;
}

function timeParts(o, c, f) {
  const list = [];
  const add = (part, sign) => {
    if (list.length > 0) list.push(literal(sign));
    list.push(part);
  };
  if (c.hour) {
    let { hour } = f;
    if (o.hourCycle === "h12") hour = hour % 12 || 12;
    else if (o.hourCycle === "h11") hour %= 12;
    else if (o.hourCycle === "h24") hour = hour || 24;
    add({ type: "hour", value: c.hour === "2-digit" || o.padHour ? two(hour) : String(hour) }, "");
  }
  if (c.minute) add({ type: "minute", value: c.hour || c.second || (c.minute === "2-digit" && c.hour) ? two(f.minute) : String(f.minute) }, ":");
  if (c.second) add({ type: "second", value: c.minute || c.hour ? two(f.second) : String(f.second) }, ":");
  if (c.fractionalSecondDigits) add({ type: "fractionalSecond", value: String(f.ms).padStart(3, "0").slice(0, c.fractionalSecondDigits) }, ".");
  if (c.hour && o.hour12) {
    const morning = f.hour < 12;
    const low = /^en-(GB|AU|NZ|IE|IN)$/.test(o.locale) ? ["am", "pm"] : o.locale === "en-CA" ? ["a.m.", "p.m."] : ["AM", "PM"];
    list.push(literal("\u202f"), { type: "dayPeriod", value: morning ? low[0] : low[1] });
  }
  if (c.timeZoneName) add({ type: "timeZoneName", value: zoneName(o.timeZone, f, c.timeZoneName, offsetOf) }, " ");
  return list;
}
