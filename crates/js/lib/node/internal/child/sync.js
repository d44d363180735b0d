// spawnSync, execFileSync and execSync: one blocking host call. The host ends the program at the timeout and cuts
// output at maxBuffer; both are told as Node tells them.
import { Buffer } from "node:buffer";
import process from "node:process";
import { opSync } from "jackfield:host";
import { normalize, outlet, signalName, toStdio } from "jackfield:node/internal/child/common";
import { readFileSync, writeSync } from "node:fs";
import { callError, codeOf, invalidArgType, outOfRange } from "jackfield:node/internal/io_errors";

const MAX_BUFFER = 1024 * 1024;
const toBuffer = (value) => (value == null ? Buffer.alloc(0) : typeof value === "string" ? Buffer.from(value) : Buffer.from(value.buffer, value.byteOffset, value.byteLength));

function toInput(input, encoding) {
  if (input == null) return undefined;
  if (typeof input === "string") return Buffer.from(input, encoding && encoding !== "buffer" ? encoding : "utf8");
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  if (input instanceof ArrayBuffer) return new Uint8Array(input);
  throw invalidArgType("options.input", "one of type string, Buffer, TypedArray, or DataView", input);
}

export function spawnSync(file, args, options) {
  const { params, options: settings, spawnfile, spawnargs } = normalize(file, args, options);
  const limit = settings.maxBuffer ?? MAX_BUFFER;
  if (typeof limit !== "number" || limit < 0) throw outOfRange("options.maxBuffer", "a positive number", limit);
  const killSignal = signalName(settings.killSignal);
  const stdio = toStdio(settings.stdio);
  let input = toInput(settings.input, settings.encoding);
  if (input === undefined && typeof stdio[0] === "number" && stdio[0] > 2) input = readFileSync(stdio[0]);
  params.stdin = input ?? new Uint8Array(0);
  if (settings.timeout > 0) params.timeout_ms = settings.timeout;
  if (Number.isFinite(limit)) params.max_output = limit;
  const result = { pid: 0, output: null, stdout: null, stderr: null, status: null, signal: null };
  const started = Date.now();
  let answer;
  let error;
  try {
    answer = opSync("exec", params);
  } catch (problem) {
    const code = codeOf(problem);
    error = failure(code, spawnfile, spawnargs);
    if (problem.code === "timeout") {
      result.signal = killSignal;
      answer = problem.details;
    } else if (problem.code !== "io") {
      error.message += `: ${problem.message}`;
      const capability = problem.capability ?? problem.details?.capability;
      if (capability !== undefined) error.capability = capability;
    }
    if (problem.code !== "timeout") {
      result.error = error;
      return result;
    }
  }
  result.pid = answer?.pid ?? 0;
  result.status = error ? null : answer.code ?? null;
  result.signal = error ? killSignal : answer.signal ?? null;
  let outputs = [toBuffer(answer?.stdout), toBuffer(answer?.stderr)];
  if (!error && params.timeout_ms && (answer.timed_out || (result.signal && Date.now() - started >= params.timeout_ms))) error = failure("ETIMEDOUT", spawnfile, spawnargs);
  if (answer?.truncated || outputs.some((bytes) => bytes.length > limit)) {
    error ??= failure("ENOBUFS", spawnfile, spawnargs);
    outputs = outputs.map((bytes) => bytes.subarray(0, limit));
    result.status = null;
    result.signal ??= killSignal;
  }
  const text = settings.encoding && settings.encoding !== "buffer";
  if (error?.code === "ETIMEDOUT") {
    result.status = null;
    result.signal ??= killSignal;
  }
  const shown = outputs.map((bytes, index) => {
    const target = stdio[index + 1];
    if (target === "pipe") return text ? bytes.toString(settings.encoding) : bytes;
    if (bytes.length > 0) outlet(target, index + 1, writeSync)?.(bytes);
    return null;
  });
  [result.stdout, result.stderr] = shown;
  result.output = [null, ...shown];
  if (error) result.error = error;
  return result;
}

function failure(code, spawnfile, spawnargs) {
  return callError(code, `spawnSync ${spawnfile}`, "", { path: spawnfile, spawnargs: spawnargs.slice(1) });
}

function check(result, command) {
  if (result.error) {
    return Object.assign(result.error, result, { error: undefined }) && strip(result.error);
  }
  if (result.status === 0) return null;
  let message = `Command failed: ${command}`;
  if (result.stderr?.length > 0) message += `\n${result.stderr}`;
  return Object.assign(new Error(message), result);
}

function strip(error) {
  delete error.error;
  return error;
}

function execute(file, args, options, command) {
  const quiet = options?.stdio === undefined;
  const result = spawnSync(file, args, options);
  if (quiet && result.stderr?.length > 0) process.stderr.write(result.stderr);
  const error = check(result, command);
  if (error) throw error;
  return result.stdout;
}

export function execFileSync(file, args, options) {
  if (args != null && !Array.isArray(args)) {
    options = args;
    args = [];
  }
  return execute(file, args ?? [], options ?? {}, [file, ...(args ?? [])].join(" "));
}

export function execSync(command, options) {
  const shell = typeof options?.shell === "string" ? options.shell : true;
  return execute(command, [], { ...options, shell }, command);
}
