// A text editor of several lines: editing keys, word wrap, history, undo, a ring
// of deleted text, large pastes folded into a marker, completion. Extensions
// derive their own editors from it, so the state and the methods they use carry
// pi's names.
import { sliceByColumn, visibleWidth } from "jackfield:pi/tui/ansi";
import { CURSOR_MARKER } from "jackfield:pi/tui/container";
import { PasteCollector, printable, renderFakeCursor } from "jackfield:pi/tui/editing";
import { EditorBuffer, MARKER } from "jackfield:pi/tui/editor-buffer";
import { EditorCompletion } from "jackfield:pi/tui/editor-completion";
import { offsetAtColumn } from "jackfield:pi/tui/editor-layout";
import { getKeybindings } from "jackfield:pi/tui/keybindings";
import { decodePrintableKey, matchesKey } from "jackfield:pi/tui/keys";
import { graphemes } from "jackfield:pi/tui/width";

const HISTORY = 100;
const PASTE_LINES = 10;
const PASTE_CHARS = 1000;

const ACTIONS = [
  ["tui.editor.undo", "undo"],
  ["tui.editor.deleteToLineEnd", "deleteToEndOfLine"],
  ["tui.editor.deleteToLineStart", "deleteToStartOfLine"],
  ["tui.editor.deleteWordBackward", "deleteWordBackwards"],
  ["tui.editor.deleteWordForward", "deleteWordForward"],
  ["tui.editor.deleteCharBackward", "handleBackspace"],
  ["tui.editor.deleteCharForward", "handleForwardDelete"],
  ["tui.editor.yank", "yank"],
  ["tui.editor.yankPop", "yankPop"],
  ["tui.editor.cursorLineStart", "moveToLineStart"],
  ["tui.editor.cursorLineEnd", "moveToLineEnd"],
  ["tui.editor.cursorWordLeft", "moveWordBackwards"],
  ["tui.editor.cursorWordRight", "moveWordForwards"],
];

/** See the file comment. */
export class Editor extends EditorBuffer {
  constructor(tui, theme, options = {}) {
    super();
    this.focused = false;
    this.tui = tui;
    this.theme = theme;
    this.borderColor = theme?.borderColor ?? ((text) => text);
    this.paddingX = Math.max(0, Math.floor(options.paddingX ?? 0));
    this.scrollOffset = 0;
    this.completion = new EditorCompletion(this, options.autocompleteMaxVisible ?? 5);
    this.pasteCounter = 0;
    this.paste = new PasteCollector();
    this.history = [];
    this.jumpMode = null;
    this.onSubmit = undefined;
    this.disableSubmit = false;
  }

  get capturesViewportInput() {
    return this.isShowingAutocomplete();
  }

  getPaddingX() {
    return this.paddingX;
  }

  setPaddingX(padding) {
    this.paddingX = Number.isFinite(padding) ? Math.max(0, Math.floor(padding)) : 0;
    this.tui?.requestRender?.();
  }

  getAutocompleteMaxVisible() {
    return this.completion.maxVisible;
  }

  setAutocompleteMaxVisible(maxVisible) {
    this.completion.setMaxVisible(maxVisible);
  }

  setAutocompleteProvider(provider) {
    this.completion.setProvider(provider);
  }

  isShowingAutocomplete() {
    return this.completion.list !== null;
  }

  addToHistory(text) {
    const trimmed = text.trim();
    if (!trimmed || this.history[0] === trimmed) return;
    this.history.unshift(trimmed);
    if (this.history.length > HISTORY) this.history.pop();
  }

  isEditorEmpty() {
    return this.state.lines.length === 1 && this.state.lines[0] === "";
  }

  navigateHistory(step) {
    const next = this.historyIndex + step;
    if (this.history.length === 0 || next < -1 || next >= this.history.length) return;
    this.lastAction = null;
    if (this.historyIndex === -1) {
      this.pushUndoSnapshot();
      this.historyDraft = structuredClone(this.state);
    }
    this.historyIndex = next;
    if (next === -1 && this.historyDraft) {
      this.state = this.historyDraft;
      this.historyDraft = null;
      this.onChange?.(this.getText());
      return;
    }
    this.setTextInternal(this.history[next] ?? "", step > 0 ? "start" : "end");
  }

  setTextInternal(text, cursor = "end") {
    const lines = text.split("\n");
    const last = lines.length - 1;
    this.state = cursor === "start" ? { lines, cursorLine: 0, cursorCol: 0 } : { lines, cursorLine: last, cursorCol: lines[last].length };
    this.preferredVisualCol = null;
    this.scrollOffset = 0;
    this.onChange?.(this.getText());
  }

