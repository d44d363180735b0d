// The text side of util.inspect: quoting of strings and keys, numbers, colours, and how entries are put on one or on
// several lines. Nothing here looks into objects.
import { native } from "jackfield:host";

export const ANSI = /[\u001B\u009B][[\]()#;?]*(?:(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?(?:\u0007|\u001B\u005C|\u009C))|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]))/g;

export const stripColors = (text) => (text.includes("\u001B") || text.includes("\u009B") ? text.replace(ANSI, "") : text);

// How many columns a text takes on a terminal.
export function columns(text) {
  const plain = stripColors(text);
  return /^[\x20-\x7E]*$/.test(plain) ? plain.length : native("width", plain);
}

export const COLORS = {
  reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27],
  hidden: [8, 28], strikethrough: [9, 29], doubleunderline: [21, 24], black: [30, 39], red: [31, 39], green: [32, 39],
  yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], bgBlack: [40, 49],
  bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49], bgCyan: [46, 49],
  bgWhite: [47, 49], framed: [51, 54], overlined: [53, 55], gray: [90, 39], redBright: [91, 39], greenBright: [92, 39],
  yellowBright: [93, 39], blueBright: [94, 39], magentaBright: [95, 39], cyanBright: [96, 39], whiteBright: [97, 39],
  bgGray: [100, 49], bgRedBright: [101, 49], bgGreenBright: [102, 49], bgYellowBright: [103, 49],
  bgBlueBright: [104, 49], bgMagentaBright: [105, 49], bgCyanBright: [106, 49], bgWhiteBright: [107, 49],
};
const ALIASES = {
  grey: "gray", blackBright: "gray", bgGrey: "bgGray", bgBlackBright: "bgGray", crossedout: "strikethrough",
  crossedOut: "strikethrough", strikeThrough: "strikethrough", faint: "dim", conceal: "hidden", swapcolors: "inverse",
  swapColors: "inverse", doubleUnderline: "doubleunderline",
};
for (const [alias, name] of Object.entries(ALIASES)) {
  Object.defineProperty(COLORS, alias, { get: () => COLORS[name], set(v) { COLORS[name] = v; }, configurable: true, enumerable: false });
}

export const STYLES = Object.assign(Object.create(null), {
  special: "cyan", number: "yellow", bigint: "yellow", boolean: "yellow", undefined: "grey", null: "bold",
  string: "green", symbol: "green", date: "magenta", regexp: "red", module: "underline",
});

export const withColor = (text, style) => {
  const color = COLORS[STYLES[style]];
  return color === undefined ? text : `\u001B[${color[0]}m${text}\u001B[${color[1]}m`;
};
export const withoutColor = (text) => text;

