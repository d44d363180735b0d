// Intl.Segmenter: graphemes and words by the host's Unicode tables, sentences by their end marks.
import { native } from "jackfield:host";
import { resolveLocale, optionsOf, choice, finish } from "jackfield:web/intl/shared";

function pieces(text, granularity) {
  if (text === "") return [];
  if (granularity === "grapheme") return native("graphemes", text).map((segment) => ({ segment }));
  if (granularity === "word") return native("words", text);
  return text.match(/[^.!?\n]*(?:[.!?]+["')\]]*(?=\s|$)\s*|\n+|[.!?]|$)/g).reduce((list, segment) => {
    // A mark that is not followed by a space belongs to what comes next ("3.5").
    const last = list.at(-1);
    if (segment === "") return list;
    if (last && /[.!?]$/.test(last.segment)) last.segment += segment;
    else list.push({ segment });
    return list;
  }, []);
}

class Segments {
  #text; #granularity; #list = null;
  constructor(text, granularity) {
    this.#text = text;
    this.#granularity = granularity;
  }
  #all() {
    if (!this.#list) {
      let index = 0;
      this.#list = pieces(this.#text, this.#granularity).map((piece) => {
        const item = { segment: piece.segment, index, input: this.#text };
        if (this.#granularity === "word") item.isWordLike = Boolean(piece.isWordLike);
        index += piece.segment.length;
        return item;
      });
    }
    return this.#list;
  }
  containing(at = 0) {
    const index = Math.trunc(Number(at)) || 0;
    if (index < 0 || index >= this.#text.length) return undefined;
    const found = this.#all().findLast((item) => item.index <= index);
    return found && { ...found };
  }
  *[Symbol.iterator]() { for (const item of this.#all()) yield { ...item }; }
}

export class Segmenter {
  #o;
  constructor(locales = undefined, given = undefined) {
    const options = optionsOf(given);
    this.#o = { locale: resolveLocale(locales).locale, granularity: choice(options, "granularity", ["grapheme", "word", "sentence"], "grapheme") };
  }
  segment(text = undefined) { return new Segments(`${text}`.toWellFormed(), this.#o.granularity); }
  resolvedOptions() { return { ...this.#o }; }
}
finish(Segmenter, "Segmenter");
