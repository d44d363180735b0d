// The built-in shell tools. The output is streamed, its end is kept; all of it
// goes to a file in the temporary directory when it is too long.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderers } from "jackfield:pi/agent/tool-render";
import { PREFER_STRICT, numberField, objectSchema, stringField, toolFromDefinition } from "jackfield:pi/agent/tool-shape";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateTail } from "jackfield:pi/agent/truncate";

const UPDATE_MS = 100;
const STRUCTURED_BYTES = 1024 * 1024;

/** The shell that runs commands: the one given, bash, or sh. */
export function getShellConfig(customShellPath) {
  if (customShellPath) {
    if (!existsSync(customShellPath)) throw new Error(`Custom shell path not found: ${customShellPath}`);
    return { shell: customShellPath, args: ["-c"] };
  }
  for (const shell of ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]) if (existsSync(shell)) return { shell, args: ["-c"] };
  return { shell: "sh", args: ["-c"] };
}

/** PowerShell exists on Windows only. */
export function getPowerShellConfig() {
  throw new Error("The powershell tool is only available on Windows.");
}

function localOperations(config) {
  return {
    exec(command, cwd, { onData, signal, timeout, env }) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(new Error("aborted"));
        if (!existsSync(cwd)) return reject(new Error(`Working directory does not exist: ${cwd}\nCannot execute bash commands.`));
        const { shell, args } = config();
        const child = spawn(shell, [...args, command], { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
        let expired = false;
        const kill = () => {
          // The whole group: a shell's children keep the pipes open otherwise.
          try {
            process.kill(-child.pid, "SIGKILL");
          } catch {
            child.kill("SIGKILL");
          }
        };
        const timer = timeout > 0 ? setTimeout(() => { expired = true; kill(); }, timeout * 1000) : undefined;
        signal?.addEventListener("abort", kill, { once: true });
        const done = (settle, value) => {
          if (timer !== undefined) clearTimeout(timer);
          signal?.removeEventListener("abort", kill);
          settle(value);
        };
        child.stdout.on("data", onData);
        child.stderr.on("data", onData);
        child.on("error", (error) => done(reject, error));
        child.on("close", (code, killedBy) => {
          if (signal?.aborted) done(reject, new Error("aborted"));
          else if (expired) done(reject, new Error(`timeout:${timeout}`));
          else done(resolve, { exitCode: code ?? (killedBy ? 128 + (SIGNALS[killedBy] ?? 0) : null) });
        });
        return undefined;
      });
    },
  };
}

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGABRT: 6, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGTERM: 15 };

/** Commands on this machine. */
export function createLocalBashOperations(options) {
  return localOperations(() => getShellConfig(options?.shellPath));
}

/** Commands in PowerShell on this machine. */
export function createLocalPowerShellOperations() {
  return localOperations(() => getPowerShellConfig());
}

/** Collects output: all of it up to a limit, and where the full text went. */
class Output {
  constructor(prefix) {
    this.prefix = prefix;
    this.text = "";
    this.decoder = new TextDecoder();
    this.path = undefined;
  }

  add(chunk) {
    this.text += typeof chunk === "string" ? chunk : this.decoder.decode(chunk, { stream: true });
  }

  save() {
    if (this.path === undefined) {
      this.path = join(mkdtempSync(join(tmpdir(), `${this.prefix}-`)), "output.log");
      writeFileSync(this.path, this.text);
    }
    return this.path;
  }

  /** Text for the model, with a note about what is missing, and details. */
  shown() {
    const cut = truncateTail(this.text);
    if (!cut.truncated) return { text: this.text, details: undefined };
    const fullOutputPath = this.save();
    const first = cut.totalLines - cut.outputLines + 1;
    let note;
    if (cut.lastLinePartial) {
      const last = this.text.replace(/\n$/, "").split("\n").at(-1);
      note = `Showing last ${formatSize(cut.outputBytes)} of line ${cut.totalLines} (line is ${formatSize(new TextEncoder().encode(last).length)}). Full output: ${fullOutputPath}`;
    } else {
      const why = cut.truncatedBy === "bytes" ? ` (${formatSize(DEFAULT_MAX_BYTES)} limit)` : "";
      note = `Showing lines ${first}-${cut.totalLines} of ${cut.totalLines}${why}. Full output: ${fullOutputPath}`;
    }
    return { text: `${cut.content}\n\n[${note}]`, details: { truncation: cut, fullOutputPath } };
  }

