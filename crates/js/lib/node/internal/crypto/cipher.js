// createCipheriv and createDecipheriv for AES with 128, 192 and 256 bits in GCM, CBC and CTR mode. `update` gives what is
// ready at once, as Node does: CTR and GCM every byte, CBC whole blocks. The tag of GCM is computed at the end, over all
// of the data, which is kept until then.
import { native } from "jackfield:host";
import { StringDecoder } from "node:string_decoder";
import { concatBytes } from "jackfield:web/bytes";
import { dataCounter, gcmTag } from "jackfield:web/gcm";
import { asBuffer, bytesOf, coded, streamLike } from "jackfield:node/internal/crypto/shared";

const MODES = { gcm: 12, cbc: 16, ctr: 16 };
const ALIASES = { aes128: "aes-128-cbc", aes192: "aes-192-cbc", aes256: "aes-256-cbc", "id-aes128-gcm": "aes-128-gcm", "id-aes192-gcm": "aes-192-gcm", "id-aes256-gcm": "aes-256-gcm" };
const NIDS = { "aes-128-cbc": 419, "aes-192-cbc": 423, "aes-256-cbc": 427, "aes-128-ctr": 904, "aes-192-ctr": 905, "aes-256-ctr": 906, "aes-128-gcm": 895, "aes-192-gcm": 898, "aes-256-gcm": 901 };

export const getCiphers = () => Object.keys(NIDS).sort();

function infoOf(name) {
  const wanted = String(name).toLowerCase();
  const known = ALIASES[wanted] ?? wanted;
  if (!Object.hasOwn(NIDS, known)) return undefined;
  const [, bits, mode] = known.split("-");
  return { name: known, bits: Number(bits), mode };
}

export function getCipherInfo(name, options = undefined) {
  const info = typeof name === "number" ? infoOf(Object.keys(NIDS).find((key) => NIDS[key] === name)) : infoOf(name);
  if (!info) return undefined;
  if (options?.keyLength !== undefined && options.keyLength !== info.bits / 8) return undefined;
  const length = options?.ivLength;
  if (length !== undefined && (info.mode === "gcm" ? length < 1 : length !== 16)) return undefined;
  const shown = { mode: info.mode, name: info.mode === "gcm" ? `id-aes${info.bits}-gcm` : info.name, nid: NIDS[info.name], blockSize: info.mode === "cbc" ? 16 : 1 };
  return { ...shown, ivLength: length ?? MODES[info.mode], keyLength: info.bits / 8 };
}

/** The key stream from any position on: bytes that were handled before it are skipped. */
function keyStream(name, key, start, position, data) {
  if (data.length === 0) return data;
  const skip = position % 16;
  let carry = Math.floor(position / 16);
  const counter = start.slice();
  for (let i = 15; i >= 0 && carry > 0; i--) {
    const sum = counter[i] + (carry % 256);
    counter[i] = sum & 255;
    carry = Math.floor(carry / 256) + (sum >> 8);
  }
  const padded = skip === 0 ? data : concatBytes([new Uint8Array(skip), data]);
  return native("cipher", name, true, key, counter, padded).subarray(skip);
}

