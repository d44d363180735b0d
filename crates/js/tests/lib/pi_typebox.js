// Schemas and values as TypeBox 1.x makes them. Expected texts come from the package that pi 1.5.0 carries; the order of
// keys counts.
import assert from "node:assert";
import Default, { Type, String as StringOf, IsOptional, IsString, Composite } from "jackfield:pi/typebox";
import * as everything from "jackfield:pi/typebox";
import { Value, ParseError } from "jackfield:pi/typebox/value";
import { Compile } from "jackfield:pi/typebox/compile";

const T = Type;
assert.strictEqual(Default, T);
assert.strictEqual(StringOf, T.String);
// What is looked for only when it is used is there all the same.
assert.deepStrictEqual(["Partial" in T, "Transform" in T, "nothing" in T, T.nothing, "Any Unknown" in T], [true, true, false, undefined, false]);
assert.deepStrictEqual([Object.keys(T)[0], Object.keys(T).includes("IsString"), { ...T }.Pick === T.Pick], ["String", true, true]);
for (const name of ["Type", "default", "Partial", "IsAny", "Object", "TemplateLiteral", "StringPattern"]) {
  assert.ok(name in everything && Object.keys(everything).includes(name), name);
}
assert.deepStrictEqual([everything.Partial === T.Partial, everything.Object === T.Object, "Transform" in everything], [true, true, false]);
const O = T.Object({ a: T.String(), b: T.Optional(T.Number()), c: T.Readonly(T.Boolean()) }, { description: "d", additionalProperties: false });
const both = () => T.Intersect([T.Object({ a: T.String() }), T.Object({ b: T.Number() })]);

