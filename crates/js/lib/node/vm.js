// node:vm: importable, so that packages which only mention it load; compiling and running code in it is refused.
import { refusedClass, refusedFunction } from "jackfield:node/internal/refused";

const why = "an extension cannot compile code outside of its modules";
export const runInNewContext = refusedFunction("vm", "runInNewContext", why);
export const runInContext = refusedFunction("vm", "runInContext", why);
export const compileFunction = refusedFunction("vm", "compileFunction", why);
export const measureMemory = refusedFunction("vm", "measureMemory", why);
export const Script = refusedClass("vm", "Script", why);
export const SourceTextModule = refusedClass("vm", "SourceTextModule", why);
export const SyntheticModule = refusedClass("vm", "SyntheticModule", why);
export const Module = refusedClass("vm", "Module", why);
export const runInThisContext = refusedFunction("vm", "runInThisContext", why);
export const createContext = refusedFunction("vm", "createContext", why);
export const isContext = () => false;
export const constants = Object.freeze({ USE_MAIN_CONTEXT_DEFAULT_LOADER: Symbol("vm_dynamic_import_main_context_default"), DONT_CONTEXTIFY: Symbol("vm_context_no_contextify") });

export default { runInNewContext, runInContext, compileFunction, measureMemory, Script, SourceTextModule, SyntheticModule, Module, runInThisContext, createContext, isContext, constants };
