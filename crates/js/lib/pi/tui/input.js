// A one-line text field with the usual editing keys, undo, a ring of deleted
// text and horizontal scrolling.
import { sliceByColumn, visibleWidth } from "jackfield:pi/tui/ansi";
import { CURSOR_MARKER } from "jackfield:pi/tui/container";
import { KillRing, PasteCollector, UndoStack, findWordBackward, findWordForward, nextGrapheme, previousGrapheme, printable, renderFakeCursor } from "jackfield:pi/tui/editing";
import { getKeybindings } from "jackfield:pi/tui/keybindings";
import { decodePrintableKey } from "jackfield:pi/tui/keys";
import { graphemeWidth, graphemes } from "jackfield:pi/tui/width";

const ACTIONS = {
  "tui.editor.undo": "undo",
  "tui.editor.deleteCharBackward": "handleBackspace",
  "tui.editor.deleteCharForward": "handleForwardDelete",
  "tui.editor.deleteWordBackward": "deleteWordBackwards",
  "tui.editor.deleteWordForward": "deleteWordForward",
  "tui.editor.deleteToLineStart": "deleteToLineStart",
  "tui.editor.deleteToLineEnd": "deleteToLineEnd",
  "tui.editor.yank": "yank",
  "tui.editor.yankPop": "yankPop",
  "tui.editor.cursorWordLeft": "moveWordBackwards",
  "tui.editor.cursorWordRight": "moveWordForwards",
};

/** See the file comment. */
export class Input {
  constructor(options = {}) {
    this.value = "";
    this.cursor = 0;
    this.prompt = options.prompt ?? "> ";
    this.placeholder = options.placeholder ?? "";
    this.placeholderStyle = options.placeholderStyle ?? ((text) => text);
    this.renderedStartColumn = 0;
    this.onSubmit = undefined;
    this.onEscape = undefined;
    this.focused = false;
    this.paste = new PasteCollector();
    this.killRing = new KillRing();
    this.lastAction = null;
    this.undoStack = new UndoStack();
  }

  getValue() {
    return this.value;
  }

  setValue(value) {
    this.value = value;
    this.cursor = value.length;
  }

  handleInput(data) {
    const fed = this.paste.feed(data);
    if (fed === null) return;
    if (fed.paste !== undefined) {
      this.handlePaste(fed.paste);
      if (fed.rest) this.handleInput(fed.rest);
      return;
    }
    const keys = getKeybindings();
    if (keys.matches(data, "tui.select.cancel")) {
      this.onEscape?.();
      return;
    }
    if (keys.matches(data, "tui.input.submit") || data === "\n") {
      this.onSubmit?.(this.value);
      return;
    }
    for (const [binding, method] of Object.entries(ACTIONS)) {
      if (keys.matches(data, binding)) {
        this[method]();
        return;
      }
    }
    if (keys.matches(data, "tui.editor.cursorLeft")) this.#moveTo(previousGrapheme(this.value, this.cursor));
    else if (keys.matches(data, "tui.editor.cursorRight")) this.#moveTo(nextGrapheme(this.value, this.cursor));
    else if (keys.matches(data, "tui.editor.cursorLineStart")) this.#moveTo(0);
    else if (keys.matches(data, "tui.editor.cursorLineEnd")) this.#moveTo(this.value.length);
    else {
      const text = decodePrintableKey(data) ?? data;
      if (text !== "" && printable(text) === text) this.insertCharacter(text);
    }
  }

