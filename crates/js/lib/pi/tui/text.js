// The simplest components: wrapped text, one line of text and blank lines.
import { paintLine, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "jackfield:pi/tui/ansi";

/** Text that wraps, with padding and an optional background. */
export class Text {
  constructor(text = "", paddingX = 1, paddingY = 1, customBgFn) {
    this.text = text;
    this.paddingX = paddingX;
    this.paddingY = paddingY;
    this.customBgFn = customBgFn;
    this.cachedText = undefined;
    this.cachedWidth = undefined;
    this.cachedLines = undefined;
  }

  setText(text) {
    this.text = text;
    this.invalidate();
  }

  setCustomBgFn(customBgFn) {
    this.customBgFn = customBgFn;
    this.invalidate();
  }

  setPaddingX(paddingX) {
    if (this.paddingX === paddingX) return;
    this.paddingX = paddingX;
    this.invalidate();
  }

  invalidate() {
    this.cachedText = undefined;
    this.cachedWidth = undefined;
    this.cachedLines = undefined;
  }

  render(width) {
    if (this.cachedLines && this.cachedText === this.text && this.cachedWidth === width) return this.cachedLines;
    let lines = [];
    if (this.text && this.text.trim() !== "") {
      // Padding gives way before the text does.
      const side = Math.max(0, Math.min(this.paddingX, Math.floor((width - 1) / 2)));
      const margin = " ".repeat(side);
      const paint = this.customBgFn ?? ((line) => line);
      const fill = paintLine("", width, paint);
      const body = wrapTextWithAnsi(this.text.replaceAll("\t", "   "), Math.max(1, width - side * 2));
      const blank = new Array(this.paddingY).fill(fill);
      lines = [...blank, ...body.map((line) => paintLine(margin + line + margin, width, paint)), ...blank];
    }
    this.cachedText = this.text;
    this.cachedWidth = width;
    this.cachedLines = lines;
    return lines;
  }
}

/** The first line of a text, cut to the width. */
export class TruncatedText {
  constructor(text, paddingX = 0, paddingY = 0) {
    this.text = text;
    this.paddingX = paddingX;
    this.paddingY = paddingY;
  }

  invalidate() {}

  render(width) {
    const blank = new Array(this.paddingY).fill(" ".repeat(width));
    const end = this.text.indexOf("\n");
    const first = end === -1 ? this.text : this.text.slice(0, end);
    const margin = " ".repeat(this.paddingX);
    const line = margin + truncateToWidth(first, Math.max(1, width - this.paddingX * 2)) + margin;
    return [...blank, line + " ".repeat(Math.max(0, width - visibleWidth(line))), ...blank];
  }
}

/** Blank lines. */
export class Spacer {
  constructor(lines = 1) {
    this.lines = lines;
  }

  setLines(lines) {
    this.lines = lines;
  }

  invalidate() {}

  render(_width) {
    return new Array(Math.max(0, this.lines)).fill("");
  }
}
