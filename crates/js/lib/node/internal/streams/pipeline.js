// `pipeline`: streams, iterables, generators, async functions and web streams joined in a row. All are destroyed
// when one fails; the callback is called once, with the first failure and the value of a final function.
import { nextTick } from "node:process";
import { errors, isDestroyed, isIterable, isNodeStream, isReadableNode, isWebPair, isWebReadable, isWebWritable } from "jackfield:node/internal/streams/legacy";
import { destroyer } from "jackfield:node/internal/streams/destroy";
import { finished } from "jackfield:node/internal/streams/eos";
import { PassThrough } from "jackfield:node/internal/streams/duplex";
import { Readable } from "jackfield:node/internal/streams/readable";
import { duplexFromWeb, readableFromWeb, writableFromWeb } from "jackfield:node/internal/streams/web";
import { abortError, invalidArgType, needFunction, nodeError } from "jackfield:node/internal/io_errors";

function once(callback) {
  let called = false;
  return (...args) => {
    if (called) return;
    called = true;
    callback(...args);
  };
}

export function pipeline(...args) {
  const callback = once(needFunction(args.pop(), "streams[stream.length - 1]"));
  return run(args, callback);
}

export function pipelinePromise(...args) {
  return new Promise((resolve, reject) => {
    let options;
    const last = args[args.length - 1];
    if (last && typeof last === "object" && !isNodeStream(last) && !isIterable(last) && !isWebReadable(last) && !isWebWritable(last) && !isWebPair(last)) {
      options = args.pop();
    }
    run(args, (error, value) => (error ? reject(error) : resolve(value)), options);
  });
}

function run(streams, callback, options) {
  if (streams.length === 1 && Array.isArray(streams[0])) streams = streams[0];
  if (streams.length < 2) throw nodeError(TypeError, "ERR_MISSING_ARGS", 'The "streams" argument must be specified');
  const stop = new AbortController();
  const outer = options?.signal;
  const destroys = [];
  let error;
  let value;
  let pending = 0;
  let settled = false;
  const onabort = () => done(abortError(outer));

  function done(problem, final) {
    if (problem && (!error || error.code === "ERR_STREAM_PREMATURE_CLOSE")) error = problem;
    if (!error && !final) return;
    while (destroys.length) destroys.shift()(error);
    outer?.removeEventListener("abort", onabort);
    stop.abort();
    if (final && !settled) {
      settled = true;
      nextTick(callback, error, value);
    }
  }
  // Each part of the work reports once; the last report calls back.
  const share = () => {
    pending++;
    return once((problem) => done(problem, --pending === 0));
  };

  function watch(stream, reading, writing) {
    const part = share();
    finished(stream, { readable: reading, writable: writing }, (problem) => {
      if (problem?.code === "ERR_STREAM_PREMATURE_CLOSE" && reading && !writing && stream._readableState?.ended && !stream._readableState.errored) problem = undefined;
      part(problem);
    });
    destroys.push((problem) => {
      if (isDestroyed(stream) || (!problem && !isUnfinished(stream, reading, writing))) return;
      destroyer(stream, problem ?? errors.destroyed("pipe"));
    });
  }

  if (outer) {
    if (outer.aborted) nextTick(onabort);
    else outer.addEventListener("abort", onabort, { once: true });
  }

  let current;
  streams.forEach((stream, index) => {
    const first = index === 0;
    const last = index === streams.length - 1;
    const end = !last || options?.end !== false;
    if (isWebReadable(stream) && first) stream = readableFromWeb(stream);
    else if (isWebWritable(stream)) stream = writableFromWeb(stream);
    else if (isWebPair(stream)) stream = duplexFromWeb(stream);

    if (isNodeStream(stream)) {
      if (end) watch(stream, !last, !first);
      // Failures that come after the end must not be thrown into nowhere.
      stream.on("error", (problem) => {
        if (problem && problem.name !== "AbortError" && problem.code !== "ERR_STREAM_PREMATURE_CLOSE") {
          if (!settled) done(problem);
        }
      });
      if (first) {
        current = stream;
      } else if (isReadableNode(current) && isNodeStream(current)) {
        join(current, stream, share(), end);
      } else if (isIterable(current)) {
        pump(current, stream, share(), end);
      } else if (typeof current?.then === "function") {
        const part = share();
        current.then(async (result) => {
          if (result != null) stream.write(result);
          if (end) stream.end();
          part();
        }).catch(part);
      }
      current = stream;
    } else if (typeof stream === "function") {
      const input = first ? undefined : isWebReadable(current) ? readableFromWeb(current) : asIterable(current);
      const result = first ? stream({ signal: stop.signal }) : stream(input, { signal: stop.signal });
      if (first && !isIterable(result)) {
        const message = `Expected Iterable, AsyncIterable or Stream to be returned from the "source" function but got ${typeof result}.`;
        throw nodeError(TypeError, "ERR_INVALID_RETURN_VALUE", message);
      }
      if (last && (typeof result?.then === "function" || !isIterable(result))) {
        const part = share();
        Promise.resolve(result).then((out) => {
          value = out;
          part();
        }, part);
        const out = new PassThrough({ objectMode: true });
        current = out;
        if (!isIterable(result)) {
          Promise.resolve(result).then((final) => {
            if (final != null) out.write(final);
            out.end();
          }, (problem) => out.destroy(problem));
          out.on("error", () => {});
        }
      } else if (last) {
        const out = new PassThrough({ objectMode: true });
        pump(result, out, share(), true);
        watch(out, false, true);
        current = out;
      } else {
        current = result;
      }
    } else if (isIterable(stream) && first) {
      current = stream;
    } else {
      throw invalidArgType(`streams[${index}]`, "of type function or an instance of Stream, Iterable or AsyncIterable", stream);
    }
  });
  return current;
}

