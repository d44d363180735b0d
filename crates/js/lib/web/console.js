// The console. What is written goes to the extension's log, formatted as Node formats it; an extension has no terminal.
// new Console({ stdout, stderr }) writes to the given streams instead.
import { native } from "jackfield:host";
import { formatArgs } from "jackfield:node/internal/format";
import { inspect } from "jackfield:node/internal/inspect";
import { stackOf } from "jackfield:node/internal/inspect_kinds";
import { invalidArgType } from "jackfield:node/internal/errors";
import { table as draw } from "jackfield:node/internal/table";

const toLog = (level, text) => native("console", level, text);

const duration = (ms) => {
  if (ms < 1000) return `${Number(ms.toFixed(3))}ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(3)}s`;
  const minutes = Math.floor(seconds / 60);
  const two = (n) => String(n).padStart(2, "0");
  if (minutes < 60) return `${minutes}:${(seconds % 60).toFixed(3).padStart(6, "0")} (m:ss.mmm)`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(Math.floor(seconds % 60))} (h:mm:ss)`;
};

// A value that cannot be shown must not break what only wanted to log it.
function text(args, options) {
  try {
    return formatArgs(options, args);
  } catch (failure) {
    return `[a value that cannot be shown: ${String(failure?.message ?? failure)}]`;
  }
}

class ConsoleBase {
  #write;
  #options;
  #indent = "";
  #step;
  #counts = new Map();
  #timers = new Map();

  constructor(write, options, step = 2) {
    this.#write = write;
    this.#options = options;
    this.#step = step;
    // Methods are passed around without their object, so they are bound.
    for (const name of METHODS) Object.defineProperty(this, name, { value: this[name].bind(this), writable: true, enumerable: true, configurable: true });
  }
  #line(level, line) {
    this.#write(level, this.#indent === "" ? line : this.#indent + line.replaceAll("\n", `\n${this.#indent}`));
  }
  log(...args) { this.#line("info", text(args, this.#options)); }
  info(...args) { this.#line("info", text(args, this.#options)); }
  debug(...args) { this.#line("debug", text(args, this.#options)); }
  warn(...args) { this.#line("warn", text(args, this.#options)); }
  error(...args) { this.#line("error", text(args, this.#options)); }
  trace(...args) {
    const error = new Error(text(args, this.#options));
    error.name = "Trace";
    Error.captureStackTrace?.(error, this.trace);
    this.#line("error", stackOf(error));
  }
  dir(value, options) { this.#line("info", inspect(value, { customInspect: false, ...this.#options, ...options })); }
  dirxml(...args) { this.log(...args); }
  table(data, columns) {
    if (data === null || typeof data !== "object") return this.log(data);
    if (columns !== undefined && !Array.isArray(columns)) throw invalidArgType("properties", "Array", columns);
    return this.#line("info", draw(data, columns));
  }
  group(...args) {
    if (args.length > 0) this.log(...args);
    this.#indent += " ".repeat(this.#step);
  }
  groupCollapsed(...args) { this.group(...args); }
  groupEnd() { this.#indent = this.#indent.slice(0, Math.max(0, this.#indent.length - this.#step)); }
  time(label = "default") {
    const key = `${label}`;
    if (this.#timers.has(key)) return this.#warning(`Label '${key}' already exists for console.time()`);
    this.#timers.set(key, native("now_ms"));
  }
  timeLog(label = "default", ...args) { this.#elapsed(`${label}`, "timeLog", args); }
  timeEnd(label = "default") {
    this.#elapsed(`${label}`, "timeEnd", []);
    this.#timers.delete(`${label}`);
  }
  #elapsed(key, method, args) {
    const start = this.#timers.get(key);
    if (start === undefined) return this.#warning(`No such label '${key}' for console.${method}()`);
    this.log("%s: %s", key, duration(native("now_ms") - start), ...args);
  }
  #warning(message) { this.#line("warn", `Warning: ${message}`); }
  timeStamp() {}
  profile() {}
  profileEnd() {}
  clear() {}
  count(label = "default") {
    const key = `${label}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    this.log(`${key}: ${count}`);
  }
  countReset(label = "default") {
    if (!this.#counts.delete(`${label}`)) this.#warning(`Count for '${label}' does not exist`);
  }
  assert(value, ...args) {
    if (value) return;
    const rest = [...args];
    if (typeof rest[0] === "string") rest[0] = `Assertion failed: ${rest[0]}`;
    else rest.unshift(rest.length > 0 ? "Assertion failed:" : "Assertion failed");
    this.warn(...rest);
  }
}
const METHODS = Object.getOwnPropertyNames(ConsoleBase.prototype).filter((name) => name !== "constructor");

export function Console(options, stderr) {
  const settings = typeof options?.write === "function" ? { stdout: options, stderr } : options;
  const { stdout, inspectOptions, groupIndentation = 2 } = settings ?? {};
  if (typeof stdout?.write !== "function") throw invalidArgType("stdout", "Stream", stdout);
  const errors = settings.stderr ?? stdout;
  const made = new ConsoleBase((level, line) => (level === "warn" || level === "error" ? errors : stdout).write(`${line}\n`), inspectOptions, groupIndentation);
  Object.setPrototypeOf(made, new.target?.prototype ?? Console.prototype);
  return made;
}

export const console = new ConsoleBase(toLog, undefined);
Object.setPrototypeOf(console, Console.prototype);
Object.defineProperties(console, {
  Console: { value: Console, writable: true, configurable: true },
  [Symbol.toStringTag]: { value: "console", configurable: true },
});
