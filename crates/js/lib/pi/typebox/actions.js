// Types computed from types: parts of objects, keys, members, unions without some of their members, and references. Computed
// at once, as TypeBox 1.x does where nothing is left open. Assignability (`Conditional`, `Exclude`, `Extract`) is decided for
// the basic types, literals, unions, arrays, tuples and objects; types with open parameters are not instantiated.

import { Literal, Never, Number, Object_, Optional, String, Tuple, Union, copy, hide, isOptional, make } from "jackfield:pi/typebox/build";
import { templateUnion } from "jackfield:pi/typebox/template";

const kindOf = (type) => type?.["~kind"];

/** Options of an action go onto its result. */
function withOptions(schema, options) {
  return options === undefined ? schema : Object.assign(schema, options);
}

export function unionOf(types, options) {
  const flat = types.flatMap((type) => (kindOf(type) === "Union" ? type.anyOf : [type])).filter((type) => kindOf(type) !== "Never");
  const unique = flat.filter((type, i) => !flat.slice(0, i).some((other) => JSON.stringify(other) === JSON.stringify(type)));
  if (unique.length === 0) return withOptions(Never(), options);
  return unique.length === 1 ? withOptions(copy(unique[0]), options) : Union(unique, options);
}

const without = (schema, name) => copy(schema, {}, [name]);

function both(left, right) {
  const optional = isOptional(left) && isOptional(right);
  const [a, b] = [without(left, "~optional"), without(right, "~optional")];
  const met = isAssignable(a, b) ? a : isAssignable(b, a) ? b : kindOf(a) === "Object" && kindOf(b) === "Object" ? collapse(make("Intersect", { allOf: [a, b] })) : Never();
  return optional ? Optional(met) : met;
}

function either(left, right) {
  const joined = unionOf([without(left, "~optional"), without(right, "~optional")]);
  return isOptional(left) || isOptional(right) ? Optional(joined) : joined;
}

/** The members of an object, or of what combines objects. */
export function members(type) {
  switch (kindOf(type)) {
    case "Object":
      return type.properties;
    case "Cyclic":
      return members(type.$defs[type.$ref]);
    case "Intersect":
      return type.allOf.map(members).reduce((all, next) => {
        const merged = { ...all };
        for (const [key, value] of Object.entries(next)) merged[key] = Object.hasOwn(all, key) ? both(all[key], value) : value;
        return merged;
      }, {});
    case "Union": {
      const [first = {}, ...rest] = type.anyOf.map(members);
      return rest.reduce((all, next) => {
        const common = Object.keys(all).filter((key) => Object.hasOwn(next, key));
        return Object.fromEntries(common.map((key) => [key, either(all[key], next[key])]));
      }, first);
    }
    case "Tuple":
      return { ...type.items };
    default:
      return {};
  }
}

const collapse = (type) => Object_(members(type));

function eachMember(type, change, options) {
  if (kindOf(type) === "Union") return Union(type.anyOf.map((one) => eachMember(one, change)), options);
  const changed = Object.entries(kindOf(type) === "Tuple" ? {} : members(type)).map(([key, value]) => [key, change(value)]);
  return Object_(Object.fromEntries(changed), options);
}

export const Partial = (type, options) => eachMember(type, Optional, options);
export const Required = (type, options) => eachMember(type, (value) => without(value, "~optional"), options);
export const ReadonlyObject = (type, options) => eachMember(type, (value) => copy(value, { "~readonly": true }), options);
export const ReadonlyType = ReadonlyObject;

/** The names that a list or a type of keys stands for. */
export function keyList(keys) {
  if (Array.isArray(keys)) return keys.map((key) => `${key}`);
  if (keys?.const !== undefined) return [`${keys.const}`];
  if (kindOf(keys) === "Union") return keys.anyOf.flatMap(keyList);
  if (kindOf(keys) === "Enum") return keys.enum.map((key) => `${key}`);
  const union = kindOf(keys) === "TemplateLiteral" ? templateUnion(keys) : undefined;
  return union ? keyList(union) : [];
}

function select(type, wanted, options) {
  const chosen = Object.entries(kindOf(type) === "Tuple" ? {} : members(type)).filter(([key]) => wanted(key));
  return Object_(Object.fromEntries(chosen), options);
}

export function Pick(type, keys, options) {
  const list = new Set(keyList(keys));
  return select(type, (key) => list.has(key), options);
}

export function Omit(type, keys, options) {
  const list = new Set(keyList(keys));
  return select(type, (key) => !list.has(key), options);
}

export function Composite(left, right, options) {
  const list = Array.isArray(left) ? left : [left, right];
  return Object_(members(make("Intersect", { allOf: list })), Array.isArray(left) ? right : options);
}

