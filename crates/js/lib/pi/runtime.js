// pi's extension runtime, the JavaScript half: the engine starts an extension with `start`, sends it calls and events, and
// ends it with `shutdown`. `start` may be called again after a shutdown: the factory then runs anew from the module that is
// already there, as pi does when a session is replaced. One engine runs one extension, so `globalThis` belongs to it alone.

import { info } from "jackfield:host";
import { beginCall, controllerOf, invalidate, isSending, landed, messageOf, newState, report } from "jackfield:pi/runtime/state";
import { createApi } from "jackfield:pi/runtime/api";
import { REMOVED_EVENTS, contributions } from "jackfield:pi/runtime/registrations";
import { dispatch } from "jackfield:pi/runtime/serve";
import { runTool } from "jackfield:pi/runtime/tools";
import { tell } from "jackfield:pi/runtime/events";
import { rememberInput } from "jackfield:pi/runtime/hooks";
import { busDeliver } from "jackfield:pi/runtime/bus";

let state;
/** Resolves when all events told so far have been dealt with. */
let told = Promise.resolve();
let untold = 0;

/** A call waits for the events told before it, as with pi, but a handler that never ends must not hold it forever. */
const PATIENCE_MS = 2000;

function factoryOf(namespace) {
  if (typeof namespace === "function") return namespace;
  let found = namespace?.default ?? namespace;
  // A CommonJS file that was compiled from a module carries its own `default` inside.
  if (typeof found !== "function" && typeof found?.default === "function" && found.__esModule) found = found.default;
  return typeof found === "function" ? found : undefined;
}

function loadError(error) {
  const failure = new Error(`Failed to load extension: ${messageOf(error)}`, { cause: error });
  if (error instanceof Error && typeof error.stack === "string") failure.stack = error.stack;
  return failure;
}

/** Loads the extension and says what it registers. A factory that throws leaves nothing behind. */
export async function start({ importModule }) {
  let factory;
  try {
    factory = factoryOf(await importModule(info.entry));
  } catch (error) {
    throw loadError(error);
  }
  if (factory === undefined) throw new Error(`Extension does not export a valid factory function: ${info.entry}`);
  const next = newState(info.entry);
  next.api = createApi(next);
  try {
    await factory(next.api);
    next.phase = "active";
    const registered = contributions(next);
    if (state !== undefined && state.phase === "active") invalidate(state, "stale");
    state = next;
    return registered;
  } catch (error) {
    invalidate(next, "failed");
    throw loadError(error);
  }
}

async function settled() {
  if (untold === 0) return;
  let timer;
  const patience = new Promise((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)));
  await Promise.race([told, patience]);
  clearTimeout(timer);
}

const isRunning = () => state !== undefined && state.phase === "active";
const notRunning = () => new Error(`extension ${info.entry} is not running`);

/** Runs a tool, and hands what became of it to `answer`, so that what most calls are costs no promise more. */
export function tool(id, name, args, answer, number) {
  if (!isRunning()) return answer(number, false, notRunning());
  if (untold === 0) return void runTool(state, id, name, args, answer, number);
  // It has begun although it waits: it can be cancelled.
  const current = state;
  const begun = beginCall(current, id, "tool");
  settled().then(() => runTool(current, id, name, args, answer, number, begun), (error) => answer(number, false, error));
}

/** Serves one call of the host. */
export function call(message) {
  return isRunning() ? serve(state, message) : Promise.reject(notRunning());
}

async function serve(current, message) {
  if (untold > 0) await settled();
  const reply = await dispatch(current, message);
  // Who waits for the reply has seen what was said before it.
  if (isSending()) await landed();
  return reply;
}

/** Whether somebody may listen by the time that what was told before has been dealt with. */
function wanted(current, event) {
  if (untold > 0 || current.handlers.has(event)) return true;
  for (const name in REMOVED_EVENTS) if (REMOVED_EVENTS[name].event === event && current.handlers.has(name)) return true;
  return false;
}

/** Tells the extension of an event; events are dealt with one after another, in the order they came. */
export function notify({ event, ...data }) {
  const current = state;
  if (current === undefined || current.phase !== "active") return Promise.resolve();
  if (event.startsWith("bus:")) {
    busDeliver(current, event.slice(4), data.data);
    return Promise.resolve();
  }
  if (event === "tool_execution_start" && data.toolCallId !== undefined) rememberInput(current, data.toolCallId, data.args);
  if (event === "session_start") current.begun = true;
  if (event === "session_shutdown") current.shutdown = true;
  // Without a handler nothing is loaded for it.
  if (!wanted(current, event)) return told;
  untold++;
  told = told
    .then(() => tell(current, { ...data, type: event }))
    .then(undefined, (error) => report(current, event, error))
    .then(() => void untold--);
  return told;
}

/** The host has given up on a call. */
export function cancel(id) {
  const call = state?.calls.get(id);
  if (call !== undefined) controllerOf(call).abort();
}

/** Says goodbye to the handlers; after that every `pi` and `ctx` that was handed out throws. */
export async function shutdown(reason) {
  const current = state;
  if (current === undefined || current.phase !== "active") return;
  await settled();
  if (current.begun && !current.shutdown) {
    current.shutdown = true;
    const data = typeof reason === "object" && reason !== null ? reason : { reason: reason ?? "quit" };
    // Without a handler nothing is loaded for it.
    if (current.handlers.has("session_shutdown")) try {
      await tell(current, { ...data, type: "session_shutdown" });
    } catch (error) {
      report(current, "session_shutdown", error);
    }
  }
  invalidate(current, "stale");
}
