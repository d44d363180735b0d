// crypto.subtle: digest, HMAC, AES-GCM/CBC/CTR, PBKDF2 and HKDF with keys as raw bytes or JWK. Public-key algorithms and
// AES-KW are refused with a NotSupportedError that names them, and so is an AES-CTR counter that wraps.
import { native } from "jackfield:host";
import { DOMException } from "jackfield:web/domexception";
import { gcm } from "jackfield:web/gcm";
import { codedError, concatBytes, copyBytes, exactBuffer, viewBytes } from "jackfield:web/bytes";

const HASHES = { "SHA-1": ["sha1", 64], "SHA-256": ["sha256", 64], "SHA-384": ["sha384", 128], "SHA-512": ["sha512", 128] };
const USAGES = {
  HMAC: ["sign", "verify"], "AES-GCM": ["encrypt", "decrypt", "wrapKey", "unwrapKey"], "AES-CBC": ["encrypt", "decrypt", "wrapKey", "unwrapKey"],
  "AES-CTR": ["encrypt", "decrypt", "wrapKey", "unwrapKey"], PBKDF2: ["deriveKey", "deriveBits"], HKDF: ["deriveKey", "deriveBits"],
};

const unsupported = (what) => new DOMException(`${what} is not supported: this host has digest, HMAC, AES-GCM, AES-CBC, AES-CTR, PBKDF2 and HKDF`, "NotSupportedError");
const wrongKey = (message) => new DOMException(message, "InvalidAccessError");
const failed = (cause) => new DOMException("The operation failed for an operation-specific reason", { name: "OperationError", cause });

/** The algorithm's name in its own spelling, with its other members. */
function algorithmOf(value) {
  const given = typeof value === "string" ? { name: value } : value;
  if (given === null || typeof given !== "object" || given.name === undefined) throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", "the algorithm needs a name");
  const wanted = `${given.name}`.toUpperCase();
  const name = [...Object.keys(HASHES), ...Object.keys(USAGES)].find((each) => each.toUpperCase() === wanted);
  if (!name) throw unsupported(`the algorithm "${given.name}"`);
  return { ...given, name };
}
function hashOf(value) {
  const { name } = algorithmOf(value ?? {});
  if (!Object.hasOwn(HASHES, name)) throw unsupported(`the hash "${name}"`);
  return { name, native: HASHES[name][0], block: HASHES[name][1] };
}
function dataOf(value, what) {
  const bytes = viewBytes(value);
  if (!bytes) throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", `${what} must be an ArrayBuffer or a view on one`);
  return bytes;
}

