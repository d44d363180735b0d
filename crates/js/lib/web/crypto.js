// WebCrypto: random values, UUIDs, and `subtle` (in subtle.js, loaded when used).
import { native } from "jackfield:host";
import { DOMException } from "jackfield:web/domexception";
import { viewBytes } from "jackfield:web/bytes";
import { SubtleCrypto, CryptoKey, makeSubtle } from "jackfield:web/subtle";

let subtle = null;

export class Crypto {
  constructor() { if (this.constructor !== Inner) throw Object.assign(new TypeError("Illegal constructor"), { code: "ERR_ILLEGAL_CONSTRUCTOR" }); }
  get subtle() { return (subtle ??= makeSubtle()); }
  getRandomValues(array) {
    if (!ArrayBuffer.isView(array) || array instanceof DataView || array instanceof Float32Array || array instanceof Float64Array) {
      throw new DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
    }
    if (array.byteLength > 65536) throw new DOMException(`The requested length exceeds 65,536 bytes`, "QuotaExceededError");
    viewBytes(array).set(native("random", array.byteLength));
    return array;
  }
  randomUUID() { return native("uuid"); }
  get [Symbol.toStringTag]() { return "Crypto"; }
}
class Inner extends Crypto {}
export const crypto = new Inner();
Object.setPrototypeOf(crypto, Crypto.prototype);
export { SubtleCrypto, CryptoKey };
