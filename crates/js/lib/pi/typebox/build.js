// Schemas as TypeBox 1.x writes them: plain JSON Schema objects, keys in the same order, with what JSON Schema cannot say
// (`~kind`, `~optional`…) as members that are not enumerable. This file has the constructors that nearly every extension
// uses and nothing else, so that it is quick to evaluate; everything that computes types from types is in `actions`.

import { templateValues } from "jackfield:pi/typebox/template";

/** Adds members that JSON and spreading do not see. */
export function hide(schema, members) {
  for (const [key, value] of Object.entries(members)) {
    Object.defineProperty(schema, key, { value, writable: true, configurable: true, enumerable: false });
  }
  return schema;
}

export const make = (kind, body, options) => hide({ ...body, ...options }, { "~kind": kind });

const HIDDEN = ["~kind", "~readonly", "~optional", "~immutable", "~unsafe", "~codec", "~refine"];

/** A copy with the hidden members, without those named in `drop`. */
export function copy(schema, add = {}, drop = []) {
  const hidden = {};
  for (const key of HIDDEN) if (schema[key] !== undefined && !drop.includes(key)) hidden[key] = schema[key];
  return hide({ ...schema }, { ...hidden, ...add });
}

export const isOptional = (schema) => typeof schema === "object" && schema !== null && schema["~optional"] === true;

export const String = (options) => make("String", { type: "string" }, options);
export const Number = (options) => make("Number", { type: "number" }, options);
export const Integer = (options) => make("Integer", { type: "integer" }, options);
export const Boolean = (options) => make("Boolean", { type: "boolean" }, options);
export const Null = (options) => make("Null", { type: "null" }, options);
export const Any = (options) => make("Any", {}, options);
export const Unknown = (options) => make("Unknown", {}, options);
export const Never = (options) => make("Never", { not: {} }, options);
export const Undefined = (options) => make("Undefined", { type: "undefined" }, options);
export const Void = (options) => make("Void", { type: "void" }, options);
export const BigInt = (options) => make("BigInt", { type: "bigint" }, options);
export const Symbol = (options) => make("Symbol", { type: "symbol" }, options);
export const Literal = (value, options) => make("Literal", { type: typeof value, const: value }, options);
export const Array = (items, options) => make("Array", { type: "array", items }, options);
export const Ref = (ref, options) => make("Ref", { $ref: ref }, options);
export const Union = (anyOf, options) => make("Union", { anyOf }, options);
export const Intersect = (allOf, options) => make("Intersect", { allOf }, options);

/** `Type.Object`; the name itself is needed for JavaScript's own. */
export function Object_(properties, options) {
  const required = Object.keys(properties).filter((key) => !isOptional(properties[key]));
  const body = required.length > 0 ? { type: "object", required, properties } : { type: "object", properties };
  return make("Object", body, options);
}

export const Tuple = (items, options) =>
  make("Tuple", { type: "array", additionalItems: false, items, minItems: items.length }, options);

/** Values of a list or of a TypeScript enum, whose numeric members also stand in it backwards. */
export function enumValues(source) {
  if (globalThis.Array.isArray(source)) return [...source];
  const keys = Object.keys(source).filter((key) => globalThis.Number.isNaN(globalThis.Number(key)));
  return [...new Set(keys.map((key) => source[key]))];
}

export const Enum = (source, options) => make("Enum", { enum: enumValues(source) }, options);

export const StringPattern = ".*";
export const IntegerPattern = "-?(?:0|[1-9][0-9]*)";
export const NumberPattern = "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?";
export const StringKey = `^${StringPattern}$`;
export const IntegerKey = `^${IntegerPattern}$`;
export const NumberKey = `^${NumberPattern}$`;

/** The names that a key type lists; undefined where it is a pattern. */
function keyNames(key) {
  if (key.const !== undefined) return [`${key.const}`];
  if (key["~kind"] === "Boolean") return ["true", "false"];
  if (key["~kind"] === "Enum") return key.enum.map((value) => `${value}`);
  if (key["~kind"] === "TemplateLiteral") return templateValues(key);
  if (key["~kind"] !== "Union") return undefined;
  const names = key.anyOf.map(keyNames);
  return names.includes(undefined) ? undefined : names.flat();
}

export function Record(key, value, options) {
  const names = keyNames(key);
  if (names !== undefined) return Object_(Object.fromEntries(names.map((name) => [name, value])), options);
  const pattern = key["~kind"] === "Integer" ? IntegerKey : key["~kind"] === "Number" ? NumberKey : (key.pattern ?? StringKey);
  return make("Record", { type: "object", patternProperties: { [pattern]: value } }, options);
}

export const Optional = (schema) => copy(schema, { "~optional": true });
export const Readonly = (schema) => copy(schema, { "~readonly": true });
export const Immutable = (schema) => copy(schema, { "~immutable": true });
export const Unsafe = (schema) => hide({ ...schema }, { "~unsafe": null });
export const Function_ = (parameters, returnType, options) => make("Function", { type: "function", parameters, returnType }, options);
export const Constructor = (parameters, instanceType, options) =>
  make("Constructor", { type: "constructor", parameters, instanceType }, options);
export const Rest = (items) => make("Rest", { type: "rest", items });
export const Identifier = (name) => make("Identifier", { name });
export const Parameter = (name, extends_ = Unknown(), equals = extends_) => make("Parameter", { name, extends: extends_, equals });
export const Infer = (name, extends_ = Unknown()) => make("Infer", { type: "infer", name, extends: extends_ });
export const This = (options) => make("This", { $ref: "#" }, options);
export const Dependent = (if_, then, else_, base) => make("Dependent", { if: if_, then, else: else_, ...base });

/** A check of one's own beside the schema. */
export function Refine(schema, check, message) {
  const known = schema["~refine"] ?? [];
  return copy(schema, { "~refine": [...known, { check, error: message ?? (() => "Refine Error") }] });
}

/** A schema whose values have another form inside the program. */
export const Codec = (schema) => ({
  Decode: (decode) => ({ Encode: (encode) => copy(schema, { "~codec": { decode, encode } }) }),
});
export const Decode = (schema, decode) =>
  Codec(schema).Decode(decode).Encode(() => {
    throw new Error("Encode not implemented");
  });
export const Encode = (schema, encode) =>
  Codec(schema).Decode(() => {
    throw new Error("Decode not implemented");
  }).Encode(encode);
