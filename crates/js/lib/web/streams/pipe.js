// pipeTo: moves chunks while the destination has room, and carries closing, errors and an abort signal from one side
// to the other, waiting for the writes that were begun.
import { attach, release, readInto, readableCore } from "jackfield:web/streams/readable";
import { cancelStream } from "jackfield:web/streams/control";
import { writableCore } from "jackfield:web/streams/writable";
import { invalidArg, invalidState, quiet } from "jackfield:web/streams/shared";

export function pipe(source, destination, options) {
  const preventClose = Boolean(options?.preventClose);
  const preventAbort = Boolean(options?.preventAbort);
  const preventCancel = Boolean(options?.preventCancel);
  const signal = options?.signal;
  if (signal !== undefined && (typeof signal !== "object" || signal === null || typeof signal.addEventListener !== "function" || !("aborted" in signal))) {
    return Promise.reject(invalidArg("The \"options.signal\" property must be an instance of AbortSignal."));
  }
  const from = readableCore(source);
  const to = writableCore(destination);
  const record = attach(source, "default");
  const writer = destination.getWriter();
  from.disturbed = true;
  return new Promise((resolve, reject) => {
    let over = false;
    let lastWrite = Promise.resolve();

    function finish(failed, error) {
      writer.releaseLock();
      release(record);
      signal?.removeEventListener("abort", onAbort);
      if (failed) reject(error);
      else resolve();
    }
    // Waits until the writes that were begun are done, does `action`, and ends.
    function shutdown(action, failed, error) {
      if (over) return;
      over = true;
      const act = () => {
        if (!action) finish(failed, error);
        else action().then(() => finish(failed, error), (other) => finish(true, other));
      };
      if (to.state === "writable" && !to.closeQueued()) waitForWrites().then(act);
      else act();
    }
    function waitForWrites() {
      const current = lastWrite;
      return current.then(() => (current === lastWrite ? undefined : waitForWrites()));
    }
    function onAbort() {
      const { reason } = signal;
      shutdown(() => {
        const actions = [];
        if (!preventAbort && to.state === "writable") actions.push(to.abort(reason));
        if (!preventCancel && from.state === "readable") actions.push(cancelStream(from, reason));
        return Promise.all(actions);
      }, true, reason);
    }
    if (signal) {
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener("abort", onAbort);
    }

    const sourceFailed = () => shutdown(preventAbort ? undefined : () => to.abort(from.error), true, from.error);
    const sinkFailed = () => shutdown(preventCancel ? undefined : () => cancelStream(from, to.error), true, to.error);
    const sourceClosed = () => shutdown(preventClose ? undefined : () => closeSink(to), false);
    if (from.state === "errored") sourceFailed();
    else record.closed.promise.catch(() => { if (from.state === "errored") sourceFailed(); });
    if (to.state === "errored" || to.state === "erroring") sinkFailed();
    else quiet(writer.closed.catch(() => { if (to.state === "errored") sinkFailed(); }));
    if (from.state === "closed") sourceClosed();
    else record.closed.promise.then(sourceClosed, () => {});
    if (to.closeQueued() || to.state === "closed") {
      const error = invalidState("Destination WritableStream is closed");
      shutdown(preventCancel ? undefined : () => cancelStream(from, error), true, error);
    }

    function step() {
      if (over) return;
      writer.ready.then(() => {
        if (over) return;
        readInto(record, {
          chunk(chunk) {
            lastWrite = to.write(chunk).catch(() => {});
            step();
          },
          close() {},
          error() {},
        });
      }, () => {});
    }
    step();
  });
}

function closeSink(to) {
  if (to.closeQueued() || to.state === "closed") return Promise.resolve();
  if (to.state === "errored") return Promise.reject(to.error);
  return to.close();
}
