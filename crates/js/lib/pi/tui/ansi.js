// Text with colours: wrapping, truncating, slicing by column and laying one
// line over another without losing or leaking styles. SGR attributes and OSC 8
// links are tracked; other sequences pass through where they stand.
import { escapeAt, graphemeWidth, graphemes, pieces, stripTerminalSequences, visibleWidth } from "jackfield:pi/tui/width";

const RESET = "\x1b[0m";
const LINK_END = "\x1b]8;;\x07";

/** The styles that are on at one point of a text. */
export class StyleState {
  constructor() {
    this.clear();
    this.link = null;
  }

  clear() {
    this.attributes = new Map();
  }

  /** Takes one escape sequence into account. */
  feed(sequence) {
    if (sequence.startsWith("\x1b]8;")) {
      const bell = sequence.endsWith("\x07");
      const body = sequence.slice(4, bell ? -1 : -2);
      const split = body.indexOf(";");
      const url = body.slice(split + 1);
      this.link = url === "" ? null : { open: sequence, url, close: bell ? LINK_END : "\x1b]8;;\x1b\\" };
      return;
    }
    if (!/^\x1b\[[\d;:]*m$/.test(sequence)) return;
    const codes = sequence.slice(2, -1).split(";");
    for (let i = 0; i < codes.length; i++) {
      const text = codes[i];
      const code = text === "" ? 0 : parseInt(text, 10);
      if (code === 0) this.clear();
      else if ((code === 38 || code === 48) && (codes[i + 1] === "5" || codes[i + 1] === "2")) {
        const count = codes[i + 1] === "5" ? 3 : 5;
        this.attributes.set(code === 38 ? "fg" : "bg", codes.slice(i, i + count).join(";"));
        i += count - 1;
      } else this.#simple(code, text);
    }
  }

  #simple(code, text) {
    const on = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 5: "blink", 7: "inverse", 8: "hidden", 9: "strike" };
    const off = { 21: ["bold"], 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 25: ["blink"], 27: ["inverse"], 28: ["hidden"], 29: ["strike"], 39: ["fg"], 49: ["bg"] };
    if (on[code]) this.attributes.set(on[code], text);
    else if (off[code]) for (const name of off[code]) this.attributes.delete(name);
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) this.attributes.set("fg", text);
    else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) this.attributes.set("bg", text);
  }

  /** The one SGR sequence that turns the current styles on, or "". */
  sgr() {
    if (this.attributes.size === 0) return "";
    const order = ["bold", "dim", "italic", "underline", "blink", "inverse", "hidden", "strike", "fg", "bg"];
    const codes = order.map((name) => this.attributes.get(name)).filter((code) => code !== undefined);
    return `\x1b[${codes.join(";")}m`;
  }

  /** What starts a continuation line: styles, then the open link. */
  open() {
    return this.sgr() + (this.link ? this.link.open : "");
  }

  /** What ends a line that breaks inside: decorations that would colour the margin. */
  close() {
    let out = "";
    if (this.attributes.has("underline")) out += "\x1b[24m";
    if (this.link) out += this.link.close;
    return out;
  }
}

const CJK = /[\p{Script_Extensions=Han}\p{Script_Extensions=Hiragana}\p{Script_Extensions=Katakana}\p{Script_Extensions=Hangul}\p{Script_Extensions=Bopomofo}]/u;

/** Cuts a line into words, runs of blanks and single CJK characters, escapes kept with what follows them. */
function tokens(line) {
  const out = [];
  let current = "";
  let blank = false;
  let pending = "";
  const flush = () => {
    if (current) out.push(current);
    current = "";
  };
  for (const piece of pieces(line)) {
    if (piece.escape) {
      pending += piece.escape;
      continue;
    }
    const cluster = piece.cluster;
    const space = cluster === " ";
    if (!space && CJK.test(cluster)) {
      flush();
      out.push(pending + cluster);
      pending = "";
      continue;
    }
    if (current && space !== blank) flush();
    current += pending + cluster;
    pending = "";
    blank = space;
  }
  if (pending) {
    if (current) current += pending;
    else if (out.length > 0) out[out.length - 1] += pending;
    else current = pending;
  }
  flush();
  return out;
}

function feedAll(text, state) {
  let at = text.indexOf("\x1b");
  while (at !== -1) {
    const sequence = escapeAt(text, at);
    if (sequence) state.feed(sequence);
    at = text.indexOf("\x1b", at + (sequence ? sequence.length : 1));
  }
}

function escapesOf(text) {
  return pieces(text).map((piece) => piece.escape ?? "").join("");
}

function breakWord(word, width, state) {
  const lines = [];
  let line = state.open();
  let used = 0;
  for (const piece of pieces(word)) {
    if (piece.escape) {
      line += piece.escape;
      state.feed(piece.escape);
      continue;
    }
    if (used + piece.width > width) {
      lines.push(line + state.close());
      line = state.open();
      used = 0;
    }
    line += piece.cluster;
    used += piece.width;
  }
  lines.push(line);
  return lines;
}

function wrapLine(line, width) {
  if (line === "") return [""];
  if (visibleWidth(line) <= width) return [line];
  const lines = [];
  const state = new StyleState();
  let current = "";
  let used = 0;
  for (const token of tokens(line)) {
    const size = visibleWidth(token);
    const blank = stripTerminalSequences(token).trim() === "";
    if (size > width && !blank) {
      if (current) lines.push(current.trimEnd() + state.close());
      const broken = breakWord(token, width, state);
      current = broken.pop();
      for (const part of broken) lines.push(part);
      used = visibleWidth(current);
      continue;
    }
    if (used + size > width && used > 0) {
      if (blank) {
        // The blanks fall away at the break, their styles do not.
        const styles = escapesOf(token);
        current = current.trimEnd() + styles;
        feedAll(styles, state);
        lines.push(current + state.close());
        current = state.open();
        used = 0;
      } else {
        lines.push(current.trimEnd() + state.close());
        current = state.open() + token;
        used = size;
        feedAll(token, state);
      }
    } else {
      current += token;
      used += size;
      feedAll(token, state);
    }
  }
  if (current) lines.push(current);
  return lines.length > 0 ? lines.map((text) => text.trimEnd()) : [""];
}

