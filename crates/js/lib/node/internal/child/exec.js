// exec and execFile: run a program to its end and give all output to a callback or a promise.
import { Buffer } from "node:buffer";
import { nextTick } from "node:process";
import { spawn } from "jackfield:node/internal/child/process";
import { abortError, invalidArgType, nodeError, outOfRange } from "jackfield:node/internal/io_errors";

const MAX_BUFFER = 1024 * 1024;

function collector(encoding) {
  const isText = encoding && encoding !== "buffer";
  const parts = [];
  let size = 0;
  return {
    add(chunk) {
      parts.push(chunk);
      size += isText ? Buffer.byteLength(chunk, encoding) : chunk.length;
    },
    cut(limit) {
      const last = parts.pop();
      size -= isText ? Buffer.byteLength(last, encoding) : last.length;
      parts.push(isText ? Buffer.from(last).subarray(0, limit - size).toString() : last.subarray(0, limit - size));
    },
    get size() { return size; },
    result: () => (isText ? parts.join("") : Buffer.concat(parts)),
  };
}

export function execFile(file, args, options, callback) {
  if (typeof args === "function") {
    callback = args;
    args = options = undefined;
  } else if (args != null && !Array.isArray(args) && typeof args === "object") {
    if (typeof options === "function") callback = options;
    options = args;
    args = [];
  } else if (typeof options === "function") {
    callback = options;
    options = undefined;
  }
  if (callback !== undefined && callback !== null && typeof callback !== "function") throw invalidArgType("callback", "of type function", callback);
  const settings = { encoding: "utf8", timeout: 0, maxBuffer: MAX_BUFFER, killSignal: "SIGTERM", cwd: null, env: null, shell: false, ...options };
  if (settings.maxBuffer != null && !(typeof settings.maxBuffer === "number" && settings.maxBuffer >= 0)) {
    throw outOfRange("options.maxBuffer", "a positive number", settings.maxBuffer);
  }
  const encoding = settings.encoding && Buffer.isEncoding(settings.encoding) ? settings.encoding : null;
  const { signal } = settings;
  const child = spawn(file, args, {
    cwd: settings.cwd, env: settings.env, shell: settings.shell, killSignal: settings.killSignal, stdio: "pipe", detached: settings.detached, argv0: settings.argv0,
  });
  const out = collector(encoding);
  const err = collector(encoding);
  let killed = false;
  let done = false;
  let problem = null;
  let timer = null;

  const finish = (code, killSignal) => {
    if (done) return;
    done = true;
    clearTimeout(timer);
    signal?.removeEventListener("abort", onabort);
    if (!callback) return;
    const stdout = out.result();
    const stderr = err.result();
    if (!problem && code === 0 && killSignal === null) {
      callback(null, stdout, stderr);
      return;
    }
    const command = [file, ...(args ?? [])].join(" ");
    if (!problem) {
      problem = new Error(`Command failed: ${command}\n${stderr}`);
      problem.code = code < 0 ? problem.code : code;
      problem.killed = child.killed || killed;
      problem.signal = killSignal;
    }
    problem.cmd = command;
    callback(problem, stdout, stderr);
  };
  const stop = () => {
    child.stdout?.destroy();
    child.stderr?.destroy();
    killed = true;
    try {
      child.kill(settings.killSignal);
    } catch (error) {
      problem ??= error;
      finish();
    }
  };
  const onabort = () => {
    problem ??= abortError(signal);
    stop();
  };
  if (settings.timeout > 0) {
    timer = setTimeout(() => {
      timer = null;
      stop();
    }, settings.timeout);
  }
  if (signal) {
    if (signal.aborted) nextTick(onabort);
    else signal.addEventListener("abort", onabort, { once: true });
  }
  for (const [name, sink, source] of [["stdout", out, child.stdout], ["stderr", err, child.stderr]]) {
    if (!source) continue;
    if (encoding) source.setEncoding(encoding);
    source.on("data", (chunk) => {
      if (problem) return;
      sink.add(chunk);
      if (sink.size > settings.maxBuffer) {
        sink.cut(settings.maxBuffer);
        problem = nodeError(RangeError, "ERR_CHILD_PROCESS_STDIO_MAXBUFFER", `${name} maxBuffer length exceeded`);
        stop();
      }
    });
  }
  child.on("close", finish);
  child.on("error", (error) => {
    problem ??= error;
    child.stdout?.destroy();
    child.stderr?.destroy();
    finish();
  });
  return child;
}

export function exec(command, options, callback) {
  if (typeof options === "function") {
    callback = options;
    options = undefined;
  }
  const settings = { ...options };
  settings.shell = typeof settings.shell === "string" ? settings.shell : true;
  // The message names what the caller wrote, and the shell gets it as one text.
  return execFile(command, settings, callback);
}

function promised(start) {
  return (...args) => {
    let child;
    const promise = new Promise((resolve, reject) => {
      child = start(...args, (error, stdout, stderr) => {
        if (error) {
          error.stdout = stdout;
          error.stderr = stderr;
          reject(error);
        } else {
          resolve({ stdout, stderr });
        }
      });
    });
    promise.child = child;
    return promise;
  };
}

const custom = Symbol.for("nodejs.util.promisify.custom");
Object.defineProperty(exec, custom, { value: promised(exec), enumerable: false, configurable: true });
Object.defineProperty(execFile, custom, { value: promised(execFile), enumerable: false, configurable: true });
