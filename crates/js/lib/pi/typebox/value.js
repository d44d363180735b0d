// `typebox/value`: checking values and making them fit. Each function takes `(schema, value)` or `(context, schema, value)`,
// where the context has schemas for references.

import { schemaErrors } from "jackfield:pi/typebox/errors";
import { same } from "jackfield:pi/runtime/schema";
import { Create as create, Convert as convert, Default as fill, Clean as clean, Repair as repair, code } from "jackfield:pi/typebox/transform";
import { native } from "jackfield:host";

const split = (args, count) => (args.length > count ? args : [{}, ...args]);

export class AssertError extends Error {
  constructor(source, value, errors) {
    super(source);
    Object.defineProperty(this, "cause", { value: { source, errors, value }, writable: false, configurable: false, enumerable: false });
  }
}
export class ParseError extends AssertError {}
export class DecodeError extends AssertError {}
export class EncodeError extends AssertError {}
export class CreateError extends Error {}

export function Check(...args) {
  const [context, schema, value] = split(args, 2);
  return schemaErrors(schema, value, context).length === 0;
}

export function Errors(...args) {
  const [context, schema, value] = split(args, 2);
  return schemaErrors(schema, value, context);
}

export function Assert(...args) {
  const [context, schema, value] = split(args, 2);
  const errors = schemaErrors(schema, value, context);
  if (errors.length > 0) throw new AssertError("Assert", value, errors);
}

/** The value, if it is right as it is. */
export function Parse(...args) {
  const [context, schema, value] = split(args, 2);
  const errors = schemaErrors(schema, value, context);
  if (errors.length > 0) throw new ParseError("Parse", value, errors);
  return value;
}

export function Default(...args) {
  const [context, schema, value] = split(args, 2);
  return fill(schema, value, { root: schema, context });
}

export function Clean(...args) {
  const [context, schema, value] = split(args, 2);
  return clean(schema, value, { root: schema, context });
}

export function Convert(...args) {
  const [context, schema, value] = split(args, 2);
  return convert(schema, value, { root: schema, context });
}

export function Create(...args) {
  const [context, schema] = split(args, 1);
  return create(schema, { root: schema, context });
}

export function Repair(...args) {
  const [context, schema, value] = split(args, 2);
  return repair(schema, Clone(value), { root: schema, context });
}
export const Cast = Repair;

/** Defaults, conversion and cleaning first, then the codecs. */
export function Decode(...args) {
  const [context, schema, value] = split(args, 2);
  const cx = { root: schema, context };
  const prepared = clean(schema, convert(schema, fill(schema, Clone(value), cx), cx), cx);
  const errors = schemaErrors(schema, prepared, context);
  if (errors.length > 0) throw new DecodeError("Decode", prepared, errors);
  return code(schema, prepared, cx, "decode");
}

export function Encode(...args) {
  const [context, schema, value] = split(args, 2);
  const cx = { root: schema, context };
  const coded = code(schema, Clone(value), cx, "encode");
  const prepared = clean(schema, convert(schema, fill(schema, coded, cx), cx), cx);
  const errors = schemaErrors(schema, prepared, context);
  if (errors.length > 0) throw new EncodeError("Encode", prepared, errors);
  return prepared;
}

export const DecodeUnsafe = (context, schema, value) => code(schema, value, { root: schema, context }, "decode");
export const EncodeUnsafe = (context, schema, value) => code(schema, value, { root: schema, context }, "encode");

export function HasCodec(...args) {
  const [, schema] = split(args, 1);
  const seen = new Set();
  const search = (one) => {
    if (typeof one !== "object" || one === null || seen.has(one)) return false;
    seen.add(one);
    return one["~codec"] !== undefined || Object.values(one).some(search);
  };
  return search(schema);
}

