// util.inspect: any value as text, laid out as Node does it. This file has the walk through objects and their
// properties; what is special about each built-in kind is in inspect_kinds, quoting and line breaking in inspect_text.
// Not visible from JavaScript: what is behind a proxy (its traps are used) and the entries of iterators and weak
// collections.
import { describeKind } from "jackfield:node/internal/inspect_kinds";
import { COLORS, PLAIN_KEY, STYLES, layOut, primitiveText, quote, symbolText, withColor, withoutColor } from "jackfield:node/internal/inspect_text";
import { invalidArgType, validateObject } from "jackfield:node/internal/errors";

const custom = Symbol.for("nodejs.util.inspect.custom");

const defaults = {
  showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
  maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
};

export function inspect(value, options, ...legacy) {
  const ctx = { ...defaults, seen: [], indentation: 0, currentDepth: 0, circular: undefined, userOptions: undefined, paint: withoutColor };
  if (typeof options === "boolean") {
    ctx.showHidden = options;
    if (legacy[0] !== undefined) ctx.depth = legacy[0];
    if (legacy[1] !== undefined) ctx.colors = legacy[1];
  } else if (options) {
    for (const key of Object.keys(options)) {
      if (Object.hasOwn(defaults, key) || key === "stylize" || key === "plainErrors") ctx[key] = options[key];
    }
    ctx.userOptions = options;
  }
  if (ctx.colors) ctx.paint = withColor;
  if (ctx.maxArrayLength === null) ctx.maxArrayLength = Infinity;
  if (ctx.maxStringLength === null) ctx.maxStringLength = Infinity;
  return formatValue(ctx, value, 0);
}

inspect.custom = custom;
inspect.colors = COLORS;
inspect.styles = STYLES;
Object.defineProperty(inspect, "defaultOptions", {
  get: () => defaults,
  set(options) {
    validateObject(options, "options");
    Object.assign(defaults, options);
  },
});

function optionsFor(ctx, depth) {
  const options = { stylize: ctx.paint, ...ctx.userOptions };
  for (const key of Object.keys(defaults)) options[key] = ctx[key];
  options.depth = depth;
  return options;
}

const indented = (ctx, text) => (text.includes("\n") ? text.replaceAll("\n", `\n${" ".repeat(ctx.indentation)}`) : text);

export function formatValue(ctx, value, depth, typed) {
  if (value === null) return ctx.paint("null", "null");
  if (typeof value !== "object" && typeof value !== "function") return primitiveText(ctx.paint, value, ctx);
  if (ctx.customInspect) {
    const own = value[custom];
    if (typeof own === "function" && own !== inspect) {
      const isPrototype = Object.getOwnPropertyDescriptor(value, "constructor")?.value?.prototype === value;
      if (!isPrototype) {
        const left = ctx.depth === null ? null : ctx.depth - depth;
        const made = own.call(value, left, optionsFor(ctx, left), inspect);
        if (made !== value) return typeof made === "object" && made !== null ? formatValue(ctx, made, depth) : indented(ctx, String(made));
      }
    }
  }
  if (ctx.seen.includes(value)) {
    ctx.circular ??= new Map();
    if (!ctx.circular.has(value)) ctx.circular.set(value, ctx.circular.size + 1);
    return ctx.paint(`[Circular *${ctx.circular.get(value)}]`, "special");
  }
  return formatObject(ctx, value, depth, typed);
}

function instanceOf(value, Class) {
  try {
    return value instanceof Class;
  } catch {
    return false;
  }
}

// The name of the class a value was made by, or null when nothing in its prototype chain says.
export function classNameOf(value, ctx, depth) {
  let object = value;
  let first;
  while (object) {
    const maker = Object.getOwnPropertyDescriptor(object, "constructor")?.value;
    if (typeof maker === "function" && maker.name !== "" && instanceOf(value, maker)) return String(maker.name);
    object = Object.getPrototypeOf(object);
    first ??= { object };
  }
  if (first.object === null) return null;
  const own = typeof value === "function" ? "Function" : Object.prototype.toString.call(value).slice(8, -1);
  if (ctx.depth !== null && depth > ctx.depth) return `${own} <Complex prototype>`;
  const parent = classNameOf(first.object, ctx, depth + 1);
  return parent === null ? `${own} <${inspect(first.object, { ...ctx, customInspect: false, depth: -1 })}>` : `${own} <${parent}>`;
}

