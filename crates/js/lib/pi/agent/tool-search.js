// The built-in grep, find and ls tools. No other program is needed: files are
// walked and read here, so patterns are JavaScript regular expressions.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { globMatcher } from "jackfield:pi/agent/glob";
import { renderers } from "jackfield:pi/agent/tool-render";
import { booleanField, numberField, objectSchema, resolveToolPath, stringField, textResult, throwIfAborted, toolFromDefinition } from "jackfield:pi/agent/tool-shape";
import { DEFAULT_MAX_BYTES, formatSize, truncateHead, truncateLine } from "jackfield:pi/agent/truncate";
import { walk } from "jackfield:pi/agent/walk";

const KB = `${DEFAULT_MAX_BYTES / 1024}KB`;
const LINE = 500;
const MATCHES = 100;
const RESULTS = 1000;
const ENTRIES = 500;
const BINARY_PROBE = 8000;

const limitOf = (value, fallback) => Math.max(1, Math.trunc(Number(value ?? fallback)) || fallback);

/** Cuts a list of lines to the byte limit and adds what was left out. */
function finish(lines, notices, details) {
  const cut = truncateHead(lines.join("\n"), { maxLines: Number.MAX_SAFE_INTEGER });
  if (cut.truncated) {
    notices.push(`${formatSize(DEFAULT_MAX_BYTES)} limit reached`);
    details.truncation = cut;
  }
  const text = notices.length > 0 ? `${cut.content}\n\n[${notices.join(". ")}]` : cut.content;
  return textResult(text, Object.keys(details).length > 0 ? details : undefined);
}

/** The definition of the ls tool. */
export function createLsToolDefinition(cwd, options) {
  const operations = options?.operations ?? { exists: existsSync, stat: statSync, readdir: readdirSync };
  return {
    name: "ls",
    label: "ls",
    description: `List directory contents. Returns entries sorted alphabetically, with '/' suffix for directories. Includes dotfiles. Output is truncated to ${ENTRIES} entries or ${KB} (whichever is hit first).`,
    promptSnippet: "List directory contents",
    parameters: objectSchema([], {
      path: stringField("Directory to list (default: current directory)"),
      limit: numberField("Maximum number of entries to return (default: 500)"),
    }),
    async execute(_toolCallId, params, signal, _onUpdate, _ctx) {
      throwIfAborted(signal);
      const path = resolveToolPath(params.path || ".", cwd);
      const limit = limitOf(params.limit, ENTRIES);
      if (!(await operations.exists(path))) throw new Error(`Path not found: ${path}`);
      if (!(await operations.stat(path)).isDirectory()) throw new Error(`Not a directory: ${path}`);
      const names = [...(await operations.readdir(path))];
      names.sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : a.toLowerCase() > b.toLowerCase() ? 1 : 0));
      const lines = [];
      const details = {};
      const notices = [];
      for (const name of names) {
        if (lines.length >= limit) {
          details.entryLimitReached = limit;
          notices.push(`${limit} entries limit reached. Use limit=${limit * 2} for more`);
          break;
        }
        try {
          lines.push((await operations.stat(join(path, name))).isDirectory() ? `${name}/` : name);
        } catch {
          continue;
        }
      }
      if (lines.length === 0) return textResult("(empty directory)");
      return finish(lines, notices, details);
    },
    ...renderers("ls", (args) => args.path ?? "."),
  };
}

/** The ls tool. */
export function createLsTool(cwd, options) {
  return toolFromDefinition(createLsToolDefinition(cwd, options));
}

function globLocal(pattern, root, { limit }) {
  const matches = globMatcher(pattern);
  const out = [];
  for (const entry of walk(root)) {
    if (!matches(entry.path)) continue;
    out.push(entry.isDirectory ? `${entry.path}/` : entry.path);
    if (out.length >= limit) break;
  }
  return out;
}

/** The definition of the find tool. */
export function createFindToolDefinition(cwd, options) {
  const operations = options?.operations ?? { exists: existsSync, glob: globLocal };
  return {
    name: "find",
    label: "find",
    description: `Search for files by glob pattern. Returns matching file paths relative to the search directory. Respects .gitignore. Output is truncated to ${RESULTS} results or ${KB} (whichever is hit first).`,
    promptSnippet: "Find files by glob pattern (respects .gitignore)",
    parameters: objectSchema(["pattern"], {
      pattern: stringField("Glob pattern to match files, e.g. '*.ts', '**/*.json', or 'src/**/*.spec.ts'"),
      path: stringField("Directory to search in (default: current directory)"),
      limit: numberField("Maximum number of results (default: 1000)"),
    }),
    async execute(_toolCallId, params, signal, _onUpdate, _ctx) {
      throwIfAborted(signal);
      const root = resolveToolPath(params.path || ".", cwd);
      const limit = limitOf(params.limit, RESULTS);
      if (!(await operations.exists(root))) throw new Error(`Path not found: ${root}`);
      const found = await operations.glob(params.pattern, root, { ignore: ["**/node_modules/**", "**/.git/**"], limit });
      throwIfAborted(signal);
      if (found.length === 0) return textResult("No files found matching pattern");
      const lines = found.map((path) => (path.startsWith("/") ? relative(root, path) : path).replaceAll("\\", "/"));
      const details = {};
      const notices = [];
      if (lines.length >= limit) {
        details.resultLimitReached = limit;
        notices.push(`${limit} results limit reached. Use limit=${limit * 2} for more, or refine pattern`);
      }
      return finish(lines, notices, details);
    },
    ...renderers("find", (args) => `${args.pattern ?? ""} in ${args.path ?? "."}`),
  };
}