export function Clone(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(Clone);
  if (ArrayBuffer.isView(value)) return value.slice();
  if (value instanceof Map) return new Map([...value].map(([key, one]) => [Clone(key), Clone(one)]));
  if (value instanceof Set) return new Set([...value].map(Clone));
  if (value instanceof Date) return new Date(value);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, Clone(one)]));
}

export const Equal = (left, right) => same(left, right);

/** A stable digest of a value. The digits differ from TypeBox's own, which nobody can rely on between versions. */
export function Hash(value) {
  const sorted = (one) => {
    if (typeof one === "bigint" || typeof one === "symbol" || typeof one === "function" || one === undefined) return [typeof one, String(one)];
    if (typeof one !== "object" || one === null) return one;
    if (Array.isArray(one)) return ["list", ...one.map(sorted)];
    return ["map", ...Object.keys(one).sort().map((key) => [key, sorted(one[key])])];
  };
  let hash = 0xcbf29ce484222325n;
  for (const byte of native("utf8_encode", JSON.stringify(sorted(value)))) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, "0");
}

const escape = (key) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");
const isTree = (value) => typeof value === "object" && value !== null;

/** What to insert, update and delete to get from one value to another. */
export function Diff(left, right, path = "") {
  if (same(left, right)) return [];
  if (!isTree(left) || !isTree(right) || Array.isArray(left) !== Array.isArray(right)) return [{ type: "update", path, value: Clone(right) }];
  const [old, now] = [Object.keys(left), Object.keys(right)];
  const at = (key) => `${path}/${escape(key)}`;
  return [
    ...now.filter((key) => !Object.hasOwn(left, key)).map((key) => ({ type: "insert", path: at(key), value: Clone(right[key]) })),
    ...now.filter((key) => Object.hasOwn(left, key)).flatMap((key) => Diff(left[key], right[key], at(key))),
    ...old.filter((key) => !Object.hasOwn(right, key)).reverse().map((key) => ({ type: "delete", path: at(key) })),
  ];
}

export function Patch(value, edits) {
  let result = Clone(value);
  for (const { type, path, value: next } of edits) {
    if (path === "") result = Clone(next);
    else if (type === "delete") Pointer.Delete(result, path);
    else Pointer.Set(result, path, Clone(next));
  }
  return result;
}

const indices = (pointer) => (pointer === "" ? [] : pointer.split("/").slice(1).map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~")));

export const Pointer = {
  Indices: indices,
  Get: (value, pointer) => indices(pointer).reduce((at, key) => (isTree(at) ? at[key] : undefined), value),
  Has(value, pointer) {
    let at = value;
    for (const key of indices(pointer)) {
      if (!isTree(at) || !Object.hasOwn(at, key)) return false;
      at = at[key];
    }
    return true;
  },
  Set(value, pointer, next) {
    const path = indices(pointer);
    const last = path.pop();
    if (last === undefined) throw new Error("a pointer to the whole value cannot be set");
    let at = value;
    for (const key of path) at = isTree(at[key]) ? at[key] : (at[key] = {});
    // A path from data must not reach the prototype of everything.
    if (last === "__proto__" || path.includes("__proto__")) throw new Error("a pointer cannot go through __proto__");
    at[last] = next;
    return value;
  },
  Delete(value, pointer) {
    const path = indices(pointer);
    const last = path.pop();
    const at = Pointer.Get(value, path.map((key) => `/${escape(key)}`).join(""));
    if (Array.isArray(at)) at.splice(Number(last), 1);
    else if (isTree(at)) delete at[last];
    return value;
  },
};

/** A function of steps, each of which gets what the one before gave. */
export const Pipeline = (steps) => (...args) => {
  const [context, schema, value] = split(args, 2);
  return steps.reduce((result, step) => step(context, schema, result), value);
};

export const Value = {
  Assert, Cast, Check, Clean, Clone, Convert, Create, Decode, Default, Diff, Encode, Equal, Errors, HasCodec, Hash, Parse,
  Patch, Pointer, Repair,
};
export default Value;
