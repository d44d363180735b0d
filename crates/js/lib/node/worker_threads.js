// node:worker_threads: every extension is the main thread of its own engine. Message channels work within it; a second
// thread would need a second engine, which the host decides about, so Worker refuses.
import { refusedClass, refusedFunction } from "jackfield:node/internal/refused";
import { BroadcastChannel, MessageChannel, MessagePort, receive } from "jackfield:web/messagechannel";

const why = "an extension has one thread; run a program with node:child_process instead, or split the work up";
export const isMainThread = true;
export const isInternalThread = false;
export const parentPort = null;
export const workerData = null;
export const threadId = 0;
export const resourceLimits = Object.freeze({});
export const SHARE_ENV = Symbol.for("nodejs.worker_threads.SHARE_ENV");
export const Worker = refusedClass("worker_threads", "Worker", why);
export const postMessageToThread = refusedFunction("worker_threads", "postMessageToThread", why);
export const moveMessagePortToContext = refusedFunction("worker_threads", "moveMessagePortToContext", why);

export function receiveMessageOnPort(port) {
  return receive(port);
}
const untransferable = new WeakSet();
export const markAsUntransferable = (object) => { untransferable.add(object); };
export const isMarkedAsUntransferable = (object) => untransferable.has(object);
export const markAsUncloneable = () => {};
const data = new Map();
export const setEnvironmentData = (key, value) => { if (value === undefined) data.delete(key); else data.set(key, value); };
export const getEnvironmentData = (key) => data.get(key);

export { BroadcastChannel, MessageChannel, MessagePort };
export default {
  isMainThread, isInternalThread, parentPort, workerData, threadId, resourceLimits, SHARE_ENV, Worker, postMessageToThread,
  moveMessagePortToContext, receiveMessageOnPort, markAsUntransferable, isMarkedAsUntransferable, markAsUncloneable,
  setEnvironmentData, getEnvironmentData,
  get BroadcastChannel() { return BroadcastChannel; },
  get MessageChannel() { return MessageChannel; },
  get MessagePort() { return MessagePort; },
};
