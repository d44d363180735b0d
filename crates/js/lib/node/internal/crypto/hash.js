// createHash, createHmac and hash(). A hash that gets one piece of data is computed in one native call; only a second
// piece or a copy makes it a running one.
import { native } from "jackfield:host";
import { bytesOf, coded, output, streamLike } from "jackfield:node/internal/crypto/shared";

const NAMES = ["RSA-MD5", "RSA-SHA1", "RSA-SHA224", "RSA-SHA256", "RSA-SHA384", "RSA-SHA512", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"];
const KNOWN = new Set(["md5", "sha1", "sha224", "sha256", "sha384", "sha512"]);

function algorithmOf(name) {
  if (typeof name !== "string") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", `The "algorithm" argument must be of type string. Received ${name === undefined ? "undefined" : typeof name}`);
  const plain = name.toLowerCase().replace(/^rsa-/, "").replace(/^sha-/, "sha");
  return KNOWN.has(plain) ? plain : null;
}

export const getHashes = () => NAMES.slice();

class Digest {
  #algorithm; #key; #pieces = []; #done = false; #handle = null;
  constructor(algorithm, key) {
    this.#algorithm = algorithm;
    this.#key = key;
  }
  update(data, encoding = undefined) {
    if (this.#done) throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
    const bytes = bytesOf(data, "data", encoding);
    // Pieces are kept until there is enough to be worth a native call; a view may be written to later, so it is copied.
    this.#pieces.push(typeof data === "string" ? bytes : bytes.slice());
    if (this.#pieces.length > 64 || bytes.length > 65536) this.#flush();
    return this;
  }
  #flush() {
    this.#handle ??= this.#key ? native("hash_new", this.#algorithm, this.#key) : native("hash_new", this.#algorithm);
    for (const piece of this.#pieces) native("hash_update", this.#handle, piece);
    this.#pieces = [];
  }
  digest(encoding = undefined) {
    if (this.#done) {
      // A second digest of an HMAC is empty in Node; of a hash it is an error.
      if (this.#key) return output(new Uint8Array(0), encoding);
      throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
    }
    this.#done = true;
    let result;
    if (this.#handle === null && this.#pieces.length <= 1) {
      const data = this.#pieces[0] ?? new Uint8Array(0);
      result = this.#key ? native("hmac", this.#algorithm, this.#key, data) : native("hash", this.#algorithm, data);
    } else {
      this.#flush();
      result = native("hash_digest", this.#handle);
    }
    this.#pieces = [];
    return output(result, encoding);
  }
  copy() {
    if (this.#done) throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
    const copy = new Digest(this.#algorithm, this.#key);
    copy.#pieces = this.#pieces.slice();
    if (this.#handle !== null) copy.#handle = native("hash_copy", this.#handle);
    return copy;
  }
}

export class Hash {
  #inner;
  constructor(algorithm, options = undefined) {
    if (algorithm instanceof Digest) {
      this.#inner = algorithm;
      return;
    }
    const known = algorithmOf(algorithm);
    if (!known) throw new Error(`Digest method not supported: ${algorithm}; this host has ${[...KNOWN].join(", ")}`);
    if (options?.outputLength !== undefined && options.outputLength !== native("hash", known, new Uint8Array(0)).length) throw coded(Error, "ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH", "Unsupported state or unable to set the output length");
    this.#inner = new Digest(known, null);
  }
  update(data, encoding = undefined) {
    this.#inner.update(data, encoding);
    return this;
  }
  digest(encoding = undefined) { return this.#inner.digest(encoding); }
  copy() { return new Hash(this.#inner.copy()); }
}

export class Hmac {
  #inner;
  constructor(algorithm, key, options = undefined) {
    const known = algorithmOf(algorithm);
    const secret = bytesOf(key, "key", options?.encoding);
    if (!known) throw coded(TypeError, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${algorithm}`);
    this.#inner = new Digest(known, new Uint8Array(secret));
  }
  update(data, encoding = undefined) {
    this.#inner.update(data, encoding);
    return this;
  }
  digest(encoding = undefined) { return this.#inner.digest(encoding); }
}

const parts = (object) => ({
  transform(chunk, encoding, callback) {
    object.update(chunk, encoding === "buffer" ? undefined : encoding);
    callback();
  },
  flush(callback) {
    this.push(object.digest());
    callback();
  },
});
streamLike(Hash, parts);
streamLike(Hmac, parts);

export const createHash = (algorithm, options = undefined) => new Hash(algorithm, options);
export const createHmac = (algorithm, key, options = undefined) => new Hmac(algorithm, key, options);

export function hash(algorithm, data, encoding = "hex") {
  const known = algorithmOf(algorithm);
  if (!known) throw new Error(`Digest method not supported: ${algorithm}`);
  return output(native("hash", known, bytesOf(data, "input")), typeof encoding === "string" ? encoding : encoding?.outputEncoding ?? "hex");
}