  invalidate() {}

  renderTopBorder(width, hiddenLineCount) {
    return this.borderColor(this.#border("↑", width, hiddenLineCount));
  }

  renderBottomBorder(width, hiddenLineCount) {
    return this.borderColor(this.#border("↓", width, hiddenLineCount));
  }

  #border(arrow, width, hidden) {
    const label = hidden > 0 ? ` ${arrow} ${hidden} more ` : "";
    const rest = width - visibleWidth(label);
    if (rest < 0) return "─".repeat(Math.max(0, width));
    const left = Math.floor(rest / 2);
    return "─".repeat(left) + label + "─".repeat(rest - left);
  }

  render(width) {
    const side = Math.min(this.paddingX, Math.max(0, Math.floor((width - 1) / 2)));
    const inner = Math.max(1, width - side * 2);
    // Without padding the cursor after the last character needs a column of its own.
    const room = Math.max(1, inner - (side > 0 ? 0 : 1));
    this.lastWidth = room;
    const map = this.visualMap();
    const cursor = this.visualLine(map);
    const rows = this.tui?.terminal?.rows ?? 24;
    const visible = Math.max(5, Math.floor(rows * 0.3));
    if (cursor < this.scrollOffset) this.scrollOffset = cursor;
    else if (cursor >= this.scrollOffset + visible) this.scrollOffset = cursor - visible + 1;
    this.scrollOffset = Math.max(0, Math.min(this.scrollOffset, map.length - visible));
    const shown = map.slice(this.scrollOffset, this.scrollOffset + visible);
    const margin = " ".repeat(side);
    const lines = [this.renderTopBorder(width, this.scrollOffset)];
    shown.forEach((each, i) => {
      const text = this.scrollOffset + i === cursor ? this.#withCursor(each) : each.text;
      lines.push(margin + text + " ".repeat(Math.max(0, width - side - visibleWidth(text))));
    });
    lines.push(this.renderBottomBorder(width, Math.max(0, map.length - this.scrollOffset - shown.length)));
    if (this.completion.list) for (const line of this.completion.list.render(inner)) lines.push(margin + sliceByColumn(line, 0, inner) + margin);
    return lines;
  }

  #withCursor({ text, start }) {
    const at = this.state.cursorCol - start;
    const under = graphemes(text.slice(at))[0];
    const marker = this.focused && !this.completion.list ? CURSOR_MARKER : "";
    return text.slice(0, at) + marker + renderFakeCursor(under ?? " ") + text.slice(at + (under?.length ?? 0));
  }

  handleMouse(event) {
    if (event.type !== "press" || event.button !== "left" || event.y < 1) return undefined;
    const target = this.visualMap()[this.scrollOffset + event.y - 1];
    if (!target) return undefined;
    this.state.cursorLine = target.line;
    this.state.cursorCol = target.start + offsetAtColumn(target.text, event.x - this.paddingX);
    this.lastAction = null;
    return { handled: true, focus: true, render: true };
  }

  handleInput(data) {
    const keys = getKeybindings();
    if (this.jumpMode !== null) {
      const direction = this.jumpMode;
      this.jumpMode = null;
      const char = decodePrintableKey(data) ?? data;
      if (printable(char) === char && char !== "") return this.jumpToChar(char, direction);
    }
    const fed = this.paste.feed(data);
    if (fed === null) return undefined;
    if (fed.paste !== undefined) {
      this.handlePaste(fed.paste);
      return fed.rest ? this.handleInput(fed.rest) : undefined;
    }
    if (this.completion.handleInput(data, keys)) return undefined;
    if (keys.matches(data, "tui.input.copy")) return undefined;
    for (const [binding, method] of ACTIONS) if (keys.matches(data, binding)) return this[method]();
    if (keys.matches(data, "tui.input.tab")) return this.completion.request(true);
    if (keys.matches(data, "tui.editor.jumpForward")) this.jumpMode = "forward";
    else if (keys.matches(data, "tui.editor.jumpBackward")) this.jumpMode = "backward";
    else if (keys.matches(data, "tui.input.newLine") || matchesKey(data, "alt+enter") || (data.length > 1 && data.endsWith("\r") && data[0] !== "\x1b")) {
      if (this.shouldSubmitOnBackslashEnter(data, keys)) return this.submitValue();
      this.addNewLine();
    } else if (keys.matches(data, "tui.input.submit")) this.#submit();
    else if (keys.matches(data, "tui.editor.historyPrevious")) this.navigateHistory(1);
    else if (keys.matches(data, "tui.editor.historyNext")) this.navigateHistory(-1);
    else if (keys.matches(data, "tui.editor.cursorUp")) this.#up();
    else if (keys.matches(data, "tui.editor.cursorDown")) this.#down();
    else if (keys.matches(data, "tui.editor.cursorRight")) this.moveCursor(0, 1);
    else if (keys.matches(data, "tui.editor.cursorLeft")) this.moveCursor(0, -1);
    else if (keys.matches(data, "tui.editor.pageUp")) this.pageScroll(-1);
    else if (keys.matches(data, "tui.editor.pageDown")) this.pageScroll(1);
    else {
      const text = decodePrintableKey(data) ?? data;
      if (text !== "" && printable(text) === text) this.insertCharacter(text);
    }
    return undefined;
  }

