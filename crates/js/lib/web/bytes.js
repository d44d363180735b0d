// What the other files of this folder need to handle bytes: a view on whatever holds them, joining, copying.
// No web API of its own. A view shares memory with what it was made from; `copyBytes` does not.

/** The bytes behind an ArrayBuffer or any view on one, or undefined when `value` holds none. */
export function viewBytes(value) {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (isAnyBuffer(value)) return new Uint8Array(value);
  return undefined;
}

export function isAnyBuffer(value) {
  return value instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer);
}

/** A plain Uint8Array with its own memory. */
export function copyBytes(value) {
  const view = viewBytes(value);
  const copy = new Uint8Array(view.byteLength);
  copy.set(view);
  return copy;
}

export function concatBytes(chunks) {
  if (chunks.length === 1) return chunks[0];
  let size = 0;
  for (const chunk of chunks) size += chunk.byteLength;
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}

/** An ArrayBuffer that holds exactly these bytes: the one behind them when it fits, otherwise a copy. */
export function exactBuffer(bytes) {
  const { buffer } = bytes;
  if (bytes.byteOffset === 0 && bytes.byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) return buffer;
  return copyBytes(bytes).buffer;
}

/** An error as Node makes them: a class, a code, a message; the name shows the code in stacks as Node's does. */
export function codedError(Base, code, message, extra) {
  const error = new Base(message);
  error.code = code;
  if (extra) Object.assign(error, extra);
  return error;
}
