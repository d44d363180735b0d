// Splits what a terminal sends into single keys, escape sequences and pastes,
// also when a sequence arrives in pieces.
import { EventEmitter } from "node:events";

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";

/** Length of the sequence at the start of `text`; 0 while it is not complete. */
function sequenceLength(text) {
  const kind = text[1];
  if (kind === undefined) return 0;
  if (kind === "[") {
    if (text.startsWith("\x1b[M")) return text.length >= 6 ? 6 : 0;
    if (text[2] === "[") return text.length >= 4 ? 4 : 0;
    for (let i = 2; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x40 && code <= 0x7e) return i + 1;
      if (code < 0x20) return i;
    }
    return 0;
  }
  if (kind === "O") return text.length >= 3 ? 3 : 0;
  if (kind === "]" || kind === "P" || kind === "_") {
    for (let i = 2; i < text.length; i++) {
      if (text[i] === "\x07" && kind !== "P") return i + 1;
      if (text[i] === "\x1b" && text[i + 1] === "\\") return i + 2;
    }
    return 0;
  }
  if (kind === "\x1b") return 1;
  return 1 + String.fromCodePoint(text.codePointAt(1)).length;
}

/** Emits "data" for each key or sequence and "paste" for each bracketed paste. */
export class StdinBuffer extends EventEmitter {
  constructor(options = {}) {
    super();
    this.buffer = "";
    this.timer = null;
    this.timeoutMs = options.timeout ?? 10;
    this.escapeTimeoutMs = options.escapeTimeout ?? Math.max(this.timeoutMs, 50);
    this.pasteMode = false;
    this.pasteBuffer = "";
  }

  process(data) {
    this.#stopTimer();
    const text = typeof data === "string" ? data : data.toString("utf8");
    if (text === "" && this.buffer === "") {
      this.emitDataSequence("");
      return;
    }
    this.buffer += text;
    this.#drain();
    if (this.buffer !== "" && !this.pasteMode) {
      const wait = this.buffer === "\x1b" ? this.escapeTimeoutMs : this.timeoutMs;
      this.timer = setTimeout(() => {
        for (const sequence of this.flush()) this.emitDataSequence(sequence);
      }, wait);
    }
  }

  #stopTimer() {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  #drain() {
    while (this.buffer !== "") {
      if (this.pasteMode) {
        this.pasteBuffer += this.buffer;
        this.buffer = "";
        const end = this.pasteBuffer.indexOf(PASTE_END);
        if (end === -1) return;
        const paste = this.pasteBuffer.slice(0, end);
        this.buffer = this.pasteBuffer.slice(end + PASTE_END.length);
        this.pasteBuffer = "";
        this.pasteMode = false;
        this.emit("paste", paste);
        continue;
      }
      if (this.buffer.startsWith(PASTE_START)) {
        this.buffer = this.buffer.slice(PASTE_START.length);
        this.pasteMode = true;
        if (this.buffer === "") return;
        continue;
      }
      const length = this.buffer[0] === "\x1b" ? sequenceLength(this.buffer) : String.fromCodePoint(this.buffer.codePointAt(0)).length;
      if (length === 0) return;
      const sequence = this.buffer.slice(0, length);
      this.buffer = this.buffer.slice(length);
      this.emitDataSequence(sequence);
    }
  }

  emitDataSequence(sequence) {
    this.emit("data", sequence);
  }

  /** What is left unfinished, as it stands. */
  flush() {
    this.#stopTimer();
    if (this.buffer === "") return [];
    const rest = this.buffer;
    this.buffer = "";
    return [rest];
  }

  clear() {
    this.#stopTimer();
    this.buffer = "";
    this.pasteMode = false;
    this.pasteBuffer = "";
  }

  getBuffer() {
    return this.buffer;
  }

  destroy() {
    this.clear();
  }
}
