// AssertionError and the texts it writes: the short form for simple values, a line by line comparison for the rest.
import { inspect } from "jackfield:node/internal/inspect";

const HEADS = {
  deepStrictEqual: "Expected values to be strictly deep-equal:",
  partialDeepStrictEqual: "Expected values to be partially and strictly deep-equal:",
  strictEqual: "Expected values to be strictly equal:",
  strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
  deepEqual: "Expected values to be loosely deep-equal:",
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  notIdentical: "Values identical but not reference-equal:",
  notSame: "Values have same structure but are not reference-equal:",
};
const MAX_LINES = 50;
const MAX_SHORT = 12;
const MAX_WIDTH = 80;

const show = (value) => inspect(value, {
  compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, showHidden: false, showProxy: false, sorted: true,
  getters: true, breakLength: Infinity, plainErrors: true,
});
const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

// Lines only in one of both, with the common ones between. The table is bounded: beyond it both are listed whole.
function compareLines(a, b) {
  if (a.length * b.length > 4e6) return [...a.map((t) => ["+", t]), ...b.map((t) => ["-", t])];
  const width = b.length + 1;
  // A comma at the end says only that something follows, so it makes no line different.
  const bare = (line) => (line.endsWith(",") ? line.slice(0, -1) : line);
  const left = a.map(bare);
  const right = b.map(bare);
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = left[i] === right[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const out = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && left[i] === right[j]) {
      out.push([" ", a[i].length >= b[j].length ? a[i] : b[j]]);
      i++;
      j++;
    } else if (i < a.length && (j === b.length || table[(i + 1) * width + j] >= table[i * width + j + 1])) out.push(["+", a[i++]]);
    else out.push(["-", b[j++]]);
  }
  return out;
}

// Long runs of common lines are cut to what stands next to a difference.
function folded(lines) {
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - 2), i + 3).some(([mark]) => mark !== " "));
  const out = [];
  let skipped = false;
  lines.forEach(([mark, text], i) => {
    if (near[i] || lines.length <= 16) out.push(`${mark} ${text}`);
    else if (out[out.length - 1] !== "...") {
      out.push("...");
      skipped = true;
    }
  });
  return { out: out.length > MAX_LINES * 2 ? [...out.slice(0, MAX_LINES * 2), "..."] : out, skipped };
}

function comparison(actual, expected, operator) {
  const a = show(actual).split("\n");
  const b = show(expected).split("\n");
  let head = operator;
  if (operator === "strictEqual" && isObject(actual) && typeof actual !== "function" && isObject(expected) && typeof expected !== "function") head = "strictEqualObject";
  const isShort = a.length === 1 && b.length === 1 && a[0] !== b[0];
  const simple = !isObject(actual) && !isObject(expected) && (actual !== 0 || expected !== 0);
  if (isShort && simple && a[0].length + b[0].length <= MAX_SHORT) return `${HEADS[head]}\n\n${a[0]} !== ${b[0]}\n`;
  if (a.join("\n") === b.join("\n")) return `${operator === "strictEqual" && isObject(actual) ? HEADS.notSame : HEADS.notIdentical}\n\n${a.slice(0, MAX_LINES).join("\n")}\n`;
  if (isShort && Math.max(a[0].length, b[0].length) < MAX_WIDTH) {
    let at = 0;
    while (a[0][at] === b[0][at]) at++;
    const mark = at > 2 ? `\n  ${" ".repeat(at)}^` : "";
    return `${HEADS[head]}\n+ actual - expected\n\n+ ${a[0]}\n- ${b[0]}${mark}`;
  }
  const { out, skipped } = folded(compareLines(a, b));
  return `${HEADS[head]}\n+ actual - expected${skipped ? " ... Lines skipped" : ""}\n\n${out.join("\n")}`;
}

function messageFor(actual, expected, operator) {
  if (operator === "deepStrictEqual" || operator === "strictEqual" || operator === "partialDeepStrictEqual") return comparison(actual, expected, operator);
  if (operator === "notDeepStrictEqual" || operator === "notStrictEqual") {
    const lines = show(actual).split("\n");
    const head = operator === "notStrictEqual" && isObject(actual) ? HEADS.notStrictEqualObject : HEADS[operator];
    const cut = lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES - 4), "..."] : lines;
    return cut.length === 1 ? `${head}${cut[0].length > 5 ? "\n\n" : " "}${cut[0]}` : `${head}\n\n${cut.join("\n")}\n`;
  }
  let left = show(actual);
  let right = show(expected);
  const clip = (text) => (text.length > 512 ? `${text.slice(0, 509)}...` : text);
  if (operator === "deepEqual") {
    left = `${HEADS.deepEqual}\n\n${clip(left)}\n\nshould loosely deep-equal\n\n`;
    return left + clip(right);
  }
  if (operator === "notDeepEqual") {
    if (left === right) return `${HEADS.notDeepEqual}\n\n${clip(left)}`;
    return `Expected values not to be loosely deep-equal:\n\n${clip(left)}\n\nshould not loosely deep-equal\n\n${clip(right)}`;
  }
  right = clip(right);
  return `${clip(left)} ${operator} ${right}`;
}

export class AssertionError extends Error {
  constructor(options) {
    if (options === null || typeof options !== "object") {
      throw Object.assign(new TypeError('The "options" argument must be of type object.'), { code: "ERR_INVALID_ARG_TYPE" });
    }
    const { message, operator, actual, expected, stackStartFn, stackStartFunction } = options;
    super(message != null ? String(message) : messageFor(actual, expected, operator));
    this.generatedMessage = message == null;
    Object.defineProperty(this, "name", { value: "AssertionError [ERR_ASSERTION]", enumerable: false, writable: true, configurable: true });
    this.code = "ERR_ASSERTION";
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    Error.captureStackTrace?.(this, stackStartFn ?? stackStartFunction);
    void this.stack;
    this.name = "AssertionError";
  }
  toString() {
    return `${this.name} [${this.code}]: ${this.message}`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](_depth, options) {
    return inspect(this, { ...options, customInspect: false, depth: 0 });
  }
}
