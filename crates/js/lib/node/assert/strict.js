// node:assert/strict: node:assert where equal, notEqual, deepEqual and notDeepEqual are the strict ones.
import { strict } from "node:assert";

export const {
  AssertionError, deepEqual, deepStrictEqual, doesNotMatch, doesNotReject, doesNotThrow, equal, fail, ifError, match, notDeepEqual,
  notDeepStrictEqual, notEqual, notStrictEqual, ok, partialDeepStrictEqual, rejects, strictEqual, throws,
} = strict;
export { strict, strict as default };