export const Interface = (heritage, properties, options) =>
  Object_({ ...members(make("Intersect", { allOf: heritage })), ...properties }, options);

export function KeyOf(type, options) {
  switch (kindOf(type)) {
    case "Record": {
      const [pattern] = Object.keys(type.patternProperties);
      return withOptions(pattern.startsWith("^-?(?:0") ? Number() : String(), options);
    }
    case "Array":
      return withOptions(Number(), options);
    case "Tuple":
      return unionOf(type.items.map((_item, i) => Literal(i)), options);
    default:
      return unionOf(Object.keys(members(type)).map((key) => Literal(key)), options);
  }
}

export function Index(type, keys, options) {
  if (kindOf(type) === "Array" && ["Number", "Integer"].includes(kindOf(keys))) return withOptions(copy(type.items), options);
  if (kindOf(type) === "Tuple" && ["Number", "Integer"].includes(kindOf(keys))) return unionOf(type.items, options);
  const known = members(type);
  const found = keyList(keys).filter((key) => Object.hasOwn(known, key)).map((key) => known[key]);
  return found.length === 1 ? withOptions(copy(found[0]), options) : unionOf(found, options);
}

const PRIMITIVE = { String: "string", Number: "number", Integer: "number", Boolean: "boolean", BigInt: "bigint" };

/** Whether every value of `left` is one of `right`. */
export function isAssignable(left, right) {
  const [a, b] = [kindOf(left), kindOf(right)];
  if (b === "Any" || b === "Unknown" || a === "Never") return true;
  if (a === "Any") return true;
  if (a === "Union") return left.anyOf.every((one) => isAssignable(one, right));
  if (b === "Union") return right.anyOf.some((one) => isAssignable(left, one));
  if (a === "Enum") return left.enum.every((value) => isAssignable(Literal(value), right));
  if (b === "Enum") return right.enum.some((value) => isAssignable(left, Literal(value)));
  if (b === "Intersect") return right.allOf.every((one) => isAssignable(left, one));
  if (a === "Intersect") return left.allOf.some((one) => isAssignable(one, right)) || isAssignable(collapse(left), right);
  if (a === "Literal") return b === "Literal" ? left.const === right.const : typeof left.const === PRIMITIVE[b];
  if (a === "TemplateLiteral") return b === "String" || (b === a && left.pattern === right.pattern);
  if (a === "Integer" && b === "Number") return true;
  if (a === "Undefined" && b === "Void") return true;
  if (b === "Object" && ["Object", "Tuple", "Array", "Record"].includes(a)) {
    const own = members(left);
    return Object.entries(members(right)).every(([key, value]) =>
      Object.hasOwn(own, key) ? isAssignable(own[key], value) && (!isOptional(own[key]) || isOptional(value)) : isOptional(value));
  }
  if (a !== b) return a === "Tuple" && b === "Array" && left.items.every((item) => isAssignable(item, right.items));
  if (a === "Array") return isAssignable(left.items, right.items);
  if (a === "Tuple") return left.items.length === right.items.length && left.items.every((item, i) => isAssignable(item, right.items[i]));
  return a !== undefined && (a !== "Ref" || left.$ref === right.$ref);
}

const parts = (type) => {
  if (kindOf(type) === "Union") return type.anyOf;
  if (kindOf(type) === "Enum") return type.enum.map((value) => Literal(value));
  return [(kindOf(type) === "TemplateLiteral" && templateUnion(type)) || type];
};

export const Exclude = (type, other, options) => unionOf(parts(type).filter((one) => !isAssignable(one, other)), options);
export const Extract = (type, other, options) => unionOf(parts(type).filter((one) => isAssignable(one, other)), options);
export const NonNullable = (type, options) =>
  unionOf(parts(type).filter((one) => !["Null", "Undefined", "Void"].includes(kindOf(one))), options);
export const Conditional = (left, right, yes, no, options) => withOptions(copy(isAssignable(left, right) ? yes : no), options);

function mapStrings(type, change, options) {
  if (typeof type.const === "string") return Literal(change(type.const), options);
  const union = kindOf(type) === "TemplateLiteral" ? templateUnion(type) : type;
  if (kindOf(union) === "Union") return Union(union.anyOf.map((one) => mapStrings(one, change)), options);
  return union && union !== type ? mapStrings(union, change, options) : withOptions(copy(type), options);
}

export const Capitalize = (type, options) => mapStrings(type, (text) => text.charAt(0).toUpperCase() + text.slice(1), options);
export const Uncapitalize = (type, options) => mapStrings(type, (text) => text.charAt(0).toLowerCase() + text.slice(1), options);
export const Uppercase = (type, options) => mapStrings(type, (text) => text.toUpperCase(), options);
export const Lowercase = (type, options) => mapStrings(type, (text) => text.toLowerCase(), options);

