// FormData, its multipart/form-data encoding, and reading both form types back from a body.
import { native } from "jackfield:host";
import { concatBytes } from "jackfield:web/bytes";
import { Blob, File, blobBytes } from "jackfield:web/blob";
import { URLSearchParams } from "jackfield:web/url";

const few = (given, count, what) => {
  if (given.length < count) throw new TypeError(`FormData.${what}: ${count} argument${count > 1 ? "s" : ""} required, but${given.length > 0 ? " only" : ""} ${given.length} present.`);
};
const text = (value) => `${value}`.toWellFormed();

export class FormData {
  #list = [];
  constructor(form = undefined) {
    if (form !== undefined) throw new TypeError("FormData constructor: there are no form elements outside a browser, so no argument can be taken");
  }
  append(name, value, filename = undefined) {
    few(arguments, 2, "append");
    this.#list.push(entryOf(name, value, filename, arguments.length > 2, "append"));
  }
  set(name, value, filename = undefined) {
    few(arguments, 2, "set");
    const entry = entryOf(name, value, filename, arguments.length > 2, "set");
    const at = this.#list.findIndex((each) => each[0] === entry[0]);
    if (at < 0) {
      this.#list.push(entry);
    } else {
      this.#list = this.#list.filter((each, i) => i <= at || each[0] !== entry[0]);
      this.#list[at] = entry;
    }
  }
  delete(name) {
    few(arguments, 1, "delete");
    const key = text(name);
    this.#list = this.#list.filter((entry) => entry[0] !== key);
  }
  get(name) {
    few(arguments, 1, "get");
    const key = text(name);
    return this.#list.find((entry) => entry[0] === key)?.[1] ?? null;
  }
  getAll(name) {
    few(arguments, 1, "getAll");
    const key = text(name);
    return this.#list.filter((entry) => entry[0] === key).map((entry) => entry[1]);
  }
  has(name) {
    few(arguments, 1, "has");
    const key = text(name);
    return this.#list.some((entry) => entry[0] === key);
  }
  forEach(callback, self = undefined) {
    for (const [name, value] of this) callback.call(self, value, name, this);
  }
  *keys() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][0]; }
  *values() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][1]; }
  *entries() { for (let i = 0; i < this.#list.length; i++) yield [this.#list[i][0], this.#list[i][1]]; }
  get [Symbol.toStringTag]() { return "FormData"; }
}
Object.defineProperty(FormData.prototype, Symbol.iterator, { value: FormData.prototype.entries, configurable: true, writable: true });

function entryOf(name, value, filename, named, what) {
  const key = text(name);
  if (!(value instanceof Blob)) {
    if (named && filename !== undefined) throw new TypeError(`FormData.${what}: a file name was given, but the value is not a Blob.`);
    return [key, text(value)];
  }
  if (value instanceof File && filename === undefined) return [key, value];
  const called = filename === undefined ? "blob" : text(filename);
  return [key, new File([value], called, { type: value.type, lastModified: value.lastModified })];
}

// Quotes and line ends in names are percent-encoded, as the HTML standard says.
const quoted = (name) => name.replace(/\r\n|\r|\n/g, "%0D%0A").replace(/"/g, "%22");

/** `{ type, bytes }`: the content type with its boundary, and the body. */
export function encodeMultipart(form) {
  const boundary = `----formdata-jackfield-${native("uuid").replaceAll("-", "")}`;
  const pieces = [];
  const add = (line) => pieces.push(native("utf8_encode", line));
  for (const [name, value] of form) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
    if (typeof value === "string") {
      add(`${head}\r\n\r\n${value.replace(/\r\n|\r|\n/g, "\r\n")}\r\n`);
    } else {
      add(`${head}; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || "application/octet-stream"}\r\n\r\n`);
      pieces.push(blobBytes(value));
      add("\r\n");
    }
  }
  add(`--${boundary}--\r\n`);
  return { type: `multipart/form-data; boundary=${boundary}`, bytes: concatBytes(pieces) };
}

/** A FormData from a body of one of the two form types; a TypeError when it is neither or is broken. */
export function parseForm(bytes, contentType) {
  const type = (contentType ?? "").toLowerCase();
  if (type.startsWith("application/x-www-form-urlencoded")) {
    const form = new FormData();
    for (const [name, value] of new URLSearchParams(native("utf8_decode", bytes, false, false))) form.append(name, value);
    return form;
  }
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType ?? "");
  if (!type.startsWith("multipart/form-data") || !boundary) {
    throw new TypeError('Content-Type was not one of "multipart/form-data" or "application/x-www-form-urlencoded".');
  }
  return parseMultipart(bytes, boundary[1] ?? boundary[2]);
}

function parseMultipart(bytes, boundary) {
  // As Latin-1 a position in the text is a position in the bytes, and searching is native.
  const all = native("latin1_decode", bytes);
  const fence = `--${boundary}`;
  const broken = () => new TypeError("Failed to parse body as FormData.");
  const form = new FormData();
  let at = all.startsWith(fence) ? 0 : all.indexOf(`\r\n${fence}`) + 2;
  if (at === 1) throw broken();
  for (;;) {
    at += fence.length;
    if (all.startsWith("--", at)) return form;
    if (!all.startsWith("\r\n", at)) throw broken();
    const headEnd = all.indexOf("\r\n\r\n", at);
    const end = headEnd < 0 ? -1 : all.indexOf(`\r\n${fence}`, headEnd + 2);
    if (end < 0) throw broken();
    const head = native("utf8_decode", bytes.subarray(at + 2, headEnd), false, true);
    const content = bytes.subarray(headEnd + 4, Math.max(end, headEnd + 4));
    const name = /^content-disposition:[^\r\n]*?[;\s]name="([^"]*)"/im.exec(head);
    if (!name) throw broken();
    const file = /^content-disposition:[^\r\n]*;\s*filename="([^"]*)"/im.exec(head);
    const type = /^content-type:[ \t]*([^\r\n]*)/im.exec(head);
    const unquoted = (value) => value.replace(/%22/g, '"').replace(/%0D%0A/gi, "\r\n");
    if (file) form.append(unquoted(name[1]), new File([content], unquoted(file[1]), { type: type?.[1]?.trim() ?? "text/plain" }));
    else form.append(unquoted(name[1]), native("utf8_decode", content, false, false));
    at = end + 2;
  }
}
