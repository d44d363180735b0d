// node:zlib: there and back, what Node compressed, streams, refusals. Expected values are Node's.
import zlib from "node:zlib";
import { gunzipSync, constants } from "node:zlib";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";

let checked = 0;
const failures = [];
const plain = (v) => {
  if (v === undefined) return "undefined";
  if (typeof v === "number" && !Number.isFinite(v)) return String(v);
  if (typeof v === "bigint") return `${v}n`;
  if (v instanceof Uint8Array) return `bytes ${Array.from(v).map((b) => b.toString(16).padStart(2, "0")).join("")}`;
  if (v instanceof ArrayBuffer) return `buffer ${plain(new Uint8Array(v)).slice(6)}`;
  if (v instanceof Error) return `${v.name} ${v.code ?? ""}`.trim();
  if (Array.isArray(v)) return v.map(plain);
  if (v !== null && typeof v === "object") return Object.fromEntries(Object.keys(v).sort().map((k) => [k, plain(v[k])]));
  return v;
};
async function check(label, act, expected) {
  checked++;
  let got;
  try {
    got = plain(await act());
  } catch (error) {
    got = `throws ${error?.name} ${error?.code ?? ""}`.trim();
  }
  if (JSON.stringify(got) !== JSON.stringify(expected)) failures.push(`${label}: got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
}
function finish() {
  if (checked === 0) throw new Error("nothing was checked");
  if (failures.length > 0) throw new Error(`${failures.length} of ${checked} checks failed:\n${failures.join("\n")}`);
}

const big = Buffer.from("hello world ".repeat(500));
const whole = async (stream) => { const list = []; for await (const chunk of stream) list.push(chunk); return Buffer.concat(list); };
const pairs = [["gzip", "gunzip"], ["deflate", "inflate"], ["deflateRaw", "inflateRaw"], ["brotliCompress", "brotliDecompress"], ["gzip", "unzip"], ["deflate", "unzip"]];
const maker = (name) => zlib[`create${name[0].toUpperCase()}${name.slice(1)}`];
await check("gunzip of what Node made", () => zlib.gunzipSync(Buffer.from("H4sIAAAAAAAAA/PLT0lVyE1MSVUoycgsVji8UsGPCBEAR5aUdDYAAAA=", "base64")).toString(), "Node made this \u00e9 Node made this \u00e9 Node made this \u00e9 ");
await check("inflate of what Node made", () => zlib.inflateSync(Buffer.from("eJzzy09JVchNTElVKMnILFY4vFLBjwgRACXtFEQ=", "base64")).toString(), "Node made this \u00e9 Node made this \u00e9 Node made this \u00e9 ");
await check("inflateRaw of what Node made", () => zlib.inflateRawSync(Buffer.from("88tPSVXITUxJVSjJyCxWOLxSwY8IEQA=", "base64")).toString(), "Node made this \u00e9 Node made this \u00e9 Node made this \u00e9 ");
await check("brotliDecompress of what Node made", () => zlib.brotliDecompressSync(Buffer.from("GzUA+J0Jti2DbVrEDq0t4msQJ7I5HYb2lirb6IazDCQtqooQUgsI+T0C", "base64")).toString(), "Node made this \u00e9 Node made this \u00e9 Node made this \u00e9 ");
await check("at once", () => pairs.map(([c, d]) => zlib[d + "Sync"](zlib[c + "Sync"](big)).equals(big)), [true,true,true,true,true,true]);
await check("smaller", () => pairs.map(([c]) => zlib[c + "Sync"](big).length < 200), [true,true,true,true,true,true]);
await check("nothing", () => pairs.map(([c, d]) => zlib[d + "Sync"](zlib[c + "Sync"]("")).length), [0,0,0,0,0,0]);
await check("with callbacks", async () => { const l = []; for (const [c, d] of pairs) l.push((await promisify(zlib[d])(await promisify(zlib[c])("h\u00e9\u00e9", {}))).toString()); return l; }, ["h\u00e9\u00e9","h\u00e9\u00e9","h\u00e9\u00e9","h\u00e9\u00e9","h\u00e9\u00e9","h\u00e9\u00e9"]);
await check("as streams", async () => { const l = []; for (const [c, d] of pairs) l.push((await whole(Readable.from([big, Buffer.from("x")]).pipe(maker(c)()).pipe(maker(d)()))).length); return l; }, [6001,6001,6001,6001,6001,6001]);
await check("in a pipeline", async () => { const g = zlib.createGunzip(); const got = whole(g); await pipeline(Readable.from([zlib.gzipSync("abc")]), g); return (await got).toString(); }, "abc");
await check("classes", () => [new zlib.Gzip() instanceof zlib.Gzip, zlib.Gzip() instanceof zlib.Gzip, typeof zlib.Unzip], [true,true,"function"]);
await check("garbage for gunzip", () => zlib.gunzipSync(Buffer.from("garbage data")), "throws Error Z_DATA_ERROR");
await check("garbage for inflate", () => zlib.inflateSync(Buffer.from("garbage data")), "throws Error Z_DATA_ERROR");
await check("garbage for inflateRaw", () => zlib.inflateRawSync(Buffer.from("garbage data")), "throws Error Z_DATA_ERROR");
await check("garbage for unzip", () => zlib.unzipSync(Buffer.from("garbage data")), "throws Error Z_DATA_ERROR");
await check("garbage in words", () => { try { zlib.gunzipSync("garbage"); } catch (e) { return [e.message, e.errno, e.code]; } }, ["incorrect header check",-3,"Z_DATA_ERROR"]);
await check("garbage for a stream", () => whole(Readable.from([Buffer.from("garbage!")]).pipe(zlib.createGunzip())), "throws Error Z_DATA_ERROR");
await check("half a gzip", () => zlib.gunzipSync(zlib.gzipSync(big).subarray(0, 30)), "throws Error Z_BUF_ERROR");
await check("half a deflate", () => zlib.inflateSync(zlib.deflateSync(big).subarray(0, 30)), "throws Error Z_BUF_ERROR");
await check("half a raw deflate", () => zlib.inflateRawSync(zlib.deflateRawSync(big).subarray(0, 30)), "throws Error Z_BUF_ERROR");
await check("a wrong checksum", () => { const b = zlib.gzipSync("abc"); b[b.length - 6] ^= 1; return zlib.gunzipSync(b); }, "throws Error Z_DATA_ERROR");
await check("too much", () => pairs.map(([c, d]) => { try { zlib[d + "Sync"](zlib[c + "Sync"](big), { maxOutputLength: 10 }); } catch (e) { return e.code; } }), ["ERR_BUFFER_TOO_LARGE","ERR_BUFFER_TOO_LARGE","ERR_BUFFER_TOO_LARGE","ERR_BUFFER_TOO_LARGE","ERR_BUFFER_TOO_LARGE","ERR_BUFFER_TOO_LARGE"]);
await check("nothing to gunzip", () => gunzipSync(""), "throws Error Z_BUF_ERROR");
await check("no data", () => zlib.gzipSync(5), "throws TypeError ERR_INVALID_ARG_TYPE");
await check("levels", () => [zlib.gzipSync(big, { level: 0 }).length > 6000, zlib.gzipSync(big, { level: 9 }).length < 100], [true,true]);
await check("a bad level", () => zlib.gzipSync("x", { level: 20 }), "throws RangeError ERR_OUT_OF_RANGE");
await check("no callback", () => zlib.gzip("x"), "throws TypeError ERR_INVALID_ARG_TYPE");
await check("two members", () => zlib.gunzipSync(Buffer.concat([zlib.gzipSync("a"), zlib.gzipSync("b")])).toString(), "ab");
await check("brotli quality", () => zlib.brotliDecompressSync(zlib.brotliCompressSync("q", { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })).toString(), "q");
await check("crc32", () => [zlib.crc32("hello"), zlib.crc32("world", zlib.crc32("hello ")), zlib.crc32("")], [907060870,222957957,0]);
await check("constants", () => ({ ...constants }), {"BROTLI_DECODE":8,"BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES":-30,"BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MAP":-25,"BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES":-21,"BROTLI_DECODER_ERROR_ALLOC_RING_BUFFER_1":-26,"BROTLI_DECODER_ERROR_ALLOC_RING_BUFFER_2":-27,"BROTLI_DECODER_ERROR_ALLOC_TREE_GROUPS":-22,"BROTLI_DECODER_ERROR_DICTIONARY_NOT_SET":-19,"BROTLI_DECODER_ERROR_FORMAT_BLOCK_LENGTH_1":-9,"BROTLI_DECODER_ERROR_FORMAT_BLOCK_LENGTH_2":-10,"BROTLI_DECODER_ERROR_FORMAT_CL_SPACE":-6,"BROTLI_DECODER_ERROR_FORMAT_CONTEXT_MAP_REPEAT":-8,"BROTLI_DECODER_ERROR_FORMAT_DICTIONARY":-12,"BROTLI_DECODER_ERROR_FORMAT_DISTANCE":-16,"BROTLI_DECODER_ERROR_FORMAT_EXUBERANT_META_NIBBLE":-3,"BROTLI_DECODER_ERROR_FORMAT_EXUBERANT_NIBBLE":-1,"BROTLI_DECODER_ERROR_FORMAT_HUFFMAN_SPACE":-7,"BROTLI_DECODER_ERROR_FORMAT_PADDING_1":-14,"BROTLI_DECODER_ERROR_FORMAT_PADDING_2":-15,"BROTLI_DECODER_ERROR_FORMAT_RESERVED":-2,"BROTLI_DECODER_ERROR_FORMAT_SIMPLE_HUFFMAN_ALPHABET":-4,"BROTLI_DECODER_ERROR_FORMAT_SIMPLE_HUFFMAN_SAME":-5,"BROTLI_DECODER_ERROR_FORMAT_TRANSFORM":-11,"BROTLI_DECODER_ERROR_FORMAT_WINDOW_BITS":-13,"BROTLI_DECODER_ERROR_INVALID_ARGUMENTS":-20,"BROTLI_DECODER_ERROR_UNREACHABLE":-31,"BROTLI_DECODER_NEEDS_MORE_INPUT":2,"BROTLI_DECODER_NEEDS_MORE_OUTPUT":3,"BROTLI_DECODER_NO_ERROR":0,"BROTLI_DECODER_PARAM_DISABLE_RING_BUFFER_REALLOCATION":0,"BROTLI_DECODER_PARAM_LARGE_WINDOW":1,"BROTLI_DECODER_RESULT_ERROR":0,"BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT":2,"BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT":3,"BROTLI_DECODER_RESULT_SUCCESS":1,"BROTLI_DECODER_SUCCESS":1,"BROTLI_DEFAULT_MODE":0,"BROTLI_DEFAULT_QUALITY":11,"BROTLI_DEFAULT_WINDOW":22,"BROTLI_ENCODE":9,"BROTLI_LARGE_MAX_WINDOW_BITS":30,"BROTLI_MAX_INPUT_BLOCK_BITS":24,"BROTLI_MAX_QUALITY":11,"BROTLI_MAX_WINDOW_BITS":24,"BROTLI_MIN_INPUT_BLOCK_BITS":16,"BROTLI_MIN_QUALITY":0,"BROTLI_MIN_WINDOW_BITS":10,"BROTLI_MODE_FONT":2,"BROTLI_MODE_GENERIC":0,"BROTLI_MODE_TEXT":1,"BROTLI_OPERATION_EMIT_METADATA":3,"BROTLI_OPERATION_FINISH":2,"BROTLI_OPERATION_FLUSH":1,"BROTLI_OPERATION_PROCESS":0,"BROTLI_PARAM_DISABLE_LITERAL_CONTEXT_MODELING":4,"BROTLI_PARAM_LARGE_WINDOW":6,"BROTLI_PARAM_LGBLOCK":3,"BROTLI_PARAM_LGWIN":2,"BROTLI_PARAM_MODE":0,"BROTLI_PARAM_NDIRECT":8,"BROTLI_PARAM_NPOSTFIX":7,"BROTLI_PARAM_QUALITY":1,"BROTLI_PARAM_SIZE_HINT":5,"DEFLATE":1,"DEFLATERAW":5,"GUNZIP":4,"GZIP":3,"INFLATE":2,"INFLATERAW":6,"UNZIP":7,"ZLIB_VERNUM":4880,"Z_BEST_COMPRESSION":9,"Z_BEST_SPEED":1,"Z_BLOCK":5,"Z_BUF_ERROR":-5,"Z_DATA_ERROR":-3,"Z_DEFAULT_CHUNK":16384,"Z_DEFAULT_COMPRESSION":-1,"Z_DEFAULT_LEVEL":-1,"Z_DEFAULT_MEMLEVEL":8,"Z_DEFAULT_STRATEGY":0,"Z_DEFAULT_WINDOWBITS":15,"Z_ERRNO":-1,"Z_FILTERED":1,"Z_FINISH":4,"Z_FIXED":4,"Z_FULL_FLUSH":3,"Z_HUFFMAN_ONLY":2,"Z_MAX_CHUNK":"Infinity","Z_MAX_LEVEL":9,"Z_MAX_MEMLEVEL":9,"Z_MAX_WINDOWBITS":15,"Z_MEM_ERROR":-4,"Z_MIN_CHUNK":64,"Z_MIN_LEVEL":-1,"Z_MIN_MEMLEVEL":1,"Z_MIN_WINDOWBITS":8,"Z_NEED_DICT":2,"Z_NO_COMPRESSION":0,"Z_NO_FLUSH":0,"Z_OK":0,"Z_PARTIAL_FLUSH":1,"Z_RLE":3,"Z_STREAM_END":1,"Z_STREAM_ERROR":-2,"Z_SYNC_FLUSH":2,"Z_VERSION_ERROR":-6});
await check("codes", () => ({ ...zlib.codes }), {"0":"Z_OK","1":"Z_STREAM_END","2":"Z_NEED_DICT","-1":"Z_ERRNO","-2":"Z_STREAM_ERROR","-3":"Z_DATA_ERROR","-4":"Z_MEM_ERROR","-5":"Z_BUF_ERROR","-6":"Z_VERSION_ERROR","Z_BUF_ERROR":-5,"Z_DATA_ERROR":-3,"Z_ERRNO":-1,"Z_MEM_ERROR":-4,"Z_NEED_DICT":2,"Z_OK":0,"Z_STREAM_END":1,"Z_STREAM_ERROR":-2,"Z_VERSION_ERROR":-6});
await check("old constants", () => [zlib.Z_BEST_SPEED, zlib.Z_FINISH], [1,4]);
finish();
