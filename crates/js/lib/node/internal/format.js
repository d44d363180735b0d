// util.format and util.formatWithOptions: printf-like placeholders, and everything else inspected.
import { checkOptions, inspect } from "jackfield:node/internal/inspect";
import { bigintText, numberText } from "jackfield:node/internal/inspect_text";

export const format = (...args) => formatArgs(undefined, args);

export function formatWithOptions(options, ...args) {
  checkOptions(options);
  return formatArgs(options, args);
}

function json(value) {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (/circular/i.test(String(error?.message))) return "[Circular]";
    throw error;
  }
}

// Whether String(value) would say something: the class, or the object itself, has a toString that is not built in.
function ownText(value) {
  if (typeof value.toString !== "function") return false;
  if (Object.hasOwn(value, "toString") || Object.hasOwn(value, Symbol.toPrimitive)) return true;
  let object = value;
  while ((object = Object.getPrototypeOf(object)) !== null) {
    if (!Object.hasOwn(object, "toString") && !Object.hasOwn(object, Symbol.toPrimitive)) continue;
    const maker = Object.getOwnPropertyDescriptor(object, "constructor")?.value;
    return !(typeof maker === "function" && isBuiltIn(maker));
  }
  return false;
}
// Constructors of the language, whose texts say less than inspect does. A class of the web or of a script has its own.
let builtIn;
const isBuiltIn = (maker) => {
  builtIn ??= new Set([
    Object, Function, Array, Date, RegExp, Map, Set, WeakMap, WeakSet, Promise, ArrayBuffer, DataView, String, Number, Boolean,
    Symbol, BigInt, Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError,
    Object.getPrototypeOf(Uint8Array),
  ]);
  return builtIn.has(maker);
};

function placeholder(kind, value, options) {
  switch (kind) {
    case "s":
      if (typeof value === "number") return numberText(value, options?.numericSeparator);
      if (typeof value === "bigint") return bigintText(value, options?.numericSeparator);
      if (typeof value !== "object" || value === null || ownText(value)) return String(value);
      return inspect(value, { ...options, compact: 3, colors: false, depth: 0 });
    case "d":
      if (typeof value === "bigint") return bigintText(value, options?.numericSeparator);
      return typeof value === "symbol" ? "NaN" : numberText(Number(value), options?.numericSeparator);
    case "i":
      if (typeof value === "bigint") return bigintText(value, options?.numericSeparator);
      return typeof value === "symbol" ? "NaN" : numberText(Number.parseInt(value), options?.numericSeparator);
    case "f": return typeof value === "symbol" ? "NaN" : numberText(Number.parseFloat(value), options?.numericSeparator);
    case "j": return json(value);
    case "o": return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
    case "O": return inspect(value, options);
    default: return "";
  }
}

export function formatArgs(options, args) {
  if (args.length === 1 && typeof args[0] === "string") return args[0];
  let used = 0;
  let text = "";
  if (typeof args[0] === "string") {
    used = 1;
    text = args[0].replace(/%[sdifjoOc%]/g, (mark) => {
      if (mark === "%%") return "%";
      if (used >= args.length) return mark;
      return placeholder(mark[1], args[used++], options);
    });
  }
  for (let i = used; i < args.length; i++) {
    if (i > 0) text += " ";
    text += typeof args[i] === "string" ? args[i] : inspect(args[i], options);
  }
  return text;
}
