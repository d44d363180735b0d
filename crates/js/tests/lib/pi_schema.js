// Arguments of tools: what is fitted, what is refused, and in which words. Expected values are what real pi 1.5.0 answers.
import assert from "node:assert";
import { plainlyFits } from "jackfield:pi/runtime/plain-schema";
import { validateArguments } from "jackfield:pi/runtime/schema";

const run = (schema, value) => {
  try {
    return validateArguments("t", { type: "object", properties: { v: schema }, required: ["v"] }, { v: value }).v;
  } catch (error) {
    return error.message.split("\n\nReceived arguments:")[0].split("\n").slice(1).map((line) => line.slice(4)).join("; ");
  }
};

const FITTED = [
  [{ type: "number" }, "5", 5], [{ type: "number" }, "5.5", 5.5], [{ type: "number" }, " 5 ", 5], [{ type: "number" }, "", 0],
  [{ type: "number" }, true, 1], [{ type: "number" }, null, 0], [{ type: "number" }, "0x10", 16], [{ type: "number" }, "true", 1],
  [{ type: "integer" }, "5.5", 5], [{ type: "integer" }, -5.7, -5], [{ type: "integer" }, "1e3", 1000],
  [{ type: "boolean" }, "TRUE", true], [{ type: "boolean" }, "0", false], [{ type: "boolean" }, 1, true], [{ type: "boolean" }, null, false],
  [{ type: "null" }, "", null], [{ type: "null" }, "null", null], [{ type: "null" }, 0, null],
  [{ type: "string" }, 5, "5"], [{ type: "string" }, null, "null"], [{ type: "string" }, false, "false"],
  [{ type: "array" }, 5, [5]], [{ type: "array" }, null, [null]], [{ type: "array", items: { type: "number" } }, "5", [5]],
  [{ type: ["string", "number"] }, true, "true"], [{ type: ["string", "number"] }, null, ""],
  [{ type: ["number", "null"] }, "", null], [{ type: ["number", "null"] }, "5", 5], [{ type: ["integer", "boolean"] }, "true", true],
  [{ enum: ["a", "b", 5] }, "5", 5], [{ const: true }, "true", true], [{ type: "string", enum: ["a", "5"] }, 5, "5"],
  [{ anyOf: [{ type: "number" }, { type: "string" }] }, "5", "5"], [{ anyOf: [{ type: "number" }, { type: "string" }] }, true, 1],
  [{ anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] }, ["a", 5], ["a", "5"]],
  [{ type: "array", items: [{ type: "string" }, { type: "number" }], additionalItems: false }, ["a", "5"], ["a", 5]],
  [{ type: "object", patternProperties: { "^x": { type: "number" } } }, { x: "5", y: "5" }, { x: 5, y: "5" }],
  [{ type: "object", properties: { a: { type: "number" } } }, { a: null }, {}],
  [{ type: "object", properties: { a: { type: ["number", "null"] } } }, { a: null }, { a: null }],
  [{ type: "object", additionalProperties: { type: "number" } }, { x: null }, { x: 0 }],
  [{ type: "string", format: "nope" }, "x", "x"], [{}, null, null], [true, 5, 5],
];
for (const [schema, value, expected] of FITTED) assert.deepStrictEqual(run(schema, value), expected, JSON.stringify([schema, value]));

