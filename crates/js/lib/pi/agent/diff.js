// Line differences: the numbered form shown to people, and unified patches.

/** Line operations that turn `before` into `after`: Myers' algorithm with the common ends cut off first. */
export function diffLines(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let endA = before.length;
  let endB = after.length;
  while (endA > start && endB > start && before[endA - 1] === after[endB - 1]) {
    endA -= 1;
    endB -= 1;
  }
  const same = (from, to) => before.slice(from, to).map((text) => ({ kind: "=", text }));
  return [...same(0, start), ...middle(before.slice(start, endA), after.slice(start, endB)), ...same(endA, before.length)];
}

// Beyond this many edits the texts have little in common and are shown as replaced.
const MAX_EDITS = 4000;

function middle(a, b) {
  const removed = (list) => list.map((text) => ({ kind: "-", text }));
  const added = (list) => list.map((text) => ({ kind: "+", text }));
  if (a.length === 0) return added(b);
  if (b.length === 0) return removed(a);
  const limit = Math.min(a.length + b.length, MAX_EDITS);
  const offset = limit + 1;
  let reach = new Int32Array(2 * limit + 3);
  const trace = [];
  for (let edits = 0; edits <= limit; edits++) {
    trace.push(reach.slice());
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && reach[offset + k - 1] < reach[offset + k + 1]);
      let x = down ? reach[offset + k + 1] : reach[offset + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach[offset + k] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace, offset);
    }
  }
  return [...removed(a), ...added(b)];
}

function walkBack(a, b, trace, offset) {
  const out = [];
  let x = a.length;
  let y = b.length;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits];
    const k = x - y;
    const down = k === -edits || (k !== edits && reach[offset + k - 1] < reach[offset + k + 1]);
    const fromX = edits === 0 ? 0 : down ? reach[offset + k + 1] : reach[offset + k - 1];
    const fromY = edits === 0 ? 0 : fromX - (down ? k + 1 : k - 1);
    while (x > fromX && y > fromY) {
      out.push({ kind: "=", text: a[--x] });
      y -= 1;
    }
    if (edits === 0) break;
    if (down) out.push({ kind: "+", text: b[--y] });
    else out.push({ kind: "-", text: a[--x] });
    x = fromX;
    y = fromY;
  }
  return removalsFirst(out.reverse());
}

/** Within one change the removed lines come before the added ones. */
function removalsFirst(operations) {
  const out = [];
  let held = [];
  for (const each of operations) {
    if (each.kind === "+") held.push(each);
    else if (each.kind === "-") out.push(each);
    else {
      for (const added of held) out.push(added);
      out.push(each);
      held = [];
    }
  }
  return [...out, ...held];
}

const linesOf = (text) => {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
};

/** Changed lines with numbers and context, and the first changed line. */
export function generateDiffString(oldContent, newContent, contextLines = 4) {
  const before = linesOf(oldContent);
  const after = linesOf(newContent);
  const operations = diffLines(before, after);
  const width = String(Math.max(before.length, after.length)).length;
  const keep = new Array(operations.length).fill(false);
  operations.forEach((each, i) => {
    if (each.kind === "=") return;
    for (let at = Math.max(0, i - contextLines); at <= Math.min(operations.length - 1, i + contextLines); at++) keep[at] = true;
  });
  const out = [];
  let oldLine = 1;
  let newLine = 1;
  let first;
  let gap = false;
  const some = keep.includes(true);
  operations.forEach((each, i) => {
    const number = each.kind === "+" ? newLine : oldLine;
    if (each.kind !== "=" && first === undefined) first = newLine;
    if (keep[i]) {
      out.push(`${each.kind === "=" ? " " : each.kind}${String(number).padStart(width)} ${each.text}`);
      gap = false;
    } else if (some && !gap) {
      out.push(` ${" ".repeat(width)} ...`);
      gap = true;
    }
    if (each.kind !== "+") oldLine += 1;
    if (each.kind !== "-") newLine += 1;
  });
  return { diff: out.join("\n"), firstChangedLine: first };
}

/** A unified patch of one file. */
export function generateUnifiedPatch(path, oldContent, newContent, contextLines = 4) {
  const operations = diffLines(linesOf(oldContent), linesOf(newContent));
  const changes = operations.map((each, i) => (each.kind === "=" ? -1 : i)).filter((i) => i >= 0);
  let out = `--- ${path}\n+++ ${path}\n`;
  let at = 0;
  while (at < changes.length) {
    let end = at;
    while (end + 1 < changes.length && changes[end + 1] - changes[end] <= contextLines * 2) end += 1;
    const from = Math.max(0, changes[at] - contextLines);
    const to = Math.min(operations.length, changes[end] + contextLines + 1);
    const count = (list, kind) => list.filter((each) => each.kind !== kind).length;
    const oldStart = count(operations.slice(0, from), "+") + 1;
    const newStart = count(operations.slice(0, from), "-") + 1;
    const hunk = operations.slice(from, to);
    const oldCount = count(hunk, "+");
    const newCount = count(hunk, "-");
    out += `@@ -${oldCount === 0 ? oldStart - 1 : oldStart},${oldCount} +${newCount === 0 ? newStart - 1 : newStart},${newCount} @@\n`;
    for (const each of hunk) out += `${each.kind === "=" ? " " : each.kind}${each.text}\n`;
    at = end + 1;
  }
  return out;
}
