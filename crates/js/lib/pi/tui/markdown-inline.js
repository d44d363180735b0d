// Inline Markdown: text of a paragraph into tokens (text, strong, em, del,
// codespan, link, image, escape, br, html). Tokens have the names and fields
// that extensions know from the marked package. Entities stay as written,
// because what is shown is a terminal, not HTML.

const ESCAPABLE = /[!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]/;
const AUTOLINK = /^<([a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*|[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9.-]+)>/;
const BARE_URL = /^(?:(?:https?|ftp):\/\/|www\.)[^\s<]+/i;
const BARE_MAIL = /^[a-zA-Z0-9.!#$%&'*+/=?_`{|}~-]+@[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+(?![-_])/;
const TAG = /^<(?:\/?[a-zA-Z][\w-]*(?:\s+[^<>]*)?\/?|!--[\s\S]*?--|[?!][^>]*)>/;
const MAX_UNCLOSED = 100;
const isSpace = (char) => char === undefined || char === "" || /\s/.test(char);
const isPunctuation = (char) => char !== undefined && /[\p{P}\p{S}]/u.test(char);

/** Where the bracket that opens at `at` closes, or -1. */
function closing(source, at, open, close) {
  let depth = 0;
  for (let i = at; i < source.length; i++) {
    const char = source[i];
    if (char === "\\") i += 1;
    else if (char === "`" && open === "[") {
      const run = /^`+/.exec(source.slice(i))[0];
      const end = source.indexOf(run, i + run.length);
      i = end === -1 ? i + run.length - 1 : end + run.length - 1;
    } else if (char === open) depth += 1;
    else if (char === close && --depth === 0) return i;
  }
  return -1;
}

function trimUrl(url) {
  let out = url;
  for (;;) {
    const next = out.replace(/[?!.,:*_~'"]+$/, "");
    const opens = (next.match(/\(/g) ?? []).length;
    const closes = (next.match(/\)/g) ?? []).length;
    const cut = next.endsWith(")") && closes > opens ? next.slice(0, -1) : next;
    if (cut === out) return out;
    out = cut;
  }
}

function linkTarget(source, from) {
  const rest = source.slice(from);
  const match = /^\(\s*(?:<([^<>\n]*)>|((?:\\.|[^\s()\\]|\((?:\\.|[^()\\])*\))*))(?:\s+("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\)))?\s*\)/.exec(rest);
  if (!match) return null;
  const href = (match[1] ?? match[2] ?? "").replace(/\\([!-/:-@[-`{-~])/g, "$1");
  return { href, title: match[3] ? match[3].slice(1, -1) : null, length: match[0].length };
}

class InlineParser {
  constructor(source, references, inLink) {
    this.source = source;
    this.references = references;
    this.inLink = inLink;
    this.at = 0;
    this.nodes = [];
    this.plain = "";
    this.unclosed = 0;
  }

  flush() {
    if (this.plain !== "") this.nodes.push({ type: "text", raw: this.plain, text: this.plain });
    this.plain = "";
  }

  push(token) {
    this.flush();
    this.nodes.push(token);
    this.at += token.raw.length;
  }

  parse() {
    while (this.at < this.source.length) {
      const char = this.source[this.at];
      if (!this.step(char)) {
        this.plain += char;
        this.at += 1;
      }
    }
    this.flush();
    return this.emphasis(this.nodes);
  }

  step(char) {
    switch (char) {
      case "\\": return this.backslash();
      case "`": return this.code();
      case "!": return this.source[this.at + 1] === "[" && this.link(true);
      case "[": return this.link(false);
      case "<": return this.angle();
      case "*": case "_": case "~": return this.delimiter(char);
      case "\n": return this.lineEnd();
      default: return /[a-zA-Z0-9]/.test(char) && this.bare();
    }
  }

  backslash() {
    const next = this.source[this.at + 1];
    if (next === "\n") return this.push({ type: "br", raw: "\\\n" }), true;
    if (next === undefined || !ESCAPABLE.test(next)) return false;
    this.push({ type: "escape", raw: `\\${next}`, text: next });
    return true;
  }

  code() {
    const run = /^`+/.exec(this.source.slice(this.at))[0];
    const pattern = new RegExp(`(?<!\`)${run}(?!\`)`, "g");
    pattern.lastIndex = this.at + run.length;
    const end = pattern.exec(this.source);
    if (!end) {
      this.plain += run;
      this.at += run.length;
      return true;
    }
    let text = this.source.slice(this.at + run.length, end.index).replaceAll("\n", " ");
    if (/[^ ]/.test(text) && text.startsWith(" ") && text.endsWith(" ")) text = text.slice(1, -1);
    this.push({ type: "codespan", raw: this.source.slice(this.at, end.index + run.length), text });
    return true;
  }

  lineEnd() {
    const hard = / {2,}$/.test(this.plain);
    if (!hard) return false;
    const spaces = / +$/.exec(this.plain)[0];
    this.plain = this.plain.slice(0, -spaces.length);
    this.push({ type: "br", raw: "\n" });
    return true;
  }

  link(image) {
    // Looking for the end costs the rest of the text: text full of open brackets holds no links.
    if ((this.inLink && !image) || this.unclosed > MAX_UNCLOSED) return false;
    const open = this.at + (image ? 1 : 0);
    const close = closing(this.source, open, "[", "]");
    if (close === -1) {
      this.unclosed += 1;
      return false;
    }
    const label = this.source.slice(open + 1, close);
    let target = this.source[close + 1] === "(" ? linkTarget(this.source, close + 1) : null;
    let end = close + 1 + (target?.length ?? 0);
    if (!target) {
      const named = /^\[([^[\]]*)\]/.exec(this.source.slice(close + 1));
      const found = this.references.get((named?.[1] || label).toLowerCase().replace(/\s+/g, " ").trim());
      if (!found) return false;
      target = found;
      end = close + 1 + (named ? named[0].length : 0);
    }
    const raw = this.source.slice(this.at, end);
    const base = { raw, href: target.href, title: target.title ?? null, text: label };
    if (image) this.push({ type: "image", ...base });
    else this.push({ type: "link", ...base, tokens: parseInline(label, this.references, true) });
    return true;
  }

  angle() {
    const rest = this.source.slice(this.at);
    const auto = AUTOLINK.exec(rest);
    if (auto) {
      const mail = !auto[1].includes(":");
      this.pushLink(auto[0], auto[1], mail ? `mailto:${auto[1]}` : auto[1]);
      return true;
    }
    const tag = TAG.exec(rest);
    if (!tag) return false;
    this.push({ type: "html", raw: tag[0], text: tag[0] });
    return true;
  }

  pushLink(raw, text, href) {
    this.push({ type: "link", raw, text, href, title: null, tokens: [{ type: "text", raw: text, text }] });
  }

  bare() {
    if (this.inLink) return false;
    const before = this.source[this.at - 1];
    if (before !== undefined && /[a-zA-Z0-9]/.test(before)) return false;
    const rest = this.source.slice(this.at);
    const url = BARE_URL.exec(rest);
    if (url) {
      const text = trimUrl(url[0]);
      this.pushLink(text, text, /^www\./i.test(text) ? `http://${text}` : text);
      return true;
    }
    const mail = rest.includes("@") ? BARE_MAIL.exec(rest) : null;
    if (!mail) return false;
    this.pushLink(mail[0], mail[0], `mailto:${mail[0]}`);
    return true;
  }

  delimiter(char) {
    const run = (char === "*" ? /^\*+/ : char === "_" ? /^_+/ : /^~+/).exec(this.source.slice(this.at))[0];
    if (char === "~" && run.length > 2) return false;
    const before = this.source[this.at - 1];
    const after = this.source[this.at + run.length];
    const left = !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before));
    const right = !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after));
    const open = char === "_" ? left && (!right || isPunctuation(before)) : left;
    const close = char === "_" ? right && (!left || isPunctuation(after)) : right;
    this.push({ type: "run", raw: run, char, count: run.length, total: run.length, open, close });
    return true;
  }

  /** Pairs the runs of `*`, `_` and `~`: the inner pairs first, as CommonMark does. */
  emphasis(nodes) {
    for (let i = 0; i < nodes.length; i++) {
      const closer = nodes[i];
      if (closer.type !== "run" || !closer.close) continue;
      let at = i - 1;
      for (; at >= 0; at--) {
        const opener = nodes[at];
        if (opener.type !== "run" || opener.char !== closer.char || !opener.open || opener.count === 0) continue;
        if (closer.char === "~" && opener.count !== closer.count) continue;
        const both = opener.close || closer.open;
        if (closer.char !== "~" && both && (opener.total + closer.total) % 3 === 0 && (opener.total % 3 || closer.total % 3)) continue;
        break;
      }
      if (at < 0) continue;
      const opener = nodes[at];
      const size = closer.char === "~" ? closer.count : Math.min(2, opener.count, closer.count);
      const inner = finish(nodes.slice(at + 1, i));
      const mark = closer.char.repeat(size);
      const raw = mark + inner.map((node) => node.raw).join("") + mark;
      const type = closer.char === "~" ? "del" : size === 2 ? "strong" : "em";
      const node = { type, raw, text: raw.slice(size, -size), tokens: inner };
      opener.count -= size;
      closer.count -= size;
      nodes.splice(at + 1, i - at - 1, node);
      i = at + 2;
      if (opener.count === 0) {
        nodes.splice(at, 1);
        i -= 1;
      }
      if (closer.count > 0) i -= 1;
      else {
        nodes.splice(i, 1);
        i -= 1;
      }
    }
    return finish(nodes);
  }
}

/** Runs that found no partner are text; neighbouring texts join. */
function finish(nodes) {
  const out = [];
  for (const node of nodes) {
    let token = node;
    if (node.type === "run") {
      if (node.count === 0) continue;
      const text = node.char.repeat(node.count);
      token = { type: "text", raw: text, text };
    }
    const last = out.at(-1);
    if (token.type === "text" && last?.type === "text") {
      out[out.length - 1] = { type: "text", raw: last.raw + token.raw, text: last.text + token.text };
    } else out.push(token);
  }
  return out;
}

/** Tokens of one piece of inline Markdown. `references` maps labels to `{ href, title }`. */
export function parseInline(source, references = new Map(), inLink = false) {
  return new InlineParser(source, references, inLink).parse();
}
