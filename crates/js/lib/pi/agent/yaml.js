// The part of YAML that front matter uses: mappings, lists, flow collections,
// quoted and block texts, numbers, booleans, null and comments. Anchors, tags,
// aliases and several documents are not read.

/** Why a text is not front matter that can be read. */
export class YamlError extends Error {
  constructor(message, line) {
    super(`${message} at line ${line}`);
    this.name = "YAMLParseError";
    this.line = line;
  }
}

const MAX_DEPTH = 64;

function scalar(text) {
  if (text === "" || text === "~" || /^(?:null|Null|NULL)$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  if (/^[-+]?\d+$/.test(text)) return Number(text);
  if (/^0x[0-9a-fA-F]+$/.test(text) || /^0o[0-7]+$/.test(text)) return Number(text);
  if (/^[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?$/.test(text)) return Number(text);
  if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (/^\.(?:nan|NaN|NAN)$/.test(text)) return NaN;
  return text;
}

const ESCAPES = { n: "\n", t: "\t", r: "\r", 0: "\0", b: "\b", f: "\f", v: "\v", a: "\x07", e: "\x1b", "\\": "\\", '"': '"', "/": "/", " ": " ", N: "\x85", _: "\xa0" };

/** Reads flow syntax (quotes, [lists], {maps}) from one text. */
class Flow {
  constructor(text, line) {
    this.text = text;
    this.at = 0;
    this.line = line;
  }

  fail(message) {
    throw new YamlError(message, this.line);
  }

  blanks() {
    while (/[\s]/.test(this.text[this.at] ?? "x")) this.at += 1;
    if (this.text[this.at] === "#" && (this.at === 0 || /\s/.test(this.text[this.at - 1]))) {
      const end = this.text.indexOf("\n", this.at);
      this.at = end === -1 ? this.text.length : end;
      this.blanks();
    }
  }

  value(depth) {
    if (depth > MAX_DEPTH) this.fail("Collections are nested too deeply");
    this.blanks();
    const char = this.text[this.at];
    if (char === "[") return this.list(depth);
    if (char === "{") return this.map(depth);
    if (char === '"' || char === "'") return this.quoted(char);
    const match = /^(?:[^,[\]{}:#]|:(?![\s,[\]{}]|$)|(?<!\s)#)*/.exec(this.text.slice(this.at))[0];
    this.at += match.length;
    return scalar(match.trim());
  }

  quoted(mark) {
    let out = "";
    this.at += 1;
    for (; this.at < this.text.length; this.at++) {
      const char = this.text[this.at];
      if (char === mark) {
        if (mark === "'" && this.text[this.at + 1] === "'") {
          out += "'";
          this.at += 1;
          continue;
        }
        this.at += 1;
        return out;
      }
      if (char === "\\" && mark === '"') {
        this.at += 1;
        const next = this.text[this.at];
        const size = { x: 2, u: 4, U: 8 }[next];
        if (size) {
          const code = parseInt(this.text.slice(this.at + 1, this.at + 1 + size), 16);
          if (!Number.isInteger(code) || code > 0x10ffff) this.fail("Invalid escape sequence");
          out += String.fromCodePoint(code);
          this.at += size;
        } else if (next in ESCAPES) out += ESCAPES[next];
        else this.fail(`Invalid escape sequence \\${next}`);
      } else if (char === "\n") {
        const rest = /^\s*/.exec(this.text.slice(this.at))[0];
        const breaks = (rest.match(/\n/g) ?? []).length;
        out = out.trimEnd() + (breaks > 1 ? "\n".repeat(breaks - 1) : " ");
        this.at += rest.length - 1;
      } else out += char;
    }
    return this.fail(`Missing closing ${mark}quote`);
  }

  list(depth) {
    const out = [];
    this.at += 1;
    for (;;) {
      this.blanks();
      if (this.text[this.at] === "]") {
        this.at += 1;
        return out;
      }
      if (this.at >= this.text.length) this.fail("Flow sequence in block collection must be closed with ]");
      const item = this.value(depth + 1);
      this.blanks();
      if (this.text[this.at] === ":") {
        this.at += 1;
        out.push({ [String(item)]: this.value(depth + 1) });
      } else out.push(item);
      this.blanks();
      if (this.text[this.at] === ",") this.at += 1;
      else if (this.text[this.at] !== "]") this.fail("Missing , or ] in flow sequence");
    }
  }

  map(depth) {
    const out = {};
    this.at += 1;
    for (;;) {
      this.blanks();
      if (this.text[this.at] === "}") {
        this.at += 1;
        return out;
      }
      if (this.at >= this.text.length) this.fail("Flow map in block collection must be closed with }");
      const key = this.value(depth + 1);
      this.blanks();
      let value = null;
      if (this.text[this.at] === ":") {
        this.at += 1;
        value = this.value(depth + 1);
      }
      define(out, key, value);
      this.blanks();
      if (this.text[this.at] === ",") this.at += 1;
      else if (this.text[this.at] !== "}") this.fail("Missing , or } in flow map");
    }
  }
}

// A key such as __proto__ must become a property, not a prototype.
function define(target, key, value) {
  Object.defineProperty(target, String(key), { value, enumerable: true, writable: true, configurable: true });
}

const indentOf = (line) => /^ */.exec(line)[0].length;
const isBlank = (line) => /^\s*(?:#.*)?$/.test(line);
const KEY = /^(?:"((?:\\.|[^"\\])*)"|'((?:''|[^'])*)'|((?:[^\s#&*!|>%@`"'{}[\],?:-]|[-?:](?=\S))(?:[^:#]|:(?=\S)|(?<=\S)#)*?))\s*:(?=\s|$)/;

class Block {
  constructor(text) {
    this.lines = text.split(/\r\n|\r|\n/);
    this.at = 0;
  }

  fail(message) {
    throw new YamlError(message, this.at + 1);
  }

  skip() {
    while (this.at < this.lines.length && isBlank(this.lines[this.at])) this.at += 1;
  }

  node(indent, depth) {
    if (depth > MAX_DEPTH) this.fail("Collections are nested too deeply");
    this.skip();
    if (this.at >= this.lines.length) return null;
    const line = this.lines[this.at];
    if (/^\s*\t/.test(line)) this.fail("Tabs are not allowed as indentation");
    const own = indentOf(line);
    if (own < indent) return null;
    const text = line.slice(own);
    if (/^-(?:\s|$)/.test(text)) return this.list(own, depth);
    if (KEY.test(text)) return this.map(own, depth);
    return this.inline(text, indent, depth);
  }

  list(indent, depth) {
    const out = [];
    for (;;) {
      this.skip();
      const line = this.lines[this.at];
      if (line === undefined || indentOf(line) !== indent || !/^-(?:\s|$)/.test(line.slice(indent))) {
        if (line !== undefined && indentOf(line) > indent) this.fail("All sequence items must start at the same column");
        return out;
      }
      const rest = line.slice(indent + 1);
      const inner = rest.trimStart();
      if (inner === "" || inner.startsWith("#")) {
        this.at += 1;
        this.skip();
        out.push(this.at < this.lines.length && indentOf(this.lines[this.at]) > indent ? this.node(indent + 1, depth + 1) : null);
      } else {
        // The item is read as if its dash were a blank.
        const column = indent + 1 + (rest.length - inner.length);
        this.lines[this.at] = " ".repeat(column) + inner;
        out.push(this.node(column, depth + 1));
      }
    }
  }

  map(indent, depth) {
    const out = {};
    for (;;) {
      this.skip();
      const line = this.lines[this.at];
      if (line === undefined || indentOf(line) < indent) return out;
      if (indentOf(line) > indent) this.fail("All mapping items must start at the same column");
      const text = line.slice(indent);
      const match = KEY.exec(text);
      if (!match) this.fail("Implicit keys need to be on a single line and followed by a colon");
      const key = match[1] !== undefined ? new Flow(`"${match[1]}"`, this.at + 1).quoted('"') : (match[2]?.replaceAll("''", "'") ?? match[3].trim());
      if (Object.hasOwn(out, key)) this.fail("Map keys must be unique");
      define(out, key, this.entry(text.slice(match[0].length), indent, depth));
    }
  }

  entry(rest, indent, depth) {
    const text = rest.trimStart();
    if (text === "" || text.startsWith("#")) {
      this.at += 1;
      this.skip();
      const next = this.lines[this.at];
      if (next === undefined) return null;
      const own = indentOf(next);
      if (own > indent || (own === indent && /^-(?:\s|$)/.test(next.slice(own)))) return this.node(own, depth + 1);
      return null;
    }
    if (/^: /.test(text) || text === ":") this.fail("Nested mappings are not allowed in compact mappings");
    return this.inline(text, indent + 1, depth);
  }

  inline(text, indent, depth) {
    const block = /^([|>])([+-]?\d?|\d?[+-]?)\s*(?:#.*)?$/.exec(text);
    if (block) return this.literal(block[1], block[2], indent);
    if (/^["'[{]/.test(text)) return this.flow(text, depth);
    if (/^[&*!%@`]/.test(text)) this.fail(`Plain value cannot start with reserved character ${text[0]}`);
    const plain = text.replace(/\s+#.*$/, "").trim();
    if (/:(?:\s|$)/.test(plain)) this.fail("Nested mappings are not allowed in compact mappings");
    const parts = [plain];
    this.at += 1;
    // A plain text goes on over lines that are indented further.
    while (this.at < this.lines.length && !isBlank(this.lines[this.at]) && indentOf(this.lines[this.at]) >= Math.max(1, indent)) {
      parts.push(this.lines[this.at].replace(/\s+#.*$/, "").trim());
      this.at += 1;
    }
    return parts.length > 1 ? parts.join(" ") : scalar(plain);
  }

  flow(text, depth) {
    const start = this.at;
    let source = text;
    for (;;) {
      const flow = new Flow(source, start + 1);
      try {
        const value = flow.value(depth);
        const rest = flow.text.slice(flow.at).trim();
        if (rest !== "" && !rest.startsWith("#")) this.fail("Unexpected text after a value");
        this.at += 1;
        return value;
      } catch (error) {
        if (!(error instanceof YamlError) || !/Missing|must be closed/.test(error.message) || this.at + 1 >= this.lines.length) throw error;
        this.at += 1;
        source += `\n${this.lines[this.at]}`;
      }
    }
  }

  literal(style, options, indent) {
    const given = /\d/.exec(options)?.[0];
    this.at += 1;
    const body = [];
    let own = given ? indent - 1 + Number(given) : 0;
    for (; this.at < this.lines.length; this.at++) {
      const line = this.lines[this.at];
      if (line.trim() === "") {
        body.push(own ? line.slice(own) : "");
        continue;
      }
      if (own === 0) {
        own = indentOf(line);
        if (own < Math.max(1, indent)) break;
      }
      if (indentOf(line) < own) break;
      body.push(line.slice(own));
    }
    let text = style === "|" ? body.join("\n") : body.join("\n").replace(/([^\n])\n(?=[^\s\n])/g, "$1 ").replace(/([^\n])\n(\n+)(?=[^\s\n])/g, "$1$2");
    const trimmed = text.replace(/\n+$/, "");
    if (options.includes("-")) return trimmed;
    if (!options.includes("+")) return trimmed === "" ? "" : `${trimmed}\n`;
    text = trimmed === "" ? text : `${text}\n`;
    return text;
  }
}

/** The value of a YAML text. */
export function parseYaml(text) {
  const block = new Block(text);
  const value = block.node(0, 0);
  block.skip();
  if (block.at < block.lines.length) block.fail("Unexpected content");
  return value;
}
