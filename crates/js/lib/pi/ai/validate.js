// Arguments of tool calls against a tool's schema: values that are only written
// in another form are brought into the right one, the rest is reported.

const typeOf = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
const typesOf = (schema) => (schema.type === undefined ? [] : [schema.type].flat());

const fits = (value, type) => {
  if (type === "integer") return Number.isInteger(value);
  if (type === "number") return typeof value === "number" && Number.isFinite(value);
  return typeOf(value) === type;
};

function convert(value, type) {
  if ((type === "number" || type === "integer") && typeof value === "string" && value.trim() !== "") {
    const number = Number(value);
    if (fits(number, type)) return number;
  }
  if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
  if (type === "string" && (typeof value === "number" || typeof value === "boolean")) return String(value);
  if (type === "array" && !Array.isArray(value) && value !== null && value !== undefined) return [value];
  return value;
}

/** The value in the form that the schema asks for, as far as that is safe. */
function coerce(schema, value, depth) {
  if (typeof schema !== "object" || schema === null || depth > 64) return value;
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options)) {
    if (options.some((option) => check(option, value, "", depth + 1).length === 0)) return value;
    for (const option of options) {
      const next = coerce(option, value, depth + 1);
      if (check(option, next, "", depth + 1).length === 0) return next;
    }
    return value;
  }
  const types = typesOf(schema);
  let out = value;
  if (types.length > 0 && !types.some((type) => fits(out, type))) {
    for (const type of types) {
      const next = convert(out, type);
      if (fits(next, type)) {
        out = next;
        break;
      }
    }
  }
  if (Array.isArray(out) && schema.items && !Array.isArray(schema.items)) return out.map((item) => coerce(schema.items, item, depth + 1));
  if (typeOf(out) === "object" && schema.properties) {
    const required = new Set(schema.required ?? []);
    const copy = {};
    for (const [key, item] of Object.entries(out)) {
      const own = Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
      // null for something optional means: not given.
      if (item === null && own && !required.has(key) && check(own, null, "", depth + 1).length > 0) continue;
      Object.defineProperty(copy, key, { value: own ? coerce(own, item, depth + 1) : item, enumerable: true, writable: true, configurable: true });
    }
    return copy;
  }
  return out;
}

const at = (path, key) => (path === "" ? String(key) : `${path}.${key}`);
const equal = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

/** Problems of a value: `{ path, message }`. */
function check(schema, value, path, depth) {
  if (schema === true || typeof schema !== "object" || schema === null || depth > 64) return [];
  const problem = (message) => [{ path: path || "root", message }];
  if ("const" in schema && !equal(schema.const, value)) return problem(`must be ${JSON.stringify(schema.const)}`);
  if (Array.isArray(schema.enum) && !schema.enum.some((each) => equal(each, value))) return problem(`must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}`);
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options)) {
    const tries = options.map((option) => check(option, value, path, depth + 1));
    if (tries.some((each) => each.length === 0)) return [];
    return tries.toSorted((a, b) => a.length - b.length)[0] ?? [];
  }
  const out = [];
  for (const part of schema.allOf ?? []) out.push(...check(part, value, path, depth + 1));
  const types = typesOf(schema);
  if (types.length > 0 && !types.some((type) => fits(value, type))) return problem(`expected ${types.join(" or ")}, got ${typeOf(value)}`);
  if (typeof value === "string") {
    if (schema.minLength !== undefined && value.length < schema.minLength) out.push(...problem(`must have at least ${schema.minLength} characters`));
    if (schema.maxLength !== undefined && value.length > schema.maxLength) out.push(...problem(`must have at most ${schema.maxLength} characters`));
    if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value)) out.push(...problem(`must match ${schema.pattern}`));
  } else if (typeof value === "number") {
    if (schema.minimum !== undefined && value < schema.minimum) out.push(...problem(`must be >= ${schema.minimum}`));
    if (schema.maximum !== undefined && value > schema.maximum) out.push(...problem(`must be <= ${schema.maximum}`));
    if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum) out.push(...problem(`must be > ${schema.exclusiveMinimum}`));
    if (schema.exclusiveMaximum !== undefined && value >= schema.exclusiveMaximum) out.push(...problem(`must be < ${schema.exclusiveMaximum}`));
  } else if (Array.isArray(value)) {
    if (schema.minItems !== undefined && value.length < schema.minItems) out.push(...problem(`must have at least ${schema.minItems} items`));
    if (schema.maxItems !== undefined && value.length > schema.maxItems) out.push(...problem(`must have at most ${schema.maxItems} items`));
    if (schema.items && !Array.isArray(schema.items)) value.forEach((item, i) => out.push(...check(schema.items, item, at(path, i), depth + 1)));
  } else if (typeOf(value) === "object") out.push(...checkObject(schema, value, path, depth));
  return out;
}

function checkObject(schema, value, path, depth) {
  const out = [];
  for (const key of schema.required ?? []) if (!Object.hasOwn(value, key) || value[key] === undefined) out.push({ path: at(path, key), message: "missing" });
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const own = schema.properties && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
    if (own) out.push(...check(own, item, at(path, key), depth + 1));
    else {
      const pattern = Object.entries(schema.patternProperties ?? {}).find(([source]) => new RegExp(source, "u").test(key));
      if (pattern) out.push(...check(pattern[1], item, at(path, key), depth + 1));
      else if (schema.additionalProperties === false) out.push({ path: at(path, key), message: "unknown property" });
      else if (typeof schema.additionalProperties === "object") out.push(...check(schema.additionalProperties, item, at(path, key), depth + 1));
    }
  }
  return out;
}

/** The arguments of a call in the tool's form; throws with every problem when they do not fit. */
export function validateToolArguments(tool, toolCall) {
  const given = structuredClone(toolCall.arguments ?? {});
  const value = coerce(tool.parameters, given, 0);
  const problems = check(tool.parameters, value, "", 0);
  if (problems.length === 0) return value;
  const list = problems.map((each) => `  - ${each.path}: ${each.message}`).join("\n");
  throw new Error(`Validation failed for tool "${toolCall.name}":\n${list}\n\nReceived arguments:\n${JSON.stringify(toolCall.arguments, null, 2)}`);
}

/** See `validateToolArguments`, with the tool looked up by its name. */
export function validateToolCall(tools, toolCall) {
  const tool = tools.find((each) => each.name === toolCall.name);
  if (!tool) throw new Error(`Tool "${toolCall.name}" not found`);
  return validateToolArguments(tool, toolCall);
}