/** Breaks text into lines of at most `width` columns; styles and links go on over the breaks. */
export function wrapTextWithAnsi(text, width) {
  if (!text) return [""];
  const out = [];
  const state = new StyleState();
  for (const line of text.split(/\r\n|\r|\n/)) {
    const prefix = out.length > 0 ? state.open() : "";
    for (const wrapped of wrapLine(prefix + line, width)) out.push(wrapped);
    feedAll(line, state);
  }
  return out.length > 0 ? out : [""];
}

/**
 * At most `maxWidth` columns of `text`; what is cut is replaced by `ellipsis`
 * (itself cut when there is no room) and every style is reset at the cut.
 */
export function truncateToWidth(text, maxWidth, ellipsis = "...", pad = false) {
  if (maxWidth <= 0) return "";
  if (text.length === 0) return pad ? " ".repeat(maxWidth) : "";
  const total = visibleWidth(text);
  if (total <= maxWidth) return pad ? text + " ".repeat(maxWidth - total) : text;
  let tail = ellipsis;
  let tailWidth = visibleWidth(ellipsis);
  if (tailWidth >= maxWidth) {
    tail = takeColumns(ellipsis, maxWidth).text;
    tailWidth = visibleWidth(tail);
  }
  const head = takeColumns(text, ellipsis === tail ? maxWidth - tailWidth : 0);
  const out = head.text + (head.link ? head.link.close : "") + RESET + (tail ? tail + RESET : "");
  const blank = maxWidth - head.width - tailWidth;
  return pad && blank > 0 ? out + " ".repeat(blank) : out;
}

function takeColumns(text, width) {
  const state = new StyleState();
  let out = "";
  let used = 0;
  let held = "";
  for (const piece of pieces(text)) {
    if (piece.escape) {
      held += piece.escape;
      continue;
    }
    if (used + piece.width > width) break;
    if (held) {
      out += held;
      feedAll(held, state);
      held = "";
    }
    out += piece.cluster;
    used += piece.width;
  }
  return { text: out, width: used, link: state.link };
}

/** Columns `start` to `start + length` of a line, with the styles that are on there. */
export function sliceWithWidth(line, start, length, strict = false) {
  if (length <= 0) return { text: "", width: 0 };
  const end = start + length;
  let out = "";
  let used = 0;
  let column = 0;
  let held = "";
  for (const piece of pieces(line)) {
    if (piece.escape) {
      if (column >= end) continue;
      if (column >= start) {
        out += held + piece.escape;
        held = "";
      } else held += piece.escape;
      continue;
    }
    const inside = column >= start && column < end && (!strict || column + piece.width <= end);
    if (inside) {
      out += held + piece.cluster;
      held = "";
      used += piece.width;
    }
    column += piece.width;
    if (column >= end) break;
  }
  return { text: out, width: used };
}

/** See `sliceWithWidth`; the text alone. */
export function sliceByColumn(line, start, length, strict = false) {
  return sliceWithWidth(line, start, length, strict).text;
}

/** The link that covers a column, or undefined. */
export function getOsc8LinkAtColumn(line, column) {
  const state = new StyleState();
  let at = 0;
  for (const piece of pieces(line)) {
    if (piece.escape) {
      state.feed(piece.escape);
      continue;
    }
    if (column >= at && column < at + piece.width) return state.link?.url;
    at += piece.width;
  }
  return undefined;
}

/** Lays `overlay` over columns of `base`, padded to `overlayWidth`; the rest of the line stays. */
export function compositeTuiLine(base, overlay, startCol, overlayWidth, totalWidth) {
  const state = new StyleState();
  let before = "";
  let beforeWidth = 0;
  let after = "";
  let afterWidth = 0;
  let column = 0;
  let held = "";
  const afterStart = startCol + overlayWidth;
  for (const piece of pieces(base)) {
    if (piece.escape) {
      state.feed(piece.escape);
      if (column < startCol) held += piece.escape;
      else if (afterWidth > 0 && column < totalWidth) after += piece.escape;
      continue;
    }
    if (column < startCol && column + piece.width <= startCol) {
      before += held + piece.cluster;
      held = "";
      beforeWidth += piece.width;
    } else if (column >= afterStart && column + piece.width <= totalWidth) {
      if (afterWidth === 0) after = state.open();
      after += piece.cluster;
      afterWidth += piece.width;
    }
    column += piece.width;
  }
  const middle = sliceWithWidth(overlay, 0, overlayWidth, true);
  const seam = RESET + LINK_END;
  const gap = " ".repeat(Math.max(0, startCol - beforeWidth));
  const fill = " ".repeat(Math.max(0, overlayWidth - middle.width));
  const used = Math.max(startCol, beforeWidth) + Math.max(overlayWidth, middle.width);
  const rest = Math.max(0, totalWidth - used);
  const line = before + gap + seam + middle.text + fill + seam + after + " ".repeat(Math.max(0, rest - afterWidth));
  return visibleWidth(line) <= totalWidth ? line : sliceByColumn(line, 0, totalWidth, true);
}

/** Pads a line to `width` columns and paints all of it with `paint`. */
export function paintLine(line, width, paint) {
  return paint(line + " ".repeat(Math.max(0, width - visibleWidth(line))));
}

export { graphemeWidth, graphemes, visibleWidth };