export function prefixOf(name, tag, fallback, size = "") {
  if (name === null) {
    return tag !== "" && fallback !== tag ? `[${fallback}${size}: null prototype] [${tag}] ` : `[${fallback}${size}: null prototype] `;
  }
  return tag !== "" && name !== tag ? `${name}${size} [${tag}] ` : `${name}${size} `;
}

function keysOf(value, showHidden) {
  const symbols = Object.getOwnPropertySymbols(value);
  if (showHidden) return symbols.length === 0 ? Object.getOwnPropertyNames(value) : Object.getOwnPropertyNames(value).concat(symbols);
  const keys = Object.keys(value);
  if (symbols.length === 0) return keys;
  return keys.concat(symbols.filter((key) => Object.prototype.propertyIsEnumerable.call(value, key)));
}

// A kind describes a value as { base, open, close, entries, isArray, keys, done }: see inspect_kinds.
function describe(ctx, value, depth, typed) {
  const name = classNameOf(value, ctx, depth);
  let tag = value[Symbol.toStringTag];
  const listed = ctx.showHidden ? Object.prototype.hasOwnProperty : Object.prototype.propertyIsEnumerable;
  if (typeof tag !== "string" || (tag !== "" && listed.call(value, Symbol.toStringTag))) tag = "";
  if (Array.isArray(value)) {
    const prefix = name !== "Array" || tag !== "" ? prefixOf(name, tag, "Array", `(${value.length})`) : "";
    const keys = otherKeys(value, ctx.showHidden);
    if (value.length === 0 && keys.length === 0) return { done: `${prefix}[]` };
    return { name, tag, base: "", open: `${prefix}[`, close: "]", isArray: true, keys, entries: (inner) => arrayEntries(ctx, value, inner) };
  }
  const keys = keysOf(value, ctx.showHidden);
  const plain = Object.getPrototypeOf(value);
  if (typeof value === "object" && (plain === Object.prototype || plain === null) && tag === "" && !(Symbol.iterator in value)) {
    if (Object.prototype.toString.call(value) === "[object Object]") return plainObject(name, tag, keys);
  }
  return describeKind(ctx, value, depth, typed, name, tag, keys) ?? plainObject(name, tag, keys);
}

function plainObject(name, tag, keys) {
  const prefix = name === "Object" && tag === "" ? "" : prefixOf(name, tag, "Object");
  if (keys.length === 0) return { done: `${prefix}{}` };
  return { name, tag, base: "", open: `${prefix}{`, close: "}", isArray: false, keys, entries: () => [] };
}

// Own keys that are not array indices.
export function otherKeys(value, showHidden) {
  const index = /^(?:0|[1-9]\d*)$/;
  if (!showHidden) {
    const symbols = Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
    const keys = Object.keys(value);
    if (keys.length === value.length) return symbols.length === 0 && (keys.length === 0 || index.test(keys[keys.length - 1])) ? [] : keys.filter((key) => !index.test(key)).concat(symbols);
    return keys.filter((key) => !(index.test(key) && Number(key) < 4294967295)).concat(symbols);
  }
  return keysOf(value, true).filter((key) => typeof key === "symbol" || !index.test(key));
}

export const moreItems = (n) => `... ${n} more item${n > 1 ? "s" : ""}`;

function arrayEntries(ctx, value, depth) {
  const out = [];
  const limit = Math.min(Math.max(0, ctx.maxArrayLength), value.length);
  let i = 0;
  while (i < value.length && out.length < limit) {
    if (Object.hasOwn(value, i)) {
      out.push(formatProperty(ctx, value, depth, i, true));
      i++;
      continue;
    }
    // A hole can be huge, so its end is looked up among the keys instead of counted.
    let next = i + 1;
    while (next < value.length && next - i < 1000 && !Object.hasOwn(value, next)) next++;
    if (next - i >= 1000) next = Number(Object.keys(value).find((key) => Number(key) > i) ?? value.length);
    if (Number.isNaN(next)) next = value.length;
    const holes = next - i;
    out.push(ctx.paint(`<${holes} empty item${holes > 1 ? "s" : ""}>`, "undefined"));
    i = next;
  }
  if (i < value.length) out.push(moreItems(value.length - i));
  return out;
}

