// What needs an agent or a model. These go through the host's `agent` call: a
// host that has an agent answers, one that has none says so in a clear error.
import { op, opSync } from "jackfield:host";

/** Asks the host's agent. */
export function agentCall(name, params = {}, options) {
  return op("agent", { op: name, ...params }, options);
}

/** Asks the host's agent and waits. */
export function agentCallSync(name, params = {}) {
  return opSync("agent", { op: name, ...params });
}

/** The error of something that no agent call can do either. */
export function unsupported(what, instead) {
  const error = new Error(`${what} is unsupported in this host: ${instead}`);
  error.code = "unsupported";
  return error;
}
