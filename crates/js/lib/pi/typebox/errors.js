// What is wrong with a value, as TypeBox lists it: keyword, paths into schema and value, parameters and a message. Checks a
// value as it is; nothing is fitted. Types that JSON does not have (undefined, bigint, functions) and refinements count too.

import { formatHolds } from "jackfield:pi/runtime/formats";
import { pattern, same } from "jackfield:pi/runtime/schema";

const DEPTH = 100;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function hasType(type, value) {
  switch (type) {
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "void":
      return value === undefined;
    case "constructor":
      return typeof value === "function";
    default:
      return typeof value === type;
  }
}

const TEXT = {
  additionalProperties: () => "must not have additional properties",
  anyOf: () => "must match a schema in anyOf",
  boolean: () => "schema is false",
  const: () => "must be equal to constant",
  contains: () => "must contain at least 1 valid item",
  enum: () => "must be equal to one of the allowed values",
  not: () => "must not be valid",
  oneOf: () => "must match exactly one schema in oneOf",
  uniqueItems: () => "must not have duplicate items",
  dependentRequired: (p) => `must have properties ${p.dependencies.join(", ")} when property ${p.property} is present`,
  format: (p) => `must match format "${p.format}"`,
  if: (p) => `must match "${p.failingKeyword}" schema`,
  maxItems: (p) => `must not have more than ${p.limit} items`,
  maxLength: (p) => `must not have more than ${p.limit} characters`,
  maxProperties: (p) => `must not have more than ${p.limit} properties`,
  minItems: (p) => `must not have fewer than ${p.limit} items`,
  minLength: (p) => `must not have fewer than ${p.limit} characters`,
  minProperties: (p) => `must not have fewer than ${p.limit} properties`,
  multipleOf: (p) => `must be multiple of ${p.multipleOf}`,
  pattern: (p) => `must match pattern "${p.pattern}"`,
  propertyNames: (p) => `property names ${p.propertyNames.join(", ")} are invalid`,
  required: (p) => `must have required properties ${p.requiredProperties.join(", ")}`,
  type: (p) => (typeof p.type === "string" ? `must be ${p.type}` : `must be either ${p.type.join(" or ")}`),
  "~refine": (p) => p.message,
};

function fail(cx, keyword, params = {}) {
  const message = TEXT[keyword]?.(params) ?? `must be ${params.comparison} ${params.limit}`;
  cx.errors.push({ keyword, schemaPath: cx.schemaPath, instancePath: cx.path, params, message });
}

