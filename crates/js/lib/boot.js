// The first script of every engine: the module runner and the door to the host. It is a function of the natives
// that the engine hands over, so that nothing of them stays reachable from globalThis. What it returns is all that the
// engine calls. Modules: a file of an extension is evaluated once, after everything it imports; a file of this library is
// evaluated at the first use of one of its names.
(function (n) {
  "use strict";
  const NEW = 0, RUNNING = 1, DONE = 2, FAILED = 3;
  const { defineProperty, setPrototypeOf, create, freeze } = Object;
  const apply = Reflect.apply;

  // ---- the door to the host ----------------------------------------------------------------------------------------
  const waiting = new Map();
  const failure = (told) => {
    const error = new Error(told.message);
    error.code = told.code;
    if (told.details !== undefined) error.details = told.details;
    return error;
  };
  const opSync = (method, params = {}) => {
    const answer = n.hostCallSync(method, params);
    if (answer.error) throw failure(answer.error);
    return answer.value;
  };
  const op = (method, params = {}, options) => new Promise((resolve, reject) => {
    const signal = options?.signal;
    if (signal?.aborted) return reject(signal.reason);
    const id = n.hostCall(method, params, false, options?.timeoutMs);
    let stop;
    if (signal) {
      stop = () => { n.hostCancel(id); if (waiting.delete(id)) reject(signal.reason); };
      signal.addEventListener("abort", stop, { once: true });
    }
    const settle = (act) => (value) => { if (stop) signal.removeEventListener("abort", stop); act(value); };
    waiting.set(id, { done: settle(resolve), failed: settle(reject) });
  });
  const stream = (method, params, onEvent) => {
    const id = n.hostCall(method, params, true, undefined);
    waiting.set(id, {
      done: (value) => onEvent("end", value),
      failed: (error) => onEvent("error", error),
      chunk: (value) => onEvent("data", value),
    });
    return { send: (value) => n.hostInput(id, value), close: () => n.hostCancel(id), ref() {}, unref() {} };
  };
  const hostDone = (id, told) => {
    const entry = waiting.get(id);
    if (!entry) return;
    waiting.delete(id);
    if (told.error) entry.failed(failure(told.error)); else entry.done(told.value);
  };

  // ---- modules -----------------------------------------------------------------------------------------------------
  const modules = new Map();
  const isLib = (path) => path.startsWith("jackfield:") || path.startsWith("node:");
  const fileUrl = (path) => "file://" + path.replace(/[%?#\\\n\r\t ]|[^\x00-\x7f]+/g, (c) => encodeURIComponent(c));
  const pathOf = (where) => {
    const text = String(where);
    return text.startsWith("file://") ? decodeURIComponent(text.slice(7).replace(/[?#].*$/, "")) : text;
  };

  const moduleAt = (path) => {
    let m = modules.get(path);
    if (m) return m;
    m = { path, lib: isLib(path), state: NEW, exports: undefined, unit: null, deps: null, pending: null, error: null, space: null };
    // What a file of the library imports is mostly never used, so it is not even read before it is.
    if (!m.lib) open(m);
    modules.set(path, m);
    return m;
  };
  const MODULE = { [Symbol.toStringTag]: { value: "Module" } };
  const open = (m) => {
    const { path } = m;
    const unit = (m.unit = n.load(path));
    if (unit.kind === "esm") {
      m.exports = create(null, MODULE);
    } else if (unit.kind === "json") {
      m.module = { exports: undefined };
    } else {
      m.module = { exports: {}, id: path, filename: path, loaded: false, children: [], paths: [] };
    }
  };
  const depsOf = (m) => {
    if (!m.deps) {
      m.deps = new Map();
      for (const spec of m.unit.deps) m.deps.set(spec, moduleAt(n.resolve(spec, m.path, "import")));
    }
    return m.deps;
  };

  // CommonJS and JSON seen as a namespace: whatever the exports have, and `default`, which is the exports. Where a compiled
  // module has a function as its own default, that function is meant, except in .mjs files: pi's loader leaves these to Node.
  const plainSpace = (m, native) => new Proxy(create(null), {
    get(_, key) {
      const exports = m.module.exports;
      if (key === "default") {
        return !native && exports && exports.__esModule && typeof exports.default === "function" ? exports.default : exports;
      }
      if (key === "module.exports") return exports;
      return exports == null || typeof key === "symbol" && key === Symbol.toStringTag ? undefined : exports[key];
    },
    has: (_, key) => key === "default" || m.module.exports != null && key in Object(m.module.exports),
    ownKeys() {
      const exports = m.module.exports;
      const own = exports !== null && (typeof exports === "object" || typeof exports === "function") ? Reflect.ownKeys(exports) : [];
      const isNamed = (key) => key === "__esModule" || typeof key === "string" && Object.prototype.propertyIsEnumerable.call(exports, key);
      const names = own.filter(isNamed);
      return names.includes("default") ? names : [...names, "default"];
    },
    getOwnPropertyDescriptor(target, key) {
      if (!this.has(target, key)) return undefined;
      return { value: this.get(target, key), enumerable: true, configurable: true, writable: true };
    },
  });
  // A library module that is evaluated when somebody looks at it. The target has it and shows nothing of its own.
  const lazily = {
    get: ({ m }, key) => force(m)[key],
    has: ({ m }, key) => key in force(m),
    ownKeys: ({ m }) => [...new Set([...Reflect.ownKeys(force(m)), ...passedNames(m)])],
    getOwnPropertyDescriptor({ m }, key) {
      const exports = force(m);
      return key in exports ? { value: exports[key], enumerable: true, configurable: true, writable: true } : undefined;
    },
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  };
  const lazySpace = (m) => new Proxy({ __proto__: null, m }, lazily);
  // The same for other files of the library, which only take names from it: once it is evaluated, its exports take the
  // place of this, because they do not change any more.
  const byName = {
    get({ m }, key) {
      const exports = force(m);
      if (m.state === DONE) setPrototypeOf(m.names, exports);
      return exports[key];
    },
    has: lazily.has,
    ownKeys: lazily.ownKeys,
    getOwnPropertyDescriptor: lazily.getOwnPropertyDescriptor,
  };
  const nameSpace = (m) => create(new Proxy({ __proto__: null, m }, byName));
  // Names that a file of the library only passes on: by the file that has them, as one text (",name:exported,…,") that is
  // searched for a name that the file itself does not have.
  const passedFrom = (m, key) => {
    if (typeof key !== "string" || key.includes(",")) return undefined;
    for (const [source, list] of m.passed) {
      const at = list.indexOf(`:${key},`);
      if (at !== -1) return { source, name: list.slice(list.lastIndexOf(",", at) + 1, at) };
    }
    return undefined;
  };
  const passedNames = ({ passed }) =>
    (passed ?? []).flatMap(([, list]) => list.slice(1, -1).split(",").map((pair) => pair.slice(pair.indexOf(":") + 1)));
  const passing = {
    get({ m }, key) {
      const from = passedFrom(m, key);
      if (from === undefined) return undefined;
      const source = moduleAt(from.source);
      const value = force(source)[from.name];
      if (source.state === DONE) defineProperty(m.exports, key, { value, writable: true, enumerable: true, configurable: true });
      return value;
    },
    has: ({ m }, key) => passedFrom(m, key) !== undefined,
  };
  const pass = (m, source, list) => {
    if (!m.passed) {
      m.passed = [];
      setPrototypeOf(m.exports, new Proxy({ __proto__: null, m }, passing));
    }
    m.passed.push([source, list]);
  };
  const namesOf = (m) => (m.state === DONE ? m.exports : (m.names ??= nameSpace(m)));
  const isNative = (path) => path.endsWith(".mjs");
  const spaceOf = (m, importer) => {
    if (m.lib && m.state === DONE && !m.passed) return m.exports;
    if (m.lib) return (m.space ??= lazySpace(m));
    if (m.unit.kind === "esm") return m.exports;
    if (importer !== undefined && isNative(importer)) return (m.nativeSpace ??= plainSpace(m, true));
    return (m.space ??= plainSpace(m, false));
  };
  const force = (m) => {
    if (m.state === NEW) evaluate(m, null);
    if (m.state === FAILED) throw m.error;
    return m.exports;
  };

  // Files of the library name each other by what they are called, and need nothing of CommonJS.
  const runLib = (m) => {
    const { path } = m;
    const exports = (m.exports = create(null, MODULE));
    const body = n.loadLib(path)(
      undefined, undefined, undefined, path, undefined, exports,
      (spec) => namesOf(moduleAt(spec)), (spec) => importFrom(spec, path), { url: path },
      (source, names) => (names === undefined ? exportAll(exports, source) : pass(m, source, names)),
    );
    body();
  };
  const runBody = (m) => {
    const { unit } = m;
    const require = requireFrom(m.path, m);
    const module = m.module ?? { exports: m.exports, id: m.path, filename: m.path, loaded: false, children: [], paths: [] };
    module.require = require;
    const deps = m.deps;
    const { path } = m;
    const dir = path.slice(0, path.lastIndexOf("/")) || "/";
    const body = unit.make(
      module.exports, require, module, m.path, dir, m.exports,
      (spec) => spaceOf(deps.get(spec), m.path),
      (spec) => importFrom(spec, m.path),
      metaOf(path, dir),
      (space) => exportAll(m.exports, space),
    );
    unit.make = null;
    const result = apply(body, unit.kind === "esm" ? undefined : module.exports, []);
    if (!unit.async) module.loaded = true;
    return unit.async ? result : undefined;
  };
  const located = (path) => (isLib(path) ? path : fileUrl(path));
  // Most files ask for nothing of it, so it is not made before they do.
  const metaOf = (path, dirname) => {
    let url;
    return {
      get url() { return (url ??= fileUrl(path)); },
      set url(value) { url = value; },
      dirname, filename: path, resolve: (spec) => located(n.resolve(String(spec), path, "import")),
    };
  };
  const exportAll = (exports, space) => {
    for (const key of Reflect.ownKeys(space)) {
      if (key === "default" || key === "__esModule" || typeof key === "symbol" || key in exports) continue;
      defineProperty(exports, key, { enumerable: true, configurable: true, get: () => space[key] });
    }
  };

  // Runs a module after what it imports. Returns a promise only where something awaits. `chain` holds the modules that wait
  // for this one: meeting one of them again is a cycle, and the importer sees what is exported so far.
  const evaluate = (m, chain) => {
    if (m.state === DONE) return undefined;
    if (m.state === FAILED) throw m.error;
    if (m.state === RUNNING) {
      for (let link = chain; link; link = link.up) if (link.m === m) return undefined;
      return m.pending ?? undefined;
    }
    m.state = RUNNING;
    const fail = (error) => { m.state = FAILED; m.error = error; throw error; };
    try {
      if (m.lib) {
        runLib(m);
        m.state = DONE;
        return undefined;
      }
      if (m.unit.kind === "json") {
        m.module.exports = JSON.parse(m.unit.text);
        m.state = DONE;
        return undefined;
      }
      const queue = m.unit.kind === "esm" ? [...depsOf(m).values()] : [];
      const link = { m, up: chain };
      let at = 0;
      const step = () => {
        while (at < queue.length) {
          const dep = queue[at++];
          if (dep.lib) continue;
          const wait = evaluate(dep, link);
          if (wait) return wait.then(step);
        }
        return runBody(m);
      };
      const wait = step();
      if (!wait) { m.state = DONE; return undefined; }
      m.pending = wait.then(() => { m.state = DONE; m.pending = null; }, fail);
      m.pending.catch(() => {});
      return m.pending;
    } catch (error) {
      return fail(error);
    }
  };

  const importPath = async (path, importer) => {
    const m = moduleAt(path);
    if (m.lib) force(m); else await evaluate(m, null);
    return spaceOf(m, importer);
  };
  const importFrom = async (spec, parent) => {
    const text = String(spec);
    return importPath(n.resolve(text.startsWith("file://") ? pathOf(text) : text, parent, "import"), parent);
  };
  const requirePath = (path) => {
    const m = moduleAt(path);
    if (m.lib) {
      const exports = force(m);
      return path.startsWith("node:") && "default" in exports ? exports.default : spaceOf(m);
    }
    if (evaluate(m, null)) {
      const error = new Error(`require() cannot be used on ${path}: it awaits at top level; use import() instead`);
      error.code = "ERR_REQUIRE_ASYNC_MODULE";
      throw error;
    }
    return m.unit.kind === "esm" ? m.exports : m.module.exports;
  };
  const requireFrom = (parent) => {
    const require = (spec) => requirePath(n.resolve(String(spec), parent, "require"));
    require.resolve = (spec) => n.resolve(String(spec), parent, "require");
    require.resolve.paths = () => [];
    require.cache = create(null);
    require.extensions = create(null);
    require.main = undefined;
    return require;
  };

  let drainTicks = null;
  let waits = [];
  let builtins = null;
  const host = {
    opSync, op, stream,
    // Calls `drain` as soon as what runs now has returned, before any promise goes on.
    soon: (drain) => { drainTicks = drain; n.native("tick"); },
    native: n.native,
    timerAdd: n.timerAdd, timerDrop: n.timerDrop, immediateAdd: n.immediateAdd,
    // Set by `begin`: the library is evaluated before the engine knows its extension.
    info: undefined,
    // What files of the library leave for each other.
    shared: { env: undefined },
    // Calls `act` once `info` is known, which may be now.
    begun: (act) => { if (waits === undefined) act(); else waits.push(act); },
    createRequire: (where) => requireFrom(pathOf(where)),
    get builtinModules() { return (builtins ??= n.builtins()); },
    isBuiltin: (name) => host.builtinModules.includes(String(name).replace(/^node:/, "")),
    evaluated: () => [...modules.values()].filter((m) => m.state === DONE).map((m) => m.path),
  };
  modules.set("jackfield:host", { path: "jackfield:host", lib: true, state: DONE, exports: host });

  // ---- globals -----------------------------------------------------------------------------------------------------
  const give = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  give("global", globalThis);
  const { globals, patches } = force(moduleAt("jackfield:web/globals"));
  n.giveLate(Object.keys(globals), (name, ...given) => {
    const value = given.length > 0 ? given[0] : force(moduleAt(globals[name]))[name];
    give(name, value);
    return value;
  });
  for (const specifier of patches) force(moduleAt(specifier)).install();

  // ---- what the engine calls ----------------------------------------------------------------------------------------
  let runtime = null;
  const describe = (error) => {
    if (error !== null && typeof error === "object") {
      let message, stack, code;
      try { message = String(error.message ?? error); } catch { message = "an error that cannot be described"; }
      try { stack = typeof error.stack === "string" ? error.stack : ""; } catch { stack = ""; }
      try { code = typeof error.code === "string" ? error.code : undefined; } catch { code = undefined; }
      let name;
      try { name = String(error.name ?? "Error"); } catch { name = "Error"; }
      // There was room for the error, and none for what it says.
      if (name === "InternalError" && message === "" && n.native("ran_out", error)) message = "out of memory";
      return { name, message, stack, code };
    }
    // What the engine throws when not even an error fits into its memory.
    if (error === null && n.native("ran_out", error)) return { name: "InternalError", message: "out of memory", stack: "" };
    let message;
    try { message = String(error); } catch { message = "a value that cannot be described"; }
    return { name: "Error", message, stack: "" };
  };
  const answer = (id, ok, value) => n.reply(id, ok, ok ? (value === undefined ? null : value) : describe(value));
  const report = (promise, id) => promise.then(
    (value) => answer(id, true, value),
    (error) => answer(id, false, error),
  );
  const guarded = (id, work) => {
    try {
      report(Promise.resolve(work()), id);
    } catch (error) {
      report(Promise.reject(error), id);
    }
  };
  return {
    // Evaluates files of the library before there is an extension.
    prepare: (specifiers) => { for (const specifier of specifiers) force(moduleAt(specifier)); },
    // Tells the library about its extension. Called once, before the extension is loaded.
    begin: (info) => {
      host.info = freeze(info);
      const acts = waits;
      waits = undefined;
      for (const act of acts) act();
    },
    // Loads a file and nothing else.
    script: (id, path) => guarded(id, () => importPath(path).then(() => null)),
    // Loads an extension through the given runtime module and answers with what it registers.
    start: (id, specifier, entry) => guarded(id, () => {
      runtime = force(moduleAt(specifier));
      return runtime.start({ importModule: (path) => importPath(path), entry });
    }),
    // What most calls are, with no more around it than it needs.
    tool: (id, callId, name, args) => {
      try {
        runtime.tool(callId, name, args, answer, id);
      } catch (error) {
        answer(id, false, error);
      }
    },
    call: (id, message) => guarded(id, () => runtime.call(message)),
    cancel: (callId) => { runtime?.cancel?.(callId); },
    notify: (message) => { runtime?.notify?.(message); },
    shutdown: (id, reason) => guarded(id, () => runtime?.shutdown?.(reason)),
    timer: (id) => { force(moduleAt("jackfield:web/timers")).fireTimer(id); },
    tick: () => { drainTicks?.(); },
    hostDone,
    hostChunk: (id, value) => { waiting.get(id)?.chunk?.(value); },
    describe,
  };
})