export const Parameters = (type, options) => Tuple(type.parameters, options);
export const ReturnType = (type, options) => withOptions(copy(type.returnType), options);
export const ConstructorParameters = Parameters;
export const InstanceType = (type, options) => withOptions(copy(type.instanceType), options);
export const With = (type, options) => withOptions(copy(type), options);

/** Intersections of objects as one object; unions without members that others contain. */
export function Evaluate(type, options) {
  if (kindOf(type) === "Intersect") {
    if (type.allOf.every((one) => ["Object", "Intersect"].includes(kindOf(one)))) return Object_(members(type), options);
    return withOptions(copy(type.allOf.reduce((all, next) => both(all, next))), options);
  }
  if (kindOf(type) !== "Union") return withOptions(copy(type), options);
  const list = type.anyOf.map((one) => Evaluate(one));
  return unionOf(list.filter((one, i) => !list.some((other, j) => i !== j && isAssignable(one, other) && (!isAssignable(other, one) || j < i))), options);
}

/** Puts types in place of references; what stays open stays a reference. */
export function substitute(type, known, open = new Set()) {
  if (typeof type !== "object" || type === null) return type;
  if (Array.isArray(type)) return type.map((one) => substitute(one, known, open));
  if (kindOf(type) === "Ref" && Object.hasOwn(known, type.$ref) && !open.has(type.$ref)) {
    return substitute(known[type.$ref], known, new Set([...open, type.$ref]));
  }
  if (kindOf(type) === "Deferred") return type.action(...type.arguments.map((one) => substitute(one, known, open)));
  const result = copy(type);
  for (const key of Object.keys(result)) result[key] = key === "const" || key === "enum" || key === "default" ? result[key] : substitute(result[key], known, open);
  return result;
}

export const Instantiate = (context, type) => substitute(type, context);

/** `Mapped(Identifier("K"), keys, as, property)`. The property type is read per key, so `Index(T, Ref("K"))` must stay open. */
export function Mapped(identifier, keys, as, property, options) {
  const entries = keyList(kindOf(keys) === "TemplateLiteral" ? (templateUnion(keys) ?? keys) : keys).map((key) => {
    const known = { [identifier.name]: Literal(key) };
    return [keyList(substitute(as, known))[0] ?? key, substitute(property, known)];
  });
  return Object_(Object.fromEntries(entries), options);
}

/** Actions on references wait until the reference is known. */
export function deferrable(action) {
  return (...args) => {
    if (!args.some((arg) => kindOf(arg) === "Ref" || kindOf(arg) === "Deferred")) return action(...args);
    return hide({ arguments: args }, { "~kind": "Deferred", action });
  };
}

function references(type, found = new Set()) {
  if (typeof type !== "object" || type === null) return found;
  if (kindOf(type) === "Ref") found.add(type.$ref);
  for (const value of Object.values(type)) references(value, found);
  return found;
}

function reachable(definitions, start) {
  const seen = new Set();
  const visit = (name) => {
    for (const next of references(definitions[name])) {
      if (seen.has(next) || !Object.hasOwn(definitions, next)) continue;
      seen.add(next);
      visit(next);
    }
  };
  visit(start);
  return seen;
}

export function Cyclic(definitions, ref, options) {
  const $defs = {};
  for (const [name, type] of Object.entries(definitions)) $defs[name] = Object.assign(copy(type), { $id: name });
  return make("Cyclic", { $defs, $ref: ref }, options);
}

/** Types by name: references are filled in, and those that lead back to themselves become cyclic. */
export function Module(definitions) {
  const result = {};
  for (const name of Object.keys(definitions)) {
    const reached = reachable(definitions, name);
    const cyclic = [...reached].some((one) => reachable(definitions, one).has(one));
    if (!cyclic) {
      result[name] = substitute(definitions[name], definitions);
      continue;
    }
    const needed = Object.keys(definitions).filter((one) => one === name || reached.has(one));
    result[name] = Cyclic(Object.fromEntries(needed.map((one) => [one, definitions[one]])), name);
  }
  return result;
}

/** The spelling of TypeBox before 1.0. */
export function Recursive(build, options = {}) {
  const id = options.$id ?? "T0";
  const inner = build(make("Ref", { $ref: id }));
  return Cyclic({ [id]: inner }, id, { ...options, $id: undefined });
}

/** A value as its own type. */
export function Const(value, options) {
  if (Array.isArray(value)) return Tuple(value.map((one) => Const(one)), options);
  if (typeof value === "object" && value !== null) return Object_(Object.fromEntries(Object.entries(value).map(([key, one]) => [key, Const(one)])), options);
  return value === null ? make("Null", { type: "null" }, options) : Literal(value, options);
}


