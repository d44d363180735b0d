// WebSocket client (RFC 6455) over the host's `net` stream: text and binary messages, fragments, ping and pong, the
// closing handshake. No extensions are offered, so nothing is compressed. A server that breaks the protocol ends the
// connection with 1002. `init.headers` (as undici takes them) are sent with the handshake.
import { native, stream } from "jackfield:host";
import { EventTarget, Event, MessageEvent, CloseEvent, ErrorEvent, defineHandlers } from "jackfield:web/events";
import { DOMException } from "jackfield:web/domexception";
import { Blob, blobBytes } from "jackfield:web/blob";
import { URL } from "jackfield:web/url";
import { Headers } from "jackfield:web/headers";
import { concatBytes, copyBytes, viewBytes } from "jackfield:web/bytes";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const MAX_HEAD = 65536; // bytes of an answer to the handshake
const MAX_MESSAGE = 256 * 1024 * 1024; // a message is held in memory before it is delivered
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export class WebSocket extends EventTarget {
  #url; #state = 0; #call = null; #protocol = ""; #wanted; #binary = "blob";
  #input = new Uint8Array(0); #opened = false; #key;
  #parts = []; #partsSize = 0; #kind = 0; // the message that is being put together
  #closeSent = false; #closeGot = null; #timer = null; #done = false; #buffered = 0;
  constructor(url, options = []) {
    super();
    const init = typeof options === "string" || Array.isArray(options) ? { protocols: options } : (options ?? {});
    let parsed;
    try {
      parsed = new URL(`${url}`);
    } catch (cause) {
      throw new DOMException(`${cause.message}: ${url}`, "SyntaxError");
    }
    if (parsed.protocol === "http:") parsed.protocol = "ws:";
    if (parsed.protocol === "https:") parsed.protocol = "wss:";
    if (parsed.protocol !== "ws:" && parsed.protocol !== "wss:") throw new DOMException(`Expected a ws: or wss: protocol, got ${parsed.protocol}`, "SyntaxError");
    if (parsed.hash !== "" || parsed.href.endsWith("#")) throw new DOMException("Got fragment", "SyntaxError");
    const protocols = (Array.isArray(init.protocols) ? init.protocols : init.protocols === undefined ? [] : [init.protocols]).map((each) => `${each}`);
    if (protocols.some((each) => !TOKEN.test(each)) || new Set(protocols.map((each) => each.toLowerCase())).size !== protocols.length) {
      throw new DOMException("Invalid Sec-WebSocket-Protocol value", "SyntaxError");
    }
    this.#url = parsed;
    this.#wanted = protocols;
    this.#connect(new Headers(init.headers));
  }
  get url() { return this.#url.href; }
  get readyState() { return this.#state; }
  get protocol() { return this.#protocol; }
  get extensions() { return ""; }
  get bufferedAmount() { return this.#buffered; }
  get binaryType() { return this.#binary; }
  set binaryType(type) { if (type === "blob" || type === "arraybuffer") this.#binary = type; }

  send(data) {
    if (arguments.length === 0) throw new TypeError("WebSocket.send: 1 argument required, but only 0 present.");
    if (this.#state === 0) throw new DOMException("Sent before connected.", "InvalidStateError");
    const view = viewBytes(data);
    const text = !view && !(data instanceof Blob);
    const bytes = view ?? (text ? native("utf8_encode", `${data}`.toWellFormed()) : blobBytes(data));
    if (this.#state !== 1) {
      this.#buffered += bytes.length;
      return;
    }
    this.#frame(text ? 1 : 2, bytes);
  }
  close(code = undefined, reason = undefined) {
    if (code !== undefined) {
      code = Math.trunc(Number(code)) || 0;
      if (code !== 1000 && (code < 3000 || code > 4999)) throw new DOMException("invalid code", "InvalidAccessError");
    }
    const text = native("utf8_encode", reason === undefined ? "" : `${reason}`.toWellFormed());
    if (text.length > 123) throw new DOMException(`Reason must be less than 123 bytes; received ${text.length}`, "SyntaxError");
    if (this.#state >= 2) return;
    if (this.#state === 0) {
      this.#state = 2;
      this.#fail("the connection was closed before it was established");
      return;
    }
    this.#state = 2;
    this.#sendClose(code === undefined ? new Uint8Array(0) : concatBytes([new Uint8Array([code >> 8, code & 255]), text]));
    // A server that never answers must not keep the connection for ever.
    this.#timer = setTimeout(() => this.#finish(), 30000);
    this.#timer?.unref?.();
  }

  #connect(headers) {
    const url = this.#url;
    const tls = url.protocol === "wss:";
    this.#key = native("base64_encode", native("random", 16));
    const lines = [
      `GET ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`, "Upgrade: websocket", "Connection: Upgrade",
      `Sec-WebSocket-Key: ${this.#key}`, "Sec-WebSocket-Version: 13",
    ];
    if (this.#wanted.length > 0) lines.push(`Sec-WebSocket-Protocol: ${this.#wanted.join(", ")}`);
    if (url.username !== "" && !headers.has("authorization")) {
      const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
      lines.push(`Authorization: Basic ${native("base64_encode", native("utf8_encode", pair))}`);
    }
    for (const [name, value] of headers) if (!/^(host|upgrade|connection|sec-websocket-(key|version|protocol|extensions))$/.test(name)) lines.push(`${name}: ${value}`);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const params = { op: "connect", host, port: Number(url.port) || (tls ? 443 : 80), tls };
    if (tls) params.server_name = host;
    try {
      this.#call = stream("net", params, (kind, value) => {
        if (kind === "data") {
          if (value.open) this.#call.send({ data: native("utf8_encode", `${lines.join("\r\n")}\r\n\r\n`) });
          if (value.data) this.#receive(value.data);
          if (value.end) this.#finish();
        } else if (kind === "end") {
          this.#finish();
        } else if (kind === "error") {
          this.#fail(value?.message ?? "the connection failed", value);
        }
      });
    } catch (error) {
      setImmediate(() => this.#fail(error.message, error));
    }
  }
  #receive(bytes) {
    if (this.#done) return;
    this.#input = this.#input.length === 0 ? bytes : concatBytes([this.#input, bytes]);
    try {
      if (!this.#opened && !this.#handshake()) return;
      while (!this.#done && this.#nextFrame());
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      this.#broken(error);
    }
  }
  #handshake() {
    const text = native("latin1_decode", this.#input.subarray(0, MAX_HEAD));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) {
      if (this.#input.length >= MAX_HEAD) this.#fail("the server's answer to the handshake has no end");
      return false;
    }
    const [status, ...lines] = text.slice(0, end).split("\r\n");
    const headers = new Map();
    for (const line of lines) {
      const at = line.indexOf(":");
      if (at > 0) headers.set(line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim());
    }
    const accept = native("base64_encode", native("hash", "sha1", native("utf8_encode", this.#key + GUID)));
    const protocol = headers.get("sec-websocket-protocol");
    let wrong = "";
    if (!/^HTTP\/1\.1 101(\s|$)/.test(status)) wrong = `the server answered "${status.slice(0, 80)}" instead of switching to a WebSocket`;
    else if (!/\bwebsocket\b/i.test(headers.get("upgrade") ?? "")) wrong = "the server did not set the Upgrade header to websocket";
    else if (!/\bupgrade\b/i.test(headers.get("connection") ?? "")) wrong = "the server did not set the Connection header to upgrade";
    else if (headers.get("sec-websocket-accept") !== accept) wrong = "the server's Sec-WebSocket-Accept does not fit the key";
    else if (headers.has("sec-websocket-extensions")) wrong = "the server uses an extension that was not offered";
    else if (protocol !== undefined && !this.#wanted.includes(protocol)) wrong = "the server chose a protocol that was not offered";
    if (wrong !== "") {
      this.#fail(wrong);
      return false;
    }
    this.#protocol = protocol ?? "";
    this.#opened = true;
    this.#input = this.#input.subarray(end + 4);
    this.#state = 1;
    this.dispatchEvent(new Event("open"));
    return true;
  }
  /** Takes one frame from the input; false when it is not complete yet. */
  #nextFrame() {
    const input = this.#input;
    if (input.length < 2) return false;
    const final = (input[0] & 0x80) !== 0;
    const kind = input[0] & 0x0f;
    if ((input[0] & 0x70) !== 0) throw new Broken(1002, "reserved bits are set");
    if ((input[1] & 0x80) !== 0) throw new Broken(1002, "a server's frame is masked");
    let size = input[1] & 0x7f;
    let at = 2;
    if (size === 126) {
      if (input.length < 4) return false;
      size = (input[2] << 8) | input[3];
      at = 4;
    } else if (size === 127) {
      if (input.length < 10) return false;
      const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
      size = Number(view.getBigUint64(2));
      at = 10;
    }
    if (kind >= 8 && (size > 125 || !final)) throw new Broken(1002, "a control frame is too long or in pieces");
    if (size + this.#partsSize > MAX_MESSAGE) throw new Broken(1009, "a message is too big");
    if (input.length < at + size) return false;
    const payload = input.slice(at, at + size);
    this.#input = input.subarray(at + size);
    if (kind >= 8) this.#control(kind, payload);
    else this.#message(kind, final, payload);
    return true;
  }
  #control(kind, payload) {
    if (kind === 9) {
      if (this.#state === 1) this.#frame(10, payload);
    } else if (kind === 8) {
      if (payload.length === 1) throw new Broken(1002, "a close frame has half a code");
      const code = payload.length >= 2 ? (payload[0] << 8) | payload[1] : 1005;
      const known = (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
      if (payload.length >= 2 && !known) throw new Broken(1002, "a close frame has a code that must not be sent");
      this.#closeGot = { code, reason: this.#text(payload.subarray(2)) };
      this.#state = 2;
      if (!this.#closeSent) this.#sendClose(payload.subarray(0, 2));
      this.#call?.send({ end: true });
      this.#finish();
    } else if (kind !== 10) {
      throw new Broken(1002, "an unknown control frame");
    }
  }
  #message(kind, final, payload) {
    if (this.#closeGot) return;
    if (kind > 2) throw new Broken(1002, "an unknown kind of frame");
    if (kind === 0 && this.#kind === 0) throw new Broken(1002, "a continuation without a beginning");
    if (kind !== 0 && this.#kind !== 0) throw new Broken(1002, "a new message within a message");
    if (kind !== 0) this.#kind = kind;
    this.#parts.push(payload);
    this.#partsSize += payload.length;
    if (!final) return;
    const whole = concatBytes(this.#parts);
    const text = this.#kind === 1;
    this.#parts = [];
    this.#partsSize = 0;
    this.#kind = 0;
    const data = text ? this.#text(whole) : this.#binary === "blob" ? new Blob([whole]) : copyBytes(whole).buffer;
    if (this.#state === 1) this.dispatchEvent(new MessageEvent("message", { data, origin: this.#url.origin === "null" ? `${this.#url.protocol}//${this.#url.host}` : this.#url.origin }));
  }
  #text(bytes) {
    try {
      return native("utf8_decode", bytes, true, true);
    } catch {
      throw new Broken(1007, "text that is not UTF-8");
    }
  }
  #frame(kind, payload) {
    const size = payload.length;
    const head = size < 126 ? 2 : size < 65536 ? 4 : 10;
    const frame = new Uint8Array(head + 4 + size);
    frame[0] = 0x80 | kind;
    if (head === 2) frame[1] = 0x80 | size;
    else if (head === 4) frame.set([0x80 | 126, size >> 8, size & 255], 1);
    else {
      frame[1] = 0x80 | 127;
      new DataView(frame.buffer).setBigUint64(2, BigInt(size));
    }
    const mask = native("random", 4);
    frame.set(mask, head);
    for (let i = 0; i < size; i++) frame[head + 4 + i] = payload[i] ^ mask[i & 3];
    this.#call?.send({ data: frame });
  }
  #sendClose(payload) {
    this.#closeSent = true;
    this.#frame(8, payload);
  }
  #broken({ code, message }) {
    if (!this.#closeSent) this.#sendClose(new Uint8Array([code >> 8, code & 255]));
    this.#fail(message);
  }
  #fail(message, error = undefined) {
    if (this.#done) return;
    this.#closeGot = null;
    this.#done = true;
    this.#state = 3;
    this.#call?.close();
    setImmediate(() => {
      this.dispatchEvent(new ErrorEvent("error", { message, error: error ?? new TypeError(message) }));
      this.dispatchEvent(new CloseEvent("close", { wasClean: false, code: 1006, reason: "" }));
    });
  }
  #finish() {
    if (this.#done) return;
    if (!this.#opened) {
      this.#fail("the server ended the connection during the handshake");
      return;
    }
    this.#done = true;
    if (this.#timer) clearTimeout(this.#timer);
    const got = this.#closeGot;
    const close = () => {
      this.#state = 3;
      this.#call?.close();
      this.dispatchEvent(new CloseEvent("close", { wasClean: got !== null, code: got?.code ?? 1006, reason: got?.reason ?? "" }));
    };
    setImmediate(close);
  }
  get [Symbol.toStringTag]() { return "WebSocket"; }
}
for (const [name, value] of [["CONNECTING", 0], ["OPEN", 1], ["CLOSING", 2], ["CLOSED", 3]]) {
  Object.defineProperty(WebSocket, name, { value, enumerable: true });
  Object.defineProperty(WebSocket.prototype, name, { value, enumerable: true });
}
defineHandlers(WebSocket, "open", "message", "close", "error");

class Broken extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}
