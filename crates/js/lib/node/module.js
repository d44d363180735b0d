// node:module: createRequire and the list of built-in modules. Loader hooks and source map lookups do not exist here,
// since modules are compiled and cached by the host; registering a hook is refused.
import { builtinModules as names, createRequire as requireFor, isBuiltin as knows } from "jackfield:host";
import { invalidArgValue, unsupported } from "jackfield:node/internal/errors";
import { URL } from "jackfield:web/url";

export const builtinModules = names.filter((name) => !name.startsWith("internal/"));
export const isBuiltin = (name) => typeof name === "string" && !/^(?:node:)?internal\//.test(name) && knows(name);

export function createRequire(where) {
  const text = where instanceof URL ? where.href : where;
  if (typeof text !== "string" || !(text.startsWith("file://") || text.startsWith("/"))) {
    throw invalidArgValue("filename", where, "must be a file URL object, file URL string, or absolute path string");
  }
  return requireFor(text);
}

const refuse = (name) => () => { throw unsupported("module", `${name}()`, "modules are compiled and cached by the host"); };
export const register = refuse("register");
export const registerHooks = refuse("registerHooks");
export const stripTypeScriptTypes = refuse("stripTypeScriptTypes");
export const findSourceMap = () => undefined;
export const findPackageJSON = () => undefined;
export const syncBuiltinESMExports = () => {};
export const enableCompileCache = () => ({ status: 3 });
export const getCompileCacheDir = () => undefined;
export const flushCompileCache = () => {};
export class SourceMap {
  constructor() { throw unsupported("module", "SourceMap", "modules are compiled and cached by the host"); }
}
export const globalPaths = [];
export const _extensions = Object.create(null);
export const _cache = Object.create(null);
export const _pathCache = Object.create(null);
export const _nodeModulePaths = (from) => {
  const parts = String(from).split("/");
  const out = [];
  for (let i = parts.length; i > 0; i--) {
    if (parts[i - 1] !== "node_modules") out.push(`${parts.slice(0, i).join("/")}/node_modules`);
  }
  return out;
};
export const _resolveFilename = (request, parent) => requireFor(parent?.filename ?? "/").resolve(request);
export const _load = (request, parent) => requireFor(parent?.filename ?? "/")(request);
export const wrap = (script) => `(function (exports, require, module, __filename, __dirname) { ${script}\n});`;

export class Module {
  constructor(id = "", parent = undefined) {
    Object.assign(this, { id, path: id.replace(/\/[^/]*$/, "") || ".", exports: {}, filename: null, loaded: false, children: [], paths: [] });
    Object.defineProperty(this, "parent", { value: parent, enumerable: false, configurable: true, writable: true });
  }
  require(id) { return requireFor(this.filename ?? this.id)(id); }
  _compile() { throw unsupported("module", "Module.prototype._compile()", "modules are compiled and cached by the host"); }
}
Object.assign(Module, {
  Module, builtinModules, createRequire, isBuiltin, register, registerHooks, stripTypeScriptTypes, findSourceMap, findPackageJSON,
  syncBuiltinESMExports, enableCompileCache, getCompileCacheDir, flushCompileCache, SourceMap, globalPaths, _extensions,
  _cache, _pathCache, _nodeModulePaths, _resolveFilename, _load, wrap,
});
export default Module;