/** The find tool. */
export function createFindTool(cwd, options) {
  return toolFromDefinition(createFindToolDefinition(cwd, options));
}

function* filesOf(root, isDirectory, filter) {
  if (!isDirectory) {
    yield { full: root, shown: basename(root) };
    return;
  }
  for (const entry of walk(root)) if (entry.isFile && filter(entry.path)) yield { full: join(root, entry.path), shown: entry.path };
}

function expression({ pattern, literal, ignoreCase }) {
  const source = literal ? pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : pattern;
  try {
    return new RegExp(source, ignoreCase ? "i" : "");
  } catch (error) {
    throw new Error(`grep could not read the pattern ${JSON.stringify(pattern)}: ${error.message}. Set literal to search for it as text`, { cause: error });
  }
}

/** The definition of the grep tool. */
export function createGrepToolDefinition(cwd, options) {
  const operations = options?.operations ?? { isDirectory: (path) => statSync(path).isDirectory(), readFile: (path) => readFileSync(path, "utf8") };
  return {
    name: "grep",
    label: "grep",
    description: `Search file contents for a pattern. Returns matching lines with file paths and line numbers. Respects .gitignore. Output is truncated to ${MATCHES} matches or ${KB} (whichever is hit first). Long lines are truncated to ${LINE} chars.`,
    promptSnippet: "Search file contents for patterns (respects .gitignore)",
    parameters: objectSchema(["pattern"], {
      pattern: stringField("Search pattern (regex or literal string)"),
      path: stringField("Directory or file to search (default: current directory)"),
      glob: stringField("Filter files by glob pattern, e.g. '*.ts' or '**/*.spec.ts'"),
      ignoreCase: booleanField("Case-insensitive search (default: false)"),
      literal: booleanField("Treat pattern as literal string instead of regex (default: false)"),
      context: numberField("Number of lines to show before and after each match (default: 0)"),
      limit: numberField("Maximum number of matches to return (default: 100)"),
    }),
    async execute(_toolCallId, params, signal, _onUpdate, _ctx) {
      throwIfAborted(signal);
      const root = resolveToolPath(params.path || ".", cwd);
      const limit = limitOf(params.limit, MATCHES);
      const around = Math.max(0, Math.trunc(Number(params.context ?? 0)) || 0);
      const regex = expression(params);
      let isDirectory;
      try {
        isDirectory = await operations.isDirectory(root);
      } catch (error) {
        throw new Error(`Path not found: ${root}`, { cause: error });
      }
      const filter = params.glob ? globMatcher(params.glob) : () => true;
      const lines = [];
      let matches = 0;
      let cutLines = false;
      for (const { full, shown } of filesOf(root, isDirectory, filter)) {
        throwIfAborted(signal);
        let content;
        try {
          content = String(await operations.readFile(full));
        } catch {
          continue;
        }
        if (content.slice(0, BINARY_PROBE).includes("\0")) continue;
        const rows = content.split(/\r?\n/);
        if (rows.at(-1) === "") rows.pop();
        for (let i = 0; i < rows.length && matches < limit; i++) {
          if (!regex.test(rows[i])) continue;
          matches += 1;
          for (let at = Math.max(0, i - around); at <= Math.min(rows.length - 1, i + around); at++) {
            const { text, wasTruncated } = truncateLine(rows[at], LINE);
            cutLines ||= wasTruncated;
            lines.push(at === i ? `${shown}:${at + 1}: ${text}` : `${shown}-${at + 1}- ${text}`);
          }
        }
        if (matches >= limit) break;
      }
      if (matches === 0) return textResult("No matches found");
      const details = {};
      const notices = [];
      if (matches >= limit) {
        details.matchLimitReached = limit;
        notices.push(`${limit} matches limit reached. Use limit=${limit * 2} for more, or refine pattern`);
      }
      if (cutLines) {
        details.linesTruncated = true;
        notices.push(`Some lines truncated to ${LINE} chars. Use read tool to see full lines`);
      }
      return finish(lines, notices, details);
    },
    ...renderers("grep", (args) => `/${args.pattern ?? ""}/ in ${args.path ?? "."}`),
  };
}

/** The grep tool. */
export function createGrepTool(cwd, options) {
  return toolFromDefinition(createGrepToolDefinition(cwd, options));
}