let makeKey;
let secretOf;
export class CryptoKey {
  #secret; #type; #extractable; #algorithm; #usages;
  constructor(inside) { if (inside !== INSIDE) throw codedError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor"); }
  get type() { return this.#type; }
  get extractable() { return this.#extractable; }
  get algorithm() { return this.#algorithm; }
  get usages() { return this.#usages; }
  get [Symbol.toStringTag]() { return "CryptoKey"; }
  static {
    makeKey = (secret, algorithm, extractable, usages) => {
      const key = new CryptoKey(INSIDE);
      key.#secret = secret;
      key.#type = "secret";
      key.#algorithm = algorithm;
      key.#extractable = Boolean(extractable);
      key.#usages = [...new Set(usages)];
      return key;
    };
    secretOf = (key) => {
      if (key === null || typeof key !== "object" || !(#secret in key)) throw codedError(TypeError, "ERR_INVALID_ARG_TYPE", "the key must be an instance of CryptoKey");
      return key.#secret;
    };
  }
}
const INSIDE = Symbol("inside");

/** The secret bytes of a key, for node:crypto's KeyObject. */
export const keyBytes = (key) => secretOf(key);

function useKey(key, algorithm, usage) {
  const secret = secretOf(key);
  if (key.algorithm.name !== algorithm.name) throw wrongKey("Key algorithm mismatch");
  if (!key.usages.includes(usage)) throw wrongKey(`Unable to use this key to ${usage}`);
  return secret;
}

function keyFrom(secret, algorithm, extractable, usages) {
  const { name } = algorithm;
  const wanted = [...usages];
  const bad = wanted.find((usage) => !USAGES[name]?.includes(usage));
  if (!USAGES[name]) throw unsupported(`a key for "${name}"`);
  if (bad !== undefined) throw new DOMException(`Unsupported key usage for ${name === "HMAC" ? "HMAC" : name} key`, "SyntaxError");
  if (wanted.length === 0) throw new DOMException("Usages cannot be empty when importing a secret key.", "SyntaxError");
  if (name === "HMAC") {
    if (secret.length === 0) throw new DOMException("Zero-length key is not supported", "DataError");
    const length = algorithm.length ?? secret.length * 8;
    if (length > secret.length * 8 || length <= secret.length * 8 - 8) throw new DOMException("Invalid key length", "DataError");
    return makeKey(secret, { hash: { name: hashOf(algorithm.hash).name }, name, length }, extractable, wanted);
  }
  if (name.startsWith("AES-")) {
    if (![16, 24, 32].includes(secret.length)) throw new DOMException("Invalid key length", "DataError");
    return makeKey(secret, { name, length: secret.length * 8 }, extractable, wanted);
  }
  if (extractable) throw new DOMException(`${name} keys are not extractable`, "SyntaxError");
  return makeKey(secret, { name }, false, wanted);
}

const jwkName = (algorithm) => (algorithm.name === "HMAC"
  ? `HS${algorithm.hash.name.slice(4)}`
  : `A${algorithm.length}${algorithm.name.slice(4)}`);

function cipher(algorithm, secret, data, encrypt) {
  const bits = secret.length * 8;
  if (algorithm.name === "AES-GCM") {
    const iv = dataOf(algorithm.iv, "algorithm.iv");
    const tag = algorithm.tagLength ?? 128;
    if (![32, 64, 96, 104, 112, 120, 128].includes(tag)) throw new DOMException(`${tag} is not a valid AES-GCM tag length`, "OperationError");
    if (iv.length === 0) throw new DOMException("algorithm.iv must not be empty", "OperationError");
    const aad = algorithm.additionalData === undefined ? new Uint8Array(0) : dataOf(algorithm.additionalData, "algorithm.additionalData");
    if (!encrypt && data.length < tag / 8) throw new DOMException("The provided data is too small.", "OperationError");
    return gcm(encrypt, secret, iv, data, aad, tag / 8);
  }
  if (algorithm.name === "AES-CBC") {
    const iv = dataOf(algorithm.iv, "algorithm.iv");
    if (iv.length !== 16) throw new DOMException("algorithm.iv must contain exactly 16 bytes", "OperationError");
    return native("cipher", `aes-${bits}-cbc`, encrypt, secret, iv, data);
  }
  if (algorithm.name === "AES-CTR") {
    const counter = dataOf(algorithm.counter, "algorithm.counter");
    if (counter.length !== 16) throw new DOMException("algorithm.counter must contain exactly 16 bytes", "OperationError");
    const { length } = algorithm;
    if (!(length > 0 && length <= 128)) throw new DOMException("AES-CTR algorithm.length must be between 1 and 128", "OperationError");
    // The native counter runs over all 16 bytes; a shorter one differs only where it would wrap.
    const blocks = BigInt(Math.ceil(data.length / 16));
    const start = BigInt(`0x${native("hex_encode", counter)}`) & ((1n << BigInt(length)) - 1n);
    if (start + blocks > 1n << BigInt(length)) throw unsupported("an AES-CTR counter that wraps");
    return native("cipher", `aes-${bits}-ctr`, encrypt, secret, counter, data);
  }
  throw unsupported(`encryption with "${algorithm.name}"`);
}

function derive(algorithm, secret, bits) {
  if (bits === null || bits === undefined) throw new DOMException("length cannot be null", "OperationError");
  if (bits % 8 !== 0) throw new DOMException("length must be a multiple of 8", "OperationError");
  const hash = hashOf(algorithm.hash);
  const salt = dataOf(algorithm.salt, "algorithm.salt");
  if (algorithm.name === "PBKDF2") {
    const count = Number(algorithm.iterations);
    if (!(count >= 1)) throw new DOMException("iterations cannot be zero", "OperationError");
    return bits === 0 ? new Uint8Array(0) : native("pbkdf2", hash.native, secret, salt, count, bits / 8);
  }
  return bits === 0 ? new Uint8Array(0) : native("hkdf", hash.native, secret, salt, dataOf(algorithm.info, "algorithm.info"), bits / 8);
}

function keyLength(algorithm) {
  if (algorithm.name === "HMAC") return algorithm.length ?? hashOf(algorithm.hash).block * 8;
  if (algorithm.name.startsWith("AES-")) {
    if (![128, 192, 256].includes(algorithm.length)) throw new DOMException("Invalid key length", "OperationError");
    return algorithm.length;
  }
  return null;
}

function sameBytes(a, b) {
  if (a.length !== b.length) return false;
  let differs = 0;
  for (let i = 0; i < a.length; i++) differs |= a[i] ^ b[i];
  return differs === 0;
}

export class SubtleCrypto {
  constructor(inside) { if (inside !== INSIDE) throw codedError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor"); }
  async digest(algorithm, data) {
    const hash = hashOf(algorithm);
    return exactBuffer(native("hash", hash.native, dataOf(data, "data")));
  }
  async importKey(format, keyData, algorithm, extractable, usages) {
    const wanted = algorithmOf(algorithm);
    if (format === "raw") return keyFrom(copyBytes(dataOf(keyData, "keyData")), wanted, extractable, usages);
    if (format === "jwk") {
      if (keyData?.kty !== "oct" || typeof keyData.k !== "string") {
        if (keyData?.kty === "oct" || keyData === null || typeof keyData !== "object") throw new DOMException("Invalid keyData", "DataError");
        throw unsupported(`a JWK of the type "${keyData.kty}"`);
      }
      if (extractable && keyData.ext === false) throw new DOMException('JWK "ext" Parameter and extractable mismatch', "DataError");
      const key = keyFrom(native("base64_decode", keyData.k), wanted, extractable, usages);
      if (keyData.alg !== undefined && keyData.alg !== jwkName(key.algorithm)) throw new DOMException('JWK "alg" does not match the requested algorithm', "DataError");
      return key;
    }
    throw unsupported(`the key format "${format}"`);
  }
  async exportKey(format, key) {
    const secret = secretOf(key);
    if (!key.extractable) throw wrongKey("key is not extractable");
    if (format === "raw") return copyBytes(secret).buffer;
    if (format === "jwk") return { key_ops: key.usages, ext: true, kty: "oct", k: native("base64_encode", secret, true), alg: jwkName(key.algorithm) };
    throw unsupported(`the key format "${format}"`);
  }
  async generateKey(algorithm, extractable, usages) {
    const wanted = algorithmOf(algorithm);
    const length = keyLength(wanted);
    if (length === null) throw unsupported(`making a key for "${wanted.name}"`);
    return keyFrom(native("random", Math.ceil(length / 8)), wanted, extractable, usages);
  }
  async sign(algorithm, key, data) {
    const secret = useKey(key, algorithmOf(algorithm), "sign");
    return exactBuffer(native("hmac", hashOf(key.algorithm.hash).native, secret, dataOf(data, "data")));
  }
  async verify(algorithm, key, signature, data) {
    const secret = useKey(key, algorithmOf(algorithm), "verify");
    return sameBytes(native("hmac", hashOf(key.algorithm.hash).native, secret, dataOf(data, "data")), dataOf(signature, "signature"));
  }
  async encrypt(algorithm, key, data) {
    const wanted = algorithmOf(algorithm);
    return run(wanted, useKey(key, wanted, "encrypt"), dataOf(data, "data"), true);
  }
  async decrypt(algorithm, key, data) {
    const wanted = algorithmOf(algorithm);
    return run(wanted, useKey(key, wanted, "decrypt"), dataOf(data, "data"), false);
  }
  async deriveBits(algorithm, key, length = null) {
    const wanted = algorithmOf(algorithm);
    return exactBuffer(derive(wanted, useKey(key, wanted, "deriveBits"), length));
  }
  async deriveKey(algorithm, key, derived, extractable, usages) {
    const wanted = algorithmOf(algorithm);
    const target = algorithmOf(derived);
    const length = keyLength(target);
    const secret = useKey(key, wanted, "deriveKey");
    if (length === null) throw unsupported(`deriving a key for "${target.name}"`);
    return keyFrom(derive(wanted, secret, length), target, extractable, usages);
  }
  async wrapKey(format, key, wrappingKey, algorithm) {
    const wanted = algorithmOf(algorithm);
    const secret = useKey(wrappingKey, wanted, "wrapKey");
    const plain = await this.exportKey(format, key);
    const bytes = format === "jwk" ? native("utf8_encode", JSON.stringify(plain)) : new Uint8Array(plain);
    return run(wanted, secret, bytes, true);
  }
  async unwrapKey(format, wrapped, unwrappingKey, algorithm, keyAlgorithm, extractable, usages) {
    const wanted = algorithmOf(algorithm);
    const plain = new Uint8Array(run(wanted, useKey(unwrappingKey, wanted, "unwrapKey"), dataOf(wrapped, "wrappedKey"), false));
    return this.importKey(format, format === "jwk" ? JSON.parse(native("utf8_decode", plain)) : plain, keyAlgorithm, extractable, usages);
  }
  get [Symbol.toStringTag]() { return "SubtleCrypto"; }
}

function run(algorithm, secret, data, encrypt) {
  try {
    return exactBuffer(concatBytes([cipher(algorithm, secret, data, encrypt)]));
  } catch (error) {
    if (error instanceof DOMException || error instanceof TypeError) throw error;
    throw failed(error);
  }
}

export const makeSubtle = () => new SubtleCrypto(INSIDE);
