// `typebox/compile`: a schema with the functions of `typebox/value` bound to it. Nothing is compiled: making code at run
// time would cost more here than it gains.

import { Check, Clean, Convert, Create, Decode, Default, Encode, Errors, Parse } from "jackfield:pi/typebox/value";

export class Validator {
  #context;
  #type;

  constructor(context, type) {
    this.#context = context;
    this.#type = type;
  }

  IsAccelerated() {
    return false;
  }

  Context() {
    return this.#context;
  }

  Type() {
    return this.#type;
  }

  Code() {
    return "";
  }

  Check(value) {
    return Check(this.#context, this.#type, value);
  }

  Parse(value) {
    return Parse(this.#context, this.#type, value);
  }

  Errors(value) {
    return Errors(this.#context, this.#type, value);
  }

  Clean(value) {
    return Clean(this.#context, this.#type, value);
  }

  Convert(value) {
    return Convert(this.#context, this.#type, value);
  }

  Create() {
    return Create(this.#context, this.#type);
  }

  Default(value) {
    return Default(this.#context, this.#type, value);
  }

  Decode(value) {
    return Decode(this.#context, this.#type, value);
  }

  Encode(value) {
    return Encode(this.#context, this.#type, value);
  }
}

export const Compile = (...args) => (args.length > 1 ? new Validator(args[0], args[1]) : new Validator({}, args[0]));
export const Code = () => ({ External: [], Code: "" });

/** The spelling of TypeBox before 1.0. */
export const TypeCompiler = { Compile };
export default Compile;
