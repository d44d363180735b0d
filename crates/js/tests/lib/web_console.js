// The console, through one that writes into an array: the same code writes the log.
import assert from "node:assert";
import { Console } from "node:console";

const out = [];
const err = [];
const c = new Console({ stdout: { write: (text) => out.push(text) }, stderr: { write: (text) => err.push(text) } });
const taken = (list) => list.splice(0).join("");

c.log("%s has %d", "x", 5, { a: [1] });
assert.strictEqual(taken(out), "x has 5 { a: [ 1 ] }\n");
const { log } = c;
log();
assert.strictEqual(taken(out), "\n");
c.warn("w");
c.error(new Error("e").message);
assert.strictEqual(taken(err), "w\ne\n");
c.group("outer");
c.log("in\ntwo");
c.group();
c.info("deeper");
c.groupEnd();
c.groupEnd();
c.groupEnd();
c.debug("out");
assert.strictEqual(taken(out), "outer\n  in\n  two\n    deeper\nout\n");
c.count();
c.count("x");
c.count();
c.countReset();
c.count();
assert.strictEqual(taken(out), "default: 1\nx: 1\ndefault: 2\ndefault: 1\n");
c.assert(true, "no");
c.assert(false);
c.assert(false, "is %s", "bad");
c.assert(false, { a: 1 });
assert.strictEqual(taken(err), "Assertion failed\nAssertion failed: is bad\nAssertion failed: { a: 1 }\n");
c.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
assert.strictEqual(taken(out), "{ a: [Object] }\n");
c.time("t");
c.timeLog("t", "data");
c.timeEnd("t");
assert.match(taken(out), /^t: [\d.]+ms data\nt: [\d.]+ms\n$/);
c.timeEnd("t");
assert.match(taken(err), /No such label 't'/);
c.trace("here");
assert.match(taken(err), /^Trace: here\n {4}at /);
c.table([{ a: 1, b: "x" }, { a: 2, c: true }]);
assert.strictEqual(taken(out), [
  "┌─────────┬───┬─────┬──────┐",
  "│ (index) │ a │ b   │ c    │",
  "├─────────┼───┼─────┼──────┤",
  "│ 0       │ 1 │ 'x' │      │",
  "│ 1       │ 2 │     │ true │",
  "└─────────┴───┴─────┴──────┘",
  "",
].join("\n"));
c.table([["a", 1], 2]);
assert.strictEqual(taken(out), [
  "┌─────────┬─────┬───┬────────┐",
  "│ (index) │ 0   │ 1 │ Values │",
  "├─────────┼─────┼───┼────────┤",
  "│ 0       │ 'a' │ 1 │        │",
  "│ 1       │     │   │ 2      │",
  "└─────────┴─────┴───┴────────┘",
  "",
].join("\n"));
c.table(5);
assert.strictEqual(taken(out), "5\n");
// A value that throws when it is looked at does not break the one who logs.
c.log({ get [Symbol.toStringTag]() { throw new Error("hostile"); } });
assert.match(taken(out), /cannot be shown: hostile/);
assert.throws(() => new Console({}), { code: "ERR_INVALID_ARG_TYPE" });
console.log("to the log");
