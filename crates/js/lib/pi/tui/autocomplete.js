// Completion of slash commands, their arguments and file paths while typing.
// Files are looked up in one directory at a time; searching the whole project
// after "@" needs the fd program, and without a path to it there is none, as in pi.
import { readdirSync, statSync } from "node:fs";
import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fuzzyFilter } from "jackfield:pi/tui/fuzzy";

const SEPARATORS = /[\s"'=]/;
const FD_LIMIT = 100;
const SHOWN = 20;

/** The last word of a line that may be a path; an open quote keeps blanks in it. */
function lastWord(text) {
  const quotes = (text.match(/"/g) ?? []).length;
  if (quotes % 2 === 1) {
    const at = text.lastIndexOf('"');
    return text[at - 1] === "@" ? text.slice(at - 1) : text.slice(at);
  }
  for (let i = text.length - 1; i >= 0; i--) if (SEPARATORS.test(text[i])) return text.slice(i + 1);
  return text;
}

const quoted = (path, at, always) => {
  const text = always || path.includes(" ") ? `"${path}"` : path;
  return at ? `@${text}` : text;
};

/** Commands and files together. */
export class CombinedAutocompleteProvider {
  constructor(commands = [], basePath, fdPath = null) {
    this.commands = commands;
    this.basePath = basePath;
    this.fdPath = fdPath;
  }

  async getSuggestions(lines, cursorLine, cursorCol, options) {
    const before = (lines[cursorLine] ?? "").slice(0, cursorCol);
    const at = this.extractAtPrefix(before);
    if (at !== null) {
      const items = await this.getFuzzyFileSuggestions(at, options.signal);
      return items.length > 0 ? { items, prefix: at } : null;
    }
    if (!options.force && before.startsWith("/")) return this.#commandSuggestions(before);
    const prefix = this.extractPathPrefix(before, options.force ?? false);
    if (prefix === null) return null;
    const items = this.getFileSuggestions(prefix);
    return items.length > 0 ? { items, prefix } : null;
  }

  async #commandSuggestions(before) {
    const space = before.indexOf(" ");
    if (space === -1) {
      const named = this.commands.map((command) => {
        const name = command.name ?? command.value;
        const parts = [command.argumentHint, command.description].filter(Boolean);
        return { value: name, label: name, ...(parts.length > 0 ? { description: parts.join(" — ") } : {}) };
      });
      const items = fuzzyFilter(named, before.slice(1), (item) => item.value);
      return items.length > 0 ? { items, prefix: before } : null;
    }
    const command = this.commands.find((each) => (each.name ?? each.value) === before.slice(1, space));
    if (!command?.getArgumentCompletions) return null;
    const prefix = before.slice(space + 1);
    const items = await command.getArgumentCompletions(prefix);
    return Array.isArray(items) && items.length > 0 ? { items, prefix } : null;
  }

  extractAtPrefix(text) {
    const word = lastWord(text);
    return word.startsWith("@") ? word : null;
  }

  extractPathPrefix(text, force = false) {
    const word = lastWord(text);
    if (force || word.startsWith('"')) return word;
    if (word.includes("/") || word.startsWith(".") || word.startsWith("~/")) return word;
    return word === "" && text.endsWith(" ") && text.trim() !== "" ? word : null;
  }

  expandHomePath(path) {
    return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) + (path.endsWith("/") ? "/" : "") : path;
  }

  getFileSuggestions(prefix) {
    const at = prefix.startsWith("@");
    let raw = at ? prefix.slice(1) : prefix;
    const inQuotes = raw.startsWith('"');
    if (inQuotes) raw = raw.slice(1);
    const slash = raw.lastIndexOf("/");
    const shown = slash === -1 ? "" : raw.slice(0, slash + 1);
    const wanted = raw.slice(slash + 1).toLowerCase();
    const expanded = this.expandHomePath(shown || ".");
    const directory = expanded.startsWith("/") ? expanded : join(this.basePath, expanded);
    let entries;
    try {
      entries = readdirSync(directory, { withFileTypes: true });
    } catch {
      return [];
    }
    const items = [];
    for (const entry of entries) {
      if (!entry.name.toLowerCase().startsWith(wanted)) continue;
      let isDirectory = entry.isDirectory();
      if (entry.isSymbolicLink()) {
        try {
          isDirectory = statSync(join(directory, entry.name)).isDirectory();
        } catch {
          isDirectory = false;
        }
      }
      const tail = isDirectory ? `${entry.name}/` : entry.name;
      items.push({ value: quoted(shown + tail, at, inQuotes), label: tail, isDirectory });
    }
    items.sort((a, b) => Number(b.isDirectory) - Number(a.isDirectory) || (a.label < b.label ? -1 : a.label > b.label ? 1 : 0));
    return items.map(({ value, label }) => ({ value, label }));
  }

  async getFuzzyFileSuggestions(prefix, signal) {
    if (!this.fdPath) return [];
    const query = prefix.replace(/^@"?/, "");
    const inQuotes = prefix.startsWith('@"');
    const paths = await this.#runFd(query, signal);
    const scored = paths.map((path) => ({ path, score: this.scoreEntry(path, query) })).filter((each) => each.score > 0);
    scored.sort((a, b) => b.score - a.score);
    return scored.slice(0, SHOWN).map(({ path }) => {
      const isDirectory = path.endsWith("/");
      const bare = isDirectory ? path.slice(0, -1) : path;
      return { value: quoted(path, true, inQuotes), label: basename(bare) + (isDirectory ? "/" : ""), description: dirname(bare) === "." ? bare : bare };
    });
  }

  #runFd(query, signal) {
    const pattern = query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const args = ["--base-directory", this.basePath, "--max-results", String(FD_LIMIT), "--type", "f", "--type", "d", "--follow", "--hidden", "--exclude", ".git"];
    if (query.includes("/")) args.push("--full-path");
    if (pattern) args.push(pattern);
    return new Promise((resolve) => {
      const child = spawn(this.fdPath, args, { stdio: ["ignore", "pipe", "ignore"] });
      let out = "";
      const stop = () => child.kill("SIGKILL");
      signal?.addEventListener("abort", stop, { once: true });
      child.stdout.on("data", (chunk) => { out += String(chunk); });
      child.on("error", () => resolve([]));
      child.on("close", (code) => {
        signal?.removeEventListener("abort", stop);
        resolve(signal?.aborted || code !== 0 ? [] : out.split("\n").filter(Boolean).map((path) => path.replace(/^\.\//, "")));
      });
    });
  }

  /** How well a path fits: the whole name, its start, inside it, inside the path. */
  scoreEntry(path, query) {
    const wanted = query.toLowerCase();
    const name = basename(path.replace(/\/$/, "")).toLowerCase();
    const bonus = path.endsWith("/") ? 10 : 0;
    if (wanted === "") return 1 + bonus;
    if (name === wanted) return 100 + bonus;
    if (name.startsWith(wanted)) return 80 + bonus;
    if (name.includes(wanted)) return 50 + bonus;
    return path.toLowerCase().includes(wanted) ? 30 + bonus : 0;
  }

  applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
    const line = lines[cursorLine] ?? "";
    const start = cursorCol - prefix.length;
    const head = line.slice(0, start);
    let tail = line.slice(cursorCol);
    // The closing quote that is already there is the one of the completion.
    if (item.value.endsWith('"') && tail.startsWith('"')) tail = tail.slice(1);
    const command = prefix.startsWith("/") && head.trim() === "" && !prefix.slice(1).includes("/");
    const isDirectory = item.label.endsWith("/");
    let value = item.value;
    let cursor;
    if (command) value = `/${item.value} `;
    else if (prefix.startsWith("@") && !isDirectory) value = `${item.value} `;
    cursor = start + value.length;
    if (!command && isDirectory && item.value.endsWith('"')) cursor -= 1;
    const next = [...lines];
    next[cursorLine] = head + value + tail;
    return { lines: next, cursorLine, cursorCol: cursor };
  }

  shouldTriggerFileCompletion(lines, cursorLine, cursorCol) {
    const before = (lines[cursorLine] ?? "").slice(0, cursorCol).trim();
    return !(before.startsWith("/") && !before.includes(" "));
  }
}
