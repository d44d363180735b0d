// Ties the life of a stream to an AbortSignal.
import { finished } from "jackfield:node/internal/streams/eos";
import { isNodeStream, isWebReadable, isWebWritable } from "jackfield:node/internal/streams/legacy";
import { abortError, invalidArgType } from "jackfield:node/internal/io_errors";

/** Without the checks: for the `signal` option of constructors. */
export function addAbortSignalTo(signal, stream) {
  if (typeof signal !== "object" || !("aborted" in signal)) throw invalidArgType("signal", "an instance of AbortSignal", signal);
  const abort = () => stream.destroy(abortError(signal));
  if (signal.aborted) {
    abort();
  } else {
    signal.addEventListener("abort", abort, { once: true });
    finished(stream, () => signal.removeEventListener("abort", abort));
  }
  return stream;
}

export function addAbortSignal(signal, stream) {
  if (signal === null || typeof signal !== "object" || !("aborted" in signal)) throw invalidArgType("signal", "an instance of AbortSignal", signal);
  if (!isNodeStream(stream) && !isWebReadable(stream) && !isWebWritable(stream)) {
    throw invalidArgType("stream", "an instance of ReadableStream, WritableStream, or Stream", stream);
  }
  return addAbortSignalTo(signal, stream);
}
