// Intl.Collator in the order of English: space and punctuation, symbols, digits, letters; accents count after the
// letters, capitals after the accents. Options: numeric, sensitivity, caseFirst, ignorePunctuation. Letters beyond
// Latin come after it in the order of their code points.
import { resolveLocale, optionsOf, choice, finish, callable } from "jackfield:web/intl/shared";

const ORDER = "\t\n\v\f\r \u00a0_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
const rank = new Map([...ORDER].map((c, i) => [c, i + 1]));
const FOLDED = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", þ: "th", ð: "d", ı: "i" };

/** Sort keys of a text: what it is made of, its accents, its capitals. */
function keysOf(text, o) {
  const primary = [];
  const accents = [];
  const cases = [];
  const plain = /^[\x00-\x7f]*$/.test(text);
  const source = plain ? text : text.normalize("NFD");
  for (let i = 0; i < source.length;) {
    let char = source[i];
    const code = source.codePointAt(i);
    if (code > 0xffff) char = String.fromCodePoint(code);
    i += char.length;
    if (!plain && /\p{M}/u.test(char)) {
      if (accents.length > 0) accents[accents.length - 1] += char;
      continue;
    }
    if (code >= 48 && code <= 57) {
      let run = char;
      if (o.numeric) {
        while (i < source.length && source[i] >= "0" && source[i] <= "9") run += source[i++];
        run = run.replace(/^0+(?=\d)/, "");
        primary.push(1000 + run.length);
      }
      for (const digit of run) primary.push(2000 + Number(digit));
      accents.push("");
      cases.push(0);
      continue;
    }
    const place = rank.get(char);
    if (place !== undefined || (!plain && /[\p{P}\p{Z}]/u.test(char))) {
      if (o.ignorePunctuation && /[\p{P}\p{Z}\s]/u.test(char)) continue;
      primary.push(place ?? 100 + (code % 400));
      accents.push("");
      cases.push(0);
      continue;
    }
    if (code < 32 || code === 127) continue;
    const lower = char.toLowerCase();
    const letter = /\p{L}/u.test(char);
    for (const base of FOLDED[lower] ?? [lower]) primary.push((letter ? 10000 : 600) + base.codePointAt(0));
    accents.push(Object.hasOwn(FOLDED, lower) ? lower : "");
    cases.push(lower === char ? 0 : 1);
  }
  return { primary, accents, cases };
}

function order(a, b) {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}

class Sorter {
  #o; #compare;
  constructor(locales = undefined, given = undefined) {
    const options = optionsOf(given);
    const { locale, keys } = resolveLocale(locales);
    this.#o = {
      locale,
      usage: choice(options, "usage", ["sort", "search"], "sort"),
      sensitivity: choice(options, "sensitivity", ["base", "accent", "case", "variant"], "variant"),
      ignorePunctuation: Boolean(options.ignorePunctuation),
      collation: "default",
      numeric: options.numeric === undefined ? keys.kn !== undefined && keys.kn !== "false" : Boolean(options.numeric),
      caseFirst: choice(options, "caseFirst", ["upper", "lower", "false"], keys.kf || "false"),
    };
  }
  get compare() {
    return (this.#compare ??= (x, y) => {
      const a = `${x}`;
      const b = `${y}`;
      if (a === b) return 0;
      const o = this.#o;
      const left = keysOf(a, o);
      const right = keysOf(b, o);
      let result = order(left.primary, right.primary);
      if (result !== 0 || o.sensitivity === "base") return result;
      if (o.sensitivity !== "case") result = order(left.accents, right.accents);
      if (result !== 0 || o.sensitivity === "accent") return result;
      result = order(left.cases, right.cases);
      return o.caseFirst === "upper" ? -result || 0 : result;
    });
  }
  resolvedOptions() { return { ...this.#o }; }
}
Object.defineProperty(Sorter, "name", { value: "Collator" });
finish(Sorter, "Collator");
export const Collator = callable(Sorter);
