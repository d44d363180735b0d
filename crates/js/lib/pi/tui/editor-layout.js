// How the lines of an editor fall on screen lines: wrapping at words, and the
// way from a place in the text to a screen line and back.
import { graphemeWidth, graphemes, visibleWidth } from "jackfield:pi/tui/width";

/** Parts of one line that fit the width: `{ text, startIndex, endIndex }`. */
export function wordWrapLine(line, width) {
  if (line === "" || visibleWidth(line) <= width) return [{ text: line, startIndex: 0, endIndex: line.length }];
  const chunks = [];
  let start = 0;
  let used = 0;
  let at = 0;
  // After the last blank: where the line may break, and the columns up to there.
  let breakAt = -1;
  let breakUsed = 0;
  let blankBefore = false;
  const cut = (end) => {
    chunks.push({ text: line.slice(start, end), startIndex: start, endIndex: end });
    start = end;
  };
  for (const cluster of graphemes(line)) {
    const size = graphemeWidth(cluster);
    const blank = /\s/.test(cluster);
    if (blankBefore && !blank) {
      breakAt = at;
      breakUsed = used;
    }
    if (used + size > width && at > start) {
      if (breakAt > start) {
        cut(breakAt);
        used -= breakUsed;
        if (used + size > width) {
          cut(at);
          used = 0;
        }
      } else {
        cut(at);
        used = 0;
      }
      breakAt = -1;
    }
    used += size;
    at += cluster.length;
    blankBefore = blank;
  }
  cut(line.length);
  return chunks;
}

/** Every screen line of a text: which line, from which character, how many. */
export function visualLines(lines, width) {
  const out = [];
  lines.forEach((line, index) => {
    for (const chunk of wordWrapLine(line, width)) out.push({ line: index, start: chunk.startIndex, length: chunk.endIndex - chunk.startIndex, text: chunk.text });
  });
  return out;
}

/** The screen line that holds a cursor. */
export function findVisualLine(map, line, col) {
  for (let i = 0; i < map.length; i++) {
    const each = map[i];
    if (each.line !== line) continue;
    const last = map[i + 1]?.line !== line;
    if (col >= each.start && (col < each.start + each.length || (last && col <= each.start + each.length))) return i;
  }
  return Math.max(0, map.length - 1);
}

/** The character offset in `text` at a screen column. */
export function offsetAtColumn(text, column) {
  let used = 0;
  let offset = 0;
  for (const cluster of graphemes(text)) {
    const size = graphemeWidth(cluster);
    if (used + size > column) break;
    used += size;
    offset += cluster.length;
  }
  return offset;
}
