// Terminal columns of text: what a string occupies on screen once escape
// sequences are taken away. Covers CSI, OSC and APC sequences, wide (CJK,
// emoji) and zero-width characters and grapheme clusters. Not covered: DCS and
// charset sequences, which count as text, as pi's own measuring does.
import { native } from "jackfield:host";

// Two-column ranges in hex: the East Asian Wide and Fullwidth blocks and the
// emoji that are drawn as pictures by default.
const WIDE_HEX =
  "1100-115e 231a-231b 2329-232a 23e9-23ec 23f0 23f3 25fd-25fe 2614-2615 2630-2637 2648-2653 267f 268a-268f 2693 26a1 " +
  "26aa-26ab 26bd-26be 26c4-26c5 26ce 26d4 26ea 26f2-26f3 26f5 26fa 26fd 2705 270a-270b 2728 274c 274e 2753-2755 2757 " +
  "2795-2797 27b0 27bf 2b1b-2b1c 2b50 2b55 2e80-2e99 2e9b-2ef3 2f00-2fd5 2ff0-3029 3030-303e 3041-3096 309b-30ff " +
  "3105-312f 3131-3163 3165-318e 3190-31e5 31ef-321e 3220-3247 3250-a48c a490-a4c6 a960-a97c ac00-d7a3 f900-faff " +
  "fe10-fe19 fe30-fe52 fe54-fe66 fe68-fe6b ff01-ff60 ffe0-ffe6 16fe0-16fe3 16ff2-16ff6 17000-18cd5 18cff-18d1e " +
  "18d80-18df2 1aff0-1aff3 1aff5-1affb 1affd-1affe 1b000-1b122 1b132 1b150-1b152 1b155 1b164-1b167 1b170-1b2fb " +
  "1d300-1d356 1d360-1d376 1f004 1f0cf 1f18e 1f191-1f19a 1f1e6-1f202 1f210-1f23b 1f240-1f248 1f250-1f251 1f260-1f265 " +
  "1f300-1f320 1f32d-1f335 1f337-1f37c 1f37e-1f393 1f3a0-1f3ca 1f3cf-1f3d3 1f3e0-1f3f0 1f3f4 1f3f8-1f43e 1f440 " +
  "1f442-1f4fc 1f4ff-1f53d 1f54b-1f54e 1f550-1f567 1f57a 1f595-1f596 1f5a4 1f5fb-1f64f 1f680-1f6c5 1f6cc 1f6d0-1f6d2 " +
  "1f6d5-1f6d8 1f6dc-1f6df 1f6eb-1f6ec 1f6f4-1f6fc 1f7e0-1f7eb 1f7f0 1f90c-1f93a 1f93c-1f945 1f947-1f9ff 1fa70-1fa7c " +
  "1fa80-1fa8a 1fa8e-1fac6 1fac8 1facd-1fadc 1fadf-1faea 1faef-1faf8 20000-2fffd 30000-3fffd";

let wide;

function wideRanges() {
  if (wide) return wide;
  wide = [];
  for (const part of WIDE_HEX.split(" ")) {
    const [from, to] = part.split("-");
    wide.push(parseInt(from, 16), parseInt(to ?? from, 16));
  }
  return wide;
}

function isWide(code) {
  if (code < 0x1100) return false;
  const ranges = wideRanges();
  let low = 0;
  let high = ranges.length / 2 - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (code < ranges[middle * 2]) high = middle - 1;
    else if (code > ranges[middle * 2 + 1]) low = middle + 1;
    else return true;
  }
  return false;
}

const ZERO = /^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Cs}]$/u;
const PICTOGRAPH = /^\p{Extended_Pictographic}/u;
// Searching for the first odd character is quicker than matching all of them.
const NOT_PLAIN = /[^\x20-\x7e]/;
// Characters that never join with their neighbours: cheap to measure one by one.
const NOT_SIMPLE = /[^\x20-\x7e\xa1-\xa8\xaa-\xac\xaf-\u02ff\u0400-\u0482\u048a-\u052f\u2010-\u2027\u2500-\u259f\u2800-\u28ff\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]/;
const DOUBLE = /[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]/g;
// Marks whose category says "no space" but which terminals give a column.
const SPACING_MARKS = new Set([0x65f, 0x1033, 0x1034, 0x1035, 0x103a, 0x103d, 0x103e]);

