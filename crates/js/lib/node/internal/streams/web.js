// Between Node's streams and web streams: fromWeb and toWeb for readable, writable and both. The queue on the web
// side is kept small, so that backpressure reaches the source.
import { ReadableStream, WritableStream, CountQueuingStrategy, ByteLengthQueuingStrategy } from "jackfield:web/streams";
import { Buffer } from "node:buffer";
import { Readable } from "jackfield:node/internal/streams/readable";
import { Writable } from "jackfield:node/internal/streams/writable";
import { Duplex } from "jackfield:node/internal/streams/duplex";
import { destroyer } from "jackfield:node/internal/streams/destroy";
import { finished } from "jackfield:node/internal/streams/eos";
import { isWebPair, isWebReadable, isWebWritable } from "jackfield:node/internal/streams/legacy";
import { abortError, invalidArgType } from "jackfield:node/internal/io_errors";

function readSide(reader) {
  return async function read() {
    try {
      const { value, done } = await reader.read();
      this.push(done ? null : value);
    } catch (error) {
      this.destroy(error);
    }
  };
}

function writeSide(writer) {
  return {
    async write(chunk, encoding, callback) {
      try {
        await writer.ready;
        await writer.write(typeof chunk === "string" && encoding !== "utf8" ? Buffer.from(chunk, encoding) : chunk);
      } catch (error) {
        callback(error);
        return;
      }
      callback();
    },
    async final(callback) {
      try {
        await writer.close();
      } catch (error) {
        callback(error);
        return;
      }
      callback();
    },
  };
}

async function quietly(action) {
  try {
    await action();
  } catch {
    // The other side is gone already; the error that counts is told by the stream.
  }
}

export function readableFromWeb(web, options = {}) {
  if (!isWebReadable(web)) throw invalidArgType("readableStream", "an instance of ReadableStream", web);
  const reader = web.getReader();
  let ended = false;
  const stream = new Readable({
    highWaterMark: options.highWaterMark, encoding: options.encoding, objectMode: options.objectMode ?? false, signal: options.signal,
    read: readSide(reader),
    destroy(error, callback) {
      if (ended) callback(error);
      else quietly(() => reader.cancel(error ?? undefined)).then(() => callback(error));
    },
  });
  reader.closed.then(() => { ended = true; }, (error) => {
    ended = true;
    stream.destroy(error);
  });
  return stream;
}

export function writableFromWeb(web, options = {}) {
  if (!isWebWritable(web)) throw invalidArgType("writableStream", "an instance of WritableStream", web);
  const writer = web.getWriter();
  let ended = false;
  const stream = new Writable({
    highWaterMark: options.highWaterMark, objectMode: options.objectMode ?? false, decodeStrings: options.decodeStrings ?? true, signal: options.signal,
    ...writeSide(writer),
    destroy(error, callback) {
      if (ended) callback(error);
      else quietly(() => (error ? writer.abort(error) : writer.close())).then(() => callback(error));
    },
  });
  writer.closed.then(() => { ended = true; }, (error) => {
    ended = true;
    stream.destroy(error);
  });
  return stream;
}

export function duplexFromWeb(pair, options = {}) {
  if (!isWebPair(pair)) throw invalidArgType("pair", "an object with a ReadableStream and a WritableStream", pair);
  const reader = pair.readable.getReader();
  const writer = pair.writable.getWriter();
  let readEnded = false;
  let writeEnded = false;
  const stream = new Duplex({
    ...options,
    read: readSide(reader),
    ...writeSide(writer),
    destroy(error, callback) {
      const work = [];
      if (!readEnded) work.push(quietly(() => reader.cancel(error ?? undefined)));
      if (!writeEnded) work.push(quietly(() => (error ? writer.abort(error) : writer.close())));
      Promise.all(work).then(() => callback(error));
    },
  });
  reader.closed.then(() => { readEnded = true; }, (error) => { readEnded = true; stream.destroy(error); });
  writer.closed.then(() => { writeEnded = true; }, (error) => { writeEnded = true; stream.destroy(error); });
  return stream;
}

export function readableToWeb(stream, options = {}) {
  if (typeof stream?._readableState !== "object") throw invalidArgType("streamReadable", "an instance of stream.Readable", stream);
  const objectMode = stream.readableObjectMode;
  const mark = stream.readableHighWaterMark;
  const strategy = options.strategy ??
    (objectMode ? new CountQueuingStrategy({ highWaterMark: mark }) : new ByteLengthQueuingStrategy({ highWaterMark: mark }));
  let closed = false;
  return new ReadableStream({
    start(controller) {
      stream.pause();
      finished(stream, { writable: false }, (error) => {
        if (closed) return;
        closed = true;
        stream.on("error", () => {});
        if (error) controller.error(error.code === "ERR_STREAM_PREMATURE_CLOSE" ? abortErrorOf(error) : error);
        else controller.close();
      });
      stream.on("data", (chunk) => {
        if (closed) return;
        controller.enqueue(Buffer.isBuffer(chunk) && !objectMode ? new Uint8Array(chunk) : chunk);
        if (controller.desiredSize <= 0) stream.pause();
      });
      stream.pause();
    },
    pull() {
      stream.resume();
    },
    cancel(reason) {
      closed = true;
      stream.on("error", () => {});
      destroyer(stream, reason);
    },
  }, strategy);
}

// Strings may be written to a byte stream, and they have no byteLength.
function sizeOf(chunk) {
  return chunk?.byteLength ?? chunk?.length ?? 1;
}

function abortErrorOf(cause) {
  return Object.assign(abortError(), { cause });
}

export function writableToWeb(stream) {
  if (typeof stream?._writableState !== "object") throw invalidArgType("streamWritable", "an instance of stream.Writable", stream);
  const mark = stream.writableHighWaterMark;
  const strategy = stream.writableObjectMode ? new CountQueuingStrategy({ highWaterMark: mark }) : { highWaterMark: mark, size: sizeOf };
  let waiting = null;
  let closing = null;
  let ended = false;
  return new WritableStream({
    start(controller) {
      finished(stream, { readable: false }, (error) => {
        ended = true;
        stream.on("error", () => {});
        const problem = error?.code === "ERR_STREAM_PREMATURE_CLOSE" ? abortErrorOf(error) : error;
        waiting?.reject(problem ?? abortError());
        waiting = null;
        if (closing) (problem ? closing.reject(problem) : closing.resolve());
        else controller.error(problem ?? abortError());
        closing = null;
      });
      stream.on("drain", () => {
        waiting?.resolve();
        waiting = null;
      });
    },
    write(chunk) {
      if (stream.writableNeedDrain || !stream.write(chunk)) {
        return new Promise((resolve, reject) => { waiting = { resolve, reject }; });
      }
      return undefined;
    },
    abort(reason) {
      destroyer(stream, reason);
    },
    close() {
      if (ended) return undefined;
      const promise = new Promise((resolve, reject) => { closing = { resolve, reject }; });
      stream.end();
      return promise;
    },
  }, strategy);
}

export function duplexToWeb(duplex) {
  return { readable: readableToWeb(duplex), writable: writableToWeb(duplex) };
}
