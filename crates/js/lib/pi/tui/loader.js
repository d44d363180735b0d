// A line that says that something is going on: a spinner and a message, and a
// variant that the user can cancel.
import { getKeybindings } from "jackfield:pi/tui/keybindings";
import { Text } from "jackfield:pi/tui/text";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;

/** See the file comment. The animation never keeps an extension alive. */
export class Loader extends Text {
  constructor(ui, spinnerColorFn, messageColorFn, message = "Loading...", indicator) {
    super("", 1, 0);
    this.frames = [...FRAMES];
    this.intervalMs = FRAME_MS;
    this.currentFrame = 0;
    this.intervalId = null;
    this.ui = ui;
    this.renderIndicatorVerbatim = false;
    this.spinnerColorFn = spinnerColorFn;
    this.messageColorFn = messageColorFn;
    this.message = message;
    this.setIndicator(indicator);
  }

  render(width) {
    return ["", ...super.render(width)];
  }

  start() {
    this.updateDisplay();
    this.restartAnimation();
  }

  stop() {
    if (this.intervalId !== null) clearInterval(this.intervalId);
    this.intervalId = null;
  }

  setMessage(message) {
    this.message = message;
    this.updateDisplay();
  }

  invalidate() {
    super.invalidate();
    if (this.message !== undefined) this.#compose();
  }

  setIndicator(indicator) {
    this.renderIndicatorVerbatim = indicator !== undefined;
    this.frames = indicator?.frames !== undefined ? [...indicator.frames] : [...FRAMES];
    this.intervalMs = indicator?.intervalMs && indicator.intervalMs > 0 ? indicator.intervalMs : FRAME_MS;
    this.currentFrame = 0;
    this.start();
  }

  restartAnimation() {
    this.stop();
    if (this.frames.length <= 1) return;
    this.intervalId = setInterval(() => {
      this.currentFrame = (this.currentFrame + 1) % this.frames.length;
      this.updateDisplay();
    }, this.intervalMs);
    this.intervalId?.unref?.();
  }

  getRenderedIndicator() {
    const frame = this.frames[this.currentFrame] ?? "";
    return this.renderIndicatorVerbatim ? frame : this.spinnerColorFn(frame);
  }

  #compose() {
    const frame = this.getRenderedIndicator();
    this.text = (frame ? `${frame} ` : "") + this.messageColorFn(this.message);
  }

  updateDisplay() {
    this.#compose();
    this.cachedText = undefined;
    this.ui?.requestRender?.();
  }
}

/** A loader whose work stops when the user presses the cancel key. */
export class CancellableLoader extends Loader {
  constructor(...args) {
    super(...args);
    this.abortController = new AbortController();
    this.onAbort = undefined;
  }

  get signal() {
    return this.abortController.signal;
  }

  get aborted() {
    return this.abortController.signal.aborted;
  }

  handleInput(data) {
    if (!getKeybindings().matches(data, "tui.select.cancel")) return;
    this.abortController.abort();
    this.onAbort?.();
  }

  dispose() {
    this.stop();
  }
}
