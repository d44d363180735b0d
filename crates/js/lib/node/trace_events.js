// node:trace_events: tracing is off and cannot be turned on.
import { refusedFunction } from "jackfield:node/internal/refused";

const why = "the engine records no trace events";
export const createTracing = refusedFunction("trace_events", "createTracing", why);
export const getEnabledCategories = () => undefined;

export default { createTracing, getEnabledCategories };
