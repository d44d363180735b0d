// Block Markdown: headings, paragraphs, lists, quotes, code, tables, rules,
// HTML and link definitions, as tokens with the names and fields of the marked
// package. Everything is read line by line; nesting is bounded, so that hostile
// text cannot exhaust the stack.
import { parseInline } from "jackfield:pi/tui/markdown-inline";

const MAX_DEPTH = 16;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const FENCE = /^( {0,3})(`{3,}|~{3,})([^\n]*)$/;
const QUOTE = /^ {0,3}>[ \t]?/;
const BULLET = /^( {0,3})([-*+]|\d{1,9}[.)])(?:([ \t]+)(.*)|)$/;
const DEFINITION = /^ {0,3}\[([^[\]]+)\]:\s*<?([^\s>]+)>?(?:\s+(?:"([^"]*)"|'([^']*)'|\(([^)]*)\)))?\s*$/;
const HTML = /^ {0,3}<(?:\/?(?:address|article|aside|blockquote|body|center|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|meta|nav|ol|optgroup|option|p|param|section|source|summary|table|tbody|td|tfoot|th|thead|title|tr|ul|script|pre|style|textarea)(?:\s|\/?>|$)|!--|\?|![A-Z])/i;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const blank = (line) => line.trim() === "";

function cells(line) {
  const out = [];
  let current = "";
  const text = line.trim().replace(/^\|/, "");
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\" && text[i + 1] === "|") {
      current += "|";
      i += 1;
    } else if (text[i] === "|") {
      out.push(current.trim());
      current = "";
    } else current += text[i];
  }
  if (current.trim() !== "" || !text.endsWith("|")) out.push(current.trim());
  return out;
}

class BlockParser {
  constructor(lines, references, depth) {
    this.lines = lines;
    this.references = references;
    this.depth = depth;
    this.at = 0;
    this.tokens = [];
  }

  add(token, count) {
    const lines = this.lines.slice(this.at, this.at + count);
    this.tokens.push({ ...token, raw: token.raw ?? lines.join("\n") + (this.at + count < this.lines.length ? "\n" : "") });
    this.at += count;
  }

  parse() {
    while (this.at < this.lines.length) {
      const line = this.lines[this.at];
      if (blank(line)) this.space();
      else if (/^(?: {4}|\t)/.test(line)) this.indented();
      else if (HEADING.test(line)) this.heading(line);
      else if (FENCE.test(line) && this.fence(line)) continue;
      else if (RULE.test(line)) this.add({ type: "hr" }, 1);
      else if (QUOTE.test(line) && this.depth < MAX_DEPTH) this.quote();
      else if (BULLET.test(line) && this.depth < MAX_DEPTH) this.list();
      else if (HTML.test(line)) this.html();
      else if (DEFINITION.test(line)) this.definition(line);
      else if (this.isTable(this.at)) this.table();
      else this.paragraph();
    }
    return this.tokens;
  }

  space() {
    let count = 0;
    while (this.at + count < this.lines.length && blank(this.lines[this.at + count])) count += 1;
    this.add({ type: "space" }, count);
  }

  heading(line) {
    const [, marks, text = ""] = HEADING.exec(line);
    this.add({ type: "heading", depth: marks.length, text, tokens: parseInline(text, this.references) }, 1);
  }

  indented() {
    let end = this.at;
    for (let i = this.at; i < this.lines.length; i++) {
      if (/^(?: {4}|\t)/.test(this.lines[i])) end = i + 1;
      else if (!blank(this.lines[i])) break;
    }
    const text = this.lines.slice(this.at, end).map((line) => line.replace(/^(?: {1,4}|\t)/, "")).join("\n");
    this.add({ type: "code", codeBlockStyle: "indented", text }, end - this.at);
  }

  fence(line) {
    const [, indent, mark, rest] = FENCE.exec(line);
    if (mark[0] === "`" && rest.includes("`")) {
      this.paragraph();
      return true;
    }
    const close = new RegExp(`^ {0,3}${mark[0] === "`" ? "`" : "~"}{${mark.length},}[ \\t]*$`);
    let end = this.at + 1;
    while (end < this.lines.length && !close.test(this.lines[end])) end += 1;
    const strip = new RegExp(`^ {0,${indent.length}}`);
    const text = this.lines.slice(this.at + 1, end).map((each) => each.replace(strip, "")).join("\n");
    const count = Math.min(end + 1, this.lines.length) - this.at;
    this.add({ type: "code", lang: rest.trim(), text }, count);
    return true;
  }

  startsBlock(line) {
    return HEADING.test(line) || RULE.test(line) || FENCE.test(line) || QUOTE.test(line) || HTML.test(line);
  }

  quote() {
    const inner = [];
    let end = this.at;
    for (; end < this.lines.length; end++) {
      const line = this.lines[end];
      if (QUOTE.test(line)) inner.push(line.replace(QUOTE, ""));
      else if (blank(line) || this.startsBlock(line) || BULLET.test(line) || blank(inner.at(-1) ?? "")) break;
      else inner.push(line);
    }
    const tokens = new BlockParser(inner, this.references, this.depth + 1).parse();
    this.add({ type: "blockquote", text: inner.join("\n"), tokens }, end - this.at);
  }

  list() {
    const first = BULLET.exec(this.lines[this.at]);
    const ordered = /\d/.test(first[2]);
    const style = first[2].at(-1);
    const items = [];
    let loose = false;
    let end = this.at;
    while (end < this.lines.length) {
      const match = BULLET.exec(this.lines[end]);
      if (!match || match[2].at(-1) !== style || RULE.test(this.lines[end])) break;
      const item = this.item(match, end);
      items.push(item);
      end = item.end;
      let next = end;
      while (next < this.lines.length && blank(this.lines[next])) next += 1;
      const more = next < this.lines.length ? BULLET.exec(this.lines[next]) : null;
      if (next > end && more && more[2].at(-1) === style && !RULE.test(this.lines[next])) {
        loose = true;
        end = next;
      } else if (next > end) break;
    }
    loose ||= items.some((item) => item.loose);
    const tokens = items.map(({ end: _, ...item }) => ({ ...item, loose }));
    for (const item of tokens) {
      if (loose) for (const token of item.tokens) if (token.type === "text") token.type = "paragraph";
    }
    this.add({ type: "list", ordered, start: ordered ? parseInt(first[2], 10) : "", loose, items: tokens }, end - this.at);
  }

  item(match, start) {
    const [, indent, marker, gap = " ", rest = ""] = match;
    // More than four blanks after the marker start indented code, one column in.
    const spaces = gap.length > 4 ? 1 : gap.length;
    const column = indent.length + marker.length + (rest === "" ? 1 : spaces);
    const lines = [(gap.length > 4 ? gap.slice(1) : "") + rest];
    let end = start + 1;
    let gapSeen = false;
    let loose = false;
    for (; end < this.lines.length; end++) {
      const line = this.lines[end];
      const lead = /^[ \t]*/.exec(line)[0].replaceAll("\t", "    ").length;
      if (blank(line)) {
        gapSeen = true;
        lines.push("");
      } else if (lead >= column) {
        if (gapSeen && !loose) loose = !lines.some((each, at) => at > 0 && BULLET.test(each)) || lead === column;
        gapSeen = false;
        lines.push(line.replaceAll("\t", "    ").slice(column));
      } else if (gapSeen || this.startsBlock(line) || BULLET.test(line)) break;
      else lines.push(line.trimStart());
    }
    while (lines.length > 1 && blank(lines.at(-1))) {
      lines.pop();
      end -= 1;
    }
    const task = /^\[([ xX])\][ \t]+/.exec(lines[0]);
    if (task) lines[0] = lines[0].slice(task[0].length);
    const tokens = new BlockParser(lines, this.references, this.depth + 1).parse();
    // A tight item holds its text as such, not as a paragraph.
    for (const token of tokens) if (token.type === "paragraph") token.type = "text";
    const raw = this.lines.slice(start, end).join("\n");
    return { type: "list_item", raw, task: task !== null, checked: task ? task[1] !== " " : undefined, loose, text: lines.join("\n"), tokens, end };
  }

  html() {
    let end = this.at + 1;
    if (/^ {0,3}<!--/.test(this.lines[this.at])) {
      end = this.at;
      while (end < this.lines.length && !this.lines[end].includes("-->")) end += 1;
      end = Math.min(end + 1, this.lines.length);
    } else while (end < this.lines.length && !blank(this.lines[end])) end += 1;
    const text = this.lines.slice(this.at, end).join("\n");
    this.add({ type: "html", block: true, text }, end - this.at);
  }

  definition(line) {
    const match = DEFINITION.exec(line);
    const tag = match[1].toLowerCase().replace(/\s+/g, " ").trim();
    this.add({ type: "def", tag, href: match[2], title: match[3] ?? match[4] ?? match[5] ?? null }, 1);
  }

  isTable(at) {
    const head = this.lines[at];
    const rule = this.lines[at + 1];
    if (rule === undefined || !head.includes("|") || !TABLE_RULE.test(rule) || !rule.includes("-")) return false;
    return cells(head).length === cells(rule).length;
  }

  table() {
    const cell = (text, align, header) => ({ text, tokens: parseInline(text, this.references), header, align });
    const align = cells(this.lines[this.at + 1]).map((rule) => {
      const left = rule.startsWith(":");
      const right = rule.endsWith(":");
      return left && right ? "center" : right ? "right" : left ? "left" : null;
    });
    const header = cells(this.lines[this.at]).map((text, i) => cell(text, align[i], true));
    const rows = [];
    let end = this.at + 2;
    for (; end < this.lines.length; end++) {
      const line = this.lines[end];
      if (blank(line) || this.startsBlock(line) || BULLET.test(line)) break;
      const parts = cells(line);
      rows.push(align.map((each, i) => cell(parts[i] ?? "", each, false)));
    }
    this.add({ type: "table", header, align, rows }, end - this.at);
  }

  paragraph() {
    let end = this.at + 1;
    for (; end < this.lines.length; end++) {
      const line = this.lines[end];
      const underline = /^ {0,3}(=+|-+)[ \t]*$/.exec(line);
      if (underline) {
        const text = this.lines.slice(this.at, end).map((each) => each.trim()).join("\n");
        this.add({ type: "heading", depth: underline[1][0] === "=" ? 1 : 2, text, tokens: parseInline(text, this.references) }, end + 1 - this.at);
        return;
      }
      const bullet = BULLET.exec(line);
      // A list may end a paragraph, but only one that starts at 1 and has text.
      if (blank(line) || this.startsBlock(line) || (bullet && bullet[4] && !/^(?!1[.)])\d/.test(bullet[2])) || this.isTable(end)) break;
    }
    const text = this.lines.slice(this.at, end).join("\n").replace(/\n+$/, "");
    this.add({ type: "paragraph", text, tokens: parseInline(text, this.references) }, end - this.at);
  }
}

/** Tokens of a Markdown document. */
export function parseBlocks(source) {
  const lines = source.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd").split("\n");
  if (lines.at(-1) === "") lines.pop();
  const references = new Map();
  let fenced = false;
  for (const line of lines) {
    if (FENCE.test(line)) fenced = !fenced;
    const match = fenced ? null : DEFINITION.exec(line);
    const tag = match?.[1].toLowerCase().replace(/\s+/g, " ").trim();
    if (match && !references.has(tag)) references.set(tag, { href: match[2], title: match[3] ?? match[4] ?? match[5] ?? null });
  }
  return new BlockParser(lines, references, 0).parse();
}

/** The part of marked's class that makes sense without HTML: reading text into tokens. */
export class Marked {
  constructor(...extensions) {
    this.defaults = {};
    this.options = this.setOptions;
    this.use(...extensions);
  }

  use(...extensions) {
    for (const extension of extensions) Object.assign(this.defaults, extension);
    return this;
  }

  setOptions(options) {
    Object.assign(this.defaults, options);
    return this;
  }

  lexer(source) {
    return parseBlocks(source);
  }

  walkTokens(tokens, callback) {
    const results = [];
    for (const token of tokens) {
      results.push(callback.call(this, token));
      const below = [...(token.tokens ?? []), ...(token.items ?? [])];
      for (const row of [token.header ?? [], ...(token.rows ?? [])]) for (const cell of row) below.push(...cell.tokens);
      results.push(...this.walkTokens(below, callback));
    }
    return results;
  }

  parser() {
    throw new Error("Marked.parser is unsupported here: this host renders Markdown for terminals only, use the Markdown component");
  }

  parse(source) {
    return this.parser(this.lexer(source));
  }
}
