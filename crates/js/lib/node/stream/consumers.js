// node:stream/consumers: a whole stream, or any async iterable, as one value.
import { Buffer } from "node:buffer";
import { Blob } from "jackfield:web/blob";

async function gather(source) {
  const parts = [];
  for await (const part of source) parts.push(typeof part === "string" ? Buffer.from(part) : ArrayBuffer.isView(part) ? Buffer.from(part.buffer, part.byteOffset, part.byteLength) : Buffer.from(part));
  return Buffer.concat(parts);
}

const buffer = (source) => gather(source);
const bytes = async (source) => new Uint8Array(await gather(source));
const text = async (source) => {
  const whole = (await gather(source)).toString("utf8");
  return whole.charCodeAt(0) === 0xfeff ? whole.slice(1) : whole;
};
const json = async (source) => JSON.parse(await text(source));
const arrayBuffer = async (source) => {
  const whole = await gather(source);
  return whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.byteLength);
};
const blob = async (source) => new Blob([await gather(source)]);

export { arrayBuffer, blob, buffer, bytes, json, text };
export default { arrayBuffer, blob, buffer, bytes, json, text };
