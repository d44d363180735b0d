// fs.watch over the host's watch stream, and fs.watchFile, which asks for the file's facts again and again.
// Events of one call arrive as the host sees them; names are relative to the watched directory.
import EventEmitter from "node:events";
import { op, stream } from "jackfield:host";
import { nextTick } from "node:process";
import { encodeName, place, runSync, toOptions, toPath } from "jackfield:node/internal/fs/core";
import { toStats } from "jackfield:node/internal/fs/stats";
import { stat } from "jackfield:node/internal/fs/ops";
import { abortError, fromHost, invalidArgType, needFunction, systemError } from "jackfield:node/internal/io_errors";

// The host writes a file anew beside the old one; that is nobody's business.
const OWN_FILE = /(^|\/)\.jackfield-[\d-]+\.tmp$/;

export class FSWatcher extends EventEmitter {
  #source = null;
  #closed = false;

  start(path, options) {
    const encoding = options.encoding;
    const label = path.slice(path.lastIndexOf("/") + 1);
    this.#source = stream("fs", { op: "watch", path: place(path), recursive: !!options.recursive }, (kind, value) => {
      if (this.#closed || (kind === "data" && OWN_FILE.test(value?.name ?? ""))) return;
      if (kind === "data" && value?.event) this.emit("change", value.event, value.name == null ? encodeName(label, encoding) : encodeName(value.name, encoding));
      else if (kind === "error") {
        const error = fromHost(value, "watch", path);
        error.filename = path;
        this.#finish();
        this.emit("error", error);
      } else if (kind === "end") {
        this.close();
      }
    });
    if (options.persistent === false) this.#source.unref?.();
  }

  #finish() {
    if (this.#closed) return false;
    this.#closed = true;
    this.#source?.close();
    return true;
  }

  close() {
    if (this.#finish()) nextTick(() => this.emit("close"));
  }

  ref() {
    this.#source?.ref?.();
    return this;
  }

  unref() {
    this.#source?.unref?.();
    return this;
  }
}

export function watch(path, options, listener) {
  if (typeof options === "function") {
    listener = options;
    options = undefined;
  }
  const settings = toOptions(options, { persistent: true, recursive: false });
  path = toPath(path, "filename");
  try {
    runSync(stat(path));
  } catch (error) {
    const problem = error.syscall === "stat" ? systemError(error.code, "watch", path) : error;
    problem.filename = path;
    throw problem;
  }
  const watcher = new FSWatcher();
  if (listener) watcher.on("change", listener);
  const { signal } = settings;
  if (signal?.aborted) {
    nextTick(() => watcher.close());
    return watcher;
  }
  watcher.start(path, settings);
  if (signal) {
    const abort = () => watcher.close();
    signal.addEventListener("abort", abort, { once: true });
    watcher.once("close", () => signal.removeEventListener("abort", abort));
  }
  return watcher;
}

/** fs/promises.watch: an async iterator of { eventType, filename }. */
export async function* watchIterator(path, options) {
  const settings = toOptions(options, { persistent: true, recursive: false });
  path = toPath(path, "filename");
  const { signal } = settings;
  if (signal?.aborted) throw abortError(signal);
  const queue = [];
  let wake = null;
  const notify = () => {
    wake?.();
    wake = null;
  };
  let failure = null;
  let ended = false;
  const watcher = watch(path, { ...settings, signal: undefined }, (eventType, filename) => {
    queue.push({ eventType, filename });
    notify();
  });
  watcher.on("error", (error) => {
    failure = error;
    notify();
  });
  watcher.on("close", () => {
    ended = true;
    notify();
  });
  const abort = () => {
    failure = abortError(signal);
    notify();
  };
  signal?.addEventListener("abort", abort, { once: true });
  try {
    for (;;) {
      while (queue.length > 0) yield queue.shift();
      if (failure) throw failure;
      if (ended) return;
      await new Promise((resolve) => { wake = resolve; });
    }
  } finally {
    signal?.removeEventListener("abort", abort);
    watcher.close();
  }
}

const watched = new Map();
const ABSENT = { kind: "other", mode: 0, size: 0, modified_ms: 0, accessed_ms: 0, changed_ms: 0, created_ms: 0, ino: 0, dev: 0, nlink: 0, uid: 0, gid: 0 };

export class StatWatcher extends EventEmitter {
  #timer = null;
  #last = null;
  #bigint;
  #path;
  #stopped = false;
  #interval;
  #persistent;

  constructor(path, { bigint, interval, persistent }) {
    super();
    this.#path = path;
    this.#bigint = bigint;
    this.#interval = interval;
    this.#persistent = persistent;
    this.#look();
  }

  async #look() {
    let now = ABSENT;
    try {
      now = await op("fs", { op: "stat", path: this.#path });
    } catch {
      // Gone or out of reach: both are told as a file with nothing but zeros.
    }
    if (this.#stopped) return;
    const before = this.#last;
    this.#last = now;
    const changed = before && ["modified_ms", "size", "ino", "mode", "changed_ms", "nlink"].some((key) => before[key] !== now[key]);
    if (changed || (!before && now === ABSENT)) this.emit("change", toStats(now, this.#bigint), toStats(before ?? now, this.#bigint));
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.#look(), this.#interval);
    if (!this.#persistent) this.#timer?.unref?.();
  }

  stop() {
    if (this.#stopped) return;
    this.#stopped = true;
    clearTimeout(this.#timer);
    nextTick(() => this.emit("stop"));
  }

  ref() {
    this.#persistent = true;
    this.#timer?.ref?.();
    return this;
  }

  unref() {
    this.#persistent = false;
    this.#timer?.unref?.();
    return this;
  }
}

export function watchFile(path, options, listener) {
  const target = place(toPath(path, "filename"));
  if (options === null || typeof options !== "object") {
    listener = options;
    options = {};
  }
  needFunction(listener, "listener");
  if (options.interval !== undefined && typeof options.interval !== "number") throw invalidArgType("options.interval", "of type number", options.interval);
  let watcher = watched.get(target);
  if (!watcher) {
    watcher = new StatWatcher(target, { interval: 5007, persistent: true, bigint: false, ...options });
    watched.set(target, watcher);
  }
  watcher.addListener("change", listener);
  return watcher;
}

export function unwatchFile(path, listener) {
  const target = place(toPath(path, "filename"));
  const watcher = watched.get(target);
  if (!watcher) return;
  if (typeof listener === "function") watcher.removeListener("change", listener);
  else watcher.removeAllListeners("change");
  if (watcher.listenerCount("change") === 0) {
    watcher.stop();
    watched.delete(target);
  }
}