class Engine {
  position = 0; rest = new Uint8Array(0); plain = []; secret = []; aad = []; tag = null; padding = true; done = false; decoder = null; started = false;
  constructor(encrypt, algorithm, key, iv, options) {
    const info = typeof algorithm === "string" ? infoOf(algorithm) : undefined;
    if (typeof algorithm !== "string") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", 'The "cipher" argument must be of type string.');
    if (!info) throw coded(Error, "ERR_CRYPTO_UNKNOWN_CIPHER", `Unknown cipher: ${algorithm}; this host has ${getCiphers().join(", ")}`);
    this.encrypt = encrypt;
    this.mode = info.mode;
    this.key = new Uint8Array(bytesOf(key, "key", options?.encoding));
    this.ctr = `aes-${info.bits}-ctr`;
    this.cbc = `aes-${info.bits}-cbc`;
    if (this.key.length !== info.bits / 8) throw coded(RangeError, "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
    this.iv = iv === null || iv === undefined ? new Uint8Array(0) : new Uint8Array(bytesOf(iv, "iv"));
    if (this.mode === "gcm" ? this.iv.length === 0 : this.iv.length !== 16) throw coded(TypeError, "ERR_CRYPTO_INVALID_IV", "Invalid initialization vector");
    this.tagSize = options?.authTagLength ?? 16;
    if (this.mode === "gcm") {
      checkTag(this.tagSize);
      this.start = dataCounter(this.key, this.iv);
    } else {
      this.start = this.iv;
    }
  }
  update(data) {
    if (this.done) throw coded(Error, "ERR_CRYPTO_INVALID_STATE", "Unsupported state");
    this.started = true;
    if (this.mode === "cbc") return this.blocks(data);
    const result = keyStream(this.ctr, this.key, this.start, this.position, data);
    this.position += data.length;
    if (this.mode === "gcm") {
      this.plain.push((this.encrypt ? data : result).slice());
      this.secret.push((this.encrypt ? result : data).slice());
    }
    return result;
  }
  blocks(data) {
    const all = concatBytes([this.rest, data]);
    // Decryption holds the last whole block back: it may be the padding.
    let whole = all.length - (all.length % 16);
    if (!this.encrypt && this.padding && whole === all.length) whole -= 16;
    if (whole <= 0) {
      this.rest = all.slice();
      return new Uint8Array(0);
    }
    this.rest = all.slice(whole);
    return this.raw(all.subarray(0, whole));
  }
  /** Whole blocks without padding: the native cipher always pads, so its last block is taken off or put on. */
  raw(data) {
    const before = this.iv;
    if (this.encrypt) {
      const result = native("cipher", this.cbc, true, this.key, before, data).subarray(0, data.length);
      this.iv = result.slice(-16);
      return result;
    }
    this.iv = data.slice(-16);
    const pad = native("cipher", this.cbc, true, this.key, this.iv, new Uint8Array(0));
    return native("cipher", this.cbc, false, this.key, before, concatBytes([data, pad]));
  }
  final() {
    if (this.done) throw coded(Error, "ERR_CRYPTO_INVALID_STATE", "Unsupported state");
    this.done = true;
    if (this.mode === "gcm") return this.finalTag();
    if (this.mode === "ctr") return new Uint8Array(0);
    const wrong = (message, code) => coded(Error, code, message);
    if (!this.padding) {
      if (this.rest.length > 0) throw wrong("error:1C80006A:Provider routines::wrong final block length", "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH");
      return new Uint8Array(0);
    }
    if (this.encrypt) return native("cipher", this.cbc, true, this.key, this.iv, this.rest);
    if (this.rest.length !== 16) throw wrong("error:1C80006B:Provider routines::wrong final block length", "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH");
    try {
      return native("cipher", this.cbc, false, this.key, this.iv, this.rest);
    } catch {
      throw wrong("error:1C800064:Provider routines::bad decrypt", "ERR_OSSL_BAD_DECRYPT");
    }
  }
  finalTag() {
    const tag = gcmTag(this.key, this.iv, concatBytes(this.plain), concatBytes(this.secret), concatBytes(this.aad));
    this.plain = [];
    this.secret = [];
    if (this.encrypt) {
      this.tag = tag.slice(0, this.tagSize);
      return new Uint8Array(0);
    }
    let differs = this.tag ? 0 : 1;
    for (let i = 0; i < (this.tag?.length ?? 0); i++) differs |= tag[i] ^ this.tag[i];
    if (differs !== 0) throw new Error("Unsupported state or unable to authenticate data");
    return new Uint8Array(0);
  }
}

function checkTag(size) {
  if (![4, 8, 12, 13, 14, 15, 16].includes(size)) throw coded(TypeError, "ERR_CRYPTO_INVALID_AUTH_TAG", `Invalid authentication tag length: ${size}`);
}

class Base {
  #engine;
  constructor(encrypt, algorithm, key, iv, options) { this.#engine = new Engine(encrypt, algorithm, key, iv, options); }
  get engine() { return this.#engine; }
  update(data, inputEncoding = undefined, outputEncoding = undefined) {
    return this.#out(this.#engine.update(bytesOf(data, "data", inputEncoding)), outputEncoding, false);
  }
  final(outputEncoding = undefined) { return this.#out(this.#engine.final(), outputEncoding, true); }
  #out(bytes, encoding, last) {
    if (encoding === undefined || encoding === null || encoding === "buffer") return asBuffer(bytes);
    // One decoder over all calls: base64 and UTF-8 do not end where a piece ends.
    const decoder = (this.#engine.decoder ??= new StringDecoder(encoding));
    const text = decoder.write(asBuffer(bytes));
    return last ? text + decoder.end() : text;
  }
  setAutoPadding(on = true) {
    if (this.#engine.done) throw coded(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation setAutoPadding");
    this.#engine.padding = Boolean(on);
    return this;
  }
  setAAD(data, options = undefined) {
    const engine = this.#engine;
    if (engine.mode !== "gcm" || engine.started || engine.done) throw coded(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation setAAD");
    engine.aad.push(new Uint8Array(bytesOf(data, "aadbuf", options?.encoding)));
    return this;
  }
}
Object.defineProperty(Base.prototype, "engine", { ...Object.getOwnPropertyDescriptor(Base.prototype, "engine"), enumerable: false });

export class Cipheriv extends Base {
  constructor(algorithm, key, iv, options = undefined) { super(true, algorithm, key, iv, options); }
  getAuthTag() {
    const { engine } = this;
    if (engine.mode !== "gcm" || !engine.done || !engine.tag) throw coded(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation getAuthTag");
    return asBuffer(engine.tag.slice());
  }
}
export class Decipheriv extends Base {
  constructor(algorithm, key, iv, options = undefined) {
    super(false, algorithm, key, iv, options);
    this.engine.fixedTag = options?.authTagLength;
  }
  setAuthTag(tag, encoding = undefined) {
    const { engine } = this;
    if (engine.mode !== "gcm" || engine.done || engine.tag) throw coded(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation setAuthTag");
    const bytes = new Uint8Array(bytesOf(tag, "buffer", encoding));
    checkTag(bytes.length);
    if (engine.fixedTag !== undefined && engine.fixedTag !== bytes.length) throw coded(TypeError, "ERR_CRYPTO_INVALID_AUTH_TAG", `Invalid authentication tag length: ${bytes.length}`);
    engine.tag = bytes;
    return this;
  }
}

const parts = (object) => ({
  transform(chunk, encoding, callback) {
    try {
      this.push(object.update(chunk, encoding === "buffer" ? undefined : encoding));
      callback();
    } catch (error) {
      callback(error);
    }
  },
  flush(callback) {
    try {
      this.push(object.final());
      callback();
    } catch (error) {
      callback(error);
    }
  },
});
streamLike(Cipheriv, parts);
streamLike(Decipheriv, parts);

export const createCipheriv = (algorithm, key, iv, options = undefined) => new Cipheriv(algorithm, key, iv, options);
export const createDecipheriv = (algorithm, key, iv, options = undefined) => new Decipheriv(algorithm, key, iv, options);
