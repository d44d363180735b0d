// What one loaded extension consists of: its registrations, the life of its API object, the calls under way, and the way
// errors reach the host. One engine runs exactly one extension, so `globalThis` is the extension's own here, while pi shares
// it among all extensions; what extensions share goes over the bus (`pi.events`).

import { info, native } from "jackfield:host";
import { controllerOf, report } from "jackfield:pi/runtime/calls";

export {
  beginCall, controllerOf, endCall, fire, forget, handlersOf, isSending, isUnsupported, landed, report,
} from "jackfield:pi/runtime/calls";

export const NOT_INITIALIZED =
  "Extension runtime not initialized. Action methods cannot be called during extension loading.";

const STALE =
  "This extension ctx is stale after session replacement or reload. A pi or ctx kept from before no longer works: " +
  "use the one that the new session hands to your factory, handlers or withSession.";

/** A fresh extension: `loading` until its factory is done, then `active`, in the end `failed` or `stale`. */
export function newState(path) {
  return {
    path,
    phase: "loading",
    begun: false,
    shutdown: false,
    handlers: new Map(),
    tools: new Map(),
    commands: new Map(),
    shortcuts: new Map(),
    flags: new Map(),
    messageRenderers: new Map(),
    entryRenderers: new Map(),
    toolRenderers: [],
    markdownTransformer: undefined,
    providers: [],
    nativeProviders: [],
    virtualModels: [],
    mcpServers: new Map(),
    bus: new Map(),
    calls: new Map(),
    inputs: new Map(),
    promptDepth: 0,
    prompt: undefined,
    pendingChange: undefined,
  };
}

/** The guard of every member of `pi` and `ctx`. */
export function assertActive(state) {
  if (state.phase === "failed") {
    throw new Error(`Extension "${state.path}" failed to load and its API is no longer active.`);
  }
  if (state.phase === "stale") throw new Error(STALE);
}

/** The guard of what needs a session. */
export function assertBound(state) {
  assertActive(state);
  if (state.phase === "loading") throw new Error(NOT_INITIALIZED);
}

export function messageOf(error) {
  // Memory that has run out ends the extension; the engine sees to that.
  if (native("ran_out", error)) return "out of memory";
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "an error that cannot be described";
  }
}

/** What JSON can say of a value; cycles, functions and big integers do not stop the rest. */
export function plain(value) {
  if (value === undefined) return undefined;
  let text;
  try {
    text = JSON.stringify(value);
  } catch {
    const path = [];
    text = JSON.stringify(value, function (_key, inner) {
      if (typeof inner === "bigint") return String(inner);
      if (typeof inner !== "object" || inner === null) return inner;
      while (path.length > 0 && path[path.length - 1] !== this) path.pop();
      if (path.includes(inner)) return "[Circular]";
      path.push(inner);
      return inner;
    });
  }
  return text === undefined ? undefined : JSON.parse(text);
}

/** Leaves out what is undefined. */
export function compact(object) {
  for (const key of Object.keys(object)) if (object[key] === undefined) delete object[key];
  return object;
}

/** What an extension registers after its start reaches the host as one new list per turn of the loop. */
export function changed(state, contributions) {
  if (state.phase !== "active" || state.pendingChange) return;
  state.pendingChange = () => {
    state.pendingChange = undefined;
    if (state.phase !== "active") return;
    try {
      native("contribute", contributions(state));
    } catch (error) {
      report(state, "register", error);
    }
  };
  queueMicrotask(() => state.pendingChange?.());
}

/** What was registered is known before anything is said about it. */
export function flushChanges(state) {
  state.pendingChange?.();
}

/** Everything that was handed out before stops working. */
export function invalidate(state, phase) {
  state.phase = phase;
  state.bus.clear();
  for (const call of state.calls.values()) controllerOf(call).abort();
  state.calls.clear();
  state.inputs.clear();
}

/** Values of command line flags that the host was started with. */
export function flagValue(name) {
  const flags = info.flags;
  return flags && Object.hasOwn(flags, name) ? flags[name] : undefined;
}
