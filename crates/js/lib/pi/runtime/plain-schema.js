// Most tools take an object of texts, numbers and flags, and most models write it right. Such arguments are what they should be
// without a walk along the schema, which is for those that have to be fitted and for schemas that say more.

/** What says nothing about the value. */
const SILENT = new Set(["title", "description", "default", "examples", "$schema", "$comment", "deprecated"]);
const SIMPLE = new Set(["string", "number", "integer", "boolean"]);

const says = (schema, known) => Object.keys(schema).every((key) => known.includes(key) || SILENT.has(key));

/** The type of a member that is only of a type, or the values that it may have; null if its schema says more. */
function memberOf(schema) {
  if (typeof schema !== "object" || schema === null) return null;
  if (SIMPLE.has(schema.type) && says(schema, ["type"])) return schema.type;
  const values = schema.enum;
  const texts = Array.isArray(values) && values.every((value) => typeof value === "string");
  return texts && (schema.type === undefined || schema.type === "string") && says(schema, ["type", "enum"]) ? new Set(values) : null;
}

/** What has to be looked at; null if the schema is not of the plain kind. */
function planOf(schema) {
  if (typeof schema !== "object" || schema === null || schema.type !== "object") return null;
  if (!says(schema, ["type", "properties", "required", "additionalProperties"])) return null;
  const { properties = {}, required = [], additionalProperties: other = true } = schema;
  if (typeof other !== "boolean" || !Array.isArray(required) || typeof properties !== "object" || properties === null) return null;
  const members = Object.create(null);
  for (const key of Object.keys(properties)) members[key] = memberOf(properties[key]);
  return { members, required, open: other };
}

const plans = new WeakMap();
// Looked up once: every call comes by here.
const { hasOwn, keys: keysOf } = Object;
const { isArray } = Array;

function isOf(member, value) {
  switch (member) {
    case "string": return typeof value === "string";
    case "number": return typeof value === "number";
    case "integer": return Number.isInteger(value);
    case "boolean": return typeof value === "boolean";
    default: return member !== null && member.has(value);
  }
}

/** Whether `args`, which came from JSON, certainly are as `schema` wants them. No is no verdict. */
export function plainlyFits(schema, args) {
  if (typeof schema !== "object" || schema === null) return false;
  let plan = plans.get(schema);
  if (plan === undefined) plans.set(schema, (plan = planOf(schema)));
  if (plan === null || typeof args !== "object" || args === null || isArray(args)) return false;
  const { members, required, open } = plan;
  const keys = keysOf(args);
  for (let i = 0; i < keys.length; i++) {
    const member = members[keys[i]];
    if (member === undefined ? !open : !isOf(member, args[keys[i]])) return false;
  }
  for (let i = 0; i < required.length; i++) if (!hasOwn(args, required[i])) return false;
  return true;
}
