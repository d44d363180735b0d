// Template literals: a pattern over literals, alternatives and the basic types, and the strings it stands for where there
// are only so many.

import { IntegerPattern, Literal, NumberPattern, StringPattern, String, Number, Integer, Boolean, BigInt, Union, Never, hide, make } from "jackfield:pi/typebox/build";

const MOST = 4096;

/** The pieces of `a${string|1}b`, as types. */
function pieces(template) {
  const types = [];
  let at = 0;
  while (at < template.length) {
    const open = template.indexOf("${", at);
    if (open === -1) {
      types.push(Literal(template.slice(at)));
      break;
    }
    if (open > at) types.push(Literal(template.slice(at, open)));
    const close = template.indexOf("}", open);
    if (close === -1) throw new Error(`template literal "${template}" has an open \${`);
    const options = template.slice(open + 2, close).split("|").map((name) => named(name.trim()));
    types.push(options.length === 1 ? options[0] : Union(options));
    at = close + 1;
  }
  return types;
}

function named(name) {
  const basic = { string: String, number: Number, integer: Integer, boolean: Boolean, bigint: BigInt };
  if (Object.hasOwn(basic, name)) return basic[name]();
  const quoted = /^(["'])(.*)\1$/.exec(name);
  return quoted ? Literal(quoted[2]) : Literal(name);
}

/** Each type as the list of its strings, or as a pattern. */
function part(type) {
  if (type.const !== undefined) return { values: [`${type.const}`] };
  switch (type["~kind"]) {
    case "Boolean":
      return { values: ["false", "true"] };
    case "Enum":
      return { values: type.enum.map((value) => `${value}`) };
    case "Union": {
      const parts = type.anyOf.map(part);
      if (parts.every((one) => one.values)) return { values: parts.flatMap((one) => one.values) };
      return { pattern: `(${parts.map(source).join("|")})` };
    }
    case "TemplateLiteral": {
      const values = templateValues(type);
      return values ? { values } : { pattern: type.pattern.slice(1, -1) };
    }
    case "Number":
      return { pattern: NumberPattern };
    case "Integer":
      return { pattern: IntegerPattern };
    case "BigInt":
      return { pattern: `${IntegerPattern}n` };
    default:
      return { pattern: type.pattern ?? StringPattern };
  }
}

function source({ values, pattern }) {
  if (pattern !== undefined) return pattern;
  return values.length === 1 ? values[0] : `(${values.join("|")})`;
}

export function TemplateLiteral(input, options) {
  const parts = (typeof input === "string" ? pieces(input) : input).map(part);
  const schema = make("TemplateLiteral", { type: "string", pattern: `^${parts.map(source).join("")}$` }, options);
  if (!parts.every((one) => one.values)) return schema;
  let all = [""];
  for (const { values } of parts) {
    if (all.length * values.length > MOST) return schema;
    all = all.flatMap((head) => values.map((tail) => head + tail));
  }
  return hide(schema, { "~values": all });
}

/** The strings of a template literal; undefined where there is no end of them. */
export const templateValues = (schema) => schema["~values"];

/** A template literal as the union of its strings. */
export function templateUnion(schema) {
  const values = templateValues(schema);
  if (values === undefined) return undefined;
  return values.length === 0 ? Never() : values.length === 1 ? Literal(values[0]) : Union(values.map((value) => Literal(value)));
}
