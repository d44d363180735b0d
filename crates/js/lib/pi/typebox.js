// The `typebox` package (also under its old name `@sinclair/typebox`): `Type` and everything in it by name. Names that the
// basic constructors do not need are read through getters, so that their files are only evaluated when they are used.
// Missing from TypeBox 1.x: `Script`, types with open parameters (`Generic`, `Call`) and the internal steps that the
// package exports (`…Action`, `…Deferred`, `…Instantiate`). `Recursive`, `Const`, `Transform` and `Type.Composite` are
// spellings from before 1.0 that old extensions still use.

import {
  String as String_, Number as Number_, Integer as Integer_, Boolean as Boolean_, Null as Null_, Any as Any_,
  Unknown as Unknown_, Never as Never_, Undefined as Undefined_, Void as Void_, BigInt as BigInt_, Symbol as Symbol_,
  Literal as Literal_, Array as Array_, Ref as Ref_, Union as Union_, Intersect as Intersect_, Tuple as Tuple_,
  Enum as Enum_, Record as Record_, Optional as Optional_, Readonly as Readonly_, Immutable as Immutable_,
  Unsafe as Unsafe_, Constructor as Constructor_, Rest as Rest_, Identifier as Identifier_, Parameter as Parameter_,
  Infer as Infer_, This as This_, Dependent as Dependent_, Refine as Refine_, Codec as Codec_, Decode as Decode_,
  Encode as Encode_, Object_, Function_,
} from "jackfield:pi/typebox/build";
import {
  Partial as Partial_, Required as Required_, ReadonlyObject as ReadonlyObject_, ReadonlyType as ReadonlyType_,
  Pick as Pick_, Omit as Omit_, Interface as Interface_, KeyOf as KeyOf_, Index as Index_, Exclude as Exclude_,
  Extract as Extract_, NonNullable as NonNullable_, Conditional as Conditional_, Capitalize as Capitalize_,
  Uncapitalize as Uncapitalize_, Uppercase as Uppercase_, Lowercase as Lowercase_, Parameters as Parameters_,
  ReturnType as ReturnType_, ConstructorParameters as ConstructorParameters_, InstanceType as InstanceType_,
  With as With_, Evaluate as Evaluate_, Composite as Composite_, Instantiate as Instantiate_, Mapped as Mapped_,
  Cyclic as Cyclic_, Module as Module_, Recursive as Recursive_, Const as Const_, deferrable,
} from "jackfield:pi/typebox/actions";
import { TemplateLiteral as TemplateLiteral_ } from "jackfield:pi/typebox/template";
import {
  IsAny as IsAny_, IsArray as IsArray_, IsBigInt as IsBigInt_, IsBoolean as IsBoolean_, IsCall as IsCall_,
  IsCodec as IsCodec_, IsConstructor as IsConstructor_, IsCyclic as IsCyclic_, IsDependent as IsDependent_,
  IsEnum as IsEnum_, IsEnumValue as IsEnumValue_, IsFunction as IsFunction_, IsGeneric as IsGeneric_,
  IsIdentifier as IsIdentifier_, IsImmutable as IsImmutable_, IsInfer as IsInfer_, IsInteger as IsInteger_,
  IsIntersect as IsIntersect_, IsKind as IsKind_, IsLiteral as IsLiteral_, IsNever as IsNever_, IsNull as IsNull_,
  IsNumber as IsNumber_, IsObject as IsObject_, IsOptional as IsOptional_, IsParameter as IsParameter_,
  IsReadonly as IsReadonly_, IsRecord as IsRecord_, IsRef as IsRef_, IsRefine as IsRefine_, IsRest as IsRest_,
  IsSchema as IsSchema_, IsString as IsString_, IsSymbol as IsSymbol_, IsTemplateLiteral as IsTemplateLiteral_,
  IsThis as IsThis_, IsTuple as IsTuple_, IsUndefined as IsUndefined_, IsUnion as IsUnion_, IsUnknown as IsUnknown_,
  IsUnsafe as IsUnsafe_, IsVoid as IsVoid_,
} from "jackfield:pi/typebox/guards";

/** An action whose file is evaluated at its first use; on references it waits until they are known. */
const later = (pick) => (...args) => deferrable(pick())(...args);

