// node:stream. The parts live in internal/streams and are evaluated when first used. Covered: the five classes with
// Node's order of events, pipeline, finished, compose, addAbortSignal, the helper methods and the web adapters.
// Not covered: the experimental duplex pairs of later Node versions beyond `duplexPair`.
import { nextTick } from "node:process";
import { Stream, getDefaultHighWaterMark, isDestroyed, isDisturbed, isErrored, isReadable, isWritable, setDefaultHighWaterMark } from "jackfield:node/internal/streams/legacy";
import { Readable } from "jackfield:node/internal/streams/readable";
import { Writable } from "jackfield:node/internal/streams/writable";
import { Duplex, PassThrough, Transform } from "jackfield:node/internal/streams/duplex";
import { pipeline, pipelinePromise } from "jackfield:node/internal/streams/pipeline";
import { finished, finishedPromise } from "jackfield:node/internal/streams/eos";
import { destroyer } from "jackfield:node/internal/streams/destroy";
import { compose } from "jackfield:node/internal/streams/compose";
import { addAbortSignal } from "jackfield:node/internal/streams/abort";

/** Two Duplex streams: what is written to one comes out of the other. */
function duplexPair(options) {
  const make = () => {
    let wanted = null;
    const side = new Duplex({
      ...options,
      read() {
        const callback = wanted;
        wanted = null;
        callback?.();
      },
      write(chunk, encoding, callback) {
        if (chunk.length === 0) nextTick(callback);
        else {
          side.other.push(chunk);
          side.other.wait(callback);
        }
      },
      final(callback) {
        side.other.on("end", callback);
        side.other.push(null);
      },
    });
    side.wait = (callback) => { wanted = callback; };
    return side;
  };
  const a = make();
  const b = make();
  for (const [one, two] of [[a, b], [b, a]]) Object.defineProperty(one, "other", { value: two, enumerable: false });
  return [a, b];
}

const promises = { get finished() { return finishedPromise; }, get pipeline() { return pipelinePromise; } };
const destroy = (stream, error) => destroyer(stream, error);

// The default export is the old Stream constructor with all else hung on it, each looked up when asked for.
const members = {
  Stream: () => Stream, Readable: () => Readable, Writable: () => Writable, Duplex: () => Duplex, Transform: () => Transform,
  PassThrough: () => PassThrough, pipeline: () => pipeline, finished: () => finished, compose: () => compose,
  addAbortSignal: () => addAbortSignal, destroy: () => destroy, duplexPair: () => duplexPair, isDisturbed: () => isDisturbed,
  isErrored: () => isErrored, isReadable: () => isReadable, isWritable: () => isWritable, isDestroyed: () => isDestroyed,
  getDefaultHighWaterMark: () => getDefaultHighWaterMark, setDefaultHighWaterMark: () => setDefaultHighWaterMark, promises: () => promises,
  _isUint8Array: () => (value) => value instanceof Uint8Array,
};
for (const [name, get] of Object.entries(members)) {
  Object.defineProperty(Stream, name, {
    get, enumerable: true, configurable: true,
    set(value) { Object.defineProperty(Stream, name, { value, writable: true, enumerable: true, configurable: true }); },
  });
}

export {
  Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, compose, addAbortSignal, destroy, duplexPair,
  isDisturbed, isErrored, isReadable, isWritable, isDestroyed, getDefaultHighWaterMark, setDefaultHighWaterMark, promises,
};
export default Stream;
