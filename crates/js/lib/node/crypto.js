// node:crypto: hashes, HMAC, random values, key derivation, AES in GCM, CBC and CTR mode, secret keys and WebCrypto.
// Public-key cryptography (sign, verify, key pairs, Diffie-Hellman, certificates) is refused with a message that says so:
// the host has no natives for it. The parts are in internal/crypto and evaluated when used.
import { native } from "jackfield:host";
import { Buffer } from "node:buffer";
import { crypto as webcrypto } from "jackfield:web/crypto";
import { Hash, Hmac, createHash, createHmac, getHashes, hash } from "jackfield:node/internal/crypto/hash";
import { Cipheriv, Decipheriv, createCipheriv, createDecipheriv, getCiphers, getCipherInfo } from "jackfield:node/internal/crypto/cipher";
import { pbkdf2, pbkdf2Sync, scrypt, scryptSync, hkdf, hkdfSync } from "jackfield:node/internal/crypto/derive";
import { KeyObject, createSecretKey, generateKey, generateKeySync, coded, refused, viewOf } from "jackfield:node/internal/crypto/shared";

const MAX = 2 ** 31 - 1;

function randomBytes(size, callback) {
  if (typeof size !== "number") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", `The "size" argument must be of type number. Received ${typeof size}`);
  if (!(size >= 0 && size <= MAX)) throw coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "size" is out of range. It must be >= 0 && <= ${MAX}. Received ${size}`);
  const make = () => Buffer.from(native("random", Math.trunc(size)).buffer);
  if (callback === undefined) return make();
  later(callback, make);
  return undefined;
}

function later(callback, make) {
  if (typeof callback !== "function") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", 'The "callback" argument must be of type function.');
  setImmediate(() => {
    let value;
    try {
      value = make();
    } catch (error) {
      callback(error);
      return;
    }
    callback(null, value);
  });
}

function randomFillSync(buffer, offset = 0, size = undefined) {
  const view = viewOf(buffer, "buf");
  const unit = buffer.BYTES_PER_ELEMENT ?? 1;
  const from = offset * unit;
  const count = size === undefined ? view.length - from : size * unit;
  if (!(from >= 0 && from <= view.length)) throw coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "offset" is out of range. Received ${offset}`);
  if (!(count >= 0 && from + count <= view.length)) throw coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "size + offset" is out of range. It must be <= ${view.length}. Received ${from + count}`);
  view.set(native("random", count), from);
  return buffer;
}

function randomFill(buffer, ...rest) {
  const callback = rest.pop();
  later(callback, () => randomFillSync(buffer, ...rest));
}

function randomInt(min, max, callback) {
  if (max === undefined || typeof max === "function") [min, max, callback] = [0, min, max];
  for (const [key, value] of [["min", min], ["max", max]]) {
    if (!Number.isSafeInteger(value)) throw coded(TypeError, "ERR_INVALID_ARG_TYPE", `The "${key}" argument must be a safe integer. Received ${String(value)}`);
  }
  const range = max - min;
  if (!(range > 0)) throw coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "max" is out of range. It must be greater than the value of "min" (${min}). Received ${max}`);
  if (range > 2 ** 48 - 1) throw coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "max - min" is out of range. It must be <= ${2 ** 48 - 1}. Received ${range}`);
  const draw = () => {
    // Values above the last whole multiple of the range would make some results likelier.
    const limit = 2 ** 48 - (2 ** 48 % range);
    for (;;) {
      const bytes = native("random", 6);
      let value = 0;
      for (const byte of bytes) value = value * 256 + byte;
      if (value < limit) return (value % range) + min;
    }
  };
  if (callback === undefined) return draw();
  later(callback, draw);
  return undefined;
}

const randomUUID = () => native("uuid");
const getRandomValues = (array) => webcrypto.getRandomValues(array);

function timingSafeEqual(a, b) {
  const left = viewOf(a, "buf1");
  const right = viewOf(b, "buf2");
  if (left.length !== right.length) throw coded(RangeError, "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length");
  let differs = 0;
  for (let i = 0; i < left.length; i++) differs |= left[i] ^ right[i];
  return differs === 0;
}

const createSign = () => { throw refused("createSign"); };
const createVerify = () => { throw refused("createVerify"); };
const sign = () => { throw refused("sign"); };
const verify = () => { throw refused("verify"); };
const createPrivateKey = () => { throw refused("createPrivateKey"); };
const createPublicKey = () => { throw refused("createPublicKey"); };
const generateKeyPair = () => { throw refused("generateKeyPair"); };
const generateKeyPairSync = () => { throw refused("generateKeyPairSync"); };
const publicEncrypt = () => { throw refused("publicEncrypt"); };
const publicDecrypt = () => { throw refused("publicDecrypt"); };
const privateEncrypt = () => { throw refused("privateEncrypt"); };
const privateDecrypt = () => { throw refused("privateDecrypt"); };
const createDiffieHellman = () => { throw refused("createDiffieHellman"); };
const createECDH = () => { throw refused("createECDH"); };
const diffieHellman = () => { throw refused("diffieHellman"); };
const getCurves = () => [];
const getFips = () => 0;
const setFips = () => {};
const secureHeapUsed = () => ({ total: 0, min: 0, used: 0, utilization: 0 });
const constants = Object.freeze({
  RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_X931_PADDING: 5, RSA_PKCS1_PSS_PADDING: 6, RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2,
  defaultCoreCipherList: "", TLS1_VERSION: 769, TLS1_1_VERSION: 770, TLS1_2_VERSION: 771, TLS1_3_VERSION: 772, POINT_CONVERSION_COMPRESSED: 2, POINT_CONVERSION_UNCOMPRESSED: 4, POINT_CONVERSION_HYBRID: 6,
});

export {
  Hash, Hmac, createHash, createHmac, getHashes, hash, Cipheriv, Decipheriv, createCipheriv, createDecipheriv, getCiphers, getCipherInfo,
  pbkdf2, pbkdf2Sync, scrypt, scryptSync, hkdf, hkdfSync, KeyObject, createSecretKey, generateKey, generateKeySync,
};
export {
  randomBytes, randomFillSync, randomFill, randomInt, randomUUID, getRandomValues, timingSafeEqual, createSign, createVerify, sign, verify, createPrivateKey, createPublicKey,
  generateKeyPair, generateKeyPairSync, publicEncrypt, publicDecrypt, privateEncrypt, privateDecrypt, createDiffieHellman, createECDH, diffieHellman, getCurves, getFips, setFips,
  secureHeapUsed, constants, webcrypto, randomBytes as pseudoRandomBytes, randomBytes as rng,
};
// Named `subtle` must exist before WebCrypto is loaded: every use goes on to the real one.
export const subtle = new Proxy({}, {
  get(_, key) {
    const value = webcrypto.subtle[key];
    return typeof value === "function" ? value.bind(webcrypto.subtle) : value;
  },
  getPrototypeOf: () => Object.getPrototypeOf(webcrypto.subtle),
});

export default {
  randomBytes, randomFillSync, randomFill, randomInt, randomUUID, getRandomValues, timingSafeEqual, createSign, createVerify, sign, verify, createPrivateKey, createPublicKey,
  generateKeyPair, generateKeyPairSync, publicEncrypt, publicDecrypt, privateEncrypt, privateDecrypt, createDiffieHellman, createECDH, diffieHellman, getCurves, getFips, setFips,
  secureHeapUsed, constants, pseudoRandomBytes: randomBytes,
  get webcrypto() { return webcrypto; }, get subtle() { return webcrypto.subtle; },
  get Hash() { return Hash; }, get Hmac() { return Hmac; }, get createHash() { return createHash; }, get createHmac() { return createHmac; }, get getHashes() { return getHashes; }, get hash() { return hash; },
  get Cipheriv() { return Cipheriv; }, get Decipheriv() { return Decipheriv; }, get createCipheriv() { return createCipheriv; }, get createDecipheriv() { return createDecipheriv; },
  get getCiphers() { return getCiphers; }, get getCipherInfo() { return getCipherInfo; }, get pbkdf2() { return pbkdf2; }, get pbkdf2Sync() { return pbkdf2Sync; }, get scrypt() { return scrypt; },
  get scryptSync() { return scryptSync; }, get hkdf() { return hkdf; }, get hkdfSync() { return hkdfSync; }, get KeyObject() { return KeyObject; }, get createSecretKey() { return createSecretKey; },
  get generateKey() { return generateKey; }, get generateKeySync() { return generateKeySync; },
};
