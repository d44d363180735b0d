// `Readable.from`: a stream over any iterable, async or not, that asks for the next value only when there is room.
import { nextTick } from "node:process";
import { Buffer } from "node:buffer";
import { invalidArgType } from "jackfield:node/internal/io_errors";
import { errors } from "jackfield:node/internal/streams/legacy";

export function asReadable(Readable, iterable, options) {
  if (typeof iterable === "string" || iterable instanceof Buffer) {
    return new Readable({
      objectMode: true, ...options,
      read() {
        this.push(iterable);
        this.push(null);
      },
    });
  }
  const isAsync = !!iterable?.[Symbol.asyncIterator];
  if (!isAsync && !iterable?.[Symbol.iterator]) throw invalidArgType("iterable", "an instance of Iterable", iterable);
  const source = isAsync ? iterable[Symbol.asyncIterator]() : iterable[Symbol.iterator]();
  const stream = new Readable({ objectMode: true, highWaterMark: 1, ...options });
  let reading = false;
  stream._read = function read() {
    if (reading) return;
    reading = true;
    next();
  };
  stream._destroy = function close(error, callback) {
    leave(error).then(() => nextTick(callback, error), (problem) => nextTick(callback, problem || error));
  };
  async function leave(error) {
    const failed = error !== undefined && error !== null;
    if (failed && typeof source.throw === "function") {
      const { value, done } = await source.throw(error);
      await value;
      if (done) return;
    }
    if (typeof source.return === "function") await (await source.return()).value;
  }
  async function next() {
    for (;;) {
      try {
        const { value, done } = isAsync ? await source.next() : source.next();
        if (done) {
          stream.push(null);
        } else {
          const chunk = typeof value?.then === "function" ? await value : value;
          if (chunk === null) {
            reading = false;
            throw errors.nullValue();
          }
          if (stream.push(chunk)) continue;
          reading = false;
        }
      } catch (error) {
        stream.destroy(error);
      }
      break;
    }
  }
  return stream;
}
