// Making values fit a schema: defaults, conversions, what does not belong there, new values, and codecs. A value that
// cannot be made to fit is left as it is; checking is another matter.

import { pattern } from "jackfield:pi/runtime/schema";
import { schemaErrors } from "jackfield:pi/typebox/errors";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const fits = (schema, value, cx) => schemaErrors(schema, value, { ...cx.root?.$defs, ...cx.context }).length === 0;
const clone = (value) => (typeof value === "object" && value !== null ? structuredClone(value) : value);

function target(schema, cx) {
  return cx.context?.[schema.$ref] ?? cx.root?.$defs?.[schema.$ref] ?? (schema.$ref === "#" ? cx.root : undefined);
}

/** Applies a change to everything inside a value, along the schema. */
function inside(schema, value, cx, change) {
  if (schema.$ref !== undefined) {
    const next = target(schema, cx);
    return next === undefined ? value : change(next, value, schema.$defs ? { ...cx, root: schema } : cx);
  }
  if (schema.allOf) return schema.allOf.reduce((result, one) => change(one, result, cx), value);
  if (schema.anyOf || schema.oneOf) return union(schema.anyOf ?? schema.oneOf, value, cx, change);
  if (Array.isArray(value)) {
    const listed = Array.isArray(schema.items) ? schema.items : undefined;
    return value.map((one, i) => {
      const item = listed ? listed[i] : schema.items;
      return item === undefined ? one : change(item, one, cx);
    });
  }
  if (!isObject(value)) return value;
  const result = { ...value };
  const { properties = {}, patternProperties = {}, additionalProperties } = schema;
  for (const key of Object.keys(result)) {
    const listed = Object.keys(patternProperties).find((one) => pattern(one).test(key));
    const member = Object.hasOwn(properties, key) ? properties[key] : listed !== undefined ? patternProperties[listed] : isObject(additionalProperties) ? additionalProperties : undefined;
    if (member !== undefined && result[key] !== undefined) result[key] = change(member, result[key], cx);
  }
  return result;
}

function union(list, value, cx, change) {
  const matching = list.find((one) => fits(one, value, cx));
  if (matching !== undefined) return change(matching, value, cx);
  for (const one of list) {
    const changed = change(one, clone(value), cx);
    if (fits(one, changed, cx)) return changed;
  }
  return value;
}

export function Default(schema, value, cx) {
  if (typeof schema !== "object" || schema === null) return value;
  if (value === undefined && schema.default !== undefined) value = typeof schema.default === "function" ? schema.default() : clone(schema.default);
  if (value === undefined && schema.anyOf) {
    for (const one of schema.anyOf) {
      const filled = Default(one, undefined, cx);
      if (filled !== undefined) return filled;
    }
  }
  if (isObject(value) && schema.properties) {
    value = { ...value };
    for (const [key, member] of Object.entries(schema.properties)) {
      const filled = Default(member, value[key], cx);
      if (filled !== undefined || Object.hasOwn(value, key)) value[key] = filled;
    }
  }
  return inside(schema, value, cx, Default);
}

export function Clean(schema, value, cx) {
  if (typeof schema !== "object" || schema === null) return value;
  if (isObject(value) && schema.allOf?.every((one) => one.properties)) {
    const keys = new Set(schema.allOf.flatMap((one) => Object.keys(one.properties)));
    return Object.fromEntries(Object.entries(value).filter(([key]) => keys.has(key)));
  }
  if (isObject(value) && schema.properties) {
    const patterns = Object.keys(schema.patternProperties ?? {});
    const open = isObject(schema.additionalProperties) ? schema.additionalProperties : undefined;
    const kept = Object.entries(value).filter(([key, given]) =>
      Object.hasOwn(schema.properties, key) || patterns.some((one) => pattern(one).test(key)) || (open && fits(open, given, cx)));
    value = Object.fromEntries(kept);
  }
  return inside(schema, value, cx, Clean);
}