const REFUSED = [
  [{ type: "number" }, "abc", "v: expected number, got string"], [{ type: "number" }, "Infinity", "v: expected number, got string"],
  [{ type: "number" }, [5], "v: expected number, got array"], [{ type: "boolean" }, "yes", "v: expected boolean, got string"],
  [{ type: "boolean" }, 2, "v: expected boolean, got integer"], [{ type: "string" }, {}, "v: expected string, got object"],
  [{ type: ["string", "number"] }, [], "v: expected string or number, got array"],
  [{ type: ["integer", "boolean"] }, 5.5, "v: expected integer or boolean, got number"],
  [{ enum: ["a", 5] }, "c", 'v: expected one of ["a",5]'], [{ const: 5 }, 6, "v: expected 5"], [{ const: null }, "", "v: expected null"],
  [{ anyOf: [{ const: "a", type: "string" }, { const: "b", type: "string" }] }, "d", 'v: expected "a"'],
  [{ oneOf: [{ type: "number" }, { type: "integer" }] }, 5, "v: matches more than one alternative"],
  [{ not: { type: "string" } }, "x", "v: must not match the schema in not"],
  [{ type: "object", properties: { a: {} }, additionalProperties: false }, { b: 1, c: 2 }, "v.b: unknown field; v.c: unknown field"],
  [{ type: "object", properties: { a: {} }, required: ["a"] }, {}, "v.a: missing"],
  [{ type: "object", minProperties: 1 }, {}, "v: expected at least 1 properties"],
  [{ type: "object", propertyNames: { pattern: "^a" } }, { b: 1 }, "v.b: invalid property name"],
  [{ type: "array", uniqueItems: true, maxItems: 2 }, ["a", "a", "b"], "v: expected at most 2 items; v: expected unique items"],
  [{ type: "array", items: [{}], additionalItems: false }, [1, 2], "v.1: no value is allowed here"],
  [{ type: "array", contains: { type: "string" } }, [1], "v: expected at least 1 matching item"],
  [{ type: "number", exclusiveMinimum: 3, exclusiveMaximum: 3 }, 3, "v: expected > 3; v: expected < 3"],
  [{ type: "number", maximum: 3, multipleOf: 2 }, "5", "v: expected <= 3; v: expected a multiple of 2"],
  [{ type: "string", minLength: 3, pattern: "^a" }, "b", "v: expected at least 3 characters; v: expected to match ^a"],
  [{ type: "string", format: "date-time" }, "x", "v: expected format date-time"],
  [{ $ref: "#/$defs/q" }, "5", "v: unresolved reference #/$defs/q"], [false, 5, "v: no value is allowed here"],
  [{ dependentRequired: { a: ["b"] } }, { a: 1 }, "v.b: required when a is present"],
];
for (const [schema, value, expected] of REFUSED) assert.strictEqual(run(schema, value), expected, JSON.stringify([schema, value]));

assert.throws(() => validateArguments("t", { type: "object", required: ["s"] }, {}), {
  message: 'Validation failed for tool "t":\n  - s: missing\n\nReceived arguments:\n{}',
});
assert.throws(() => validateArguments("t", { type: "object" }, "str"), /root: expected object, got string/);

// A schema that refers to itself ends, also on values that never do.
const list = { type: "object", properties: { next: { $ref: "#" } } };
let deep = {};
for (let i = 0; i < 400; i++) deep = { next: deep };
assert.throws(() => validateArguments("t", list, deep), /nested too deep/);
assert.throws(() => validateArguments("t", { $ref: "#" }, {}), /nested too deep/);

// The caller's own object stays as it was.
const given = { v: "5" };
assert.deepStrictEqual(validateArguments("t", { type: "object", properties: { v: { type: "number" } } }, given), { v: 5 });
assert.deepStrictEqual(given, { v: "5" });

// What is taken to be right at a glance is what the walk leaves as it is; every schema above against every value.
const plain = [{ type: "string" }, { type: "number", description: "n" }, { type: "integer" }, { type: "boolean", default: true }, { type: "string", enum: ["a", "5"] }, { enum: ["a"] }];
const schemas = [...FITTED, ...REFUSED].map(([schema]) => schema).concat(plain);
const values = [...FITTED, ...REFUSED].map(([, value]) => value).concat(["a", 5, 5.5, true, undefined]);
let glances = 0;
for (const inner of schemas) {
  for (const extra of [{}, { additionalProperties: false }, { additionalProperties: true, title: "t" }, { minProperties: 2 }, { additionalProperties: {} }]) {
    const schema = { type: "object", properties: { v: inner, other: { type: "number" } }, required: ["v"], ...extra };
    for (const value of values) {
      for (const args of [{ v: value }, { v: value, more: [1] }, { v: value, other: 1 }, { v: value, other: null }, { other: 1 }, {}, null, [value]]) {
        const before = JSON.stringify(args);
        if (args?.v === undefined && args !== null && "v" in args) continue; // JSON has no such thing
        if (!plainlyFits(schema, args)) continue;
        glances++;
        assert.strictEqual(JSON.stringify(validateArguments("t", schema, args)), before, JSON.stringify([schema, args]));
      }
    }
  }
}
assert.ok(glances > 500, `${glances} were right at a glance`);
for (const [inner, value] of [[plain[0], "x"], [plain[1], 1.5], [plain[2], 7], [plain[3], false], [plain[4], "5"], [plain[5], "a"]]) {
  assert.ok(plainlyFits({ type: "object", properties: { v: inner }, required: ["v"] }, { v: value }), JSON.stringify(inner));
}
for (const schema of [undefined, null, true, "object", {}, { type: "array" }, { type: "object", required: "v" }, { type: "object", properties: null }]) {
  assert.strictEqual(plainlyFits(schema, { v: 1 }), false, JSON.stringify(schema));
}
