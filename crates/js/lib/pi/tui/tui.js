// The screen that components live on, without a terminal: it keeps children,
// focus, overlays and input listeners, and renders to lines on demand.
// `requestRender` only notes that something changed; nothing is drawn.
import { compositeTuiLine, visibleWidth } from "jackfield:pi/tui/ansi";
import { CURSOR_MARKER, Container, isFocusable } from "jackfield:pi/tui/container";
import { isKeyRelease } from "jackfield:pi/tui/keys";

const VIEWPORT = Symbol.for("@earendil-works/pi-tui/viewport-tui");

/** Does this screen scroll by itself (full-screen mode). */
export function isViewportTUI(tui) {
  return tui?.[VIEWPORT] === true;
}

function size(value, total) {
  if (value === undefined) return undefined;
  if (typeof value === "number") return value;
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(value);
  return percent ? Math.floor((total * parseFloat(percent[1])) / 100) : undefined;
}

const clamp = (value, low, high) => Math.max(low, Math.min(value, high));

/** Where an overlay of a given height goes. */
function place(options, height, columns, rows) {
  const margin = typeof options.margin === "number" ? { top: options.margin, right: options.margin, bottom: options.margin, left: options.margin } : (options.margin ?? {});
  const left = Math.max(0, margin.left ?? 0);
  const top = Math.max(0, margin.top ?? 0);
  const roomX = Math.max(1, columns - left - Math.max(0, margin.right ?? 0));
  const roomY = Math.max(1, rows - top - Math.max(0, margin.bottom ?? 0));
  const width = clamp(Math.max(size(options.width, columns) ?? Math.min(80, roomX), options.minWidth ?? 0), 1, roomX);
  const limit = size(options.maxHeight, rows);
  const maxHeight = limit === undefined ? roomY : clamp(limit, 1, roomY);
  const tall = Math.min(height, maxHeight);
  const anchor = options.anchor ?? "center";
  const share = (value, room, used) => (typeof value === "string" ? Math.floor(((room - used) * parseFloat(value)) / 100) : value);
  let row = anchor.startsWith("top") ? 0 : anchor.startsWith("bottom") ? roomY - tall : Math.floor((roomY - tall) / 2);
  let col = anchor.endsWith("left") || anchor.startsWith("left") ? 0 : anchor.endsWith("right") || anchor.startsWith("right") ? roomX - width : Math.floor((roomX - width) / 2);
  row = options.row === undefined ? row + top : typeof options.row === "number" ? options.row : top + share(options.row, roomY, tall);
  col = options.col === undefined ? col + left : typeof options.col === "number" ? options.col : left + share(options.col, roomX, width);
  return { width, maxHeight, row: clamp(row + (options.offsetY ?? 0), top, Math.max(top, rows - tall)), col: clamp(col + (options.offsetX ?? 0), left, Math.max(left, columns - width)) };
}

class TuiBase extends Container {
  constructor(terminal, showHardwareCursor = false, logDirectory) {
    super();
    this.terminal = terminal;
    this.focusedComponent = null;
    this.inputListeners = new Set();
    this.onDebug = undefined;
    this.renderRequested = false;
    this.showHardwareCursor = showHardwareCursor;
    this.clearOnShrink = false;
    this.fullRedrawCount = 0;
    this.stopped = true;
    this.schemeListeners = new Set();
    this.logDirectory = logDirectory;
    this.overlayStack = [];
  }

  get fullRedraws() {
    return this.fullRedrawCount;
  }

  get hasOverlayEntries() {
    return this.overlayStack.length > 0;
  }

  getShowHardwareCursor() {
    return this.showHardwareCursor;
  }

  setShowHardwareCursor(enabled) {
    this.showHardwareCursor = enabled;
  }

  getClearOnShrink() {
    return this.clearOnShrink;
  }

  setClearOnShrink(enabled) {
    this.clearOnShrink = enabled;
  }

  getFocusedComponent() {
    return this.focusedComponent;
  }

  setFocus(component) {
    if (isFocusable(this.focusedComponent)) this.focusedComponent.focused = false;
    this.focusedComponent = component;
    if (isFocusable(component)) component.focused = true;
  }

