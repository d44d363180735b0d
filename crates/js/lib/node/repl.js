// node:repl: there is no terminal to read from.
import { refusedClass, refusedFunction } from "jackfield:node/internal/refused";

const why = "an extension has no terminal";
export const start = refusedFunction("repl", "start", why);
export const writer = refusedFunction("repl", "writer", why);
export const REPLServer = refusedClass("repl", "REPLServer", why);
export const Recoverable = refusedClass("repl", "Recoverable", why);
export const builtinModules = [];
export const REPL_MODE_SLOPPY = Symbol("repl-sloppy");
export const REPL_MODE_STRICT = Symbol("repl-strict");

export default { start, writer, REPLServer, Recoverable, builtinModules, REPL_MODE_SLOPPY, REPL_MODE_STRICT };
