// node:perf_hooks: the performance timeline of the web, timerify, histograms, and an event loop delay monitor that
// measures nothing, because the loop belongs to the host.
import { createHistogram, monitorEventLoopDelay, timerify } from "jackfield:node/internal/histogram";
import { Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, performance } from "jackfield:web/performance";

export class PerformanceObserverEntryList {}
export class PerformanceResourceTiming {}
export const constants = Object.freeze({
  NODE_PERFORMANCE_GC_MAJOR: 4, NODE_PERFORMANCE_GC_MINOR: 1, NODE_PERFORMANCE_GC_INCREMENTAL: 8, NODE_PERFORMANCE_GC_WEAKCB: 16,
  NODE_PERFORMANCE_GC_FLAGS_NO: 0, NODE_PERFORMANCE_GC_FLAGS_CONSTRUCT_RETAINED: 2, NODE_PERFORMANCE_GC_FLAGS_FORCED: 4,
  NODE_PERFORMANCE_GC_FLAGS_SYNCHRONOUS_PHANTOM_PROCESSING: 8, NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE: 16,
  NODE_PERFORMANCE_GC_FLAGS_ALL_EXTERNAL_MEMORY: 32, NODE_PERFORMANCE_GC_FLAGS_SCHEDULE_IDLE: 64,
});
export const eventLoopUtilization = () => ({ idle: 0, active: 0, utilization: 0 });

// Node puts a few more functions on the object than the web does.
const nodePerformance = () => {
  if (!("timerify" in performance)) {
    Object.defineProperties(performance, {
      timerify: { value: timerify, configurable: true, writable: true },
      eventLoopUtilization: { value: eventLoopUtilization, configurable: true, writable: true },
      nodeTiming: { value: { name: "node", entryType: "node", startTime: 0, get duration() { return performance.now(); } }, configurable: true },
    });
  }
  return performance;
};
const extended = nodePerformance();

export {
  createHistogram, extended as performance, monitorEventLoopDelay, Performance, PerformanceEntry, PerformanceMark,
  PerformanceMeasure, PerformanceObserver, timerify,
};
export default {
  Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList,
  PerformanceResourceTiming, constants, eventLoopUtilization, performance: extended,
  get createHistogram() { return createHistogram; },
  get monitorEventLoopDelay() { return monitorEventLoopDelay; },
  get timerify() { return timerify; },
};
