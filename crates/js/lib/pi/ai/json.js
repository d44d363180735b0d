// JSON as models write it: cut off in the middle while it is streamed, with raw
// line breaks or lone backslashes inside texts.

/** Escapes raw control characters and lone backslashes inside texts; the rest stays. */
export function repairJson(json) {
  let out = "";
  let inside = false;
  for (let i = 0; i < json.length; i++) {
    const char = json[i];
    if (char === '"') {
      inside = !inside;
      out += char;
    } else if (inside && char === "\\") {
      const next = json[i + 1];
      const unicode = next === "u" && /^[0-9a-fA-F]{4}$/.test(json.slice(i + 2, i + 6));
      if (unicode || (next !== undefined && '"\\/bfnrt'.includes(next))) {
        out += char + next;
        i += 1;
      } else out += "\\\\";
    } else if (inside && char < " ") out += { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f" }[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
    else out += char;
  }
  return out;
}

/** JSON, read again with repairs when it cannot be read as it is. */
export function parseJsonWithRepair(json) {
  try {
    return JSON.parse(json);
  } catch (error) {
    const repaired = repairJson(json);
    if (repaired === json) throw error;
    return JSON.parse(repaired);
  }
}

const MAX_DEPTH = 512;

/** Reads as much of a JSON text as there is. */
class Partial {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  blanks() {
    while (/\s/.test(this.text[this.at] ?? "x")) this.at += 1;
  }

  /** A value, or undefined when nothing of it can be told yet. */
  value(depth) {
    if (depth > MAX_DEPTH) throw new Error("JSON is nested too deeply");
    this.blanks();
    const char = this.text[this.at];
    if (char === undefined) return undefined;
    if (char === "{") return this.object(depth);
    if (char === "[") return this.array(depth);
    if (char === '"') return this.string();
    const word = /^[a-z]+/.exec(this.text.slice(this.at, this.at + 6))?.[0];
    if (word) {
      const full = ["true", "false", "null"].find((each) => each.startsWith(word));
      if (!full) throw new Error(`unexpected ${word}`);
      this.at += word.length;
      return { true: true, false: false, null: null }[full];
    }
    const number = /^-?(?:\d+\.?\d*(?:[eE][+-]?\d*)?)?/.exec(this.text.slice(this.at, this.at + 64))[0];
    if (number === "") throw new Error(`unexpected ${char}`);
    this.at += number.length;
    const usable = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/.exec(number)?.[0];
    return usable === undefined ? undefined : Number(usable);
  }

  string() {
    const start = this.at + 1;
    let end = start;
    while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === "\\" ? 2 : 1;
    let raw = this.text.slice(start, Math.min(end, this.text.length));
    const open = end >= this.text.length;
    this.at = Math.min(end + 1, this.text.length);
    // An escape that has only begun says nothing yet.
    if (open) raw = raw.replace(/(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, "$1");
    return JSON.parse(repairJson(`"${raw}"`));
  }

  array(depth) {
    const out = [];
    this.at += 1;
    for (;;) {
      this.blanks();
      if (this.text[this.at] === "]") {
        this.at += 1;
        return out;
      }
      if (this.text[this.at] === ",") {
        this.at += 1;
        continue;
      }
      const value = this.value(depth + 1);
      if (value === undefined) return out;
      out.push(value);
    }
  }

  object(depth) {
    const out = {};
    this.at += 1;
    for (;;) {
      this.blanks();
      const char = this.text[this.at];
      if (char === "}" || char === undefined) {
        this.at += 1;
        return out;
      }
      if (char === ",") {
        this.at += 1;
        continue;
      }
      if (char !== '"') throw new Error(`unexpected ${char}`);
      const key = this.string();
      this.blanks();
      if (this.text[this.at] !== ":") return out;
      this.at += 1;
      const value = this.value(depth + 1);
      if (value === undefined) return out;
      Object.defineProperty(out, key, { value, enumerable: true, writable: true, configurable: true });
    }
  }
}

/** What can be told of a JSON text that is still coming; `{}` when nothing can. */
export function parseStreamingJson(partialJson) {
  if (!partialJson || partialJson.trim() === "") return {};
  try {
    return parseJsonWithRepair(partialJson);
  } catch {
    try {
      return new Partial(partialJson).value(0) ?? {};
    } catch {
      return {};
    }
  }
}

/** Arguments of a finished tool call: an object, or what is wrong with them. */
export function parseToolCallArguments(json) {
  if (!json || json.trim() === "") return { arguments: {} };
  const wrong = (why) => ({ arguments: {}, argumentsError: `${why}\n\nReceived arguments:\n${json}` });
  try {
    const value = parseJsonWithRepair(json);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { arguments: value } : wrong("Tool arguments must be a JSON object");
  } catch (error) {
    return wrong(error.message);
  }
}

/** JSON that arrives in pieces. */
export class StreamingJsonParser {
  constructor() {
    this.json = "";
  }

  append(chunk) {
    this.json += chunk;
    return this.snapshot();
  }

  snapshot() {
    return parseStreamingJson(this.json);
  }
}

/** The arguments of a tool call that arrive in pieces. */
export class ToolCallArgumentsStream {
  constructor() {
    this.parser = new StreamingJsonParser();
  }

  get text() {
    return this.parser.json;
  }

  append(chunk) {
    return this.parser.append(chunk);
  }

  replace(text) {
    this.parser.json = text;
    return this.parser.snapshot();
  }

  finish() {
    return parseToolCallArguments(this.text);
  }
}