/** Columns of one code point on its own. */
export function codePointWidth(code) {
  if (code === 9) return 3;
  if (code < 0x7f) return code < 0x20 ? 0 : 1;
  if (code === 0x302e || code === 0x302f || code === 0x1734) return 0;
  if (isWide(code)) return 2;
  if (SPACING_MARKS.has(code)) return 1;
  return ZERO.test(String.fromCodePoint(code)) ? 0 : 1;
}

function isJamo(code) {
  return (code >= 0x1100 && code <= 0x11ff) || (code >= 0xa960 && code <= 0xa97c) || (code >= 0xd7b0 && code <= 0xd7ff);
}

/** Columns of one grapheme cluster. */
export function graphemeWidth(cluster) {
  const first = cluster.codePointAt(0);
  if (first === undefined) return 0;
  const size = first > 0xffff ? 2 : 1;
  if (cluster.length === size) return codePointWidth(first);
  if (cluster.includes("\ufe0f")) {
    if (cluster.includes("\u20e3")) return 2;
    if (first > 0x7f && PICTOGRAPH.test(cluster)) return 2;
  }
  let total = 0;
  let started = false;
  for (const char of cluster) {
    const code = char.codePointAt(0);
    if (!started) {
      const own = codePointWidth(code);
      if (own === 0) continue;
      started = true;
      total = own;
      continue;
    }
    if (isJamo(code) || code >= 0x1f000 || PICTOGRAPH.test(char)) continue;
    total += codePointWidth(code);
  }
  return total;
}

/** Grapheme clusters of `text`. */
export function graphemes(text) {
  if (!NOT_SIMPLE.test(text)) return text.split("");
  return native("graphemes", text);
}

/**
 * The escape sequence that starts at `at`, or null. Complete CSI, OSC and APC
 * sequences only: an unfinished one is text.
 */
export function escapeAt(text, at) {
  if (text.charCodeAt(at) !== 0x1b) return null;
  const kind = text[at + 1];
  if (kind === "[") {
    for (let i = at + 2; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x40 && code <= 0x7e) return text.slice(at, i + 1);
      if (code < 0x20 || code > 0x7e) return null;
    }
    return null;
  }
  if (kind === "]" || kind === "_") {
    for (let i = at + 2; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === 7) return text.slice(at, i + 1);
      if (code === 0x1b && text[i + 1] === "\\") return text.slice(at, i + 2);
    }
  }
  return null;
}

/** `text` without CSI, OSC and APC sequences. */
export function stripTerminalSequences(text) {
  if (!text.includes("\x1b")) return text;
  let out = "";
  let from = 0;
  let at = text.indexOf("\x1b");
  while (at !== -1) {
    const sequence = escapeAt(text, at);
    if (sequence) {
      out += text.slice(from, at);
      from = at + sequence.length;
    }
    at = text.indexOf("\x1b", sequence ? from : at + 1);
  }
  return out + text.slice(from);
}

/** Columns that `text` takes on screen. A tab is three columns wide. */
export function visibleWidth(text) {
  if (!NOT_PLAIN.test(text)) return text.length;
  const bare = stripTerminalSequences(text);
  if (!NOT_SIMPLE.test(bare)) return bare.length + (bare.match(DOUBLE)?.length ?? 0);
  let total = 0;
  for (const cluster of graphemes(bare)) total += graphemeWidth(cluster);
  return total;
}

/** Each run-free control character becomes one space, so that text stays on its line. */
export function replaceControlCharacters(text) {
  return text.replace(/\r\n|[\x00-\x1f\x7f-\x9f]/g, " ");
}

/**
 * Splits `text` into pieces: `{ escape }` for a sequence and `{ cluster, width }`
 * for a grapheme cluster.
 */
export function pieces(text) {
  const out = [];
  const plain = (part) => {
    for (const cluster of graphemes(part)) out.push({ cluster, width: graphemeWidth(cluster) });
  };
  let from = 0;
  let at = text.indexOf("\x1b");
  while (at !== -1) {
    const sequence = escapeAt(text, at);
    if (sequence) {
      if (at > from) plain(text.slice(from, at));
      out.push({ escape: sequence });
      from = at + sequence.length;
      at = text.indexOf("\x1b", from);
    } else {
      at = text.indexOf("\x1b", at + 1);
    }
  }
  if (from < text.length) plain(text.slice(from));
  return out;
}