function inner(cx, schema, value, suffix, key) {
  const { schemaPath, path } = cx;
  cx.schemaPath = `${schemaPath}${suffix}`;
  if (key !== undefined) cx.path = `${path}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
  walk(cx, schema, value);
  cx.schemaPath = schemaPath;
  cx.path = path;
}

function holds(cx, schema, value) {
  const trial = { ...cx, errors: [] };
  walk(trial, schema, value);
  return trial.errors.length === 0;
}

function objectErrors(cx, schema, value) {
  const { properties = {}, patternProperties = {}, additionalProperties: other } = schema;
  const patterns = Object.keys(patternProperties);
  if (other !== undefined && other !== true) {
    const extra = Object.keys(value).filter((key) => !Object.hasOwn(properties, key) && !patterns.some((one) => pattern(one).test(key)));
    const before = cx.errors.length;
    const bad = extra.filter((key) => {
      const count = cx.errors.length;
      inner(cx, other, value[key], "/additionalProperties", key);
      return cx.errors.length > count;
    });
    if (cx.errors.length > before) fail(cx, "additionalProperties", { additionalProperties: bad });
  }
  const missing = (schema.required ?? []).filter((key) => !Object.hasOwn(value, key));
  if (missing.length > 0) fail(cx, "required", { requiredProperties: missing });
  const count = Object.keys(value).length;
  if (count < schema.minProperties) fail(cx, "minProperties", { limit: schema.minProperties });
  if (count > schema.maxProperties) fail(cx, "maxProperties", { limit: schema.maxProperties });
  for (const key of Object.keys(properties)) {
    if (!Object.hasOwn(value, key)) continue;
    if (value[key] === undefined && properties[key]["~optional"] === true) continue;
    inner(cx, properties[key], value[key], `/properties/${key}`, key);
  }
  for (const one of patterns) {
    for (const key of Object.keys(value)) if (pattern(one).test(key)) inner(cx, patternProperties[one], value[key], `/patternProperties/${one}`, key);
  }
  if (schema.propertyNames !== undefined) {
    const wrong = Object.keys(value).filter((key) => !holds(cx, schema.propertyNames, key));
    if (wrong.length > 0) fail(cx, "propertyNames", { propertyNames: wrong });
  }
  for (const [property, dependencies] of Object.entries(schema.dependentRequired ?? {})) {
    if (Object.hasOwn(value, property) && !dependencies.every((key) => Object.hasOwn(value, key))) fail(cx, "dependentRequired", { property, dependencies });
  }
}

function arrayErrors(cx, schema, value) {
  if (value.length < schema.minItems) fail(cx, "minItems", { limit: schema.minItems });
  if (value.length > schema.maxItems) fail(cx, "maxItems", { limit: schema.maxItems });
  if (schema.uniqueItems && value.some((one, i) => value.slice(0, i).some((other) => same(one, other)))) fail(cx, "uniqueItems", {});
  if (schema.contains !== undefined && !value.some((one) => holds(cx, schema.contains, one))) fail(cx, "contains", { minContains: 1 });
  const listed = Array.isArray(schema.items) ? schema.items : (schema.prefixItems ?? []);
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  value.forEach((one, i) => {
    if (i < listed.length) inner(cx, listed[i], one, `/${Array.isArray(schema.items) ? "items" : "prefixItems"}/${i}`, i);
    else if (rest !== undefined) inner(cx, rest, one, Array.isArray(schema.items) ? "/additionalItems" : "/items", i);
  });
}

function scalarErrors(cx, schema, value) {
  if (typeof value === "string") {
    const length = [...value].length;
    if (length < schema.minLength) fail(cx, "minLength", { limit: schema.minLength });
    if (length > schema.maxLength) fail(cx, "maxLength", { limit: schema.maxLength });
    if (schema.pattern !== undefined && !pattern(schema.pattern).test(value)) fail(cx, "pattern", { pattern: schema.pattern });
    if (schema.format !== undefined && !formatHolds(schema.format, value)) fail(cx, "format", { format: schema.format });
  } else if (typeof value === "number" || typeof value === "bigint") {
    if (value < schema.minimum) fail(cx, "minimum", { comparison: ">=", limit: schema.minimum });
    if (value > schema.maximum) fail(cx, "maximum", { comparison: "<=", limit: schema.maximum });
    if (value <= schema.exclusiveMinimum) fail(cx, "exclusiveMinimum", { comparison: ">", limit: schema.exclusiveMinimum });
    if (value >= schema.exclusiveMaximum) fail(cx, "exclusiveMaximum", { comparison: "<", limit: schema.exclusiveMaximum });
    const { multipleOf } = schema;
    if (multipleOf && Math.abs(Number(value) / multipleOf - Math.round(Number(value) / multipleOf)) > 1e-9) fail(cx, "multipleOf", { multipleOf });
  }
}

function findRef(root, ref, depth = 0) {
  if (ref === "#") return root;
  if (typeof root !== "object" || root === null || depth > 30) return undefined;
  if (root.$id === ref) return root;
  if (root.$defs && Object.hasOwn(root.$defs, ref)) return root.$defs[ref];
  if (depth === 0 && ref.startsWith("#/")) {
    return ref.slice(2).split("/").reduce((at, key) => at?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], root);
  }
  for (const value of Object.values(root)) {
    const found = findRef(value, ref, depth + 1);
    if (found) return found;
  }
  return undefined;
}

function combinedErrors(cx, schema, value) {
  if (schema.$ref !== undefined) {
    const target = cx.context?.[schema.$ref] ?? findRef(cx.root, schema.$ref);
    if (target === undefined) fail(cx, "boolean");
    else inner(cx, target, value, "/$ref");
  }
  (schema.allOf ?? []).forEach((one, i) => inner(cx, one, value, `/allOf/${i}`));
  if (schema.anyOf !== undefined && !schema.anyOf.some((one) => holds(cx, one, value))) {
    schema.anyOf.forEach((one, i) => inner(cx, one, value, `/anyOf/${i}`));
    fail(cx, "anyOf");
  }
  if (schema.oneOf !== undefined) {
    const passingSchemas = schema.oneOf.flatMap((one, i) => (holds(cx, one, value) ? [i] : []));
    if (passingSchemas.length === 0) schema.oneOf.forEach((one, i) => inner(cx, one, value, `/oneOf/${i}`));
    if (passingSchemas.length !== 1) fail(cx, "oneOf", { passingSchemas });
  }
  if (schema.not !== undefined && holds(cx, schema.not, value)) fail(cx, "not");
  if (schema.if !== undefined) {
    const failingKeyword = holds(cx, schema.if, value) ? "then" : "else";
    if (schema[failingKeyword] !== undefined && !holds(cx, schema[failingKeyword], value)) {
      inner(cx, schema[failingKeyword], value, `/${failingKeyword}`);
      fail(cx, "if", { failingKeyword });
    }
  }
}

function walk(cx, schema, value) {
  if (schema === true || schema === undefined) return;
  if (schema === false || cx.depth >= DEPTH) {
    fail(cx, "boolean");
    return;
  }
  cx.depth++;
  const before = cx.errors.length;
  const { type } = schema;
  if (type !== undefined && !(Array.isArray(type) ? type : [type]).some((one) => hasType(one, value))) {
    fail(cx, "type", { type });
  } else {
    if (isObject(value)) objectErrors(cx, schema, value);
    else if (Array.isArray(value)) arrayErrors(cx, schema, value);
    else scalarErrors(cx, schema, value);
    if ("const" in schema && !same(schema.const, value)) fail(cx, "const", { allowedValue: schema.const });
    if (schema.enum !== undefined && !schema.enum.some((one) => same(one, value))) fail(cx, "enum", { allowedValues: schema.enum });
    combinedErrors(cx, schema, value);
  }
  if (cx.errors.length === before) {
    (schema["~refine"] ?? []).forEach(({ check, error }, index) => {
      if (!check(value)) fail(cx, "~refine", { index, message: typeof error === "function" ? error(value) : error });
    });
  }
  cx.depth--;
}

/** All errors; an empty list means that the value is right. */
export function schemaErrors(schema, value, context) {
  const cx = { root: schema, context, errors: [], schemaPath: "#", path: "", depth: 0 };
  walk(cx, schema, value);
  return cx.errors;
}
