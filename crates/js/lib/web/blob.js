// Blob and File: bytes that do not change, kept in memory. A slice shares the memory of its Blob. `endings: "native"`
// means "\n" here, the line end of the platforms that are served.
import { native } from "jackfield:host";
import { codedError, concatBytes, copyBytes, exactBuffer, viewBytes } from "jackfield:web/bytes";
import { ReadableStream } from "jackfield:web/streams/readable";

const typeOf = (type) => {
  const text = `${type ?? ""}`;
  return /[^\x20-\x7e]/.test(text) ? "" : text.toLowerCase();
};

export class Blob {
  #parts; // Uint8Array pieces
  #size = 0;
  #type;
  constructor(sources = [], options = {}) {
    if (sources === null || typeof sources !== "object" || typeof sources[Symbol.iterator] !== "function") {
      throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", 'The "sources" argument must be a sequence.');
    }
    const endings = options?.endings === undefined ? "transparent" : `${options.endings}`;
    if (endings !== "transparent" && endings !== "native") {
      throw codedError(TypeError, "ERR_INVALID_ARG_VALUE", `The property 'options.endings' is invalid. Received '${endings}'`);
    }
    this.#type = typeOf(options?.type);
    this.#parts = [];
    for (const source of sources) {
      if (typeof source === "object" && source !== null && #parts in source) {
        this.#parts.push(...source.#parts);
        this.#size += source.#size;
        continue;
      }
      const view = viewBytes(source);
      let bytes;
      if (view) {
        bytes = copyBytes(view);
      } else {
        let text = `${source}`.toWellFormed();
        if (endings === "native") text = text.replace(/\r\n|\r/g, "\n");
        bytes = native("utf8_encode", text);
      }
      if (bytes.length > 0) this.#parts.push(bytes);
      this.#size += bytes.length;
    }
  }
  get size() { return this.#size; }
  get type() { return this.#type; }
  slice(start = 0, end = this.#size, type = "") {
    const at = (index) => {
      const whole = Math.trunc(Number(index)) || 0;
      return whole < 0 ? Math.max(this.#size + whole, 0) : Math.min(whole, this.#size);
    };
    const from = at(start);
    const to = Math.max(at(end), from);
    const blob = new Blob([], { type });
    let offset = 0;
    for (const part of this.#parts) {
      const piece = part.subarray(Math.max(from - offset, 0), Math.max(Math.min(to - offset, part.length), 0));
      if (piece.length > 0) blob.#parts.push(piece);
      offset += part.length;
      if (offset >= to) break;
    }
    blob.#size = to - from;
    return blob;
  }
  async arrayBuffer() { return copyBytes(this.#flat()).buffer; }
  async bytes() { return copyBytes(this.#flat()); }
  async text() { return native("utf8_decode", this.#flat(), false, false); }
  stream() {
    const pieces = [];
    for (const part of this.#parts) for (let at = 0; at < part.length; at += 65536) pieces.push(part.subarray(at, at + 65536));
    let next = 0;
    return new ReadableStream({
      type: "bytes",
      pull(controller) {
        if (next < pieces.length) controller.enqueue(copyBytes(pieces[next++]));
        if (next >= pieces.length) {
          controller.close();
          controller.byobRequest?.respond(0);
        }
      },
    }, { highWaterMark: 0 });
  }
  #flat() {
    if (this.#parts.length !== 1) this.#parts = [concatBytes(this.#parts)];
    return this.#parts[0] ?? new Uint8Array(0);
  }
  get [Symbol.toStringTag]() { return "Blob"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    return typeof inspect === "function" ? `${this.constructor.name} ${inspect({ size: this.#size, type: this.#type }, options)}` : this.constructor.name;
  }
  static {
    flat = (blob) => blob.#flat();
    share = (blob) => {
      const copy = blob instanceof File ? new File([], blob.name, { type: blob.#type, lastModified: blob.lastModified }) : new Blob([], { type: blob.#type });
      copy.#parts = blob.#parts;
      copy.#size = blob.#size;
      return copy;
    };
  }
}
var flat, share;

/** The bytes of a Blob without waiting; they must not be written to. */
export const blobBytes = (blob) => flat(blob);
/** A Blob or File of its own over the same bytes. */
export const shareBlob = (blob) => share(blob);
export const blobBuffer = (blob) => exactBuffer(flat(blob));

export class File extends Blob {
  #name; #modified;
  constructor(sources, name, options = {}) {
    if (arguments.length < 2) throw codedError(TypeError, "ERR_MISSING_ARGS", 'The "sources" and "fileName" arguments must be specified');
    super(sources, options);
    this.#name = `${name}`.toWellFormed();
    const modified = options?.lastModified;
    this.#modified = modified === undefined ? Date.now() : Math.trunc(Number(modified)) || 0;
  }
  get name() { return this.#name; }
  get lastModified() { return this.#modified; }
  get webkitRelativePath() { return ""; }
  get [Symbol.toStringTag]() { return "File"; }
}
