// What util.inspect shows for each built-in kind of object: maps, sets, typed arrays, buffers, functions and classes,
// errors, dates, boxed primitives, promises and so on. A description has either `done` (the finished text), or `open`
// and `close` with `entries(depth)` for what the kind shows besides its `keys`.
import { native } from "jackfield:host";
import { kNodeError } from "jackfield:node/internal/errors";
import { formatValue, moreItems, otherKeys, prefixOf } from "jackfield:node/internal/inspect";
import { primitiveText } from "jackfield:node/internal/inspect_text";
import * as types from "jackfield:node/internal/types";

export function describeKind(ctx, value, depth, typed, name, tag, keys) {
  if (typeof value === "function") {
    const base = isClass(value) ? classBase(value, name, tag) : functionBase(value, name, tag);
    return finished(ctx, depth, keys, base, "special", name, tag);
  }
  const iterable = iterableKind(ctx, value, depth, name, tag, keys);
  if (iterable !== undefined) return iterable;
  const object = (fallback, entries, ownKeys = keys) => ({
    name, tag, base: "", open: `${prefixOf(name, tag, fallback)}{`, close: "}", isArray: false, keys: ownKeys, entries,
  });
  if (types.isArgumentsObject(value)) {
    return { name, tag, base: "", open: "[Arguments] {", close: "}", isArray: false, keys, entries: () => [] };
  }
  if (types.isNativeError(value) || value instanceof Error) return errorKind(ctx, value, depth, name, tag, keys);
  if (types.isRegExp(value)) {
    const prefix = prefixOf(name, tag, "RegExp");
    const text = RegExp.prototype.toString.call(name === null ? new RegExp(value) : value);
    return finished(ctx, depth, keys, prefix === "RegExp " ? text : prefix + text, "regexp", name, tag);
  }
  if (types.isDate(value)) {
    const time = Date.prototype.getTime.call(value);
    const text = Number.isNaN(time) ? "Invalid Date" : new Date(time).toISOString();
    const prefix = prefixOf(name, tag, "Date");
    return finished(ctx, depth, keys, prefix === "Date " ? text : prefix + text, "date", name, tag);
  }
  if (types.isAnyArrayBuffer(value)) {
    const fallback = types.isArrayBuffer(value) ? "ArrayBuffer" : "SharedArrayBuffer";
    if (typed !== undefined && keys.length === 0) {
      return { done: `${prefixOf(name, tag, fallback)}{ byteLength: ${primitiveText(ctx.paint, value.byteLength, ctx)} }` };
    }
    return object(fallback, () => (typed === undefined ? [contents(ctx, value)] : []), ["byteLength", ...keys]);
  }
  if (types.isDataView(value)) return object("DataView", () => [], ["byteLength", "byteOffset", "buffer", ...keys]);
  if (types.isPromise(value)) return object("Promise", (inner) => promiseEntries(ctx, value, inner));
  if (types.isWeakSet(value)) return object("WeakSet", () => [ctx.paint("<items unknown>", "special")]);
  if (types.isWeakMap(value)) return object("WeakMap", () => [ctx.paint("<items unknown>", "special")]);
  if (types.isModuleNamespaceObject(value)) {
    return { name, tag, base: "", open: "[Module: null prototype] {", close: "}", isArray: false, keys, entries: () => [] };
  }
  if (types.isBoxedPrimitive(value)) return boxedKind(ctx, value, depth, name, tag, keys);
  if (typeof WeakRef === "function" && value instanceof WeakRef) {
    return object("WeakRef", (inner) => [formatValue(ctx, WeakRef.prototype.deref.call(value), inner)]);
  }
  if (tag !== "" && keys.length === 0) return { done: `${prefixOf(name, tag, "Object")}{}` };
  return undefined;
}

// A kind that is one word, with braces only for additional keys.
function finished(ctx, depth, keys, base, style, name, tag) {
  if (keys.length === 0 || (style !== "special" && ctx.depth !== null && depth > ctx.depth)) return { done: ctx.paint(base, style) };
  return { name, tag, base, open: "{", close: "}", isArray: false, keys, entries: () => [] };
}

