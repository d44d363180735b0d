// Streams that change text or bytes on the way: TextEncoderStream, TextDecoderStream, CompressionStream and
// DecompressionStream. The native codec works on whole data, so compressed data comes out when the input ends.
import { native } from "jackfield:host";
import { TransformStream } from "jackfield:web/streams/transform";
import { TextDecoder } from "jackfield:web/encoding";
import { codedError, concatBytes, copyBytes, viewBytes } from "jackfield:web/bytes";

class Pair {
  #inner;
  constructor(transformer) { this.#inner = new TransformStream(transformer); }
  get readable() { return this.#inner.readable; }
  get writable() { return this.#inner.writable; }
}

export class TextEncoderStream extends Pair {
  constructor() {
    let high = ""; // the first half of a pair that is not complete
    super({
      transform(chunk, controller) {
        let text = high + `${chunk}`;
        high = "";
        const last = text.charCodeAt(text.length - 1);
        if (last >= 0xd800 && last <= 0xdbff) {
          high = text.slice(-1);
          text = text.slice(0, -1);
        }
        if (text !== "") controller.enqueue(native("utf8_encode", text.toWellFormed()));
      },
      flush(controller) { if (high !== "") controller.enqueue(new Uint8Array([0xef, 0xbf, 0xbd])); },
    });
  }
  get encoding() { return "utf-8"; }
  get [Symbol.toStringTag]() { return "TextEncoderStream"; }
}

export class TextDecoderStream extends Pair {
  #decoder;
  constructor(label = "utf-8", options = {}) {
    const decoder = new TextDecoder(label, options);
    super({
      transform(chunk, controller) {
        const text = decoder.decode(bytesOf(chunk), { stream: true });
        if (text !== "") controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text !== "") controller.enqueue(text);
      },
    });
    this.#decoder = decoder;
  }
  get encoding() { return this.#decoder.encoding; }
  get fatal() { return this.#decoder.fatal; }
  get ignoreBOM() { return this.#decoder.ignoreBOM; }
  get [Symbol.toStringTag]() { return "TextDecoderStream"; }
}

function bytesOf(chunk) {
  const bytes = viewBytes(chunk);
  if (!bytes) throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", 'The "chunk" argument must be an instance of Buffer, TypedArray, DataView or ArrayBuffer.');
  return bytes;
}

function codec(format, names) {
  const name = Object.hasOwn(names, `${format}`) ? names[`${format}`] : undefined;
  if (!name) throw codedError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'format' must be one of: 'deflate', 'deflate-raw', 'gzip'. Received '${String(format)}'`);
  const chunks = [];
  return {
    transform(chunk) { chunks.push(copyBytes(bytesOf(chunk))); },
    flush(controller) {
      let bytes;
      try {
        bytes = native("zlib", name, concatBytes(chunks), {});
      } catch (error) {
        throw new TypeError(`the ${format} data could not be processed: ${error.message}`, { cause: error });
      }
      for (let at = 0; at < bytes.length; at += 65536) controller.enqueue(bytes.slice(at, at + 65536));
    },
  };
}

export class CompressionStream extends Pair {
  constructor(format) { super(codec(format, { gzip: "gzip", deflate: "deflate", "deflate-raw": "deflate_raw", brotli: "brotli_compress" })); }
  get [Symbol.toStringTag]() { return "CompressionStream"; }
}
export class DecompressionStream extends Pair {
  constructor(format) { super(codec(format, { gzip: "gunzip", deflate: "inflate", "deflate-raw": "inflate_raw", brotli: "brotli_decompress" })); }
  get [Symbol.toStringTag]() { return "DecompressionStream"; }
}
