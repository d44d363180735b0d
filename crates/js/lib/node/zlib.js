// node:zlib over the native codecs: gzip, deflate, raw deflate and Brotli, at once, with callbacks or promises, and as
// Transform streams. The native codecs work on whole data, so a stream gives its output when its input ends (or when it
// is flushed, for compression: see internal/zlib/streams). Levels and Brotli's quality are honoured; dictionaries are
// refused; window sizes, memory levels and strategies change only sizes and are ignored.
import { constants, codes } from "jackfield:node/internal/zlib/constants";
import { run, crc32 } from "jackfield:node/internal/zlib/run";
import {
  Gzip, Gunzip, Deflate, Inflate, DeflateRaw, InflateRaw, Unzip, BrotliCompress, BrotliDecompress,
} from "jackfield:node/internal/zlib/streams";

/** The callback form of an operation; `util.promisify` works on it as on any other. */
function callbackForm(name, op) {
  const form = {
    [name](buffer, options, callback) {
      if (typeof options === "function") [options, callback] = [{}, options];
      if (typeof callback !== "function") {
        const error = new TypeError('The "callback" argument must be of type function.');
        error.code = "ERR_INVALID_ARG_TYPE";
        throw error;
      }
      const work = run.prepare(op, buffer, options);
      setImmediate(() => {
        let result;
        try {
          result = work();
        } catch (error) {
          callback(error);
          return;
        }
        callback(null, result);
      });
    },
  };
  return form[name];
}

export const gzipSync = (buffer, options = undefined) => run("gzip", buffer, options);
export const gunzipSync = (buffer, options = undefined) => run("gunzip", buffer, options);
export const deflateSync = (buffer, options = undefined) => run("deflate", buffer, options);
export const inflateSync = (buffer, options = undefined) => run("inflate", buffer, options);
export const deflateRawSync = (buffer, options = undefined) => run("deflate_raw", buffer, options);
export const inflateRawSync = (buffer, options = undefined) => run("inflate_raw", buffer, options);
export const unzipSync = (buffer, options = undefined) => run("unzip", buffer, options);
export const brotliCompressSync = (buffer, options = undefined) => run("brotli_compress", buffer, options);
export const brotliDecompressSync = (buffer, options = undefined) => run("brotli_decompress", buffer, options);

export const gzip = callbackForm("gzip", "gzip");
export const gunzip = callbackForm("gunzip", "gunzip");
export const deflate = callbackForm("deflate", "deflate");
export const inflate = callbackForm("inflate", "inflate");
export const deflateRaw = callbackForm("deflateRaw", "deflate_raw");
export const inflateRaw = callbackForm("inflateRaw", "inflate_raw");
export const unzip = callbackForm("unzip", "unzip");
export const brotliCompress = callbackForm("brotliCompress", "brotli_compress");
export const brotliDecompress = callbackForm("brotliDecompress", "brotli_decompress");

export const createGzip = (options = undefined) => new Gzip(options);
export const createGunzip = (options = undefined) => new Gunzip(options);
export const createDeflate = (options = undefined) => new Deflate(options);
export const createInflate = (options = undefined) => new Inflate(options);
export const createDeflateRaw = (options = undefined) => new DeflateRaw(options);
export const createInflateRaw = (options = undefined) => new InflateRaw(options);
export const createUnzip = (options = undefined) => new Unzip(options);
export const createBrotliCompress = (options = undefined) => new BrotliCompress(options);
export const createBrotliDecompress = (options = undefined) => new BrotliDecompress(options);

export { constants, codes, crc32, Gzip, Gunzip, Deflate, Inflate, DeflateRaw, InflateRaw, Unzip, BrotliCompress, BrotliDecompress };

const all = {
  gzipSync, gunzipSync, deflateSync, inflateSync, deflateRawSync, inflateRawSync, unzipSync, brotliCompressSync, brotliDecompressSync, gzip, gunzip, deflate, inflate, deflateRaw, inflateRaw, unzip,
  brotliCompress, brotliDecompress, createGzip, createGunzip, createDeflate, createInflate, createDeflateRaw, createInflateRaw, createUnzip, createBrotliCompress, createBrotliDecompress,
  get constants() { return constants; }, get codes() { return codes; }, get crc32() { return crc32; }, get Gzip() { return Gzip; }, get Gunzip() { return Gunzip; }, get Deflate() { return Deflate; },
  get Inflate() { return Inflate; }, get DeflateRaw() { return DeflateRaw; }, get InflateRaw() { return InflateRaw; }, get Unzip() { return Unzip; }, get BrotliCompress() { return BrotliCompress; },
  get BrotliDecompress() { return BrotliDecompress; },
};
// The old way to reach a constant: `zlib.Z_BEST_SPEED`.
for (const name of ["Z_NO_FLUSH", "Z_PARTIAL_FLUSH", "Z_SYNC_FLUSH", "Z_FULL_FLUSH", "Z_FINISH", "Z_BLOCK", "Z_OK", "Z_STREAM_END", "Z_NEED_DICT", "Z_ERRNO", "Z_STREAM_ERROR", "Z_DATA_ERROR", "Z_MEM_ERROR",
  "Z_BUF_ERROR", "Z_VERSION_ERROR", "Z_NO_COMPRESSION", "Z_BEST_SPEED", "Z_BEST_COMPRESSION", "Z_DEFAULT_COMPRESSION", "Z_FILTERED", "Z_HUFFMAN_ONLY", "Z_RLE", "Z_FIXED", "Z_DEFAULT_STRATEGY", "Z_MIN_WINDOWBITS",
  "Z_MAX_WINDOWBITS", "Z_DEFAULT_WINDOWBITS", "Z_MIN_CHUNK", "Z_MAX_CHUNK", "Z_DEFAULT_CHUNK", "Z_MIN_MEMLEVEL", "Z_MAX_MEMLEVEL", "Z_DEFAULT_MEMLEVEL", "Z_MIN_LEVEL", "Z_MAX_LEVEL", "Z_DEFAULT_LEVEL"]) {
  Object.defineProperty(all, name, { get: () => constants[name], enumerable: false, configurable: true });
}
export default all;
