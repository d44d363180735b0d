// What Request and Response share: a body that is read once. Bytes stay bytes until somebody asks for the stream, so
// `json()` on an answer never builds one. A body from the network is a `Source` that pushes chunks.
import { native } from "jackfield:host";
import { concatBytes, copyBytes, exactBuffer, viewBytes } from "jackfield:web/bytes";
import { Blob, blobBytes } from "jackfield:web/blob";
import { FormData, encodeMultipart, parseForm } from "jackfield:web/formdata";
import { URLSearchParams } from "jackfield:web/url";
import { ReadableStream, isReadable, isDisturbed } from "jackfield:web/streams/readable";

/** Chunks that arrive, kept until somebody takes them: as one piece or as a stream. */
export class Source {
  #chunks = []; #ended = false; #error = null; #failed = false; #notify = null; #onCancel;
  constructor(onCancel) { this.#onCancel = onCancel; }
  push(bytes) {
    if (this.#ended) return;
    if (bytes.length > 0) this.#chunks.push(bytes);
    this.#notify?.();
  }
  end() {
    this.#ended = true;
    this.#notify?.();
  }
  fail(error) {
    if (this.#ended) return;
    this.#ended = true;
    this.#failed = true;
    this.#error = error;
    this.#notify?.();
  }
  cancel(reason) {
    if (!this.#ended) this.#onCancel?.(reason);
    this.#ended = true;
    this.#chunks = [];
  }
  all() {
    return new Promise((resolve, reject) => {
      this.#notify = () => {
        if (!this.#ended) return;
        if (this.#failed) reject(this.#error);
        else resolve(concatBytes(this.#chunks));
      };
      this.#notify();
    });
  }
  stream() {
    let controller;
    const finish = () => {
      if (this.#failed) {
        controller.error(this.#error);
        return;
      }
      controller.close();
      controller.byobRequest?.respond(0);
    };
    return new ReadableStream({
      type: "bytes",
      start(c) { controller = c; },
      pull: () => new Promise((resolve) => {
        const step = () => {
          if (this.#chunks.length > 0) {
            controller.enqueue(this.#chunks.shift());
          } else if (this.#ended) {
            finish();
          } else {
            return;
          }
          this.#notify = null;
          resolve();
        };
        this.#notify = step;
        step();
      }),
      cancel: (reason) => {
        this.#notify = null;
        this.cancel(reason);
      },
    }, { highWaterMark: 0 });
  }
}

/** `{ bytes | source | stream, type, length }` for whatever a program may give as a body. */
export function extractBody(value) {
  if (typeof value === "string") return { bytes: native("utf8_encode", value.toWellFormed()), type: "text/plain;charset=UTF-8" };
  const view = viewBytes(value);
  if (view) return { bytes: copyBytes(view), type: null };
  if (value instanceof Source) return { source: value, type: null };
  if (isReadable(value)) {
    if (value.locked || isDisturbed(value)) throw new TypeError("Response body object should not be disturbed or locked");
    return { stream: value, type: null };
  }
  if (value instanceof URLSearchParams) return { bytes: native("utf8_encode", value.toString()), type: "application/x-www-form-urlencoded;charset=UTF-8" };
  if (value instanceof Blob) return { bytes: blobBytes(value), type: value.type || null, reusable: true };
  if (value instanceof FormData) {
    const { type, bytes } = encodeMultipart(value);
    return { bytes, type };
  }
  if (value !== null && typeof value === "object" && typeof value[Symbol.asyncIterator] === "function") {
    return { stream: streamOf(value), type: null };
  }
  return { bytes: native("utf8_encode", `${value}`.toWellFormed()), type: "text/plain;charset=UTF-8" };
}

function streamOf(iterable) {
  const iterator = iterable[Symbol.asyncIterator]();
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const { value, done } = await iterator.next();
      if (done) {
        controller.close();
        controller.byobRequest?.respond(0);
        return;
      }
      const bytes = typeof value === "string" ? native("utf8_encode", value.toWellFormed()) : viewBytes(value);
      if (bytes && bytes.byteLength > 0) controller.enqueue(copyBytes(bytes));
    },
    async cancel(reason) { await iterator.return?.(reason); },
  }, { highWaterMark: 0 });
}

/** Everything a stream of bytes gives, as one piece. */
export async function drain(stream) {
  const reader = stream.getReader();
  const chunks = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return concatBytes(chunks);
    const bytes = typeof value === "string" ? undefined : viewBytes(value);
    if (!bytes) throw new TypeError("Received non-Uint8Array chunk");
    chunks.push(bytes);
  }
}

/** The base of Request and Response. */
export class Body {
  #held = null; // what extractBody gave
  #stream = null;
  #used = false;
  get body() {
    const held = this.#held;
    if (!held) return null;
    return (this.#stream ??= held.stream ?? (held.source ? held.source.stream() : streamOfBytes(held.bytes, this.#used)));
  }
  get bodyUsed() { return this.#used || (this.#stream !== null && isDisturbed(this.#stream)); }
  arrayBuffer() { return this.#take("arrayBuffer").then((bytes) => exactBuffer(bytes)); }
  bytes() { return this.#take("bytes").then((bytes) => (bytes.byteLength === bytes.buffer.byteLength ? bytes : copyBytes(bytes))); }
  blob() { return this.#take("blob").then((bytes) => new Blob([bytes], { type: this.headers.get("content-type") ?? "" })); }
  text() { return this.#take("text").then((bytes) => (bytes.length === 0 ? "" : native("utf8_decode", bytes, false, false))); }
  json() { return this.text().then((text) => JSON.parse(text)); }
  formData() { return this.#take("formData").then((bytes) => parseForm(bytes, this.headers.get("content-type"))); }
  async #take(what) {
    if (this.bodyUsed || this.#stream?.locked) throw new TypeError(`Body is unusable: ${what} was asked of a body that has already been read`);
    const held = this.#held;
    if (!held) return new Uint8Array(0);
    if (this.#stream || held.stream) return drain(this.body);
    this.#used = true;
    if (held.source) return held.source.all();
    return held.reusable ? copyBytes(held.bytes) : held.bytes;
  }
  static {
    inner = {
      hold(owner, held) { owner.#held = held; },
      held: (owner) => owner.#held,
      unusable: (owner) => owner.bodyUsed || Boolean(owner.#stream?.locked),
      use(owner) { owner.#used = true; },
      /** A second body for a clone: bytes are shared, a stream is split. */
      split(owner) {
        const held = owner.#held;
        if (!held) return null;
        if (held.bytes && !owner.#stream) {
          held.reusable = true;
          return { ...held };
        }
        const [one, two] = owner.body.tee();
        owner.#stream = null;
        owner.#held = { ...held, bytes: undefined, source: undefined, stream: one };
        return { ...held, bytes: undefined, source: undefined, stream: two };
      },
    };
  }
}
var inner;
export const bodies = {
  hold: (owner, held) => inner.hold(owner, held),
  held: (owner) => inner.held(owner),
  unusable: (owner) => inner.unusable(owner),
  use: (owner) => inner.use(owner),
  split: (owner) => inner.split(owner),
};

function streamOfBytes(bytes, used) {
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      if (bytes.length > 0 && !used) controller.enqueue(copyBytes(bytes));
      controller.close();
      controller.byobRequest?.respond(0);
    },
  }, { highWaterMark: 0 });
}