  #moveTo(cursor) {
    this.cursor = cursor;
    this.lastAction = null;
  }

  insertCharacter(text) {
    // One undo step per word, not per letter.
    if (/\s/.test(text) || this.lastAction !== "type-word") this.pushUndo();
    this.lastAction = "type-word";
    this.value = this.value.slice(0, this.cursor) + text + this.value.slice(this.cursor);
    this.cursor += text.length;
  }

  #remove(from, to) {
    const gone = this.value.slice(from, to);
    this.pushUndo();
    this.value = this.value.slice(0, from) + this.value.slice(to);
    this.cursor = from;
    return gone;
  }

  #kill(from, to, prepend) {
    if (from === to) return;
    const accumulate = this.lastAction === "kill";
    this.killRing.push(this.#remove(from, to), { prepend, accumulate });
    this.lastAction = "kill";
  }

  handleBackspace() {
    this.lastAction = null;
    if (this.cursor > 0) this.#remove(previousGrapheme(this.value, this.cursor), this.cursor);
  }

  handleForwardDelete() {
    this.lastAction = null;
    if (this.cursor < this.value.length) this.#remove(this.cursor, nextGrapheme(this.value, this.cursor));
  }

  deleteToLineStart() {
    this.#kill(0, this.cursor, true);
  }

  deleteToLineEnd() {
    this.#kill(this.cursor, this.value.length, false);
  }

  deleteWordBackwards() {
    this.#kill(findWordBackward(this.value, this.cursor), this.cursor, true);
  }

  deleteWordForward() {
    this.#kill(this.cursor, findWordForward(this.value, this.cursor), false);
  }

  yank() {
    const text = this.killRing.peek();
    if (!text) return;
    this.pushUndo();
    this.value = this.value.slice(0, this.cursor) + text + this.value.slice(this.cursor);
    this.cursor += text.length;
    this.lastAction = "yank";
  }

  yankPop() {
    if (this.lastAction !== "yank" || this.killRing.length < 2) return;
    const shown = this.killRing.peek();
    this.pushUndo();
    this.value = this.value.slice(0, this.cursor - shown.length) + this.value.slice(this.cursor);
    this.cursor -= shown.length;
    this.killRing.rotate();
    const text = this.killRing.peek();
    this.value = this.value.slice(0, this.cursor) + text + this.value.slice(this.cursor);
    this.cursor += text.length;
    this.lastAction = "yank";
  }

  pushUndo() {
    this.undoStack.push({ value: this.value, cursor: this.cursor });
  }

  undo() {
    const state = this.undoStack.pop();
    if (!state) return;
    this.value = state.value;
    this.cursor = state.cursor;
    this.lastAction = null;
  }

  moveWordBackwards() {
    this.#moveTo(findWordBackward(this.value, this.cursor));
  }

  moveWordForwards() {
    this.#moveTo(findWordForward(this.value, this.cursor));
  }

  handlePaste(text) {
    this.lastAction = null;
    this.pushUndo();
    const clean = printable(text.replace(/\r\n|\r|\n/g, "").replaceAll("\t", "    "));
    this.value = this.value.slice(0, this.cursor) + clean + this.value.slice(this.cursor);
    this.cursor += clean.length;
  }

  handleMouse(event) {
    if (event.type !== "press" || event.button !== "left") return undefined;
    const column = event.x - visibleWidth(this.prompt) + this.renderedStartColumn;
    let used = 0;
    let cursor = 0;
    for (const cluster of graphemes(this.value)) {
      const width = graphemeWidth(cluster);
      if (used + width > column) break;
      used += width;
      cursor += cluster.length;
    }
    this.#moveTo(cursor);
    return { handled: true, focus: true, render: true };
  }

  invalidate() {}

  render(width) {
    const room = width - visibleWidth(this.prompt);
    if (room <= 0) return [this.prompt];
    const marker = this.focused ? CURSOR_MARKER : "";
    if (this.value === "" && this.placeholder !== "") {
      const text = sliceByColumn(this.placeholder, 0, room, true);
      const first = graphemes(text)[0] ?? "";
      const rest = text.slice(first.length);
      return [this.prompt + marker + renderFakeCursor(this.placeholderStyle(first)) + (rest ? this.placeholderStyle(rest) : "")];
    }
    const { start, text } = this.#window(room);
    this.renderedStartColumn = visibleWidth(this.value.slice(0, start));
    const at = this.cursor - start;
    const under = graphemes(text.slice(at))[0] ?? " ";
    const line = text.slice(0, at) + marker + renderFakeCursor(under) + text.slice(at + (at < text.length ? under.length : 0));
    return [this.prompt + line + " ".repeat(Math.max(0, room - visibleWidth(line)))];
  }

  /** The part of the value that is shown: all of it, or a window with the cursor in it. */
  #window(room) {
    const total = visibleWidth(this.value);
    if (total < room) return { start: 0, text: this.value };
    const size = this.cursor === this.value.length ? room - 1 : room;
    const column = visibleWidth(this.value.slice(0, this.cursor));
    const half = Math.floor(size / 2);
    const from = column < half ? 0 : column > total - half ? Math.max(0, total - size) : Math.max(0, column - half);
    let start = 0;
    let used = 0;
    for (const cluster of graphemes(this.value)) {
      if (used >= from) break;
      used += graphemeWidth(cluster);
      start += cluster.length;
    }
    start = Math.min(start, this.cursor);
    return { start, text: sliceByColumn(this.value.slice(start), 0, size, true) };
  }
}
