// The functions of readline that write terminal sequences.
import { nextTick } from "node:process";
import { invalidArgType, invalidArgValue, nodeError } from "jackfield:node/internal/io_errors";

function put(stream, text, callback) {
  if (callback != null && typeof callback !== "function") throw invalidArgType("callback", "of type function", callback);
  if (stream == null || text === "") {
    if (callback) nextTick(callback, null);
    return true;
  }
  return stream.write(text, callback ?? undefined);
}

export function cursorTo(stream, x, y, callback) {
  if (typeof y === "function") [y, callback] = [undefined, y];
  if (callback != null && typeof callback !== "function") throw invalidArgType("callback", "of type function", callback);
  if (Number.isNaN(x)) throw invalidArgValue("x", x);
  if (Number.isNaN(y)) throw invalidArgValue("y", y);
  if (stream == null || (typeof x !== "number" && typeof y !== "number")) return put(null, "", callback);
  if (typeof x !== "number") throw nodeError(TypeError, "ERR_INVALID_CURSOR_POS", "Cannot set cursor row without setting its column");
  return put(stream, typeof y !== "number" ? `\x1b[${x + 1}G` : `\x1b[${y + 1};${x + 1}H`, callback);
}

export function moveCursor(stream, dx, dy, callback) {
  let text = "";
  if (dx < 0) text += `\x1b[${-dx}D`;
  else if (dx > 0) text += `\x1b[${dx}C`;
  if (dy < 0) text += `\x1b[${-dy}A`;
  else if (dy > 0) text += `\x1b[${dy}B`;
  return put(stream, text, callback);
}

export function clearLine(stream, direction, callback) {
  return put(stream, direction < 0 ? "\x1b[1K" : direction > 0 ? "\x1b[0K" : "\x1b[2K", callback);
}

export function clearScreenDown(stream, callback) {
  return put(stream, "\x1b[0J", callback);
}

/** readline/promises.Readline: gathers sequences until commit. */
export class Readline {
  #stream;
  #auto;
  #todo = [];

  constructor(stream, options) {
    if (!stream || typeof stream.write !== "function") throw invalidArgType("stream", "an instance of Writable", stream);
    this.#stream = stream;
    this.#auto = !!options?.autoCommit;
  }

  #add(text) {
    if (this.#auto) nextTick(() => this.#stream.write(text));
    else this.#todo.push(text);
    return this;
  }

  cursorTo(x, y) { return this.#add(y === undefined ? `\x1b[${x + 1}G` : `\x1b[${y + 1};${x + 1}H`); }
  moveCursor(dx, dy) {
    let text = "";
    moveCursor({ write: (part) => { text += part; return true; } }, dx, dy);
    return text === "" ? this : this.#add(text);
  }
  clearLine(direction) { return this.#add(direction < 0 ? "\x1b[1K" : direction > 0 ? "\x1b[0K" : "\x1b[2K"); }
  clearScreenDown() { return this.#add("\x1b[0J"); }
  rollback() {
    this.#todo = [];
    return this;
  }
  commit() {
    const text = this.#todo.join("");
    this.#todo = [];
    return new Promise((resolve) => { this.#stream.write(text, () => resolve()); });
  }
}