function iterableKind(ctx, value, depth, name, tag, keys) {
  if (types.isSet(value) || types.isMap(value)) {
    const map = types.isMap(value);
    const size = (map ? sizeOfMap : sizeOfSet).call(value);
    const prefix = prefixOf(name, tag, map ? "Map" : "Set", `(${size})`);
    if (size === 0 && keys.length === 0) return { done: `${prefix}{}` };
    const entries = (inner) => collectionEntries(ctx, value, map, size, inner);
    return { name, tag, base: "", open: `${prefix}{`, close: "}", isArray: false, keys, entries };
  }
  if (types.isTypedArray(value)) {
    const prefix = prefixOf(name, tag, types.typedArrayName(value), `(${value.length})`);
    const others = otherKeys(value, ctx.showHidden);
    if (value.length === 0 && others.length === 0 && !ctx.showHidden) return { done: `${prefix}[]` };
    return { name, tag, base: "", open: `${prefix}[`, close: "]", isArray: true, keys: others, entries: (inner) => typedEntries(ctx, value, inner) };
  }
  if (types.isMapIterator(value) || types.isSetIterator(value)) {
    return { name, tag, base: "", open: `[${tag}] {`, close: "}", isArray: false, keys, entries: () => [ctx.paint("<items unknown>", "special")] };
  }
  return undefined;
}

const sizeOfMap = Object.getOwnPropertyDescriptor(Map.prototype, "size").get;
const sizeOfSet = Object.getOwnPropertyDescriptor(Set.prototype, "size").get;

function collectionEntries(ctx, value, map, size, depth) {
  const out = [];
  const limit = Math.min(Math.max(0, ctx.maxArrayLength), size);
  ctx.indentation += 2;
  const walk = map ? Map.prototype.entries.call(value) : Set.prototype.values.call(value);
  for (const entry of walk) {
    if (out.length >= limit) break;
    out.push(map ? `${formatValue(ctx, entry[0], depth)} => ${formatValue(ctx, entry[1], depth)}` : formatValue(ctx, entry, depth));
  }
  if (size > limit) out.push(moreItems(size - limit));
  ctx.indentation -= 2;
  return out;
}

function typedEntries(ctx, value, depth) {
  const limit = Math.min(Math.max(0, ctx.maxArrayLength), value.length);
  const out = [];
  for (let i = 0; i < limit; i++) out.push(primitiveText(ctx.paint, value[i], ctx));
  if (value.length > limit) out.push(moreItems(value.length - limit));
  if (ctx.showHidden) {
    ctx.indentation += 2;
    for (const key of ["BYTES_PER_ELEMENT", "length", "byteLength", "byteOffset", "buffer"]) {
      out.push(`[${key}]: ${formatValue(ctx, value[key], depth, true)}`);
    }
    ctx.indentation -= 2;
  }
  return out;
}

function contents(ctx, buffer) {
  let bytes;
  try {
    bytes = new Uint8Array(buffer);
  } catch {
    return ctx.paint("(detached)", "special");
  }
  const limit = Math.min(Math.max(0, ctx.maxArrayLength), bytes.length);
  let text = Array.from(bytes.subarray(0, limit), (b) => b.toString(16).padStart(2, "0")).join(" ");
  const left = bytes.length - limit;
  if (left > 0) text += ` ... ${left} more byte${left > 1 ? "s" : ""}`;
  return `${ctx.paint("[Uint8Contents]", "special")}: <${text}>`;
}

let canAskState = true;
function stateOf(promise) {
  if (!canAskState) return undefined;
  try {
    return native("promise_state", promise);
  } catch {
    canAskState = false;
    return undefined;
  }
}

function promiseEntries(ctx, value, depth) {
  const state = stateOf(value);
  if (!Array.isArray(state) || state[0] === "pending") return [ctx.paint("<pending>", "special")];
  ctx.indentation += 2;
  const text = formatValue(ctx, state[1], depth);
  ctx.indentation -= 2;
  return [state[0] === "rejected" ? `${ctx.paint("<rejected>", "special")} ${text}` : text];
}