export const Partial = later(() => Partial_);
export const Required = later(() => Required_);
export const ReadonlyObject = later(() => ReadonlyObject_);
export const ReadonlyType = later(() => ReadonlyType_);
export const Pick = later(() => Pick_);
export const Omit = later(() => Omit_);
export const Interface = later(() => Interface_);
export const KeyOf = later(() => KeyOf_);
export const Index = later(() => Index_);
export const Exclude = later(() => Exclude_);
export const Extract = later(() => Extract_);
export const NonNullable = later(() => NonNullable_);
export const Conditional = later(() => Conditional_);
export const Capitalize = later(() => Capitalize_);
export const Uncapitalize = later(() => Uncapitalize_);
export const Uppercase = later(() => Uppercase_);
export const Lowercase = later(() => Lowercase_);
export const Parameters = later(() => Parameters_);
export const ReturnType = later(() => ReturnType_);
export const ConstructorParameters = later(() => ConstructorParameters_);
export const InstanceType = later(() => InstanceType_);
export const With = later(() => With_);
export const Evaluate = later(() => Evaluate_);
export const Composite = later(() => Composite_);

export const Type = {
  String: String_, Number: Number_, Integer: Integer_, Boolean: Boolean_, Null: Null_, Any: Any_, Unknown: Unknown_,
  Never: Never_, Undefined: Undefined_, Void: Void_, BigInt: BigInt_, Symbol: Symbol_, Literal: Literal_,
  Array: Array_, Ref: Ref_, Union: Union_, Intersect: Intersect_, Tuple: Tuple_, Enum: Enum_, Record: Record_,
  Optional: Optional_, Readonly: Readonly_, Immutable: Immutable_, Unsafe: Unsafe_, Constructor: Constructor_,
  Rest: Rest_, Identifier: Identifier_, Parameter: Parameter_, Infer: Infer_, This: This_, Dependent: Dependent_,
  Refine: Refine_, Codec: Codec_, Decode: Decode_, Encode: Encode_,
  Object: Object_,
  Function: Function_,
  Partial, Required, ReadonlyObject, ReadonlyType, Pick, Omit, Interface, KeyOf, Index, Exclude, Extract, NonNullable,
  Conditional, Capitalize, Uncapitalize, Uppercase, Lowercase, Parameters, ReturnType, ConstructorParameters,
  InstanceType, With, Evaluate, Composite,
  get Instantiate() {
    return Instantiate_;
  },
  get Mapped() {
    return Mapped_;
  },
  get Cyclic() {
    return Cyclic_;
  },
  get Module() {
    return Module_;
  },
  get Recursive() {
    return Recursive_;
  },
  get Const() {
    return Const_;
  },
  get TemplateLiteral() {
    return TemplateLiteral_;
  },
  Transform: Codec_,
};

const GUARDS = {
  IsAny: () => IsAny_, IsArray: () => IsArray_, IsBigInt: () => IsBigInt_, IsBoolean: () => IsBoolean_,
  IsCall: () => IsCall_, IsCodec: () => IsCodec_, IsConstructor: () => IsConstructor_, IsCyclic: () => IsCyclic_,
  IsDependent: () => IsDependent_, IsEnum: () => IsEnum_, IsEnumValue: () => IsEnumValue_,
  IsFunction: () => IsFunction_, IsGeneric: () => IsGeneric_, IsIdentifier: () => IsIdentifier_,
  IsImmutable: () => IsImmutable_, IsInfer: () => IsInfer_, IsInteger: () => IsInteger_,
  IsIntersect: () => IsIntersect_, IsKind: () => IsKind_, IsLiteral: () => IsLiteral_, IsNever: () => IsNever_,
  IsNull: () => IsNull_, IsNumber: () => IsNumber_, IsObject: () => IsObject_, IsOptional: () => IsOptional_,
  IsParameter: () => IsParameter_, IsReadonly: () => IsReadonly_, IsRecord: () => IsRecord_, IsRef: () => IsRef_,
  IsRefine: () => IsRefine_, IsRest: () => IsRest_, IsSchema: () => IsSchema_, IsString: () => IsString_,
  IsSymbol: () => IsSymbol_, IsTemplateLiteral: () => IsTemplateLiteral_, IsThis: () => IsThis_,
  IsTuple: () => IsTuple_, IsUndefined: () => IsUndefined_, IsUnion: () => IsUnion_, IsUnknown: () => IsUnknown_,
  IsUnsafe: () => IsUnsafe_, IsVoid: () => IsVoid_,
};
for (const [name, get] of Object.entries(GUARDS)) {
  Object.defineProperty(Type, name, { get, enumerable: true, configurable: true });
}

export default Type;
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
