// Markdown shown in a terminal: lines in the theme's styles, wrapped to the
// width. LaTeX between dollar signs is turned into Unicode where that is
// possible. A style that an inner piece turns off is turned on again after it.
import { paintLine, visibleWidth, wrapTextWithAnsi } from "jackfield:pi/tui/ansi";
import { getCapabilities, hyperlink } from "jackfield:pi/tui/image";
import { replaceLatex } from "jackfield:pi/tui/latex";
import { parseBlocks } from "jackfield:pi/tui/markdown-blocks";
import { renderTable } from "jackfield:pi/tui/markdown-table";

const SENTINEL = "\0";
const NARROWEST_QUOTE = 4;

/** What a style function puts in front of the text. */
function prefixOf(style) {
  const styled = style(SENTINEL);
  const at = styled.indexOf(SENTINEL);
  return at > 0 ? styled.slice(0, at) : "";
}

/** See the file comment. */
export class Markdown {
  constructor(text, paddingX, paddingY, theme, defaultTextStyle, options = {}) {
    this.text = text;
    this.paddingX = paddingX;
    this.paddingY = paddingY;
    this.theme = theme;
    this.defaultTextStyle = defaultTextStyle;
    this.options = options ?? {};
    this.cachedText = undefined;
    this.cachedWidth = undefined;
    this.cachedLines = undefined;
  }

  setText(text) {
    this.text = text;
    this.invalidate();
  }

  invalidate() {
    this.clearRenderCache();
  }

  clearRenderCache() {
    this.cachedText = undefined;
    this.cachedWidth = undefined;
    this.cachedLines = undefined;
  }

  render(width) {
    if (this.cachedLines && this.cachedText === this.text && this.cachedWidth === width) return this.cachedLines;
    const room = Math.max(1, width - this.paddingX * 2);
    let source = this.text ?? "";
    if (this.options.transform) source = this.options.transform(source, room);
    let lines = [];
    if (source && source.trim() !== "") {
      if (this.options.renderLatex !== false) source = replaceLatex(source);
      const tokens = parseBlocks(source.replaceAll("\t", "   "));
      const body = [];
      tokens.forEach((token, i) => {
        const keep = token.type === "code" || token.type === "table";
        for (const line of this.renderToken(token, room, tokens[i + 1]?.type)) {
          if (keep) body.push(line);
          else for (const part of wrapTextWithAnsi(line, room)) body.push(part);
        }
      });
      const margin = " ".repeat(this.paddingX);
      const paint = this.defaultTextStyle?.bgColor ?? ((line) => line);
      const blank = new Array(this.paddingY).fill(paintLine("", width, paint));
      const wrapped = body.flatMap((line) => (visibleWidth(line) > room ? wrapTextWithAnsi(line, room) : [line]));
      lines = [...blank, ...wrapped.map((line) => paintLine(margin + line + margin, width, paint)), ...blank];
    }
    this.cachedText = this.text;
    this.cachedWidth = width;
    this.cachedLines = lines;
    return lines;
  }

  applyDefaultStyle(text) {
    const style = this.defaultTextStyle;
    if (!style) return text;
    let out = style.color ? style.color(text) : text;
    if (style.bold) out = this.theme.bold(out);
    if (style.italic) out = this.theme.italic(out);
    if (style.strikethrough) out = this.theme.strikethrough(out);
    if (style.underline) out = this.theme.underline(out);
    return out;
  }

