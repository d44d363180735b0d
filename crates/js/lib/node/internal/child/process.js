// ChildProcess: a program that runs while the extension goes on. Standard input and output are pipes of the host;
// "inherit", descriptors and streams are served by passing the bytes on. Two things differ from Node: `pid` is known
// only from the `spawn` event on, because the host starts the program after this call has returned, and `exit` may
// come as late as `close`, because the host tells both at once. Output that nobody reads is kept in memory.
import EventEmitter from "node:events";
import { nextTick } from "node:process";
import { Buffer } from "node:buffer";
import { stream } from "jackfield:host";
import { Readable } from "jackfield:node/internal/streams/readable";
import { Writable } from "jackfield:node/internal/streams/writable";
import { normalize, outlet, signalName, toStdio } from "jackfield:node/internal/child/common";
import { enter, leave } from "jackfield:node/internal/child/registry";
import { writeSync } from "node:fs";
import { abortError, callError, codeOf, errnoOf, invalidArgType } from "jackfield:node/internal/io_errors";

const asBuffer = (bytes) => (typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));

export class ChildProcess extends EventEmitter {
  #source = null;
  #open = 0;
  #ended = false;
  #outlets = [];

  constructor() {
    super();
    this.exitCode = null;
    this.signalCode = null;
    this.killed = false;
    this.connected = false;
    this.spawnfile = null;
    this.spawnargs = [];
    this.pid = undefined;
    this.stdin = this.stdout = this.stderr = null;
    this.stdio = [];
  }

  spawn(file, args, options) {
    const { params, options: settings, spawnfile, spawnargs } = normalize(file, args, options);
    this.spawnfile = spawnfile;
    this.spawnargs = spawnargs;
    const stdio = toStdio(settings.stdio);
    this.#outlets = [null, outlet(stdio[1], 1, writeSync), outlet(stdio[2], 2, writeSync)];
    if (stdio[0] === "pipe") this.stdin = this.#input();
    if (stdio[1] === "pipe") this.stdout = this.#output();
    if (stdio[2] === "pipe") this.stderr = this.#output();
    this.stdio = stdio.map((item, index) => [this.stdin, this.stdout, this.stderr][index] ?? null);
    try {
      this.#source = stream("exec", params, (kind, value) => this.#told(kind, value));
    } catch (error) {
      nextTick(() => this.#failed(error));
      return this;
    }
    if (stdio[0] !== "pipe") this.#feed(stdio[0]);
    return this;
  }

  #feed(source) {
    if (source !== null && typeof source === "object") {
      source.on("data", (chunk) => this.#send({ stdin: typeof chunk === "string" ? Buffer.from(chunk) : chunk }));
      source.on("end", () => this.#send({ stdin_end: true }));
      source.on("close", () => this.#send({ stdin_end: true }));
    } else {
      this.#send({ stdin_end: true });
    }
  }

  #send(value) {
    if (this.#ended) return;
    try {
      this.#source?.send(value);
    } catch {
      // The program is gone; its end is on the way.
    }
  }

  #input() {
    // One message per turn of the loop: what is written meanwhile waits and goes together.
    const put = (bytes, callback) => {
      if (this.#ended) {
        callback(callError("EPIPE", "write"));
        return;
      }
      this.#send({ stdin: bytes });
      setImmediate(callback);
    };
    return new Writable({
      decodeStrings: true,
      write: (chunk, encoding, callback) => put(chunk, callback),
      writev: (chunks, callback) => put(Buffer.concat(chunks.map(({ chunk }) => chunk)), callback),
      final: (callback) => {
        this.#send({ stdin_end: true });
        callback();
      },
      destroy: (error, callback) => {
        this.#send({ stdin_end: true });
        callback(error);
      },
    });
  }

  #output() {
    this.#open++;
    const out = new Readable({ read() {} });
    out.on("close", () => {
      this.#open--;
      this.#maybeClose();
    });
    return out;
  }

  #told(kind, value) {
    if (this.#ended) return;
    if (kind === "data") {
      if (value.pid !== undefined && this.pid === undefined) {
        this.pid = value.pid;
        enter(this.pid, this);
        this.emit("spawn");
      } else if (value.stream) {
        const index = value.stream === "stderr" ? 2 : 1;
        const target = index === 2 ? this.stderr : this.stdout;
        if (target && !target.destroyed) target.push(asBuffer(value.data));
        else this.#outlets[index]?.(asBuffer(value.data));
      }
    } else if (kind === "end") {
      this.#exited(value ?? {});
    } else {
      this.#failed(value);
    }
  }

  #exited({ code, signal }) {
    this.#ended = true;
    this.signalCode = signal ?? null;
    this.exitCode = signal ? null : code ?? 0;
    this.stdin?.destroy();
    this.emit("exit", this.exitCode, this.signalCode);
    this.#finish();
  }