function scalar(type, value) {
  const number = (text) => {
    const lower = text.toLowerCase();
    if (lower === "true" || lower === "false") return Number(lower === "true");
    return text.trim() === "" || !Number.isFinite(Number(text)) ? value : Number(text);
  };
  switch (type) {
    case "string":
      return ["number", "boolean", "bigint"].includes(typeof value) ? String(value) : value === null ? "null" : value;
    case "number":
    case "integer": {
      let result = value;
      if (typeof value === "string") result = number(value);
      else if (typeof value === "boolean" || value === null) result = Number(value);
      return type === "integer" && typeof result === "number" ? Math.trunc(result) : result;
    }
    case "boolean": {
      const text = typeof value === "string" ? value.toLowerCase() : value;
      if (text === "true" || text === "1" || text === 1) return true;
      return text === "false" || text === "0" || text === 0 || text === null ? false : value;
    }
    case "null":
      return ["null", "", "undefined"].includes(value) || value === 0 || value === false || value === undefined ? null : value;
    case "bigint":
      return /^-?\d+n?$/.test(`${value}`) ? BigInt(`${value}`.replace("n", "")) : value;
    case "undefined":
      return value === "undefined" ? undefined : value;
    case "array":
      return Array.isArray(value) ? value : [value];
    default:
      return value;
  }
}

export function Convert(schema, value, cx) {
  if (typeof schema !== "object" || schema === null) return value;
  if (typeof schema.type === "string") {
    const converted = scalar(schema.type, value);
    if (schema.const === undefined || converted === schema.const) value = converted;
  } else if (schema.enum && !schema.enum.includes(value)) {
    value = schema.enum.find((one) => String(one) === String(value)) ?? value;
  }
  return inside(schema, value, cx, Convert);
}

/** A value that the schema takes; the smallest that it allows. */
export function Create(schema, cx, depth = 0) {
  if (depth > 50) throw new Error("a value of a schema without end cannot be made");
  const next = (one) => Create(one, cx, depth + 1);
  if (schema.default !== undefined) return typeof schema.default === "function" ? schema.default() : clone(schema.default);
  if (schema.$ref !== undefined) {
    const found = target(schema, schema.$defs ? { ...cx, root: schema } : cx);
    if (found === undefined) throw new Error(`reference ${schema.$ref} is not known`);
    return Create(found, schema.$defs ? { ...cx, root: schema } : cx, depth + 1);
  }
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.allOf) return schema.allOf.map(next).reduce((all, one) => (isObject(all) && isObject(one) ? { ...all, ...one } : one), {});
  if (schema.anyOf ?? schema.oneOf) return next((schema.anyOf ?? schema.oneOf)[0]);
  switch (schema.type) {
    case "string":
      if (schema.pattern !== undefined || schema.format !== undefined) throw new Error("Strings with format or pattern constraints must specify default");
      return " ".repeat(schema.minLength ?? 0);
    case "number":
    case "integer":
      return schema.minimum ?? (schema.exclusiveMinimum !== undefined ? schema.exclusiveMinimum + 1 : 0);
    case "boolean":
      return false;
    case "null":
      return null;
    case "bigint":
      return BigInt(0);
    case "array":
      if (Array.isArray(schema.items)) return schema.items.map(next);
      return Array.from({ length: schema.minItems ?? 0 }, () => next(schema.items ?? {}));
    case "object":
      return Object.fromEntries((schema.required ?? []).map((key) => [key, next(schema.properties?.[key] ?? {})]));
    default:
      return undefined;
  }
}

/** The value itself where it fits, else the nearest that does. */
export function Repair(schema, value, cx) {
  const converted = Clean(schema, Convert(schema, Default(schema, value, cx), cx), cx);
  if (fits(schema, converted, cx)) return converted;
  if (schema.type === "object" && schema.properties && isObject(converted)) {
    const entries = Object.entries(schema.properties).flatMap(([key, member]) => {
      if (Object.hasOwn(converted, key)) return [[key, Repair(member, converted[key], cx)]];
      return schema.required?.includes(key) ? [[key, Create(member, cx)]] : [];
    });
    return Object.fromEntries(entries);
  }
  if (schema.type === "array" && Array.isArray(converted) && isObject(schema.items)) {
    const items = converted.map((one) => Repair(schema.items, one, cx));
    if (fits(schema, items, cx)) return items;
  }
  return Create(schema, cx);
}

/** Runs the codecs of a schema: from the inside out to decode, from the outside in to encode. */
export function code(schema, value, cx, way) {
  const codec = schema["~codec"];
  if (codec && way === "encode") value = codec.encode(value);
  const done = inside(schema, value, cx, (one, part) => code(one, part, cx, way));
  return codec && way === "decode" ? codec.decode(done) : done;
}
