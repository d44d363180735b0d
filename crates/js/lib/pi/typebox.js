// The `typebox` package (also under its old name `@sinclair/typebox`): `Type` and everything in it by name. What is in
// `Type` is looked for when it is used, so that files which the basic constructors do not need are mostly never evaluated.
// Missing from TypeBox 1.x: `Script`, types with open parameters (`Generic`, `Call`) and the internal steps that the
// package exports (`…Action`, `…Deferred`, `…Instantiate`). `Recursive`, `Const`, `Transform` and `Type.Composite` are
// spellings from before 1.0 that old extensions still use.

import * as build from "jackfield:pi/typebox/build";
import * as deferred from "jackfield:pi/typebox/deferred";
import * as actions from "jackfield:pi/typebox/actions";
import * as template from "jackfield:pi/typebox/template";
import * as guards from "jackfield:pi/typebox/guards";

/** The members of `Type` by the file that has them, in their order, each between spaces. */
const MEMBERS = [
  [build, " String Number Integer Boolean Null Any Unknown Never Undefined Void BigInt Symbol Literal Array Ref Union " +
    "Intersect Tuple Enum Record Optional Readonly Immutable Unsafe Constructor Rest Identifier Parameter Infer This " +
    "Dependent Refine Codec Decode Encode Object Function "],
  [deferred, " Partial Required ReadonlyObject ReadonlyType Pick Omit Interface KeyOf Index Exclude Extract NonNullable " +
    "Conditional Capitalize Uncapitalize Uppercase Lowercase Parameters ReturnType ConstructorParameters InstanceType " +
    "With Evaluate Composite "],
  [actions, " Instantiate Mapped Cyclic Module Recursive Const "],
  [template, " TemplateLiteral "],
  [build, " Transform "],
  [guards, " IsAny IsArray IsBigInt IsBoolean IsCall IsCodec IsConstructor IsCyclic IsDependent IsEnum IsEnumValue IsFunction " +
    "IsGeneric IsIdentifier IsImmutable IsInfer IsInteger IsIntersect IsKind IsLiteral IsNever IsNull IsNumber " +
    "IsObject IsOptional IsParameter IsReadonly IsRecord IsRef IsRefine IsRest IsSchema IsString IsSymbol " +
    "IsTemplateLiteral IsThis IsTuple IsUndefined IsUnion IsUnknown IsUnsafe IsVoid "],
];
/** Members that their file has under another name. */
const CALLED = { __proto__: null, Object: "Object_", Function: "Function_", Transform: "Codec" };

/** The file that has a member. */
function fileOf(name) {
  if (typeof name !== "string" || name.includes(" ")) return undefined;
  const word = ` ${name} `;
  for (const [file, names] of MEMBERS) if (names.includes(word)) return file;
  return undefined;
}

const handler = {
  get(target, name) {
    if (name in target) return target[name];
    const file = fileOf(name);
    if (file === undefined) return undefined;
    return (target[name] = file[CALLED[name] ?? name]);
  },
  has: (target, name) => name in target || fileOf(name) !== undefined,
  ownKeys: (target) => [
    ...new Set([...MEMBERS.flatMap(([, names]) => names.trim().split(" ")), ...Reflect.ownKeys(target)]),
  ],
  getOwnPropertyDescriptor(target, name) {
    if (!Object.hasOwn(target, name)) {
      if (fileOf(name) === undefined) return undefined;
      handler.get(target, name);
    }
    return Object.getOwnPropertyDescriptor(target, name);
  },
};

export const Type = new Proxy({}, handler);

export default Type;
export {
  Partial, Required, ReadonlyObject, ReadonlyType, Pick, Omit, Interface, KeyOf, Index, Exclude, Extract,
  NonNullable, Conditional, Capitalize, Uncapitalize, Uppercase, Lowercase, Parameters, ReturnType,
  ConstructorParameters, InstanceType, With, Evaluate, Composite,
} from "jackfield:pi/typebox/deferred";
export {
  String, Number, Integer, Boolean, Null, Any, Unknown, Never, Undefined, Void, BigInt, Symbol, Literal, Array, Ref,
  Union, Intersect, Tuple, Enum, Record, Optional, Readonly, Immutable, Unsafe, Constructor, Rest, Identifier,
  Parameter, Infer, This, Dependent, Refine, Codec, Decode, Encode, Object_ as Object, Object_ as _Object_,
  Function_ as Function, Function_ as _Function_, Array as _Array_, StringPattern, IntegerPattern, NumberPattern,
  StringKey, IntegerKey, NumberKey,
} from "jackfield:pi/typebox/build";
export {
  Instantiate, Mapped, Cyclic, Module, Recursive, Const,
} from "jackfield:pi/typebox/actions";
export { TemplateLiteral } from "jackfield:pi/typebox/template";
export {
  IsKind, IsSchema, IsAny, IsArray, IsBigInt, IsBoolean, IsCall, IsConstructor, IsCyclic, IsDeferred, IsDependent,
  IsEnum, IsFunction, IsGeneric, IsIdentifier, IsInfer, IsInteger, IsIntersect, IsLiteral, IsNever, IsNull, IsNumber,
  IsObject, IsParameter, IsRecord, IsRef, IsRest, IsString, IsSymbol, IsTemplateLiteral, IsThis, IsTuple, IsUndefined,
  IsUnion, IsUnknown, IsVoid, IsOptional, IsReadonly, IsImmutable, IsUnsafe, IsCodec, IsRefine, IsEnumValue,
  IsLiteralValue, IsLiteralString, IsLiteralNumber, IsLiteralBoolean, IsLiteralBigInt, IsTypeScriptEnumLike,
} from "jackfield:pi/typebox/guards";
