// `pi.exec`: runs a program without a shell and with closed input, and always answers: a program that cannot be started is
// an exit code of 1 with the reason in `stderr`. An abort or a timeout sends SIGTERM, and SIGKILL five seconds later.
// Output of both streams together is cut at `maxBuffer`, which never reads as success.

import { info, native, stream } from "jackfield:host";

const DEFAULT_MAX = 256 * 1024 * 1024;
const LARGEST = 0x1fffffe8;
const KILL_AFTER_MS = 5000;

function join(chunks) {
  let size = 0;
  for (const chunk of chunks) size += chunk.length;
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** Length without a character that was cut in the middle at the end. */
function wholeCharacters(bytes) {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function text(chunks, truncated) {
  const bytes = join(chunks);
  return native("utf8_decode", truncated ? bytes.subarray(0, wholeCharacters(bytes)) : bytes, false, true);
}

function spawnError(command, error) {
  const errno = error?.details?.errno;
  return errno ? `spawn ${command} ${errno}` : String(error?.message ?? error);
}

export async function execCommand(command, args, options) {
  const max = options?.maxBuffer ?? DEFAULT_MAX;
  if (!Number.isInteger(max) || max < 0 || max > LARGEST) {
    throw new RangeError(`maxBuffer must be an integer between 0 and ${LARGEST} bytes`);
  }
  const output = { stdout: [], stderr: [] };
  const signal = options?.signal;
  let taken = 0;
  let truncated = false;
  let killed = false;
  let failure = "";
  let timer;
  let killTimer;
  let child;
  const kill = () => {
    if (killed) return;
    killed = true;
    child.send({ kill: "SIGTERM" });
    killTimer = setTimeout(() => child.send({ kill: "SIGKILL" }), KILL_AFTER_MS);
  };
  const take = (chunk) => {
    if (truncated || !chunk.data || !output[chunk.stream]) return;
    const room = max - taken;
    if (chunk.data.length <= room) {
      taken += chunk.data.length;
      output[chunk.stream].push(chunk.data);
      return;
    }
    truncated = true;
    if (room > 0) output[chunk.stream].push(chunk.data.subarray(0, room));
    kill();
  };
  const code = await new Promise((resolve) => {
    const failed = (error) => {
      failure = spawnError(command, error);
      resolve(1);
    };
    const params = { command, args: [...(args ?? [])], cwd: options?.cwd ?? info.project, encoding: "base64" };
    try {
      child = stream("exec", params, (kind, value) => {
        if (kind === "data") take(value);
        else if (kind === "end") resolve(value?.code ?? 0);
        else failed(value);
      });
    } catch (error) {
      failed(error);
      return;
    }
    child.send({ stdin_end: true });
    if (signal?.aborted) kill();
    else signal?.addEventListener("abort", kill, { once: true });
    if (options?.timeout > 0) timer = setTimeout(kill, options.timeout);
  });
  clearTimeout(timer);
  clearTimeout(killTimer);
  signal?.removeEventListener("abort", kill);
  return {
    stdout: text(output.stdout, truncated),
    stderr: text(output.stderr, truncated) || failure,
    code: truncated && code === 0 ? 1 : code,
    killed,
    truncated,
  };
}
