// AES-GCM beyond what the native cipher takes: nonces of other lengths than 12 bytes, shorter tags, and data that comes in
// pieces. The key stream is always native; only for an unusual nonce is the hash over the data computed here, slowly.
import { native } from "jackfield:host";
import { concatBytes } from "jackfield:web/bytes";

const name = (key, mode) => `aes-${key.length * 8}-${mode}`;
const block = (value) => {
  const bytes = new Uint8Array(16);
  for (let i = 15; i >= 0; i--, value >>= 8n) bytes[i] = Number(value & 255n);
  return bytes;
};
const number = (bytes) => BigInt(`0x${native("hex_encode", bytes) || "0"}`);

function multiply(x, h) {
  let product = 0n;
  for (let bit = 127n; bit >= 0n; bit--) {
    if ((x >> bit) & 1n) product ^= h;
    h = h & 1n ? (h >> 1n) ^ (0xe1n << 120n) : h >> 1n;
  }
  return product;
}

function ghash(h, pieces) {
  let y = 0n;
  for (const bytes of pieces) {
    for (let at = 0; at < bytes.length; at += 16) {
      const part = new Uint8Array(16);
      part.set(bytes.subarray(at, at + 16));
      y = multiply(y ^ number(part), h);
    }
  }
  return y;
}

/** The counter block that the tag is masked with. */
function firstBlock(key, iv) {
  if (iv.length === 12) return concatBytes([iv, new Uint8Array([0, 0, 0, 1])]);
  const h = number(native("cipher", name(key, "ctr"), true, key, new Uint8Array(16), new Uint8Array(16)));
  return block(ghash(h, [iv, block(BigInt(iv.length * 8))]));
}

/** The counter block where the data begins. */
export function dataCounter(key, iv) {
  const first = firstBlock(key, iv);
  const view = new DataView(first.buffer, first.byteOffset, 16);
  view.setUint32(12, (view.getUint32(12) + 1) >>> 0);
  return first;
}

/** The full tag of a text and what goes with it. */
export function gcmTag(key, iv, plain, cipherText, aad) {
  if (iv.length === 12) return native("cipher", name(key, "gcm"), true, key, iv, plain, aad).subarray(-16);
  const zero = new Uint8Array(16);
  const h = number(native("cipher", name(key, "ctr"), true, key, zero, zero));
  const lengths = block((BigInt(aad.length * 8) << 64n) | BigInt(cipherText.length * 8));
  const hash = block(ghash(h, [aad, cipherText, lengths]));
  return native("cipher", name(key, "ctr"), true, key, firstBlock(key, iv), hash);
}

/** Encrypts or decrypts all at once; the tag of `tagSize` bytes stands at the end. Throws when the tag is wrong. */
export function gcm(encrypt, key, iv, data, aad, tagSize) {
  if (iv.length === 12 && tagSize === 16) return native("cipher", name(key, "gcm"), encrypt, key, iv, data, aad);
  const text = encrypt ? data : data.subarray(0, data.length - tagSize);
  const other = native("cipher", name(key, "ctr"), encrypt, key, dataCounter(key, iv), text);
  const tag = gcmTag(key, iv, encrypt ? text : other, encrypt ? other : text, aad).subarray(0, tagSize);
  if (encrypt) return concatBytes([other, tag]);
  let differs = 0;
  for (let i = 0; i < tagSize; i++) differs |= tag[i] ^ data[text.length + i];
  if (differs !== 0) throw new Error("Unsupported state or unable to authenticate data");
  return other;
}