// Where the engine keeps no sources, a class shows by its `prototype`, which cannot be written. So does that of a
// built-in constructor, which is known by its global.
function isClass(value) {
  const source = Function.prototype.toString.call(value);
  if (!source.includes("[native code]")) return /^class[\s{]/.test(source);
  if (Object.getOwnPropertyDescriptor(value, "prototype")?.writable !== false || types.isGeneratorFunction(value)) return false;
  return Object.getOwnPropertyDescriptor(globalThis, value.name)?.value !== value;
}

function classBase(value, name, tag) {
  const own = Object.hasOwn(value, "name") ? value.name : "";
  let base = `class ${own || "(anonymous)"}`;
  if (name !== "Function" && name !== null) base += ` [${name}]`;
  if (tag !== "" && name !== tag) base += ` [${tag}]`;
  if (name === null) return `[${base} extends [null prototype]]`;
  const parent = Object.getPrototypeOf(value)?.name;
  return parent ? `[${base} extends ${parent}]` : `[${base}]`;
}

function functionBase(value, name, tag) {
  let type = "Function";
  if (types.isGeneratorFunction(value)) type = `Generator${type}`;
  if (types.isAsyncFunction(value)) type = `Async${type}`;
  let base = `[${type}${name === null ? " (null prototype)" : ""}`;
  base += value.name === "" || typeof value.name !== "string" ? " (anonymous)]" : `: ${value.name}]`;
  if (name !== type && name !== null) base += ` ${name}`;
  return tag !== "" && name !== tag ? `${base} [${tag}]` : base;
}

function boxedKind(ctx, value, depth, name, tag, keysIn) {
  let keys = keysIn;
  let type;
  let primitive;
  if (types.isNumberObject(value)) [type, primitive] = ["Number", Number.prototype.valueOf.call(value)];
  else if (types.isStringObject(value)) {
    [type, primitive] = ["String", String.prototype.valueOf.call(value)];
    keys = keys.slice(primitive.length);
  } else if (types.isBooleanObject(value)) [type, primitive] = ["Boolean", Boolean.prototype.valueOf.call(value)];
  else if (types.isBigIntObject(value)) [type, primitive] = ["BigInt", BigInt.prototype.valueOf.call(value)];
  else [type, primitive] = ["Symbol", Symbol.prototype.valueOf.call(value)];
  let base = `[${type}`;
  if (name !== type) base += name === null ? " (null prototype)" : ` (${name})`;
  base += `: ${primitiveText((text) => text, primitive, { ...ctx, breakLength: Infinity })}]`;
  if (tag !== "" && tag !== name) base += ` [${tag}]`;
  if (keys.length === 0) return { done: ctx.paint(base, type.toLowerCase()) };
  return { name, tag, base, open: "{", close: "}", isArray: false, keys, entries: () => [] };
}

// The stack with its first line. Some engines keep only the frames in `stack`.
export function stackOf(error) {
  const header = () => {
    if (error[kNodeError] && typeof error.code === "string") return `${error.name} [${error.code}]: ${error.message}`;
    try {
      return Error.prototype.toString.call(error);
    } catch {
      return "Error";
    }
  };
  const stack = error.stack;
  if (typeof stack !== "string" || stack === "") return stack ? String(stack) : header();
  if (!/^\s+at /.test(stack)) return stack;
  return `${header()}\n${stack.replace(/\n+$/, "")}`;
}

// The class name in front of the message, when the first line names another class.
function withClass(stack, className, name, tag) {
  let length = name.length;
  const regular = name.endsWith("Error") && stack.startsWith(name) && (stack.length === length || stack[length] === ":" || stack[length] === "\n");
  if (className !== null && !regular) return stack;
  let fallback = "Error";
  if (className === null) {
    const start = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n\s+at)/.exec(stack) ?? /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
    fallback = start?.[1] ?? "";
    length = fallback.length;
    fallback ||= "Error";
  }
  const prefix = prefixOf(className, tag, fallback).slice(0, -1);
  if (name === prefix) return stack;
  if (!prefix.includes(name)) return `${prefix} [${name}]${stack.slice(length)}`;
  return length === 0 ? `${prefix}: ${stack}` : `${prefix}${stack.slice(length)}`;
}

function errorKind(ctx, error, depth, className, tag, keysIn) {
  const name = error.name != null ? String(error.name) : "Error";
  // Comparisons leave the frames out: they say where an error was made, not what it is.
  let stack = ctx.plainErrors ? String(error) : stackOf(error);
  let keys = keysIn;
  if (!ctx.showHidden) {
    keys = keys.filter((key) => {
      if (key !== "name" && key !== "message" && key !== "stack") return true;
      return !(typeof error[key] !== "string" || stack.includes(error[key]));
    });
  }
  if ("cause" in error && !keys.includes("cause")) keys.push("cause");
  if (Array.isArray(error.errors) && !keys.includes("errors")) keys.push("errors");
  stack = withClass(stack, className, name, tag);
  const message = typeof error.message === "string" ? error.message : "";
  let from = message === "" ? -1 : stack.indexOf(message);
  if (from !== -1) from += message.length;
  if (stack.indexOf("\n    at", Math.max(from, 0)) === -1) stack = `[${stack}]`;
  if (ctx.indentation !== 0) stack = stack.replaceAll("\n", `\n${" ".repeat(ctx.indentation)}`);
  if (keys.length === 0) return { done: stack };
  return { name: className, tag, base: stack, open: "{", close: "}", isArray: false, keys, entries: () => [] };
}