  #failed(problem) {
    if (this.#ended) return;
    this.#ended = true;
    const started = this.pid !== undefined;
    const code = codeOf(problem);
    if (started) {
      // The host lost sight of a running program, or was told to let go of it.
      this.signalCode = "SIGKILL";
    } else {
      this.exitCode = errnoOf(code);
    }
    this.stdin?.destroy();
    if (started) {
      this.emit("exit", null, this.signalCode);
    } else {
      const error = callError(code, `spawn ${this.spawnfile}`, "", { path: this.spawnfile, spawnargs: this.spawnargs.slice(1) });
      if (problem?.code !== "io") error.message += `: ${problem?.message}`;
      if (problem?.code === "denied") {
        const capability = problem.capability ?? problem.details?.capability;
        if (capability !== undefined) error.capability = capability;
      }
      this.emit("error", error);
    }
    this.#finish();
  }

  #finish() {
    leave(this.pid);
    for (const out of [this.stdout, this.stderr]) {
      if (!out) continue;
      out.push(null);
      // What nobody listens to must not hold back `close`; whoever waited for `exit` may begin to read first.
      setImmediate(() => {
        if (!out.destroyed && out.readableFlowing === null && !out._readableState.readableListening && out.listenerCount("data") === 0) out.resume();
      });
    }
    nextTick(() => this.#maybeClose());
  }

  #closeTold = false;
  #maybeClose() {
    if (!this.#ended || this.#open > 0 || this.#closeTold) return;
    this.#closeTold = true;
    this.emit("close", this.exitCode, this.signalCode);
  }

  kill(signal) {
    const name = signalName(signal);
    if (this.#ended || !this.#source) return false;
    if (name === 0) return true;
    this.killed = true;
    this.#send({ kill: name });
    return true;
  }

  ref() {
    this.#source?.ref?.();
  }

  unref() {
    this.#source?.unref?.();
  }

  disconnect() {
    this.emit("error", Object.assign(new Error("IPC channel is already disconnected"), { code: "ERR_IPC_DISCONNECTED" }));
  }
}
if (Symbol.dispose) {
  ChildProcess.prototype[Symbol.dispose] = function dispose() {
    if (!this.killed) this.kill();
  };
}

export function spawn(file, args, options) {
  const settings = Array.isArray(args) || args == null ? options ?? {} : args;
  const killSignal = signalName(settings.killSignal);
  const { signal, timeout } = settings;
  if (signal != null && (typeof signal !== "object" || !("aborted" in signal))) throw invalidArgType("options.signal", "an instance of AbortSignal", signal);
  const child = new ChildProcess();
  child.spawn(file, args, options);
  if (timeout > 0) {
    const timer = setTimeout(() => {
      child.kill(killSignal);
    }, timeout);
    child.once("exit", () => clearTimeout(timer));
    child.once("error", () => clearTimeout(timer));
  }
  if (signal) {
    const abort = () => {
      if (child.kill(killSignal)) child.emit("error", abortError(signal));
    };
    if (signal.aborted) nextTick(abort);
    else {
      signal.addEventListener("abort", abort, { once: true });
      child.once("close", () => signal.removeEventListener("abort", abort));
    }
  }
  return child;
}
