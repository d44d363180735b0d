// Dir: what opendir gives. The names are read with the first call, all at once, because the host lists a
// directory as a whole.
import { nextTick } from "node:process";
import { ask, place, run, runSync, toOptions, toPath } from "jackfield:node/internal/fs/core";
import { readdir } from "jackfield:node/internal/fs/ops";
import { needFunction, nodeError, systemError } from "jackfield:node/internal/io_errors";

const closedError = () => nodeError(Error, "ERR_DIR_CLOSED", "Directory handle was closed");

export class Dir {
  #path;
  #options;
  #entries = null;
  #at = 0;
  #closed = false;

  constructor(path, options) {
    this.#path = path;
    this.#options = { encoding: options?.encoding, recursive: options?.recursive, withFileTypes: true };
  }

  get path() {
    return this.#path;
  }

  #take() {
    return this.#at < this.#entries.length ? this.#entries[this.#at++] : null;
  }

  #check() {
    if (this.#closed) throw closedError();
  }

  readSync() {
    this.#check();
    this.#entries ??= runSync(readdir(this.#path, this.#options));
    return this.#take();
  }

  read(callback) {
    if (callback === undefined) return this.#read();
    needFunction(callback, "callback");
    this.#check();
    this.#read().then((entry) => nextTick(callback, null, entry), (error) => nextTick(callback, error));
    return undefined;
  }

  async #read() {
    this.#check();
    this.#entries ??= await run(readdir(this.#path, this.#options));
    return this.#take();
  }

  closeSync() {
    this.#check();
    this.#closed = true;
  }

  close(callback) {
    if (callback === undefined) {
      if (this.#closed) return Promise.reject(closedError());
      this.#closed = true;
      return Promise.resolve();
    }
    needFunction(callback, "callback");
    if (this.#closed) nextTick(callback, closedError());
    else {
      this.#closed = true;
      nextTick(callback, null);
    }
    return undefined;
  }

  async* entries() {
    try {
      for (;;) {
        const entry = await this.#read();
        if (entry === null) return;
        yield entry;
      }
    } finally {
      this.#closed = true;
    }
  }

  [Symbol.asyncIterator]() {
    return this.entries();
  }
}
if (Symbol.asyncDispose) {
  Dir.prototype[Symbol.asyncDispose] = async function asyncDispose() {
    await this.close().catch(() => {});
  };
}

export function* opendir(path, options) {
  path = toPath(path);
  const settings = toOptions(options);
  const { kind } = yield ask({ op: "stat", path: place(path) }, "opendir", path);
  if (kind !== "dir") throw systemError("ENOTDIR", "opendir", path);
  return new Dir(path, settings);
}
