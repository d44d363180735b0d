// One operation of zlib on whole data: options checked as Node checks them, the native codec called, its failures turned
// into Node's errors with code and errno.
import { native } from "jackfield:host";
import { Buffer } from "node:buffer";
import { viewBytes } from "jackfield:web/bytes";
import { constants } from "jackfield:node/internal/zlib/constants";

function coded(Base, code, message, extra = undefined) {
  const error = new Base(message);
  error.code = code;
  return Object.assign(error, extra);
}

export function dataOf(value) {
  if (typeof value === "string") return native("utf8_encode", value.toWellFormed());
  const view = viewBytes(value);
  if (view) return view;
  throw coded(TypeError, "ERR_INVALID_ARG_TYPE", `The "buffer" argument must be of type string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer. Received ${value === null ? "null" : typeof value}`);
}

const RANGES = { level: [-1, 9], windowBits: [0, 15], memLevel: [1, 9], strategy: [0, 4], chunkSize: [64, Infinity], flush: [0, 5], finishFlush: [0, 5], maxOutputLength: [1, Infinity] };

/** What the native codec takes, and the limits that are kept here. */
export function settings(op, options) {
  const given = options ?? {};
  const brotli = op.startsWith("brotli");
  for (const [name, [low, high]] of Object.entries(RANGES)) {
    const value = given[name];
    if (value === undefined || (brotli && !["chunkSize", "maxOutputLength"].includes(name))) continue;
    if (typeof value !== "number") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", `The "options.${name}" property must be of type number. Received ${typeof value}`);
    if (!(value >= low && value <= high)) throw coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "options.${name}" is out of range. It must be >= ${low} and <= ${high}. Received ${value}`);
  }
  if (given.dictionary !== undefined) throw coded(Error, "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", "zlib dictionaries are not available in this host: compress without one");
  const wanted = {};
  if (brotli) {
    const quality = given.params?.[constants.BROTLI_PARAM_QUALITY];
    wanted.quality = quality ?? constants.BROTLI_DEFAULT_QUALITY;
    if (given.params !== undefined) wanted.params = given.params;
  } else if (given.level !== undefined && given.level >= 0) {
    wanted.level = given.level;
  }
  return { wanted, most: given.maxOutputLength ?? Infinity, info: Boolean(given.info) };
}

/** Runs the codec; the result is a plain Uint8Array. */
export function code(op, bytes, { wanted, most }) {
  let result;
  try {
    check(op, bytes);
    result = native("zlib", op, bytes, wanted);
  } catch (error) {
    throw failure(op, error);
  }
  if (result.length > most) throw coded(RangeError, "ERR_BUFFER_TOO_LARGE", `Cannot create a Buffer larger than ${most} bytes`);
  return result;
}

const zlibError = (message, name, errno) => coded(Error, name, message, { errno });

/** What Node says about a wrong beginning, which the native codec cannot always tell from wrong data. */
function check(op, bytes) {
  if (op !== "gunzip" && op !== "inflate" && op !== "unzip") return;
  if (bytes.length === 0) throw zlibError("unexpected end of file", "Z_BUF_ERROR", -5);
  const gzip = bytes[0] === 0x1f && (bytes.length < 2 || bytes[1] === 0x8b);
  const zlib = (bytes[0] & 15) === 8 && (bytes.length < 2 || (bytes[0] * 256 + bytes[1]) % 31 === 0);
  if (op === "gunzip" ? !gzip : op === "inflate" ? !zlib : !gzip && !zlib) throw zlibError("incorrect header check", "Z_DATA_ERROR", -3);
}

function failure(op, error) {
  if (error.errno !== undefined) return error;
  const message = String(error.message);
  if (op.startsWith("brotli")) {
    return op === "brotli_decompress" ? zlibError("Decompression failed", "ERR__ERROR_FORMAT_PADDING_1", -2) : zlibError(message, "ERR_BROTLI_COMPRESSION_FAILED", -2);
  }
  if (/unexpected end|\beof\b|truncat|incomplete/i.test(message)) return zlibError("unexpected end of file", "Z_BUF_ERROR", -5);
  if (/checksum|crc/i.test(message)) return zlibError("incorrect data check", "Z_DATA_ERROR", -3);
  return zlibError("invalid stored block lengths or other damage", "Z_DATA_ERROR", -3);
}

export function run(op, buffer, options) { return run.prepare(op, buffer, options)(); }
run.prepare = (op, buffer, options) => {
  const bytes = dataOf(buffer);
  const set = settings(op, options);
  return () => {
    const result = code(op, bytes, set);
    const out = Buffer.from(result.buffer, result.byteOffset, result.byteLength);
    return set.info ? { buffer: out, engine: null } : out;
  };
};

let table = null;
/** The CRC-32 of data, going on from an earlier value. */
export function crc32(data, value = 0) {
  const bytes = dataOf(data);
  if (typeof value !== "number") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", 'The "value" argument must be of type number.');
  if (!table) {
    table = new Uint32Array(256);
    for (let i = 0; i < 256; i++) {
      let entry = i;
      for (let bit = 0; bit < 8; bit++) entry = entry & 1 ? (entry >>> 1) ^ 0xedb88320 : entry >>> 1;
      table[i] = entry;
    }
  }
  let crc = ~value;
  for (let i = 0; i < bytes.length; i++) crc = table[(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}
