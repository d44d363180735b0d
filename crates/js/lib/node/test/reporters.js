// node:test/reporters: belongs to node:test, which an extension cannot run.
import { refusedFunction } from "jackfield:node/internal/refused";

const why = "tests are run by a test runner, not by an extension";
export const dot = refusedFunction("test/reporters", "dot", why);
export const tap = refusedFunction("test/reporters", "tap", why);
export const spec = refusedFunction("test/reporters", "spec", why);
export const junit = refusedFunction("test/reporters", "junit", why);
export const lcov = refusedFunction("test/reporters", "lcov", why);
export default { dot, tap, spec, junit, lcov };
