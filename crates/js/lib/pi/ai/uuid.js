// Identifiers that sort by the time they were made (UUID version 7).
import { native } from "jackfield:host";

/** A version 7 UUID for now, or for a given moment. */
export function uuidv7(now = Date.now()) {
  const bytes = native("random", 16);
  let time = BigInt(Math.trunc(now));
  for (let i = 5; i >= 0; i--) {
    bytes[i] = Number(time & 0xffn);
    time >>= 8n;
  }
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = native("hex_encode", bytes);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
