// emitKeypressEvents: takes what a terminal sends apart into keys and emits `keypress`. Covers letters, control and
// meta combinations, arrows, editing and function keys; not mouse reports and bracketed paste.
import { Buffer } from "node:buffer";
import { StringDecoder } from "node:string_decoder";

const NAMES = {
  "[A": "up", "[B": "down", "[C": "right", "[D": "left", "[E": "clear", "[F": "end", "[H": "home", "OA": "up", "OB": "down", "OC": "right", "OD": "left",
  "OE": "clear", "OF": "end", "OH": "home", "OP": "f1", "OQ": "f2", "OR": "f3", "OS": "f4", "[1~": "home", "[2~": "insert", "[3~": "delete", "[4~": "end",
  "[5~": "pageup", "[6~": "pagedown", "[7~": "home", "[8~": "end", "[11~": "f1", "[12~": "f2", "[13~": "f3", "[14~": "f4", "[15~": "f5", "[17~": "f6",
  "[18~": "f7", "[19~": "f8", "[20~": "f9", "[21~": "f10", "[23~": "f11", "[24~": "f12", "[Z": "tab",
};

function keyOf(sequence, text, escaped) {
  const key = { sequence, name: undefined, ctrl: false, meta: escaped, shift: false };
  const code = text.charCodeAt(0);
  if (text === "\r") key.name = "return";
  else if (text === "\n") key.name = "enter";
  else if (text === "\t") key.name = "tab";
  else if (text === "\b" || text === "\x7f") key.name = "backspace";
  else if (text === "\x1b") key.name = "escape";
  else if (text === " ") key.name = "space";
  else if (code === 0) {
    key.name = "`";
    key.ctrl = true;
  } else if (code < 27 && text.length === 1) {
    key.name = String.fromCharCode(code + 96);
    key.ctrl = true;
  } else if (/^[0-9A-Za-z]$/.test(text)) {
    key.name = text.toLowerCase();
    key.shift = /^[A-Z]$/.test(text);
  }
  return key;
}

/** All keys of a piece of text; an escape at the very end counts as the key. */
export function* keysOf(text) {
  const chars = [...text];
  for (let i = 0; i < chars.length; i++) {
    const c = chars[i];
    if (c !== "\x1b" || i + 1 >= chars.length) {
      yield keyOf(c, c, false);
      continue;
    }
    const rest = chars.slice(i + 1).join("");
    const found = /^\x1b?(\[\[?[0-9;]*[A-Za-z~^$]|O[0-9]*[A-Za-z])/.exec(rest);
    if (found) {
      const body = found[1];
      const modified = /^(\[|O)(?:(\d+);)?(\d+)?([A-Za-z~^$])$/.exec(body);
      let name = NAMES[body];
      const key = { sequence: `\x1b${found[0]}`, name: undefined, ctrl: false, meta: found[0].startsWith("\x1b"), shift: body === "[Z", code: body };
      if (!name && modified) {
        const [, open, first, second, last] = modified;
        const modifier = (first === undefined ? 1 : Number(second)) - 1;
        name = NAMES[last === "~" ? `[${first ?? second}~` : `${open}${last}`] ?? NAMES[`O${last}`];
        key.ctrl = (modifier & 4) !== 0;
        key.meta ||= (modifier & 10) !== 0;
        key.shift = (modifier & 1) !== 0;
        key.code = last === "~" ? `[${first ?? second}~` : `${open}${last}`;
      }
      key.name = name ?? "undefined";
      yield key;
      i += found[0].length;
    } else {
      i++;
      yield keyOf(`\x1b${chars[i]}`, chars[i], true);
    }
  }
}

const kDecoder = Symbol("keys");

export function emitKeypressEvents(stream) {
  if (stream[kDecoder]) return;
  stream[kDecoder] = new StringDecoder("utf8");
  const ondata = (chunk) => {
    const text = stream[kDecoder].write(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    for (const key of keysOf(text)) {
      const isText = key.sequence.length === 1 || !key.sequence.startsWith("\x1b");
      stream.emit("keypress", isText ? key.sequence : undefined, key);
    }
  };
  const start = (name) => {
    if (name !== "keypress") return;
    stream.on("data", ondata);
    stream.removeListener("newListener", start);
  };
  if (stream.listenerCount("keypress") > 0) stream.on("data", ondata);
  else stream.on("newListener", start);
}
