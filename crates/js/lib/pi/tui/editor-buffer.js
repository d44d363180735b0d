// The text behind an editor: lines and a cursor, moving, deleting, putting back
// and undoing. Rendering and keys are the editor's.
import { KillRing, UndoStack, findWordBackward, findWordForward, nextGrapheme, previousGrapheme } from "jackfield:pi/tui/editing";
import { findVisualLine, offsetAtColumn, visualLines } from "jackfield:pi/tui/editor-layout";
import { visibleWidth } from "jackfield:pi/tui/width";

/** A folded paste in the text. */
export const MARKER = /\[paste #(\d+)(?: (?:\+\d+ lines|\d+ chars))?\]/g;

/** See the file comment. */
export class EditorBuffer {
  constructor() {
    this.state = { lines: [""], cursorLine: 0, cursorCol: 0 };
    this.lastWidth = 80;
    this.pastes = new Map();
    this.historyIndex = -1;
    this.historyDraft = null;
    this.killRing = new KillRing();
    this.lastAction = null;
    this.preferredVisualCol = null;
    this.undoStack = new UndoStack();
    this.onChange = undefined;
  }

  visualMap() {
    return visualLines(this.state.lines, this.lastWidth);
  }

  visualLine(map = this.visualMap()) {
    return findVisualLine(map, this.state.cursorLine, this.state.cursorCol);
  }

  isOnFirstVisualLine() {
    return this.visualLine() === 0;
  }

  isOnLastVisualLine() {
    const map = this.visualMap();
    return this.visualLine(map) === map.length - 1;
  }

  getText() {
    return this.state.lines.join("\n");
  }

  getLines() {
    return [...this.state.lines];
  }

  getCursor() {
    return { line: this.state.cursorLine, col: this.state.cursorCol };
  }

  normalizeText(text) {
    return text.replace(/\r\n?/g, "\n").replaceAll("\t", "    ");
  }

  insertTextAtCursorInternal(text) {
    const parts = this.normalizeText(text).split("\n");
    const { lines, cursorLine, cursorCol } = this.state;
    const line = lines[cursorLine];
    const head = line.slice(0, cursorCol);
    const tail = line.slice(cursorCol);
    const last = parts.length - 1;
    const col = last === 0 ? cursorCol + parts[0].length : parts[last].length;
    const added = parts.map((part, i) => (i === 0 ? head : "") + part + (i === last ? tail : ""));
    this.state.lines = [...lines.slice(0, cursorLine), ...added, ...lines.slice(cursorLine + 1)];
    this.state.cursorLine = cursorLine + last;
    this.setCursorCol(col);
    this.onChange?.(this.getText());
  }

  exitHistoryBrowsing() {
    this.historyIndex = -1;
    this.historyDraft = null;
  }

  setCursorCol(col) {
    this.state.cursorCol = col;
    this.preferredVisualCol = null;
  }

  #changed() {
    this.onChange?.(this.getText());
    this.completion?.afterDeleting();
  }

  /** Takes text out, from one place to a later one, and leaves the cursor there. */
  #cut(fromLine, fromCol, toLine, toCol) {
    const { lines } = this.state;
    const gone = fromLine === toLine ? lines[fromLine].slice(fromCol, toCol) : [lines[fromLine].slice(fromCol), ...lines.slice(fromLine + 1, toLine), lines[toLine].slice(0, toCol)].join("\n");
    this.exitHistoryBrowsing();
    this.pushUndoSnapshot();
    lines.splice(fromLine, toLine - fromLine + 1, lines[fromLine].slice(0, fromCol) + lines[toLine].slice(toCol));
    this.state.cursorLine = fromLine;
    this.setCursorCol(fromCol);
    return gone;
  }

  #kill(place, prepend) {
    if (!place) return;
    const accumulate = this.lastAction === "kill";
    this.killRing.push(this.#cut(...place), { prepend, accumulate });
    this.lastAction = "kill";
    this.onChange?.(this.getText());
  }

  /** A paste marker that ends (or starts) at the cursor is deleted as one character. */
  #markerAt(line, col, backward) {
    for (const match of line.matchAll(MARKER)) {
      const edge = backward ? match.index + match[0].length : match.index;
      if (edge === col && this.pastes.has(Number(match[1]))) return match[0].length;
    }
    return 0;
  }

  #before() {
    const { lines, cursorLine, cursorCol } = this.state;
    if (cursorCol > 0) {
      const marker = this.#markerAt(lines[cursorLine], cursorCol, true);
      return [cursorLine, marker ? cursorCol - marker : previousGrapheme(lines[cursorLine], cursorCol), cursorLine, cursorCol];
    }
    return cursorLine > 0 ? [cursorLine - 1, lines[cursorLine - 1].length, cursorLine, 0] : null;
  }

  #after() {
    const { lines, cursorLine, cursorCol } = this.state;
    const line = lines[cursorLine];
    if (cursorCol < line.length) {
      const marker = this.#markerAt(line, cursorCol, false);
      return [cursorLine, cursorCol, cursorLine, marker ? cursorCol + marker : nextGrapheme(line, cursorCol)];
    }
    return cursorLine < lines.length - 1 ? [cursorLine, cursorCol, cursorLine + 1, 0] : null;
  }

  handleBackspace() {
    const place = this.#before();
    this.lastAction = null;
    if (!place) return;
    this.#cut(...place);
    this.#changed();
  }

  handleForwardDelete() {
    const place = this.#after();
    this.lastAction = null;
    if (!place) return;
    this.#cut(...place);
    this.#changed();
  }

  deleteToStartOfLine() {
    const { cursorLine, cursorCol } = this.state;
    this.#kill(cursorCol > 0 ? [cursorLine, 0, cursorLine, cursorCol] : this.#before(), true);
  }

  deleteToEndOfLine() {
    const { lines, cursorLine, cursorCol } = this.state;
    this.#kill(cursorCol < lines[cursorLine].length ? [cursorLine, cursorCol, cursorLine, lines[cursorLine].length] : this.#after(), false);
  }

  deleteWordBackwards() {
    const { lines, cursorLine, cursorCol } = this.state;
    this.#kill(cursorCol > 0 ? [cursorLine, findWordBackward(lines[cursorLine], cursorCol), cursorLine, cursorCol] : this.#before(), true);
  }

  deleteWordForward() {
    const { lines, cursorLine, cursorCol } = this.state;
    this.#kill(cursorCol < lines[cursorLine].length ? [cursorLine, cursorCol, cursorLine, findWordForward(lines[cursorLine], cursorCol)] : this.#after(), false);
  }

  yank() {
    const text = this.killRing.peek();
    if (!text) return;
    this.pushUndoSnapshot();
    this.insertTextAtCursorInternal(text);
    this.lastAction = "yank";
  }

  yankPop() {
    if (this.lastAction !== "yank" || this.killRing.length < 2) return;
    const shown = this.killRing.peek();
    this.pushUndoSnapshot();
    const lines = shown.split("\n");
    const { cursorLine, cursorCol } = this.state;
    const from = cursorLine - (lines.length - 1);
    const col = lines.length === 1 ? cursorCol - shown.length : this.state.lines[from].length - lines[0].length;
    this.#cut(from, col, cursorLine, cursorCol);
    this.killRing.rotate();
    this.insertTextAtCursorInternal(this.killRing.peek());
    this.lastAction = "yank";
  }

  pushUndoSnapshot() {
    this.undoStack.push(this.state);
  }

  undo() {
    const state = this.undoStack.pop();
    if (!state) return;
    this.exitHistoryBrowsing();
    this.state = state;
    this.lastAction = null;
    this.preferredVisualCol = null;
    this.onChange?.(this.getText());
  }

  moveToLineStart() {
    this.lastAction = null;
    this.setCursorCol(0);
  }

  moveToLineEnd() {
    this.lastAction = null;
    this.setCursorCol(this.state.lines[this.state.cursorLine].length);
  }

  moveWordBackwards() {
    this.lastAction = null;
    const { lines, cursorLine, cursorCol } = this.state;
    if (cursorCol > 0) this.setCursorCol(findWordBackward(lines[cursorLine], cursorCol));
    else if (cursorLine > 0) {
      this.state.cursorLine -= 1;
      this.setCursorCol(lines[cursorLine - 1].length);
    }
  }

  moveWordForwards() {
    this.lastAction = null;
    const { lines, cursorLine, cursorCol } = this.state;
    if (cursorCol < lines[cursorLine].length) this.setCursorCol(findWordForward(lines[cursorLine], cursorCol));
    else if (cursorLine < lines.length - 1) {
      this.state.cursorLine += 1;
      this.setCursorCol(0);
    }
  }

  moveCursor(deltaLine, deltaCol) {
    this.lastAction = null;
    if (deltaLine !== 0) this.#moveVisual(deltaLine);
    if (deltaCol === 0) return;
    const place = deltaCol > 0 ? this.#after() : this.#before();
    if (!place) return;
    this.state.cursorLine = deltaCol > 0 ? place[2] : place[0];
    this.setCursorCol(deltaCol > 0 ? place[3] : place[1]);
  }

  /** Up or down by screen lines; the column is kept over shorter lines. */
  #moveVisual(delta) {
    const map = this.visualMap();
    const from = this.visualLine(map);
    const to = Math.max(0, Math.min(map.length - 1, from + delta));
    if (to === from) return;
    const here = map[from];
    const column = this.preferredVisualCol ?? visibleWidth(here.text.slice(0, this.state.cursorCol - here.start));
    const target = map[to];
    let offset = offsetAtColumn(target.text, column);
    const wraps = map[to + 1]?.line === target.line;
    if (wraps && offset >= target.length) offset = previousGrapheme(target.text, target.length);
    this.state.cursorLine = target.line;
    this.state.cursorCol = target.start + offset;
    this.preferredVisualCol = column;
  }

  pageScroll(direction) {
    this.moveCursor(direction * Math.max(5, Math.floor((this.tui?.terminal?.rows ?? 24) * 0.3)), 0);
  }

  jumpToChar(char, direction) {
    this.lastAction = null;
    const { lines, cursorLine, cursorCol } = this.state;
    const step = direction === "forward" ? 1 : -1;
    for (let line = cursorLine; line >= 0 && line < lines.length; line += step) {
      const text = lines[line];
      const own = line === cursorLine;
      const at = step > 0 ? text.indexOf(char, own ? cursorCol + 1 : 0) : own && cursorCol === 0 ? -1 : text.lastIndexOf(char, own ? cursorCol - 1 : text.length);
      if (at === -1) continue;
      this.state.cursorLine = line;
      this.setCursorCol(at);
      return;
    }
  }
}
