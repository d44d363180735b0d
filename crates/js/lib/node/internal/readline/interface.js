// Interface: lines out of a stream, and questions. Input is read line by line as from a pipe; there is no line
// editor, because an extension has no terminal of its own (with `terminal: true` the text is echoed by whoever owns
// the terminal, not by this).
import EventEmitter from "node:events";
import { nextTick } from "node:process";
import { StringDecoder } from "node:string_decoder";
import { abortError, invalidArgType, invalidArgValue, nodeError } from "jackfield:node/internal/io_errors";

// A line ends at \r\n, \n or \r.
const LINE_END = /\r\n|\n|\r(?!\n)/g;

const closedError = () => nodeError(Error, "ERR_USE_AFTER_CLOSE", "readline was closed");

export function Interface(input, output, completer, terminal) {
  if (!(this instanceof Interface)) return new Interface(input, output, completer, terminal);
  if (typeof EventEmitter.init === "function") EventEmitter.init.call(this);
  else EventEmitter.call(this);
  let options = { input, output, completer, terminal };
  if (input?.input) options = input;
  if (!options.input || typeof options.input.on !== "function") throw invalidArgType("input", "an instance of Readable", options.input);
  if (options.completer != null && typeof options.completer !== "function") throw invalidArgValue("completer", options.completer);
  this.input = options.input;
  this.output = options.output;
  this.completer = options.completer;
  this.terminal = !!(options.terminal ?? false);
  this.crlfDelay = options.crlfDelay ? Math.max(100, options.crlfDelay) : 100;
  this.history = Array.isArray(options.history) ? [...options.history] : [];
  this.historySize = options.historySize ?? 30;
  this.line = "";
  this.cursor = 0;
  this.closed = false;
  this.paused = false;
  this._prompt = options.prompt === undefined ? "> " : `${options.prompt}`;
  this._rest = "";
  this._sawReturn = 0;
  this._question = null;
  this._decoder = new StringDecoder("utf8");
  this._ondata = (chunk) => this._feed(typeof chunk === "string" ? chunk : this._decoder.write(chunk));
  this._onend = () => this._end();
  this._onerror = (error) => this.emit("error", error);
  this.input.on("error", this._onerror);
  this.input.on("data", this._ondata);
  this.input.on("end", this._onend);
  if (options.signal) {
    const abort = () => this.close();
    if (options.signal.aborted) nextTick(abort);
    else {
      options.signal.addEventListener("abort", abort, { once: true });
      this.once("close", () => options.signal.removeEventListener("abort", abort));
    }
  }
  this.input.resume();
}
Object.setPrototypeOf(Interface.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Interface, EventEmitter);

const proto = Interface.prototype;

proto._feed = function feed(text) {
  if (text === "") return;
  // \r\n in two pieces is one line end.
  if (this._sawReturn && Date.now() - this._sawReturn <= this.crlfDelay && text.startsWith("\n")) text = text.slice(1);
  this._sawReturn = 0;
  const all = this._rest + text;
  let from = 0;
  LINE_END.lastIndex = 0;
  const lines = [];
  for (let found = LINE_END.exec(all); found; found = LINE_END.exec(all)) {
    lines.push(all.slice(from, found.index));
    from = found.index + found[0].length;
  }
  if (all.endsWith("\r")) this._sawReturn = Date.now();
  this._rest = all.slice(from);
  for (const line of lines) this._onLine(line);
};

proto._end = function end() {
  const rest = this._decoder.end();
  if (rest) this._feed(rest);
  if (this._rest !== "") {
    const last = this._rest;
    this._rest = "";
    this._onLine(last);
  }
  this.close();
};

proto._onLine = function onLine(line) {
  if (this._question) {
    const answer = this._question;
    this._question = null;
    this.setPrompt(this._oldPrompt);
    answer(line);
  } else {
    this.emit("line", line);
  }
};

proto.setPrompt = function setPrompt(prompt) { this._prompt = `${prompt}`; };
proto.getPrompt = function getPrompt() { return this._prompt; };
proto.prompt = function prompt() {
  if (this.paused) this.resume();
  this.output?.write?.(this._prompt);
};

proto._ask = function ask(query, callback) {
  if (this.closed) throw closedError();
  if (this._question) {
    this.prompt();
    return;
  }
  this._oldPrompt = this._prompt;
  this.setPrompt(query);
  this._question = callback;
  this.prompt();
};

proto.question = function question(query, options, callback) {
  if (typeof options === "function") [callback, options] = [options, {}];
  const signal = options?.signal;
  if (signal) {
    if (signal.aborted) return;
    const abort = () => {
      this._question = null;
      this.setPrompt(this._oldPrompt ?? this._prompt);
    };
    signal.addEventListener("abort", abort, { once: true });
    const inner = callback;
    callback = (answer) => {
      signal.removeEventListener("abort", abort);
      inner?.(answer);
    };
  }
  if (typeof callback === "function") this._ask(query, callback);
};
proto.question[Symbol.for("nodejs.util.promisify.custom")] = function promised(query, options) {
  if (options?.signal?.aborted) return Promise.reject(abortError(options.signal));
  return new Promise((resolve, reject) => {
    options?.signal?.addEventListener("abort", () => reject(abortError(options.signal)), { once: true });
    this.question(query, options ?? {}, resolve);
  });
};

proto.pause = function pause() {
  if (this.paused) return this;
  this.input.pause();
  this.paused = true;
  this.emit("pause");
  return this;
};
proto.resume = function resume() {
  if (!this.paused) return this;
  this.input.resume();
  this.paused = false;
  this.emit("resume");
  return this;
};

proto.close = function close() {
  if (this.closed) return;
  this.pause();
  this.closed = true;
  this.input.removeListener("data", this._ondata);
  this.input.removeListener("end", this._onend);
  this.input.removeListener("error", this._onerror);
  this.emit("close");
};
if (Symbol.dispose) proto[Symbol.dispose] = proto.close;

proto.write = function write(text) {
  if (this.closed) throw closedError();
  if (this.paused) this.resume();
  if (text != null) this._feed(typeof text === "string" ? text : this._decoder.write(text));
};
proto.getCursorPos = function getCursorPos() { return { rows: 0, cols: this._prompt.length }; };

proto[Symbol.asyncIterator] = function iterate() {
  return lines(this);
};

async function* lines(reader) {
  const queue = [];
  let wake = null;
  let failure = null;
  const notify = () => {
    wake?.();
    wake = null;
  };
  const online = (line) => {
    queue.push(line);
    if (queue.length > 1024) reader.pause();
    notify();
  };
  const onerror = (error) => {
    failure = error;
    notify();
  };
  reader.on("line", online);
  reader.on("close", notify);
  reader.input.on("error", onerror);
  reader.on("error", onerror);
  try {
    for (;;) {
      while (queue.length > 0) {
        yield queue.shift();
        if (queue.length === 0 && reader.paused && !reader.closed) reader.resume();
      }
      if (failure) throw failure;
      if (reader.closed) return;
      await new Promise((resolve) => { wake = resolve; });
    }
  } finally {
    reader.removeListener("line", online);
    reader.removeListener("close", notify);
    reader.close();
    reader.input.removeListener("error", onerror);
  }
}