const SCHEMAS = [
  [O, '{"type":"object","required":["a","c"],"properties":{"a":{"type":"string"},"b":{"type":"number"},"c":{"type":"boolean"}},"description":"d","additionalProperties":false}', "Object"],
  [T.Object({}), '{"type":"object","properties":{}}', "Object"],
  [T.Object({ a: T.Optional(T.String()) }), '{"type":"object","properties":{"a":{"type":"string"}}}', "Object"],
  [T.String({ minLength: 1, description: "x" }), '{"type":"string","minLength":1,"description":"x"}', "String"],
  [T.Any(), "{}", "Any"], [T.Never(), '{"not":{}}', "Never"], [T.Literal(5, { title: "t" }), '{"type":"number","const":5,"title":"t"}', "Literal"],
  [T.Tuple([T.String(), T.Number()], { description: "d" }), '{"type":"array","additionalItems":false,"items":[{"type":"string"},{"type":"number"}],"minItems":2,"description":"d"}', "Tuple"],
  [T.Union([T.Literal("a"), T.Literal("b")], { description: "d" }), '{"anyOf":[{"type":"string","const":"a"},{"type":"string","const":"b"}],"description":"d"}', "Union"],
  [T.Enum({ A: "a", B: 1, 1: "B" }), '{"enum":["a",1]}', "Enum"], [T.Enum(["x", "y"], { default: "x" }), '{"enum":["x","y"],"default":"x"}', "Enum"],
  [T.Record(T.String(), T.Any(), { description: "d" }), '{"type":"object","patternProperties":{"^.*$":{}},"description":"d"}', "Record"],
  [T.Record(T.Integer(), T.String()), '{"type":"object","patternProperties":{"^-?(?:0|[1-9][0-9]*)$":{"type":"string"}}}', "Record"],
  [T.Record(T.Union([T.Literal("a"), T.Literal("b")]), T.Number()), '{"type":"object","required":["a","b"],"properties":{"a":{"type":"number"},"b":{"type":"number"}}}', "Object"],
  [T.Record(T.TemplateLiteral("k${0|1}"), T.Null()), '{"type":"object","required":["k0","k1"],"properties":{"k0":{"type":"null"},"k1":{"type":"null"}}}', "Object"],
  [T.Partial(O), '{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"},"c":{"type":"boolean"}}}', "Object"],
  [T.Required(T.Partial(O), { title: "t" }), '{"type":"object","required":["a","b","c"],"properties":{"a":{"type":"string"},"b":{"type":"number"},"c":{"type":"boolean"}},"title":"t"}', "Object"],
  [T.Pick(O, ["b", "a"]), '{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"number"}}}', "Object"],
  [T.Omit(both(), ["a"]), '{"type":"object","required":["b"],"properties":{"b":{"type":"number"}}}', "Object"],
  [T.KeyOf(O), '{"anyOf":[{"type":"string","const":"a"},{"type":"string","const":"b"},{"type":"string","const":"c"}]}', "Union"],
  [T.KeyOf(T.Object({ a: T.String() })), '{"type":"string","const":"a"}', "Literal"], [T.KeyOf(T.Object({})), '{"not":{}}', "Never"],
  [T.Index(O, ["a", "b"]), '{"anyOf":[{"type":"string"},{"type":"number"}]}', "Union"], [T.Index(T.Array(T.String()), T.Number()), '{"type":"string"}', "String"],
  [T.Evaluate(both()), '{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"number"}}}', "Object"],
  [Composite(T.Object({ a: T.String() }), T.Object({ b: T.Optional(T.Number()) })), '{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"number"}}}', "Object"],
  [T.Cyclic({ A: T.Object({ next: T.Optional(T.Ref("A")) }) }, "A"), '{"$defs":{"A":{"type":"object","properties":{"next":{"$ref":"A"}},"$id":"A"}},"$ref":"A"}', "Cyclic"],
  [T.TemplateLiteral([T.Literal("a"), T.Union([T.Literal("x"), T.Literal("y")])]), '{"type":"string","pattern":"^a(x|y)$"}', "TemplateLiteral"],
  [T.Exclude(T.Union([T.Literal("a"), T.Literal("b")]), T.Literal("a")), '{"type":"string","const":"b"}', "Literal"],
  [T.Extract(T.Union([T.Literal("a"), T.Number()]), T.String()), '{"type":"string","const":"a"}', "Literal"],
  [T.NonNullable(T.Union([T.String(), T.Null()])), '{"type":"string"}', "String"], [T.Uppercase(T.Literal("abc")), '{"type":"string","const":"ABC"}', "Literal"],
  [T.Conditional(T.Literal("q"), T.String(), T.Literal(1), T.Literal(2)), '{"type":"number","const":1}', "Literal"],
  [T.Mapped(T.Identifier("K"), T.KeyOf(O), T.Ref("K"), T.Index(O, T.Ref("K"))), '{"type":"object","required":["a","c"],"properties":{"a":{"type":"string"},"b":{"type":"number"},"c":{"type":"boolean"}}}', "Object"],
  [T.Unsafe({ type: "string", enum: ["a"] }), '{"type":"string","enum":["a"]}', undefined],
];
for (const [schema, expected, kind] of SCHEMAS) {
  assert.strictEqual(JSON.stringify(schema), expected);
  assert.strictEqual(schema["~kind"], kind);
  assert.ok(!Object.keys(schema).some((key) => key.startsWith("~")));
}
assert.deepStrictEqual([IsOptional(T.Optional(T.String())), IsOptional(T.String()), IsString(T.String()), T.IsUnion(T.Any())], [true, false, true, false]);
assert.strictEqual(JSON.stringify(T.Module({ A: T.Object({ n: T.Ref("A") }), D: T.Partial(T.Ref("E")), E: T.Object({ x: T.String() }) })),
  '{"A":{"$defs":{"A":{"type":"object","required":["n"],"properties":{"n":{"$ref":"A"}},"$id":"A"}},"$ref":"A"},"D":{"type":"object","properties":{"x":{"type":"string"}}},"E":{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}}');