  #submit() {
    if (this.disableSubmit) return;
    const line = this.state.lines[this.state.cursorLine];
    // A backslash before Enter asks for a new line in terminals without shift+enter.
    if (this.state.cursorCol > 0 && line[this.state.cursorCol - 1] === "\\") {
      this.handleBackspace();
      this.addNewLine();
    } else this.submitValue();
  }

  shouldSubmitOnBackslashEnter(data, keys) {
    if (this.disableSubmit || !matchesKey(data, "enter")) return false;
    const submit = keys.getKeys("tui.input.submit");
    if (!submit.includes("shift+enter")) return false;
    return this.state.lines[this.state.cursorLine][this.state.cursorCol - 1] === "\\";
  }

  #up() {
    if (this.isEditorEmpty() || (this.historyIndex > -1 && this.isOnFirstVisualLine())) this.navigateHistory(1);
    else if (this.isOnFirstVisualLine()) {
      if (this.state.cursorCol === 0) this.navigateHistory(1);
      else this.moveToLineStart();
    } else this.moveCursor(-1, 0);
  }

  #down() {
    if (this.historyIndex > -1 && this.isOnLastVisualLine()) this.navigateHistory(-1);
    else if (this.isOnLastVisualLine()) this.moveToLineEnd();
    else this.moveCursor(1, 0);
  }

  expandPasteMarkers(text) {
    return text.replace(MARKER, (marker, id) => this.pastes.get(Number(id)) ?? marker);
  }

  getExpandedText() {
    return this.expandPasteMarkers(this.getText());
  }

  setText(text) {
    this.completion.cancel();
    this.lastAction = null;
    this.exitHistoryBrowsing();
    const clean = this.normalizeText(text);
    if (this.getText() !== clean) this.pushUndoSnapshot();
    this.setTextInternal(clean);
  }

  insertTextAtCursor(text) {
    if (!text) return;
    this.completion.cancel();
    this.pushUndoSnapshot();
    this.lastAction = null;
    this.exitHistoryBrowsing();
    this.insertTextAtCursorInternal(text);
  }

  insertCharacter(text) {
    this.exitHistoryBrowsing();
    // One undo step per word, not per letter.
    if (/\s/.test(text) || this.lastAction !== "type-word") this.pushUndoSnapshot();
    this.lastAction = "type-word";
    this.insertTextAtCursorInternal(text);
    this.completion.afterTyping(text);
  }

  handlePaste(text) {
    this.completion.cancel();
    this.exitHistoryBrowsing();
    this.lastAction = null;
    this.pushUndoSnapshot();
    let clean = printable(this.normalizeText(text), "\n");
    // A dropped path is set apart from the word before it.
    const before = this.state.lines[this.state.cursorLine][this.state.cursorCol - 1];
    if (/^[/~.]/.test(clean) && before !== undefined && /\w/.test(before)) clean = ` ${clean}`;
    const lines = clean.split("\n").length;
    if (lines > PASTE_LINES || clean.length > PASTE_CHARS) {
      this.pasteCounter += 1;
      this.pastes.set(this.pasteCounter, clean);
      clean = lines > PASTE_LINES ? `[paste #${this.pasteCounter} +${lines} lines]` : `[paste #${this.pasteCounter} ${clean.length} chars]`;
    }
    this.insertTextAtCursorInternal(clean);
  }

  addNewLine() {
    this.completion.cancel();
    this.exitHistoryBrowsing();
    this.lastAction = null;
    this.pushUndoSnapshot();
    this.insertTextAtCursorInternal("\n");
  }

  submitValue() {
    this.completion.cancel();
    const text = this.expandPasteMarkers(this.getText()).trim();
    this.state = { lines: [""], cursorLine: 0, cursorCol: 0 };
    this.pastes.clear();
    this.pasteCounter = 0;
    this.exitHistoryBrowsing();
    this.scrollOffset = 0;
    this.undoStack.clear();
    this.lastAction = null;
    this.onChange?.("");
    this.onSubmit?.(text);
  }
}
