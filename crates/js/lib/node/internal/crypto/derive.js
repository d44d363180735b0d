// pbkdf2, scrypt and hkdf, each at once or with a callback. The work itself is native and runs at once either way.
import { native } from "jackfield:host";
import { asBuffer, bytesOf, coded } from "jackfield:node/internal/crypto/shared";

function hashName(name) {
  if (typeof name !== "string") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", 'The "digest" argument must be of type string.');
  const plain = name.toLowerCase().replace(/^rsa-/, "").replace(/^sha-/, "sha");
  if (!["md5", "sha1", "sha224", "sha256", "sha384", "sha512"].includes(plain)) throw coded(TypeError, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${name}`);
  return plain;
}
function count(value, name, low = 0) {
  if (typeof value !== "number") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", `The "${name}" argument must be of type number. Received ${typeof value}`);
  if (!Number.isInteger(value) || value < low || value > 2 ** 31 - 1) throw coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "${name}" is out of range. It must be >= ${low} && <= 2147483647. Received ${value}`);
  return value;
}
function soon(callback, work) {
  if (typeof callback !== "function") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", 'The "callback" argument must be of type function.');
  setImmediate(() => {
    let value;
    try {
      value = work();
    } catch (error) {
      callback(error);
      return;
    }
    callback(null, value);
  });
}

function preparePbkdf2(password, salt, iterations, length, digest) {
  const hash = hashName(digest);
  const secret = bytesOf(password, "password");
  const grain = bytesOf(salt, "salt");
  count(iterations, "iterations", 1);
  count(length, "keylen");
  return () => asBuffer(length === 0 ? new Uint8Array(0) : native("pbkdf2", hash, secret, grain, iterations, length));
}
export const pbkdf2Sync = (password, salt, iterations, length, digest) => preparePbkdf2(password, salt, iterations, length, digest)();
export function pbkdf2(password, salt, iterations, length, digest, callback) {
  if (typeof digest === "function") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", 'The "digest" argument must be of type string.');
  soon(callback, preparePbkdf2(password, salt, iterations, length, digest));
}

function prepareScrypt(password, salt, length, options = {}) {
  const secret = bytesOf(password, "password");
  const grain = bytesOf(salt, "salt");
  count(length, "keylen");
  const N = options.N ?? options.cost ?? 16384;
  const r = options.r ?? options.blockSize ?? 8;
  const p = options.p ?? options.parallelization ?? 1;
  const maxmem = options.maxmem ?? 32 * 1024 * 1024;
  const bad = () => coded(RangeError, "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params: memory limit exceeded");
  if (N < 2 || (N & (N - 1)) !== 0) throw coded(RangeError, "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params");
  if (128 * N * r > maxmem) throw bad();
  return () => asBuffer(length === 0 ? new Uint8Array(0) : native("scrypt", secret, grain, N, r, p, length));
}
export const scryptSync = (password, salt, length, options = undefined) => prepareScrypt(password, salt, length, options)();
export function scrypt(password, salt, length, options, callback) {
  if (typeof options === "function") [options, callback] = [undefined, options];
  soon(callback, prepareScrypt(password, salt, length, options));
}

const SIZES = { md5: 16, sha1: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64 };
function prepareHkdf(digest, key, salt, info, length) {
  const hash = hashName(digest);
  const secret = bytesOf(key, "ikm");
  const grain = bytesOf(salt, "salt");
  const context = bytesOf(info, "info");
  if (context.length > 1024) throw coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "info" is out of range. It must be <= 1024. Received ${context.length}`);
  count(length, "length");
  if (length > 255 * SIZES[hash]) throw coded(RangeError, "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
  return () => {
    const bytes = length === 0 ? new Uint8Array(0) : native("hkdf", hash, secret, grain, context, length);
    return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
  };
}
export const hkdfSync = (digest, key, salt, info, length) => prepareHkdf(digest, key, salt, info, length)();
export const hkdf = (digest, key, salt, info, length, callback) => soon(callback, prepareHkdf(digest, key, salt, info, length));
