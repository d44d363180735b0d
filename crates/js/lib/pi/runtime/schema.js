// Arguments of tools: made to fit their JSON Schema where a model got only the form wrong ("5" for 5, one value for a list,
// null for "not given"), then checked. Fitting and checking are one walk, because which alternative of a union is meant
// decides how a value is fitted; so this is done here and not by the host's validator. Wording of the errors is what models
// that know pi have seen. Formats that are unknown are not checked; `unevaluated*` is not looked at.

import { formatHolds } from "jackfield:pi/runtime/formats";

const DEPTH = 100;

export function typeOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

const fits = (type, actual) => type === actual || (type === "number" && actual === "integer");
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

export function same(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

function toNumber(value) {
  if (value === null) return 0;
  if (typeof value === "boolean") return Number(value);
  if (typeof value !== "string") return undefined;
  const number = Number(value);
  if (Number.isFinite(number)) return number;
  const spelled = toBoolean(value);
  return spelled === undefined ? undefined : Number(spelled);
}

function toBoolean(value) {
  const text = typeof value === "string" ? value.toLowerCase() : value;
  if (text === "true" || text === "1" || text === 1) return true;
  if (text === "false" || text === "0" || text === 0 || text === null) return false;
  return undefined;
}

/** A value made to fit one type; undefined where it cannot be. */
function fit(type, value) {
  switch (type) {
    case "string":
      return ["number", "boolean"].includes(typeof value) || value === null ? String(value) : undefined;
    case "number":
      return toNumber(value);
    case "integer": {
      const number = typeof value === "number" ? value : toNumber(value);
      return number === undefined || !Number.isFinite(number) ? undefined : Math.trunc(number);
    }
    case "boolean":
      return toBoolean(value);
    case "null":
      return value === "" || value === "null" || value === 0 || value === false ? null : undefined;
    case "array":
      return [value];
    default:
      return undefined;
  }
}

const isNumeric = (value) => typeof value !== "string" || (value !== "" && Number.isFinite(Number(value)));

/** With several types allowed, only a value that can mean nothing else is changed. */
function fitOne(types, value) {
  for (const type of types) {
    let fitted;
    if (type === "string" && value === null) fitted = "";
    else if (type === "null") fitted = value === "" || value === 0 || value === false ? null : undefined;
    else if (type === "number") fitted = isNumeric(value) ? toNumber(value) : undefined;
    else if (type === "integer") fitted = isNumeric(value) && Number.isInteger(toNumber(value)) ? toNumber(value) : undefined;
    else if (type !== "array") fitted = fit(type, value);
    if (fitted !== undefined) return fitted;
  }
  return undefined;
}

function resolve(root, ref) {
  if (typeof ref !== "string") return undefined;
  if (!ref.startsWith("#")) return (root.$defs ?? root.definitions)?.[ref] ?? findId(root, ref, 0);
  let at = root;
  for (const part of ref.slice(1).split("/").slice(1)) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

function findId(schema, id, depth) {
  if (typeof schema !== "object" || schema === null || depth > 40) return undefined;
  if (schema.$id === id) return schema;
  for (const value of Object.values(schema)) {
    const found = findId(value, id, depth + 1);
    if (found) return found;
  }
  return undefined;
}

const trial = (cx, coerce) => ({ root: cx.root, coerce, errors: [], depth: cx.depth, combined: 1 });

/** A copy that may be changed; what did not come from JSON is copied as JavaScript copies it. */
function copy(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  if (Object.getPrototypeOf(value) !== Object.prototype) return structuredClone(value);
  const copied = {};
  for (const key of Object.keys(value)) {
    // A member of that name would be taken for the prototype.
    if (key === "__proto__") return structuredClone(value);
    copied[key] = copy(value[key]);
  }
  return copied;
}
const fail = (cx, path, message) => void cx.errors.push({ path, message });

function holds(cx, schema, value) {
  const inner = trial(cx, false);
  walk(inner, schema, value, "");
  return inner.errors.length === 0;
}

/** What is wrong with the alternative that was meant: the first of the value's own type, else the first. */
function meant(cx, list, value, path) {
  const wrong = list.map((schema) => {
    const inner = trial(cx, false);
    walk(inner, schema, value, path);
    return inner.errors;
  });
  return wrong.find((errors) => !errors.some((error) => error.path === path)) ?? wrong[0];
}

/** The value as the first alternative that takes it wants it, or the errors of the first. */
function alternatives(cx, list, value, path, exactlyOne) {
  let matches = list.filter((schema) => holds(cx, schema, value)).length;
  if (matches === 0 && cx.coerce) {
    for (const schema of list) {
      const inner = trial(cx, true);
      const fitted = walk(inner, schema, copy(value), path);
      if (inner.errors.length > 0) continue;
      value = fitted;
      matches = exactlyOne ? list.filter((other) => holds(cx, other, fitted)).length : 1;
      break;
    }
  }
  if (matches === 0 && list.length > 0) {
    cx.errors.push(...meant(cx, list, value, path));
  } else if (exactlyOne && matches > 1) {
    fail(cx, path, "matches more than one alternative");
  }
  return value;
}

const at = (path, key) => `${path}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;

function walkArray(cx, schema, value, path) {
  const first = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []);
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  for (let i = 0; i < value.length; i++) {
    const inner = i < first.length ? first[i] : rest;
    if (inner !== undefined) value[i] = walk(cx, inner, value[i], at(path, i));
  }
  const { minItems, maxItems } = schema;
  if (minItems !== undefined && value.length < minItems) fail(cx, path, `expected at least ${minItems} items`);
  if (maxItems !== undefined && value.length > maxItems) fail(cx, path, `expected at most ${maxItems} items`);
  if (schema.uniqueItems && value.some((one, i) => value.slice(0, i).some((other) => same(one, other)))) {
    fail(cx, path, "expected unique items");
  }
  if (schema.contains !== undefined) {
    const found = value.filter((one) => holds(cx, schema.contains, one)).length;
    const least = schema.minContains ?? 1;
    if (found < least) fail(cx, path, `expected at least ${least} matching item${least === 1 ? "" : "s"}`);
    const most = schema.maxContains;
    if (most !== undefined && found > most) fail(cx, path, `expected at most ${most} matching item${most === 1 ? "" : "s"}`);
  }
}

function walkMembers(cx, schema, value, path) {
  const { properties = {}, additionalProperties: other } = schema;
  const patterns = Object.entries(schema.patternProperties ?? {}).map(([source, inner]) => [pattern(source), inner]);
  const needed = new Set(schema.required ?? []);
  for (const key of Object.keys(properties)) {
    if (!Object.hasOwn(value, key) || value[key] === undefined) continue;
    const inner = properties[key];
    // A model writes null for what it does not want to give.
    const left = cx.coerce && cx.combined === 0 && value[key] === null && !needed.has(key) && isObject(inner) && inner.$ref === undefined;
    if (left && !holds(cx, inner, null)) delete value[key];
    else value[key] = walk(cx, inner, value[key], at(path, key));
  }
  for (const key of Object.keys(value)) {
    let known = Object.hasOwn(properties, key);
    for (const [expression, inner] of patterns) {
      if (!expression.test(key)) continue;
      known = true;
      value[key] = walk(cx, inner, value[key], at(path, key));
    }
    if (known || other === undefined || other === true) continue;
    if (other === false) fail(cx, at(path, key), "unknown field");
    else value[key] = walk(cx, other, value[key], at(path, key));
  }
}

function walkObject(cx, schema, value, path) {
  for (const key of schema.required ?? []) {
    if (!Object.hasOwn(value, key) || value[key] === undefined) fail(cx, at(path, key), "missing");
  }
  walkMembers(cx, schema, value, path);
  const count = Object.keys(value).length;
  if (schema.minProperties !== undefined && count < schema.minProperties) fail(cx, path, `expected at least ${schema.minProperties} properties`);
  if (schema.maxProperties !== undefined && count > schema.maxProperties) fail(cx, path, `expected at most ${schema.maxProperties} properties`);
  if (schema.propertyNames !== undefined) {
    for (const key of Object.keys(value)) if (!holds(cx, schema.propertyNames, key)) fail(cx, at(path, key), "invalid property name");
  }
  if (!schema.dependencies && !schema.dependentRequired && !schema.dependentSchemas) return;
  for (const [key, wanted] of Object.entries({ ...schema.dependencies, ...schema.dependentRequired, ...schema.dependentSchemas })) {
    if (!Object.hasOwn(value, key)) continue;
    if (!Array.isArray(wanted)) walk(cx, wanted, value, path);
    else for (const name of wanted) if (!Object.hasOwn(value, name)) fail(cx, at(path, name), `required when ${key} is present`);
  }
}

function walkNumber(cx, schema, value, path) {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (minimum !== undefined && value < minimum) fail(cx, path, `expected >= ${minimum}`);
  if (maximum !== undefined && value > maximum) fail(cx, path, `expected <= ${maximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) fail(cx, path, `expected > ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum) fail(cx, path, `expected < ${exclusiveMaximum}`);
  if (multipleOf > 0) {
    const times = value / multipleOf;
    if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times))) fail(cx, path, `expected a multiple of ${multipleOf}`);
  }
}

function walkString(cx, schema, value, path) {
  const length = schema.minLength === undefined && schema.maxLength === undefined ? 0 : [...value].length;
  if (schema.minLength !== undefined && length < schema.minLength) fail(cx, path, `expected at least ${schema.minLength} characters`);
  if (schema.maxLength !== undefined && length > schema.maxLength) fail(cx, path, `expected at most ${schema.maxLength} characters`);
  if (schema.pattern !== undefined && !pattern(schema.pattern).test(value)) fail(cx, path, `expected to match ${schema.pattern}`);
  if (schema.format !== undefined && !formatHolds(schema.format, value)) fail(cx, path, `expected format ${schema.format}`);
}

/** Most patterns are meant for Unicode; those that are no valid ones then are taken as they are. */
export function pattern(source) {
  try {
    return new RegExp(source, "u");
  } catch {
    return new RegExp(source);
  }
}

/** One of the allowed values that is the given one in another form. */
function alike(allowed, value) {
  for (const one of allowed) {
    if (one === null || typeof one === "object" || typeof one === typeof value) continue;
    if (fit(typeof one, value) === one) return one;
  }
  return undefined;
}

function walkValue(cx, schema, value, path) {
  const types = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
  const actual = typeOf(value);
  if (types.length > 0 && !types.some((type) => fits(type, actual))) {
    const fitted = cx.coerce ? (types.length === 1 ? fit(types[0], value) : fitOne(types, value)) : undefined;
    if (fitted === undefined) {
      fail(cx, path, `expected ${types.join(" or ")}, got ${actual}`);
      return { value, wrong: true };
    }
    value = fitted;
  }
  if (Object.hasOwn(schema, "const")) value = among(cx, types, [schema.const], value, path, "");
  if (Array.isArray(schema.enum)) value = among(cx, types, schema.enum, value, path, "one of ");
  return { value, wrong: false };
}

function among(cx, types, allowed, value, path, words) {
  if (allowed.some((one) => same(one, value))) return value;
  const other = cx.coerce && types.length === 0 ? alike(allowed, value) : undefined;
  if (other === undefined) fail(cx, path, `expected ${words}${JSON.stringify(words === "" ? allowed[0] : allowed)}`);
  return other ?? value;
}

function combine(cx, schema, value, path) {
  if (schema.$ref !== undefined) {
    const target = resolve(cx.root, schema.$ref);
    if (target === undefined) fail(cx, path, `unresolved reference ${schema.$ref}`);
    else value = walk(cx, target, value, path);
  }
  for (const inner of schema.allOf ?? []) value = walk(cx, inner, value, path);
  if (Array.isArray(schema.anyOf)) value = alternatives(cx, schema.anyOf, value, path, false);
  if (Array.isArray(schema.oneOf)) value = alternatives(cx, schema.oneOf, value, path, true);
  if (schema.not !== undefined && holds(cx, schema.not, value)) fail(cx, path, "must not match the schema in not");
  if (schema.if !== undefined) {
    const branch = holds(cx, schema.if, value) ? schema.then : schema.else;
    if (branch !== undefined) value = walk(cx, branch, value, path);
  }
  return value;
}

function walk(cx, schema, given, path) {
  if (schema === true || schema === undefined) return given;
  if (schema === false) {
    fail(cx, path, "no value is allowed here");
    return given;
  }
  if (cx.depth >= DEPTH) {
    fail(cx, path, "is nested too deep");
    return given;
  }
  cx.depth++;
  try {
    const first = walkValue(cx, schema, given, path);
    if (first.wrong) return first.value;
    const value = first.value;
    if (Array.isArray(value)) walkArray(cx, schema, value, path);
    else if (isObject(value)) walkObject(cx, schema, value, path);
    else if (typeof value === "number") walkNumber(cx, schema, value, path);
    else if (typeof value === "string") walkString(cx, schema, value, path);
    cx.combined++;
    const combined = combine(cx, schema, value, path);
    cx.combined--;
    return combined;
  } finally {
    cx.depth--;
  }
}

/** Walks a value along a schema: `{ value, errors: [{ path, message }] }`, paths as JSON pointers. With `coerce` the value is changed. */
export function checkSchema(schema, value, coerce = false) {
  const cx = { root: schema, coerce, errors: [], depth: 0, combined: 0 };
  const result = walk(cx, schema, value, "");
  return { value: result, errors: cx.errors };
}

/** The arguments of a tool as its schema wants them; throws with the text for the model. */
export function validateArguments(name, schema, args) {
  const { value, errors } = checkSchema(schema, copy(args), true);
  if (errors.length === 0) return value;
  const readable = (path) => (path === "" ? "root" : path.slice(1).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~")).join("."));
  const lines = errors.map(({ path, message }) => `  - ${readable(path)}: ${message}`).join("\n");
  throw new Error(`Validation failed for tool "${name}":\n${lines}\n\nReceived arguments:\n${JSON.stringify(args, null, 2)}`);
}