  #context(apply) {
    return { apply, prefix: prefixOf(apply) };
  }

  #defaultContext() {
    return this.#context((text) => this.applyDefaultStyle(text));
  }

  renderToken(token, width, next, context = this.#defaultContext()) {
    let lines = [];
    const gap = () => {
      if (next && next !== "space") lines.push("");
    };
    switch (token.type) {
      case "heading":
        lines.push(this.#heading(token));
        gap();
        break;
      case "paragraph":
        lines.push(this.renderInlineTokens(token.tokens, context));
        if (next && next !== "space" && next !== "list") lines.push("");
        break;
      case "text":
        lines.push(this.renderInlineTokens(token.tokens ?? [token], context));
        break;
      case "code":
        lines = this.#code(token);
        gap();
        break;
      case "list":
        lines = this.renderList(token, width, 0, context);
        break;
      case "table":
        lines = renderTable(token, width, this, context);
        gap();
        break;
      case "blockquote":
        lines = this.#quote(token, width);
        gap();
        break;
      case "hr":
        lines.push(this.theme.hr("─".repeat(Math.min(width, 80))));
        gap();
        break;
      case "html":
        lines.push(this.#styled(token.raw.trim(), context));
        break;
      case "space":
        lines.push("");
        break;
      default:
        break;
    }
    return lines;
  }

  #heading(token) {
    const { heading, bold, underline } = this.theme;
    const style = token.depth === 1 ? (text) => heading(bold(underline(text))) : (text) => heading(bold(text));
    const text = this.renderInlineTokens(token.tokens, this.#context(style));
    return token.depth >= 3 ? style(`${"#".repeat(token.depth)} `) + text : text;
  }

  #code(token) {
    const indent = this.theme.codeBlockIndent ?? "  ";
    const lang = token.lang || undefined;
    const lines = this.theme.highlightCode
      ? this.theme.highlightCode(token.text, lang).map((line) => indent + line)
      : token.text.split("\n").map((line) => indent + this.theme.codeBlock(line));
    return [this.theme.codeBlockBorder(`\`\`\`${token.lang ?? ""}`), ...lines, this.theme.codeBlockBorder("```")];
  }

  #quote(token, width) {
    // Where there is no room for another border, deeper quotes go without: their lines would multiply.
    const bare = width < NARROWEST_QUOTE;
    const style = (text) => this.theme.quote(this.theme.italic(text));
    const prefix = prefixOf(style);
    const inner = { apply: (text) => text, prefix };
    const room = bare ? width : width - 2;
    const lines = [];
    token.tokens.forEach((each, i) => {
      for (const line of this.renderToken(each, room, token.tokens[i + 1]?.type, inner)) lines.push(line);
    });
    while (lines.length > 0 && lines.at(-1) === "") lines.pop();
    if (bare) return lines;
    const border = this.theme.quoteBorder("│ ");
    return lines.flatMap((line) => {
      const styled = style(line.replaceAll("\x1b[0m", `\x1b[0m${prefix}`));
      return wrapTextWithAnsi(styled, room).map((part) => border + part);
    });
  }

  renderList(token, width, depth, context) {
    const lines = [];
    const indent = "    ".repeat(depth);
    token.items.forEach((item, i) => {
      const number = token.start === "" || token.start === undefined ? 1 : Number(token.start);
      let marker = token.ordered ? `${number + i}. ` : "- ";
      if (this.options.preserveOrderedListMarkers && token.ordered) marker = /^\s*(\d+[.)])/.exec(item.raw)?.[1].concat(" ") ?? marker;
      if (item.task) marker += item.checked ? "[x] " : "[ ] ";
      const hang = " ".repeat(visibleWidth(token.ordered ? marker : item.task ? marker : "- "));
      const body = this.#item(item, width - indent.length - hang.length, depth, context);
      if (body.length === 0) body.push({ text: "" });
      body.forEach((line, at) => {
        if (line.nested) lines.push(line.text);
        else if (at === 0) lines.push(indent + this.theme.listBullet(marker) + line.text);
        else lines.push(line.text === "" ? "" : indent + hang + line.text);
      });
      if (token.loose && i < token.items.length - 1) lines.push("");
    });
    return lines;
  }

  #item(item, width, depth, context) {
    const out = [];
    const room = Math.max(1, width);
    item.tokens.forEach((token, i) => {
      if (token.type === "list") {
        if (out.length === 0) out.push({ text: "" });
        for (const text of this.renderList(token, width, depth + 1, context)) out.push({ text, nested: true });
        return;
      }
      if (token.type === "space" && i === item.tokens.length - 1) return;
      const rendered = this.renderToken(token, room, item.tokens[i + 1]?.type, context);
      for (const line of rendered) {
        const parts = token.type === "code" || token.type === "table" ? [line] : wrapTextWithAnsi(line, room);
        for (const text of parts) out.push({ text });
      }
    });
    return out;
  }

  #styled(text, context) {
    return text.split("\n").map((line) => (line === "" ? "" : context.apply(line))).join("\n");
  }

  renderInlineTokens(tokens, context = this.#defaultContext()) {
    let out = "";
    const wrapped = (text) => text + context.prefix;
    for (const token of tokens) {
      switch (token.type) {
        case "strong":
          out += wrapped(this.theme.bold(this.renderInlineTokens(token.tokens, context)));
          break;
        case "em":
          out += wrapped(this.theme.italic(this.renderInlineTokens(token.tokens, context)));
          break;
        case "del":
          out += wrapped(this.theme.strikethrough(this.renderInlineTokens(token.tokens, context)));
          break;
        case "codespan":
          out += wrapped(this.theme.code(token.text));
          break;
        case "link":
          out += wrapped(this.#link(token, context));
          break;
        case "br":
          out += "\n";
          break;
        case "escape":
          out += this.#styled(this.options.preserveBackslashEscapes ? token.raw : token.text, context);
          break;
        case "html":
          out += this.#styled(token.raw, context);
          break;
        default:
          out += token.tokens ? this.renderInlineTokens(token.tokens, context) : this.#styled(token.text ?? token.raw ?? "", context);
      }
    }
    // A style turned on again at the very end would only colour what follows.
    while (context.prefix && out.endsWith(context.prefix)) out = out.slice(0, -context.prefix.length);
    return out;
  }

  #link(token, context) {
    const plain = { apply: (text) => text, prefix: "" };
    const text = this.renderInlineTokens(token.tokens, context.prefix ? context : plain);
    const shown = this.theme.link(this.theme.underline(text));
    if (getCapabilities().hyperlinks) return hyperlink(shown, token.href);
    const bare = token.href.replace(/^mailto:/, "");
    return token.text === token.href || token.text === bare ? shown : shown + this.theme.linkUrl(` (${token.href})`);
  }
}
