// node:inspector/promises: there is no debugger to talk to.
import { refusedClass, refusedFunction } from "jackfield:node/internal/refused";

const why = "the engine has no debugger protocol";
export const open = refusedFunction("inspector/promises", "open", why);
export const waitForDebugger = refusedFunction("inspector/promises", "waitForDebugger", why);
export const Session = refusedClass("inspector/promises", "Session", why);
export const close = () => {};
export const url = () => undefined;

export default { open, waitForDebugger, Session, close, url };
