// Tables of the Markdown component: a box that fits the width, cells that wrap.
import { visibleWidth, wrapTextWithAnsi } from "jackfield:pi/tui/ansi";

const LONGEST_WORD = 30;
// Ends a wrapped cell line without touching the background below it.
const CELL_END = "\x1b[22;23;24;25;27;28;29;39m";

/** The largest size in a list that may be too long to be arguments. */
function largest(list, sizeOf) {
  return list.reduce((most, each) => Math.max(most, sizeOf(each)), 0);
}

function widths(natural, smallest, room) {
  const sum = (list) => list.reduce((total, each) => total + each, 0);
  if (sum(natural) <= room) return natural;
  let least = smallest;
  if (sum(least) > room) {
    // Not even the longest words fit: share the room, one column at least.
    least = smallest.map(() => 1);
    const spare = room - least.length;
    if (spare > 0) {
      const want = sum(smallest.map((each) => Math.max(0, each - 1)));
      least = smallest.map((each) => 1 + (want > 0 ? Math.floor(((each - 1) / want) * spare) : 0));
      let left = room - sum(least);
      for (let i = 0; left > 0 && i < least.length; i++, left--) least[i] += 1;
    }
    return least;
  }
  const spare = room - sum(least);
  const wish = natural.map((each, i) => Math.max(0, each - least[i]));
  const total = sum(wish);
  const out = least.map((each, i) => each + (total > 0 ? Math.floor((wish[i] / total) * spare) : 0));
  let left = room - sum(out);
  while (left > 0) {
    let grown = false;
    for (let i = 0; i < out.length && left > 0; i++) {
      if (out[i] >= natural[i]) continue;
      out[i] += 1;
      left -= 1;
      grown = true;
    }
    if (!grown) break;
  }
  return out;
}

/** Lines of a table token; the source text when there is no room for a box. */
export function renderTable(token, width, markdown, context) {
  const columns = token.header.length;
  if (columns === 0) return [];
  const room = width - (3 * columns + 1);
  if (room < columns) return wrapTextWithAnsi(token.raw.trimEnd(), width);
  const text = (cell) => markdown.renderInlineTokens(cell.tokens, context);
  const all = [token.header, ...token.rows].map((row) => row.map(text));
  const natural = token.header.map((_, i) => largest(all, (row) => visibleWidth(row[i] ?? "")));
  const word = (value) => Math.min(LONGEST_WORD, largest(value.split(/\s+/), visibleWidth));
  const smallest = token.header.map((_, i) => Math.max(1, largest(all, (row) => word(row[i] ?? ""))));
  const sizes = widths(natural.map((each) => Math.max(1, each)), smallest, room);
  const rule = (left, middle, right) => left + sizes.map((size) => "─".repeat(size + 2)).join(middle) + right;
  const row = (cells, style) => {
    const wrapped = cells.map((cell, i) => {
      const parts = wrapTextWithAnsi(cell, Math.max(1, sizes[i]));
      return parts.map((part, at) => (at < parts.length - 1 ? part + CELL_END : part));
    });
    const height = largest(wrapped, (parts) => parts.length);
    return Array.from({ length: height }, (_, at) => {
      const line = wrapped.map((parts, i) => {
        const part = parts[at] ?? "";
        return style(part + " ".repeat(Math.max(0, sizes[i] - visibleWidth(part))));
      });
      return `│ ${line.join(" │ ")} │`;
    });
  };
  const lines = [rule("┌", "┬", "┐"), ...row(all[0], markdown.theme.bold), rule("├", "┼", "┤")];
  all.slice(1).forEach((cells, i) => {
    if (i > 0) lines.push(rule("├", "┼", "┤"));
    for (const line of row(cells, (value) => value)) lines.push(line);
  });
  lines.push(rule("└", "┴", "┘"));
  return lines;
}
