// node:assert. What each line must give was obtained from Node itself.
import { inspect } from "node:util";
import assert from "node:assert";
import strict from "node:assert/strict";

const failures = [];
let number = 0;
async function check(work, expected) {
  number += 1;
  let got;
  try {
    const value = await work();
    got = typeof value === "string" ? value : inspect(value, { depth: 6 });
  } catch (error) {
    got = `THROW ${error.name} ${error.code ?? "-"} ${error.message}`;
  }
  if (got !== expected) failures.push(`check ${number}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(got)}`);
}

const boom = () => { throw new TypeError("boom"); };
async function failed(work) {
  try {
    await work();
    return "passed";
  } catch (error) {
    return [error.name, error.code, error.operator, error.generatedMessage, error.message];
  }
}

await check(() => failed(() => assert.ok(true)), "passed");
await check(() => failed(() => assert.ok(0, 'm')), "[ 'AssertionError', 'ERR_ASSERTION', '==', false, 'm' ]");
await check(() => failed(() => assert(false, new RangeError('own'))), "[ 'RangeError', undefined, undefined, undefined, 'own' ]");
await check(() => failed(() => assert.ok()), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  '==',\n  true,\n  'No value argument passed to `assert.ok()`'\n]");
await check(() => failed(() => assert.equal(1, '1')), "passed");
await check(() => failed(() => assert.equal(1, 2)), "[ 'AssertionError', 'ERR_ASSERTION', '==', true, '1 == 2' ]");
await check(() => failed(() => assert.notEqual(1, 1)), "[ 'AssertionError', 'ERR_ASSERTION', '!=', true, '1 != 1' ]");
await check(() => failed(() => assert.strictEqual(1, 2)), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'strictEqual',\n  true,\n  'Expected values to be strictly equal:\\n\\n1 !== 2\\n'\n]");
await check(() => failed(() => assert.strictEqual('a', 'b')), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'strictEqual',\n  true,\n  \"Expected values to be strictly equal:\\n\\n'a' !== 'b'\\n\"\n]");
await check(() => failed(() => assert.strictEqual(1, '1')), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'strictEqual',\n  true,\n  \"Expected values to be strictly equal:\\n\\n1 !== '1'\\n\"\n]");
await check(() => failed(() => assert.strictEqual(NaN, NaN)), "passed");
await check(() => failed(() => assert.strictEqual(0, -0)), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'strictEqual',\n  true,\n  'Expected values to be strictly equal:\\n+ actual - expected\\n\\n+ 0\\n- -0'\n]");
await check(() => failed(() => assert.strictEqual({}, {})), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'strictEqual',\n  true,\n  'Values have same structure but are not reference-equal:\\n\\n{}\\n'\n]");
await check(() => failed(() => assert.strictEqual([1], [2])), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'strictEqual',\n  true,\n  'Expected \"actual\" to be reference-equal to \"expected\":\\n' +\n    '+ actual - expected\\n' +\n    '\\n' +\n    '  [\\n' +\n    '+   1\\n' +\n    '-   2\\n' +\n    '  ]'\n]");
await check(() => failed(() => assert.strictEqual('a long string that goes on', 'a long string that goes off')), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'strictEqual',\n  true,\n  'Expected values to be strictly equal:\\n' +\n    '+ actual - expected\\n' +\n    '\\n' +\n    \"+ 'a long string that goes on'\\n\" +\n    \"- 'a long string that goes off'\\n\" +\n    '                            ^'\n]");
await check(() => failed(() => assert.notStrictEqual(1, 1)), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'notStrictEqual',\n  true,\n  'Expected \"actual\" to be strictly unequal to: 1'\n]");
await check(() => failed(() => assert.notStrictEqual({ a: 1 }, { a: 1 })), "passed");
await check(() => failed(() => assert.deepStrictEqual({ a: 1, b: 2 }, { a: 1, b: 3 })), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'deepStrictEqual',\n  true,\n  'Expected values to be strictly deep-equal:\\n' +\n    '+ actual - expected\\n' +\n    '\\n' +\n    '  {\\n' +\n    '    a: 1,\\n' +\n    '+   b: 2\\n' +\n    '-   b: 3\\n' +\n    '  }'\n]");
await check(() => failed(() => assert.deepStrictEqual([1, 2, 3], [1, 2])), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'deepStrictEqual',\n  true,\n  'Expected values to be strictly deep-equal:\\n' +\n    '+ actual - expected\\n' +\n    '\\n' +\n    '  [\\n' +\n    '    1,\\n' +\n    '    2,\\n' +\n    '+   3\\n' +\n    '  ]'\n]");
await check(() => failed(() => assert.deepStrictEqual(new Map([[1, 2]]), new Map([[1, 2]]))), "passed");
await check(() => failed(() => assert.deepStrictEqual(new Set([1]), new Set([2]))), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'deepStrictEqual',\n  true,\n  'Expected values to be strictly deep-equal:\\n' +\n    '+ actual - expected\\n' +\n    '\\n' +\n    '  Set(1) {\\n' +\n    '+   1\\n' +\n    '-   2\\n' +\n    '  }'\n]");
await check(() => failed(() => assert.deepStrictEqual(new Date(0), new Date(1))), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'deepStrictEqual',\n  true,\n  'Expected values to be strictly deep-equal:\\n' +\n    '+ actual - expected\\n' +\n    '\\n' +\n    '+ 1970-01-01T00:00:00.000Z\\n' +\n    '- 1970-01-01T00:00:00.001Z\\n' +\n    '                        ^'\n]");
await check(() => failed(() => assert.deepStrictEqual({ a: 1 }, { a: '1' })), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'deepStrictEqual',\n  true,\n  'Expected values to be strictly deep-equal:\\n' +\n    '+ actual - expected\\n' +\n    '\\n' +\n    '  {\\n' +\n    '+   a: 1\\n' +\n    \"-   a: '1'\\n\" +\n    '  }'\n]");
await check(() => failed(() => assert.deepEqual({ a: 1 }, { a: '1' })), "passed");
await check(() => failed(() => assert.deepEqual({ a: 1 }, { a: 2 })), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'deepEqual',\n  true,\n  'Expected values to be loosely deep-equal:\\n' +\n    '\\n' +\n    '{\\n' +\n    '  a: 1\\n' +\n    '}\\n' +\n    '\\n' +\n    'should loosely deep-equal\\n' +\n    '\\n' +\n    '{\\n' +\n    '  a: 2\\n' +\n    '}'\n]");
await check(() => failed(() => assert.notDeepStrictEqual({ a: 1 }, { a: 1 })), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'notDeepStrictEqual',\n  true,\n  'Expected \"actual\" not to be strictly deep-equal to:\\n\\n{\\n  a: 1\\n}\\n'\n]");
await check(() => failed(() => assert.notDeepEqual([1], ['1'])), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'notDeepEqual',\n  true,\n  'Expected values not to be loosely deep-equal:\\n' +\n    '\\n' +\n    '[\\n' +\n    '  1\\n' +\n    ']\\n' +\n    '\\n' +\n    'should not loosely deep-equal\\n' +\n    '\\n' +\n    '[\\n' +\n    \"  '1'\\n\" +\n    ']'\n]");
await check(() => failed(() => assert.throws(() => {})), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'throws',\n  false,\n  'Missing expected exception.'\n]");
await check(() => failed(() => assert.throws(() => {}, TypeError)), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'throws',\n  false,\n  'Missing expected exception (TypeError).'\n]");
await check(() => failed(() => assert.throws(() => {}, TypeError, 'msg')), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'throws',\n  false,\n  'Missing expected exception (TypeError): msg'\n]");
await check(() => failed(() => assert.throws(boom, TypeError)), "passed");
await check(() => failed(() => assert.throws(boom, RangeError)), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'throws',\n  true,\n  'The error is expected to be an instance of \"RangeError\". Received \"TypeError\"\\n' +\n    '\\n' +\n    'Error message:\\n' +\n    '\\n' +\n    'boom'\n]");
await check(() => failed(() => assert.throws(boom, /boom/)), "passed");
await check(() => failed(() => assert.throws(boom, /nope/)), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'throws',\n  true,\n  'The input did not match the regular expression /nope/. Input:\\n' +\n    '\\n' +\n    \"'TypeError: boom'\\n\"\n]");
await check(() => failed(() => assert.throws(boom, { message: 'boom', name: 'TypeError' })), "passed");
await check(() => failed(() => assert.throws(boom, { message: 'x' })), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'throws',\n  true,\n  'Expected values to be strictly deep-equal:\\n' +\n    '+ actual - expected\\n' +\n    '\\n' +\n    '  Comparison {\\n' +\n    \"+   message: 'boom'\\n\" +\n    \"-   message: 'x'\\n\" +\n    '  }'\n]");
await check(() => failed(() => assert.throws(boom, { message: /oo/ })), "passed");
await check(() => failed(() => assert.throws(boom, () => true)), "passed");
await check(() => failed(() => assert.throws(boom, 'boom')), "[\n  'TypeError',\n  'ERR_AMBIGUOUS_ARGUMENT',\n  undefined,\n  undefined,\n  'The \"error/message\" argument is ambiguous. The error message \"boom\" is identical to the message.'\n]");
await check(() => failed(() => assert.throws('x')), "[\n  'TypeError',\n  'ERR_INVALID_ARG_TYPE',\n  undefined,\n  undefined,\n  `The \"fn\" argument must be of type function. Received type string ('x')`\n]");
await check(() => failed(() => assert.throws(boom, {})), "[\n  'TypeError',\n  'ERR_INVALID_ARG_VALUE',\n  undefined,\n  undefined,\n  \"The argument 'error' may not be an empty object. Received {}\"\n]");
await check(() => failed(() => assert.doesNotThrow(boom)), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'doesNotThrow',\n  false,\n  'Got unwanted exception.\\nActual message: \"boom\"'\n]");
await check(() => failed(() => assert.doesNotThrow(() => {})), "passed");
await check(() => failed(() => assert.match('abc', /x/)), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'match',\n  true,\n  \"The input did not match the regular expression /x/. Input:\\n\\n'abc'\\n\"\n]");
await check(() => failed(() => assert.match('abc', /b/)), "passed");
await check(() => failed(() => assert.match(5, /x/)), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'match',\n  true,\n  'The \"string\" argument must be of type string. Received type number (5)'\n]");
await check(() => failed(() => assert.doesNotMatch('abc', /b/)), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'doesNotMatch',\n  true,\n  'The input was expected to not match the regular expression /b/. Input:\\n' +\n    '\\n' +\n    \"'abc'\\n\"\n]");
await check(() => failed(() => assert.fail()), "[ 'AssertionError', 'ERR_ASSERTION', 'fail', true, 'Failed' ]");
await check(() => failed(() => assert.fail('m')), "[ 'AssertionError', 'ERR_ASSERTION', 'fail', false, 'm' ]");
await check(() => failed(() => assert.fail(new RangeError('r'))), "[ 'RangeError', undefined, undefined, undefined, 'r' ]");
await check(() => failed(() => assert.ifError(null)), "passed");
await check(() => failed(() => assert.ifError(new Error('x'))), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'ifError',\n  false,\n  'ifError got unwanted exception: x'\n]");
await check(() => failed(() => assert.strict.equal(1, '1')), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'strictEqual',\n  true,\n  \"Expected values to be strictly equal:\\n\\n1 !== '1'\\n\"\n]");
await check(() => failed(() => assert.strict.deepEqual({ a: 1 }, { a: 1 })), "passed");
await check(() => failed(() => strict.equal(1, 1)), "passed");
await check(() => failed(() => assert.rejects(Promise.resolve(1))), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'rejects',\n  false,\n  'Missing expected rejection.'\n]");
await check(() => failed(() => assert.rejects(Promise.reject(new TypeError('no')), TypeError)), "passed");
await check(() => failed(() => assert.rejects(async () => { throw new TypeError('no'); }, /no/)), "passed");
await check(() => failed(() => assert.rejects(() => 5)), "[\n  'TypeError',\n  'ERR_INVALID_RETURN_VALUE',\n  undefined,\n  undefined,\n  'Expected instance of Promise to be returned from the \"promiseFn\" function but got type number (5).'\n]");
await check(() => failed(() => assert.doesNotReject(Promise.reject(new Error('bad')))), "[\n  'AssertionError',\n  'ERR_ASSERTION',\n  'doesNotReject',\n  false,\n  'Got unwanted rejection.\\nActual message: \"bad\"'\n]");
await check(() => failed(() => assert.strictEqual(1)), "[\n  'TypeError',\n  'ERR_MISSING_ARGS',\n  undefined,\n  undefined,\n  'The \"actual\" and \"expected\" arguments must be specified'\n]");

if (failures.length > 0) throw new Error(`${failures.length} differ from Node:\n${failures.join("\n")}`);