const SHORT = { "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\", "'": "\\'" };
// eslint-disable-next-line no-control-regex
const NEEDS_ESCAPE = /[\x00-\x1f\x27\x5c\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const NEEDS_ESCAPE_ALL = new RegExp(NEEDS_ESCAPE.source, "g");
const NEEDS_ESCAPE_BUT_QUOTE = new RegExp(NEEDS_ESCAPE.source.replace("\\x27", ""), "g");

const escapeOne = (c) => {
  const short = SHORT[c];
  if (short !== undefined) return short;
  const code = c.charCodeAt(0);
  if (code >= 0xd800) return `\\u${code.toString(16)}`;
  return `\\x${code.toString(16).toUpperCase().padStart(2, "0")}`;
};

// A string in quotes: single ones unless the text has them and another kind is free.
export function quote(text) {
  if (!NEEDS_ESCAPE.test(text)) return `'${text}'`;
  let mark = "'";
  if (text.includes("'")) {
    if (!text.includes('"')) mark = '"';
    else if (!text.includes("`") && !text.includes("${")) mark = "`";
  }
  return mark + text.replace(mark === "'" ? NEEDS_ESCAPE_ALL : NEEDS_ESCAPE_BUT_QUOTE, escapeOne) + mark;
}

export const PLAIN_KEY = /^[a-zA-Z_][a-zA-Z_0-9]*$/;

const separated = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "_");

export function numberText(n, separator) {
  if (Object.is(n, -0)) return "-0";
  const text = String(n);
  if (!separator || !/^-?\d+(\.\d+)?$/.test(text)) return text;
  const [whole, fraction] = text.split(".");
  const head = separated(whole);
  if (fraction === undefined) return head;
  return `${head}.${fraction.replace(/(\d{3})(?=\d)/g, "$1_")}`;
}

export const bigintText = (n, separator) => `${separator ? separated(String(n)) : n}n`;

const MIN_LINE = 16;

export function primitiveText(paint, value, ctx) {
  switch (typeof value) {
    case "string": {
      let rest = "";
      let text = value;
      if (text.length > ctx.maxStringLength) {
        const left = text.length - ctx.maxStringLength;
        text = text.slice(0, ctx.maxStringLength);
        rest = `... ${left} more character${left > 1 ? "s" : ""}`;
      }
      if (ctx.compact !== true && text.length > MIN_LINE && text.length > ctx.breakLength - ctx.indentation - 4) {
        const lines = text.split(/(?<=\n)/);
        return lines.map((line) => paint(quote(line), "string")).join(` +\n${" ".repeat(ctx.indentation + 2)}`) + rest;
      }
      return paint(quote(text), "string") + rest;
    }
    case "number": return paint(numberText(value, ctx.numericSeparator), "number");
    case "bigint": return paint(bigintText(value, ctx.numericSeparator), "bigint");
    case "boolean": return paint(String(value), "boolean");
    case "undefined": return paint("undefined", "undefined");
    default: return paint(symbolText(value), "symbol");
  }
}

export const symbolText = (value) => Symbol.prototype.toString.call(value).replace(NEEDS_ESCAPE_ALL, (c) => (c === "'" || c === "\\" ? c : escapeOne(c)));

// Many short entries of an array are laid out in columns. The constants decide how wide a block gets, and follow
// what Node prints.
function inColumns(ctx, output, value, extra) {
  let entries = output.length;
  if (extra > 0) entries--;
  const gap = 2;
  const widths = [];
  let total = 0;
  let widest = 0;
  for (let i = 0; i < entries; i++) {
    const width = columns(output[i]);
    widths.push(width);
    total += width + gap;
    if (width > widest) widest = width;
  }
  const cell = widest + gap;
  if (!(cell * 3 + ctx.indentation < ctx.breakLength && (total / cell > 5 || widest <= 6))) return output;
  const bias = Math.sqrt(cell - total / output.length);
  const biased = Math.max(cell - 3 - bias, 1);
  const perRow = Math.min(
    Math.round(Math.sqrt(2.5 * biased * entries) / biased),
    Math.floor((ctx.breakLength - ctx.indentation) / cell),
    ctx.compact * 4,
    15,
  );
  if (perRow <= 1) return output;
  const columnWidths = [];
  for (let column = 0; column < perRow; column++) {
    let width = 0;
    for (let i = column; i < entries; i += perRow) if (widths[i] > width) width = widths[i];
    columnWidths.push(width + gap);
  }
  const numeric = value !== undefined && output.every((_, i) => typeof value[i] === "number" || typeof value[i] === "bigint");
  const rows = [];
  for (let start = 0; start < entries; start += perRow) {
    const end = Math.min(start + perRow, entries);
    let row = "";
    for (let i = start; i < end; i++) {
      const isLast = i === end - 1;
      const text = isLast ? output[i] : `${output[i]}, `;
      const width = widths[i] + (isLast ? 0 : gap);
      const wanted = columnWidths[i - start] - (isLast ? gap : 0);
      const pad = " ".repeat(Math.max(0, wanted - width));
      if (numeric) row += pad + text;
      else row += isLast ? text : text + pad;
    }
    rows.push(row);
  }
  if (extra > 0) rows.push(output[entries]);
  return rows;
}

function fits(ctx, output, start, base) {
  let total = output.length + start;
  if (total + output.length > ctx.breakLength) return false;
  for (const entry of output) {
    total += ctx.colors ? stripColors(entry).length : entry.length;
    if (total > ctx.breakLength) return false;
  }
  return base === "" || !base.includes("\n");
}

// Puts the entries of one object between its braces.
export function layOut(ctx, entriesIn, base, braces, isArray, depth, value, extra) {
  let output = entriesIn;
  const head = base ? `${base} ` : "";
  if (ctx.compact !== true) {
    if (typeof ctx.compact === "number" && ctx.compact >= 1) {
      const before = output.length;
      if (isArray && before > 6) output = inColumns(ctx, output, value, extra);
      if (ctx.currentDepth - depth < ctx.compact && before === output.length) {
        const start = output.length + ctx.indentation + braces[0].length + base.length + 10;
        if (fits(ctx, output, start, base)) {
          const joined = output.join(", ");
          if (!joined.includes("\n")) return `${head}${braces[0]} ${joined} ${braces[1]}`;
        }
      }
    }
    const indent = `\n${" ".repeat(ctx.indentation)}`;
    return `${head}${braces[0]}${indent}  ${output.join(`,${indent}  `)}${indent}${braces[1]}`;
  }
  if (fits(ctx, output, 0, base)) return `${braces[0]}${base ? ` ${base}` : ""} ${output.join(", ")} ${braces[1]}`;
  const indent = `\n${" ".repeat(ctx.indentation)}`;
  const line = base === "" && braces[0].length === 1 ? " " : `${base ? ` ${base}` : ""}\n${indent.slice(1)}  `;
  return `${braces[0]}${line}${output.join(`,${indent}  `)} ${braces[1]}`;
}
