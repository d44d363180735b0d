// node:inspector: there is no debugger to talk to. `url` says so, everything else refuses.
import { refusedClass, refusedFunction } from "jackfield:node/internal/refused";

const why = "the engine has no debugger protocol";
export const open = refusedFunction("inspector", "open", why);
export const waitForDebugger = refusedFunction("inspector", "waitForDebugger", why);
export const Session = refusedClass("inspector", "Session", why);
export const close = () => {};
export const url = () => undefined;
export const console = globalThis.console;
export const Network = Object.freeze({});

export default { open, waitForDebugger, Session, close, url, console, Network };