function formatObject(ctx, value, depth, typed) {
  const kind = describe(ctx, value, depth, typed);
  if (kind.done !== undefined) return kind.done;
  if (ctx.depth !== null && depth > ctx.depth) {
    const name = prefixOf(kind.name, kind.tag, kind.isArray ? "Array" : "Object").slice(0, -1);
    return ctx.paint(kind.name === null ? name : `[${name}]`, "special");
  }
  const inner = depth + 1;
  ctx.seen.push(value);
  ctx.currentDepth = inner;
  let output;
  let extra = 0;
  const indentation = ctx.indentation;
  try {
    output = kind.entries(inner);
    extra = kind.isArray && ctx.maxArrayLength < output.length ? 1 : 0;
    for (const key of kind.keys) output.push(formatProperty(ctx, value, inner, key, false));
  } catch (error) {
    if (!/stack/i.test(String(error?.message)) || !(error instanceof RangeError || error?.name === "InternalError")) throw error;
    ctx.indentation = indentation;
    ctx.seen.pop();
    return ctx.paint(`[${prefixOf(kind.name, kind.tag, "Object").slice(0, -1)}: Inspection interrupted prematurely. Maximum call stack size exceeded.]`, "special");
  }
  ctx.seen.pop();
  let { base, open } = kind;
  const reference = ctx.circular?.get(value);
  if (reference !== undefined) {
    const mark = ctx.paint(`<ref *${reference}>`, "special");
    if (ctx.compact !== true) base = base === "" ? mark : `${mark} ${base}`;
    else open = `${mark} ${open}`;
  }
  if (ctx.sorted) {
    const compare = ctx.sorted === true ? undefined : ctx.sorted;
    if (!kind.isArray) output.sort(compare);
    else if (kind.keys.length > 1) {
      const at = output.length - kind.keys.length;
      output = output.slice(0, at).concat(output.slice(at).sort(compare));
    }
  }
  return layOut(ctx, output, base, [open, kind.close], kind.isArray, inner, kind.isArray ? value : undefined, extra);
}

function getterText(ctx, value, depth, key, descriptor) {
  const label = descriptor.set !== undefined ? "Getter/Setter" : "Getter";
  const wanted = ctx.getters === true || (ctx.getters === "get" && descriptor.set === undefined) || (ctx.getters === "set" && descriptor.set !== undefined);
  if (!wanted) return ctx.paint(`[${label}]`, "special");
  try {
    const got = descriptor.get.call(value);
    ctx.indentation += 2;
    let text;
    if (got === null) text = `${ctx.paint(`[${label}:`, "special")} ${ctx.paint("null", "null")}${ctx.paint("]", "special")}`;
    else if (typeof got === "object") text = `${ctx.paint(`[${label}]`, "special")} ${formatValue(ctx, got, depth)}`;
    else text = `${ctx.paint(`[${label}:`, "special")} ${primitiveText(ctx.paint, got, ctx)}${ctx.paint("]", "special")}`;
    ctx.indentation -= 2;
    return text;
  } catch (error) {
    return `${ctx.paint(`[${label}: <Inspection threw (${error?.message})>`, "special")}${ctx.paint("]", "special")}`;
  }
}

// One property as "key: value", or only the value when it is an element.
export function formatProperty(ctx, value, depth, key, element) {
  const descriptor = Object.getOwnPropertyDescriptor(value, key) ?? { value: value[key], enumerable: true };
  let text;
  let gap = " ";
  if (descriptor.value !== undefined) {
    const step = ctx.compact !== true || element ? 2 : 3;
    ctx.indentation += step;
    text = formatValue(ctx, descriptor.value, depth);
    if (step === 3 && ctx.breakLength < text.length) gap = `\n${" ".repeat(ctx.indentation)}`;
    ctx.indentation -= step;
  } else if (descriptor.get !== undefined) text = getterText(ctx, value, depth, key, descriptor);
  else if (descriptor.set !== undefined) text = ctx.paint("[Setter]", "special");
  else text = ctx.paint("undefined", "undefined");
  if (element) return text;
  let name;
  if (typeof key === "symbol") {
    name = ctx.paint(symbolText(key), "symbol");
    name = `[${name}]`;
  } else if (key === "__proto__") name = "['__proto__']";
  else if (descriptor.enumerable === false) name = `[${quote(key).slice(1, -1)}]`;
  else if (PLAIN_KEY.test(key)) name = ctx.paint(key, "name");
  else name = ctx.paint(quote(key), "string");
  return `${name}:${gap}${text}`;
}

export function checkOptions(options) {
  if (options !== null && typeof options === "object") return;
  throw invalidArgType("inspectOptions", "object", options);
}
