// FileHandle: what fs/promises.open gives, over the descriptors of fd.js.
import EventEmitter from "node:events";
import { Buffer } from "node:buffer";
import { decode, run, toData, toOptions } from "jackfield:node/internal/fs/core";
import * as fds from "jackfield:node/internal/fs/fd";
import { chown } from "jackfield:node/internal/fs/ops";
import { createReadStream, createWriteStream } from "jackfield:node/internal/fs/streams";
import { createInterface } from "node:readline";
import { ReadableStream } from "jackfield:web/streams";
import { abortError, nodeError, systemError } from "jackfield:node/internal/io_errors";

export class FileHandle extends EventEmitter {
  #fd;
  #closing = null;

  constructor(fd) {
    super();
    this.#fd = fd;
  }

  get fd() {
    return this.#fd;
  }

  getAsyncId() {
    return this.#fd;
  }

  #use(syscall) {
    if (this.#fd === -1) {
      const error = systemError("EBADF", syscall);
      error.message = "file closed";
      throw error;
    }
    return this.#fd;
  }

  async appendFile(data, options) {
    await this.writeFile(data, options);
  }

  async chmod(mode) {
    await run(fds.fchmod(this.#use("fchmod"), mode));
  }

  async chown(uid, gid) {
    await run(chown(fds.pathOf(this.#use("fchown")), uid, gid, "fchown", undefined));
  }

  async datasync() {
    await run(fds.fdatasync(this.#use("fdatasync")));
  }

  async sync() {
    await run(fds.fsync(this.#use("fsync")));
  }

  async read(buffer, offset, length, position) {
    const fd = this.#use("read");
    if (!ArrayBuffer.isView(buffer)) ({ buffer = Buffer.alloc(16384), offset, length, position } = buffer ?? {});
    else if (offset !== null && typeof offset === "object") ({ offset, length, position } = offset);
    const bytesRead = await run(fds.read(fd, buffer, offset, length, position));
    return { bytesRead, buffer };
  }

  async readv(buffers, position) {
    return { bytesRead: await run(fds.readv(this.#use("readv"), buffers, position)), buffers };
  }

  async readFile(options) {
    const { encoding, signal } = toOptions(options);
    return decode(await run(fds.readRest(this.#use("read")), signal), encoding);
  }

  readLines(options) {
    return createInterface({ input: this.createReadStream(options), crlfDelay: Infinity });
  }

  async stat(options) {
    return run(fds.fstat(this.#use("fstat"), options));
  }

  async truncate(length = 0) {
    await run(fds.ftruncate(this.#use("ftruncate"), length));
  }

  async utimes(accessed, modified) {
    await run(fds.futimes(this.#use("futime"), accessed, modified));
  }

  async write(buffer, offset, length, position) {
    const fd = this.#use("write");
    if (ArrayBuffer.isView(buffer) && buffer.byteLength === 0) return { bytesWritten: 0, buffer };
    return { bytesWritten: await run(fds.write(fd, buffer, offset, length, position)), buffer };
  }

  async writev(buffers, position) {
    return { bytesWritten: await run(fds.writev(this.#use("writev"), buffers, position)), buffers };
  }

  async writeFile(data, options) {
    const { encoding, signal } = toOptions(options, { encoding: "utf8" });
    const fd = this.#use("write");
    for await (const part of pieces(data, encoding, signal)) await run(fds.writeAll(fd, part), signal);
  }

  close() {
    if (this.#fd === -1) return this.#closing ?? Promise.resolve();
    const fd = this.#fd;
    this.#fd = -1;
    this.#closing = run(fds.close(fd)).finally(() => {
      this.#closing = null;
      this.emit("close");
    });
    return this.#closing;
  }

  createReadStream(options) {
    return createReadStream(undefined, { ...options, fd: this });
  }

  createWriteStream(options) {
    return createWriteStream(undefined, { ...options, fd: this });
  }

  readableWebStream() {
    if (this.#fd === -1) throw nodeError(Error, "ERR_INVALID_STATE", "Invalid state: The FileHandle is closed");
    const read = () => this.read(new Uint8Array(16384), 0, 16384, null);
    return new ReadableStream({
      async pull(controller) {
        const { bytesRead, buffer } = await read();
        if (bytesRead === 0) controller.close();
        else controller.enqueue(buffer.subarray(0, bytesRead));
      },
    });
  }
}
if (Symbol.asyncDispose) {
  FileHandle.prototype[Symbol.asyncDispose] = async function asyncDispose() {
    await this.close();
  };
}

/** The parts of what is to be written: text, bytes, or anything that can be iterated. */
export async function* pieces(data, encoding, signal) {
  const stop = () => {
    if (signal?.aborted) throw abortError(signal);
  };
  stop();
  if (typeof data !== "string" && !ArrayBuffer.isView(data) && (data?.[Symbol.asyncIterator] || data?.[Symbol.iterator])) {
    for await (const part of data) {
      stop();
      yield toData(part, encoding);
    }
  } else {
    yield toData(data, encoding);
  }
}

export function* openHandle(path, flags, mode) {
  return new FileHandle(yield* fds.open(path, flags, mode));
}