function isUnfinished(stream, reading, writing) {
  return (reading && stream.readable && !stream.readableEnded) || (writing && stream.writable);
}

async function* asIterable(source) {
  if (isNodeStream(source)) yield* source.iterator ? source.iterator({ destroyOnReturn: true }) : source;
  else if (isIterable(source)) yield* source;
  else if (typeof source?.then === "function") yield* asIterable(await source);
  else yield* Readable.from(source);
}

function join(source, dest, callback, end) {
  let over = false;
  dest.on("close", () => {
    if (!over) callback(errors.premature());
    over = true;
  });
  source.pipe(dest, { end: false });
  if (end) {
    const finish = () => {
      if (over) return;
      over = true;
      dest.end();
    };
    if (source.readableEnded || source._readableState?.endEmitted) nextTick(finish);
    else source.once("end", finish);
  } else {
    source.once("end", () => {
      if (over) return;
      over = true;
      callback();
    });
  }
  const tell = onceOnly(callback);
  finished(source, { readable: true, writable: false }, (error) => {
    const state = source._readableState;
    if (error?.code === "ERR_STREAM_PREMATURE_CLOSE" && state?.ended && !state.errored && !state.errorEmitted) {
      source.once("end", () => tell()).once("error", tell);
    } else if (end) tell(error);
    else if (error) callback(error);
  });
  finished(dest, { readable: false, writable: true }, end ? tell : () => {});
}

function onceOnly(callback) {
  let count = 0;
  let failed = false;
  // Both ends have to be done, or one has to fail.
  return (error) => {
    if (failed) return;
    if (error) {
      failed = true;
      callback(error);
    } else if (++count === 2) {
      callback();
    }
  };
}

async function pump(iterable, writable, callback, end) {
  let error;
  let wake = null;
  const resume = (problem) => {
    if (problem) error = problem;
    const call = wake;
    wake = null;
    call?.();
  };
  const room = () => new Promise((resolve, reject) => {
    if (error) reject(error);
    else wake = () => (error ? reject(error) : resolve());
  });
  const onclose = () => resume();
  writable.on("drain", onclose);
  const cleanup = finished(writable, { readable: false }, resume);
  try {
    if (writable.writableNeedDrain) await room();
    for await (const chunk of iterable) {
      if (error) throw error;
      if (!writable.write(chunk)) await room();
    }
    if (end) {
      writable.end();
      await room();
    }
    callback();
  } catch (problem) {
    callback(error && error !== problem && problem.code !== "ERR_STREAM_PREMATURE_CLOSE" ? problem : error ?? problem);
  } finally {
    cleanup();
    writable.removeListener("drain", onclose);
  }
}

Object.defineProperty(pipeline, Symbol.for("nodejs.util.promisify.custom"), { value: pipelinePromise, configurable: true });