  structured(exitCode, started) {
    const long = this.text.length > STRUCTURED_BYTES;
    return {
      output: long ? this.text.slice(-STRUCTURED_BYTES) : this.text,
      truncated: long,
      ...(long ? { full_output_path: this.save() } : {}),
      exit_code: exitCode ?? -1,
      wall_time_seconds: Math.round((Date.now() - started) / 100) / 10,
    };
  }
}

const hint = (text, note) => (text ? `${text}\n\n${note}` : note);

function shellDefinition(cwd, { name, shellName, snippet, prefix, operations }, options = {}) {
  const run = options.operations ?? operations();
  return {
    name,
    label: name,
    description: `Execute a ${shellName} command in the current working directory. Returns stdout and stderr. Output is truncated to last ${DEFAULT_MAX_LINES} lines or ${DEFAULT_MAX_BYTES / 1024}KB (whichever is hit first). If truncated, full output is saved to a temp file. Optionally provide a timeout in seconds.`,
    promptSnippet: snippet,
    promptGuidelines: ["You can inspect PI_* environment variables for current model and session details."],
    parameters: objectSchema(["command"], {
      command: stringField("Shell command to execute"),
      timeout: numberField("Timeout in seconds (optional, no default timeout)"),
    }),
    outputSchema: objectSchema(["output", "truncated", "exit_code", "wall_time_seconds"], {
      output: stringField("Combined stdout and stderr, possibly truncated"),
      truncated: { type: "boolean" },
      full_output_path: stringField("Full output, when truncated"),
      exit_code: { type: "number" },
      wall_time_seconds: { type: "number" },
    }),
    constrainedSampling: PREFER_STRICT,
    async execute(_toolCallId, params, signal, onUpdate, _ctx) {
      const started = Date.now();
      const command = options.commandPrefix ? `${options.commandPrefix}\n${params.command}` : params.command;
      const base = { command, cwd, env: { ...process.env } };
      const context = options.spawnHook ? options.spawnHook(base) : base;
      const output = new Output(prefix);
      let timer;
      const update = () => {
        timer = undefined;
        const { text, details } = output.shown();
        onUpdate?.({ content: [{ type: "text", text }], details: details ?? {} });
      };
      onUpdate?.({ content: [], details: undefined });
      let exitCode;
      try {
        const onData = (chunk) => {
          output.add(chunk);
          timer ??= onUpdate ? setTimeout(update, UPDATE_MS) : undefined;
        };
        ({ exitCode } = await run.exec(context.command, context.cwd, { onData, signal, timeout: params.timeout, env: context.env }));
      } catch (error) {
        const { text } = output.shown();
        if (error?.message === "aborted") throw new Error(hint(text, "Command aborted"));
        const expired = /^timeout:(.*)$/.exec(error?.message ?? "");
        if (expired) throw new Error(hint(text, `Command timed out after ${expired[1]} seconds`));
        throw error;
      } finally {
        if (timer !== undefined) {
          clearTimeout(timer);
          update();
        }
      }
      const { text, details } = output.shown();
      const failed = exitCode !== 0 && exitCode !== null && exitCode !== undefined;
      const shown = failed ? `${text || "(no output)"}\n\nCommand exited with code ${exitCode}` : text || "(no output)";
      const result = { content: [{ type: "text", text: shown }], details, structuredContent: output.structured(exitCode, started) };
      if (failed) result.isError = true;
      return result;
    },
    ...renderers(name === "bash" ? "$" : "PS>", (args) => args.command ?? ""),
  };
}

const BASH = (options) => ({ name: "bash", shellName: "bash", snippet: "Execute bash commands (ls, grep, find, etc.)", prefix: "pi-bash", operations: () => createLocalBashOperations({ shellPath: options?.shellPath }) });
const POWERSHELL = () => ({ name: "powershell", shellName: "PowerShell", snippet: "Execute PowerShell commands", prefix: "pi-powershell", operations: createLocalPowerShellOperations });

/** The definition of the bash tool. `options`: operations, commandPrefix, shellPath, spawnHook. */
export function createBashToolDefinition(cwd, options) {
  return shellDefinition(cwd, BASH(options), options);
}

/** The bash tool. */
export function createBashTool(cwd, options) {
  return toolFromDefinition(createBashToolDefinition(cwd, options), { withPrompt: true });
}

/** The definition of the PowerShell tool. */
export function createPowerShellToolDefinition(cwd, options) {
  return shellDefinition(cwd, POWERSHELL(), options);
}

/** The PowerShell tool. */
export function createPowerShellTool(cwd, options) {
  return toolFromDefinition(createPowerShellToolDefinition(cwd, options), { withPrompt: true });
}
