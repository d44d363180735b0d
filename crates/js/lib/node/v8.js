// node:v8. The engine is not V8: statistics are fixed numbers, flags are ignored, snapshots are refused. serialize and
// deserialize work, with a format of our own on top of structured clone, so their bytes mean nothing to Node.
import { decodeValue, encodeValue } from "jackfield:node/internal/value_bytes";
import { refusedClass, refusedFunction } from "jackfield:node/internal/refused";
import { Buffer } from "node:buffer";

const why = "the engine is not V8";
export const serialize = (value) => Buffer.from(encodeValue(value));
export const deserialize = (bytes) => decodeValue(bytes);
export const getHeapStatistics = () => ({
  total_heap_size: 4194304, total_heap_size_executable: 0, total_physical_size: 4194304, total_available_size: 268435456,
  used_heap_size: 2097152, heap_size_limit: 268435456, malloced_memory: 0, peak_malloced_memory: 0, does_zap_garbage: 0,
  number_of_native_contexts: 1, number_of_detached_contexts: 0, total_global_handles_size: 0, used_global_handles_size: 0,
  external_memory: 0,
});
export const getHeapSpaceStatistics = () => [];
export const getHeapCodeStatistics = () => ({ code_and_metadata_size: 0, bytecode_and_metadata_size: 0, external_script_source_size: 0, cpu_profiler_metadata_size: 0 });
export const cachedDataVersionTag = () => 0;
export const setFlagsFromString = () => {};
export const takeCoverage = () => {};
export const stopCoverage = () => {};
export const setHeapSnapshotNearHeapLimit = () => {};
export const isStringOneByteRepresentation = (text) => !/[^\x00-\xff]/.test(text);
export const getHeapSnapshot = refusedFunction("v8", "getHeapSnapshot", why);
export const writeHeapSnapshot = refusedFunction("v8", "writeHeapSnapshot", why);
export const queryObjects = refusedFunction("v8", "queryObjects", why);
export const Serializer = refusedClass("v8", "Serializer", why);
export const Deserializer = refusedClass("v8", "Deserializer", why);
export const DefaultSerializer = refusedClass("v8", "DefaultSerializer", why);
export const DefaultDeserializer = refusedClass("v8", "DefaultDeserializer", why);
export const GCProfiler = refusedClass("v8", "GCProfiler", why);
const refusedHook = (name) => refusedFunction("v8", `promiseHooks.${name}`, why);
export const promiseHooks = { onInit: refusedHook("onInit"), onSettled: refusedHook("onSettled"), onBefore: refusedHook("onBefore"), onAfter: refusedHook("onAfter"), createHook: refusedHook("createHook") };
export const startupSnapshot = { isBuildingSnapshot: () => false, addSerializeCallback() {}, addDeserializeCallback() {}, setDeserializeMainFunction() {} };

export default {
  serialize, deserialize, getHeapStatistics, getHeapSpaceStatistics, getHeapCodeStatistics, cachedDataVersionTag, setFlagsFromString,
  takeCoverage, stopCoverage, setHeapSnapshotNearHeapLimit, isStringOneByteRepresentation, getHeapSnapshot, writeHeapSnapshot,
  queryObjects, Serializer, Deserializer, DefaultSerializer, DefaultDeserializer, GCProfiler, promiseHooks, startupSnapshot,
};