  #visible(entry) {
    return !entry.hidden && (entry.options.visible?.(this.terminal.columns, this.terminal.rows) ?? true);
  }

  showOverlay(component, options = {}) {
    const entry = { component, options, hidden: false, before: this.focusedComponent };
    this.overlayStack.push(entry);
    if (!options.nonCapturing && this.#visible(entry)) this.setFocus(component);
    const giveBack = () => {
      if (this.focusedComponent !== component) return;
      const next = this.overlayStack.findLast((each) => each !== entry && !each.options.nonCapturing && this.#visible(each));
      this.setFocus(next ? next.component : entry.before);
    };
    return {
      hide: () => {
        const at = this.overlayStack.indexOf(entry);
        if (at === -1) return;
        this.overlayStack.splice(at, 1);
        giveBack();
        this.requestRender();
      },
      setHidden: (hidden) => {
        if (entry.hidden === hidden) return;
        entry.hidden = hidden;
        if (hidden) giveBack();
        else if (!options.nonCapturing) this.setFocus(component);
        this.requestRender();
      },
      isHidden: () => entry.hidden,
      focus: () => {
        if (!this.overlayStack.includes(entry) || !this.#visible(entry)) return;
        this.setFocus(component);
        this.requestRender();
      },
      unfocus: (unfocus) => {
        if (unfocus) this.setFocus(unfocus.target);
        else giveBack();
        this.requestRender();
      },
      isFocused: () => this.focusedComponent === component,
      getBounds: () => this.#bounds(entry),
    };
  }

  #bounds(entry) {
    if (!this.overlayStack.includes(entry) || !this.#visible(entry)) return undefined;
    const { columns, rows } = this.terminal;
    const first = place(entry.options, 0, columns, rows);
    const height = Math.min(entry.component.render(first.width).length, first.maxHeight);
    const { row, col, width } = place(entry.options, height, columns, rows);
    return { row, col, width, height };
  }

  hideOverlay() {
    const entry = this.overlayStack.pop();
    if (!entry) return;
    if (this.focusedComponent === entry.component) this.setFocus(entry.before);
    this.requestRender();
  }

  hasOverlay() {
    return this.overlayStack.some((entry) => this.#visible(entry));
  }

  invalidate() {
    super.invalidate();
    for (const entry of this.overlayStack) entry.component.invalidate?.();
  }

  start() {
    this.stopped = false;
    this.terminal.start((data) => this.handleInput(data), () => this.requestRender());
  }

  stop(_options = {}) {
    this.stopped = true;
    this.terminal.stop();
  }

  addInputListener(listener) {
    this.inputListeners.add(listener);
    return () => this.inputListeners.delete(listener);
  }

  removeInputListener(listener) {
    this.inputListeners.delete(listener);
  }

  /** Listeners first, in order; each may change or take the input. Then the focused component. */
  handleInput(data) {
    let current = data;
    for (const listener of [...this.inputListeners]) {
      const result = listener(current);
      if (result?.consume) return;
      if (result?.data !== undefined) current = result.data;
    }
    if (current === "") return;
    const target = this.focusedComponent;
    if (!target?.handleInput || (isKeyRelease(current) && !target.wantsKeyRelease)) return;
    target.handleInput(current);
    this.requestRender();
  }

  onTerminalColorSchemeChange(listener) {
    this.schemeListeners.add(listener);
    return () => this.schemeListeners.delete(listener);
  }

  setTerminalColorSchemeNotifications(_enabled) {}

  async queryTerminalBackgroundColor(_options) {
    return undefined;
  }

  async queryTerminalColorScheme(_options) {
    return undefined;
  }

  requestRender(_force = false) {
    this.renderRequested = true;
  }

  renderNow(_force = false) {
    this.renderRequested = false;
  }

  /** The lines a terminal would show now: children with overlays on top. */
  renderLines() {
    const { columns, rows } = this.terminal;
    const lines = this.render(columns).map((line) => line.replaceAll(CURSOR_MARKER, ""));
    for (const entry of this.overlayStack.filter((each) => this.#visible(each))) {
      const bounds = this.#bounds(entry);
      const part = entry.component.render(bounds.width).slice(0, bounds.height);
      while (lines.length < Math.max(rows, bounds.row + bounds.height)) lines.push("");
      const top = Math.max(0, lines.length - rows);
      part.forEach((line, i) => {
        const at = top + bounds.row + i;
        const text = visibleWidth(line) > bounds.width ? line : line.replaceAll(CURSOR_MARKER, "");
        lines[at] = compositeTuiLine(lines[at] ?? "", text, bounds.col, bounds.width, columns);
      });
    }
    this.renderRequested = false;
    return lines;
  }
}

/** The screen as part of the terminal's scrollback. */
export class TuiMainScreen extends TuiBase {
  constructor(terminal, showHardwareCursor, logDirectory) {
    super(terminal, showHardwareCursor, logDirectory);
    this.mode = "regular";
    this.previousLines = [];
  }

  captureRenderState() {
    return { previousLines: [...this.previousLines], previousWidth: 0, previousHeight: 0, cursorRow: 0, hardwareCursorRow: 0, maxLinesRendered: 0, previousViewportTop: 0 };
  }

  restoreRenderState(state) {
    this.previousLines = [...state.previousLines];
  }
}

/** The screen in full-screen mode. */
export class TuiAltScreen extends TuiBase {
  constructor(terminal, showHardwareCursor, logDirectory, options = {}) {
    super(terminal, showHardwareCursor, logDirectory);
    this.mode = "fullscreen";
    this[VIEWPORT] = true;
    this.layoutRoot = undefined;
    this.options = options;
    this.viewportTop = 0;
    this.copyOnSelect = options.copyOnSelect ?? true;
  }

  get isFollowingOutput() {
    return true;
  }

  setLayoutRoot(component) {
    this.layoutRoot = component;
  }

  render(width) {
    return this.layoutRoot ? this.layoutRoot.render(width) : super.render(width);
  }

  getScreenLines() {
    return this.renderLines();
  }

  setWheelScrollLines(_lines) {}

  getCopyOnSelect() {
    return this.copyOnSelect;
  }

  setCopyOnSelect(enabled) {
    this.copyOnSelect = enabled;
  }

  hasActiveSelection() {
    return false;
  }

  async copyActiveSelectionToClipboard() {
    return false;
  }

  resetTextSelection() {}

  scrollBy(_lines) {}

  scrollToTop() {}

  scrollToBottom() {}

  scrollToPrompt(_direction) {
    return false;
  }

  flash(_message) {}
}
