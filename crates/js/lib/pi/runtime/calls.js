// What of an extension's state only matters once it runs: calls under way, what is sent without waiting, and errors.

import { op } from "jackfield:host";
import { flushChanges, messageOf } from "jackfield:pi/runtime/state";

/** Tells the host that something of the extension failed; the host shows it and goes on. */
export function report(state, event, error, path = state.path) {
  const text = messageOf(error);
  const data = { extensionPath: path, event, error: text };
  if (error instanceof Error && typeof error.stack === "string") data.stack = error.stack;
  forget(op("log", { level: "error", message: `Extension error (${path}) in ${event}: ${text}`, data }));
}

/** For calls whose failure has nobody left to hear of it. */
export function forget(promise) {
  promise.then(undefined, () => {});
}

/** A host call that nobody waits for; its failure is reported under `event`. */
export function fire(state, event, method, params) {
  flushChanges(state);
  const sent = op(method, params)
    .then(undefined, (error) => report(state, event, error, "<runtime>"))
    .then(() => void underWay.delete(sent));
  underWay.add(sent);
}

const underWay = new Set();

/** Whether something that was sent without waiting has yet to reach the host. */
export const isSending = () => underWay.size > 0;

/** Resolves when everything that was sent without waiting has reached the host. */
export async function landed() {
  while (underWay.size > 0) await Promise.all(underWay);
}

export function isUnsupported(error) {
  return error?.code === "unsupported";
}

/** The handlers of an event as they are now: those registered while it runs are not asked. */
export function handlersOf(state, event) {
  return state.handlers.get(event)?.slice() ?? [];
}

/** What aborts a call. Made when somebody looks: most tools never do. */
export const controllerOf = (call) => (call.controller ??= new AbortController());

/** Starts a call: its signal fires when the host cancels it. */
export function beginCall(state, id, kind) {
  const call = { id, kind, nested: 0, ended: false, controller: undefined };
  if (id !== undefined && id !== null) state.calls.set(id, call);
  return call;
}

export function endCall(state, call) {
  call.ended = true;
  if (state.calls.get(call.id) === call) state.calls.delete(call.id);
}
