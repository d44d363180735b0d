// What text fields share: moving by words and characters, the ring of deleted
// text and the undo stack.
import { graphemes } from "jackfield:pi/tui/width";

const PUNCTUATION = /[(){}[\]<>.,;:'"!?+\-=*/\\|&%^$#@~`]/;
const kind = (char) => (/\s/.test(char) ? "space" : PUNCTUATION.test(char) ? "punctuation" : "word");

/** Where the grapheme before `cursor` starts. */
export function previousGrapheme(text, cursor) {
  const last = graphemes(text.slice(0, cursor)).at(-1);
  return last === undefined ? 0 : cursor - last.length;
}

/** Where the grapheme at `cursor` ends. */
export function nextGrapheme(text, cursor) {
  const first = graphemes(text.slice(cursor, cursor + 64))[0];
  return first === undefined ? text.length : cursor + first.length;
}

/** The start of the word before the cursor: blanks first, then one run of the same kind. */
export function findWordBackward(text, cursor) {
  const chars = graphemes(text.slice(0, cursor));
  while (chars.length > 0 && kind(chars.at(-1)) === "space") cursor -= chars.pop().length;
  if (chars.length === 0) return cursor;
  const run = kind(chars.at(-1));
  while (chars.length > 0 && kind(chars.at(-1)) === run) cursor -= chars.pop().length;
  return cursor;
}

/** The end of the word after the cursor. */
export function findWordForward(text, cursor) {
  const chars = graphemes(text.slice(cursor));
  let at = 0;
  while (at < chars.length && kind(chars[at]) === "space") cursor += chars[at++].length;
  if (at >= chars.length) return cursor;
  const run = kind(chars[at]);
  while (at < chars.length && kind(chars[at]) === run) cursor += chars[at++].length;
  return cursor;
}

/** Deleted text, newest last; deletions in a row grow one entry. */
export class KillRing {
  constructor() {
    this.entries = [];
  }

  push(text, { prepend = false, accumulate = false } = {}) {
    if (!text) return;
    if (accumulate && this.entries.length > 0) {
      const last = this.entries.pop();
      this.entries.push(prepend ? text + last : last + text);
    } else this.entries.push(text);
  }

  peek() {
    return this.entries.at(-1);
  }

  rotate() {
    if (this.entries.length > 1) this.entries.unshift(this.entries.pop());
  }

  get length() {
    return this.entries.length;
  }
}

/** Earlier states, each a copy. */
export class UndoStack {
  constructor() {
    this.states = [];
  }

  push(state) {
    this.states.push(structuredClone(state));
  }

  pop() {
    return this.states.pop();
  }

  clear() {
    this.states = [];
  }

  get length() {
    return this.states.length;
  }
}

/** Text of a paste, or of typing, that may go into a field: no control characters but the ones kept. */
export function printable(text, keep = "") {
  return [...text].filter((char) => {
    if (keep.includes(char)) return true;
    const code = char.codePointAt(0);
    return code >= 32 && code !== 127 && !(code >= 0x80 && code <= 0x9f);
  }).join("");
}

/** Collects a bracketed paste that may arrive in pieces. */
export class PasteCollector {
  constructor() {
    this.buffer = "";
    this.active = false;
  }

  /** `{ paste?, rest }` once complete or when `data` is no paste; null while more is to come. */
  feed(data) {
    if (!this.active) {
      const start = data.indexOf("\x1b[200~");
      if (start === -1) return { rest: data };
      this.active = true;
      this.buffer = "";
      data = data.slice(0, start) + data.slice(start + 6);
    }
    this.buffer += data;
    const end = this.buffer.indexOf("\x1b[201~");
    if (end === -1) return null;
    const paste = this.buffer.slice(0, end);
    const rest = this.buffer.slice(end + 6);
    this.active = false;
    this.buffer = "";
    return { paste, rest };
  }
}

/** Draws the character under a cursor so that the screen can show it inverted. */
export function renderFakeCursor(text) {
  return `\x1b_pi:fc\x07${text}\x1b_pi:/fc\x07`;
}