// Values.
const S = T.Object({ n: T.Number({ default: 5 }), s: T.Optional(T.String()), l: T.Array(T.Integer(), { default: [] }) });
const codec = T.Codec(T.String()).Decode(Number).Encode(String);
assert.deepStrictEqual([Value.Check(S, { n: 1, l: [] }), Value.Check(S, {}), Value.Check(T.Object({ d: T.Optional(T.String()) }), { d: undefined })], [true, false, true]);
assert.deepStrictEqual(Value.Errors(S, { n: "x", l: [1.5] }), [
  { keyword: "type", schemaPath: "#/properties/n", instancePath: "/n", params: { type: "number" }, message: "must be number" },
  { keyword: "type", schemaPath: "#/properties/l/items", instancePath: "/l/0", params: { type: "integer" }, message: "must be integer" },
]);
assert.deepStrictEqual(Value.Errors(T.Object({ a: T.String() }), {}), [
  { keyword: "required", schemaPath: "#", instancePath: "", params: { requiredProperties: ["a"] }, message: "must have required properties a" },
]);
assert.deepStrictEqual(Value.Default(S, {}), { n: 5, l: [] });
assert.deepStrictEqual(Value.Clean(T.Array(T.Object({ a: T.String() })), [{ a: 1, c: 2 }]), [{ a: 1 }]);
assert.deepStrictEqual(Value.Convert(S, { n: "5", l: "7", s: 5 }), { n: 5, l: [7], s: "5" });
assert.strictEqual(Value.Convert(T.Union([T.Boolean(), T.Number()]), "5"), 5);
assert.deepStrictEqual(Value.Create(T.Object({ a: T.Optional(T.String()), b: T.Tuple([T.String(), T.Integer({ exclusiveMinimum: 3 })]) })), { b: ["", 4] });
assert.throws(() => Value.Parse(S, { n: "q" }), (error) => error instanceof ParseError && error.message === "Parse" && error.cause.errors.length === 2);
assert.deepStrictEqual(Value.Parse(S, { n: 1, l: [], extra: 1 }), { n: 1, l: [], extra: 1 });
assert.deepStrictEqual(Value.Decode(T.Object({ x: codec, y: T.Array(codec) }), { x: "1", y: ["2"] }), { x: 1, y: [2] });
assert.strictEqual(Value.Encode(codec, 5), "5");
assert.deepStrictEqual(Value.Diff({ a: 1, b: 2 }, { a: 2, c: 3 }), [{ type: "insert", path: "/c", value: 3 }, { type: "update", path: "/a", value: 2 }, { type: "delete", path: "/b" }]);
assert.deepStrictEqual(Value.Patch({ a: 1, b: 2 }, Value.Diff({ a: 1, b: 2 }, { a: 2, c: 3 })), { a: 2, c: 3 });
assert.deepStrictEqual([Value.Equal({ a: [1] }, { a: [1] }), Value.Hash({ a: 1, b: 2 }) === Value.Hash({ b: 2, a: 1 }), Value.Hash(1) === Value.Hash("1")], [true, true, false]);
assert.throws(() => Value.Pointer.Set({}, "/__proto__/x", 1), /__proto__/);
assert.strictEqual({}.x, undefined);
assert.deepStrictEqual(Value.Errors(T.Refine(T.String(), (x) => x === "a", () => "nope"), "b"), [
  { keyword: "~refine", schemaPath: "#", instancePath: "", params: { index: 0, message: "nope" }, message: "nope" },
]);
const tree = T.Cyclic({ A: T.Object({ next: T.Optional(T.Ref("A")) }) }, "A");
assert.deepStrictEqual([Value.Check(tree, { next: { next: {} } }), Value.Check(tree, { next: { next: 1 } })], [true, false]);
const compiled = Compile(S);
assert.deepStrictEqual([compiled.Check({ n: 1, l: [] }), compiled.Errors({}).length, compiled.Create()], [true, 1, { n: 5, l: [] }]);
