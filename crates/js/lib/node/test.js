// node:test: a test file belongs to Node's own runner, not into an extension. Importable, so that a file which carries
// tests next to code still loads; running one is refused.
import { refusedFunction } from "jackfield:node/internal/refused";

const why = "tests are run by a test runner, not by an extension";
export const test = refusedFunction("test", "test", why);
export const describe = refusedFunction("test", "describe", why);
export const it = refusedFunction("test", "it", why);
export const suite = refusedFunction("test", "suite", why);
export const run = refusedFunction("test", "run", why);
export const before = refusedFunction("test", "before", why);
export const after = refusedFunction("test", "after", why);
export const beforeEach = refusedFunction("test", "beforeEach", why);
export const afterEach = refusedFunction("test", "afterEach", why);
export const skip = refusedFunction("test", "skip", why);
export const todo = refusedFunction("test", "todo", why);
export const only = refusedFunction("test", "only", why);
export const mock = { fn: refusedFunction("test", "mock.fn", why), method: refusedFunction("test", "mock.method", why), reset() {}, restoreAll() {} };
export default Object.assign(test, { test, describe, it, suite, run, before, after, beforeEach, afterEach, skip, todo, only, mock });
