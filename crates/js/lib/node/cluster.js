// node:cluster: an extension is always the primary and never has workers.
import { refusedClass, refusedFunction } from "jackfield:node/internal/refused";

const why = "an extension cannot fork the process that it runs in";
export const fork = refusedFunction("cluster", "fork", why);
export const disconnect = refusedFunction("cluster", "disconnect", why);
export const Worker = refusedClass("cluster", "Worker", why);
export const setupPrimary = () => {};
export const setupMaster = setupPrimary;
export const isPrimary = true;
export const isMaster = true;
export const isWorker = false;
export const workers = Object.freeze({});
export const settings = Object.freeze({});
export const SCHED_NONE = 1;
export const SCHED_RR = 2;
export const schedulingPolicy = SCHED_RR;
export const on = () => {};

export default { fork, disconnect, Worker, setupPrimary, setupMaster, isPrimary, isMaster, isWorker, workers, settings, SCHED_NONE, SCHED_RR, schedulingPolicy, on };
