// Sessions: a tree of entries in memory, kept in a JSON-lines file when the
// session is persistent. The files are pi's: one header line, one line per entry.
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { basename, join, resolve } from "node:path";
import { uuidv7 } from "jackfield:pi/ai/uuid";
import { getAgentDir } from "jackfield:pi/agent/paths";
import { CURRENT_SESSION_VERSION, branchOf, buildContextEntries, buildSessionContext, buildSessionProjection, migrateSessionEntries, parseSessionEntries } from "jackfield:pi/agent/session-entries";

/** Where sessions of a directory are kept. */
function defaultSessionDir(cwd, agentDir = getAgentDir()) {
  return join(agentDir, "sessions", `--${resolve(cwd).replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`);
}

const fileName = (timestamp, id) => `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`;

function newId(taken) {
  for (;;) {
    const id = randomBytes(4).toString("hex");
    if (!taken.has(id)) return id;
  }
}

function describe(path) {
  let entries;
  try {
    entries = parseSessionEntries(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
  const header = entries[0];
  if (header?.type !== "session") return null;
  const messages = entries.filter((entry) => entry.type === "message" && ["user", "assistant"].includes(entry.message?.role));
  const text = (message) => (typeof message.content === "string" ? message.content : (message.content ?? []).filter((part) => part.type === "text").map((part) => part.text).join(" "));
  const first = messages.find((entry) => entry.message.role === "user");
  const last = messages.at(-1)?.message.timestamp;
  const name = entries.findLast((entry) => entry.type === "session_info")?.name?.trim() || undefined;
  return {
    path,
    id: header.id,
    cwd: header.cwd ?? "",
    name,
    parentSessionPath: header.parentSession,
    created: new Date(header.timestamp),
    modified: typeof last === "number" ? new Date(last) : statSync(path).mtime,
    messageCount: messages.length,
    firstMessage: first ? text(first.message) : "(no messages)",
    allMessagesText: messages.map((entry) => text(entry.message)).filter(Boolean).join(" "),
  };
}

function sessionFiles(directory) {
  try {
    return readdirSync(directory).filter((name) => name.endsWith(".jsonl")).map((name) => join(directory, name));
  } catch {
    return [];
  }
}

function listIn(directory, onProgress) {
  const files = sessionFiles(directory);
  const found = files.map((file, i) => {
    onProgress?.(i + 1, files.length);
    return describe(file);
  });
  return found.filter(Boolean).sort((a, b) => b.modified - a.modified);
}

/** See the file comment. The name is pi's. */
export class SessionManager {
  constructor(cwd, sessionDir, sessionFile, persist, newSessionOptions) {
    this.cwd = cwd;
    this.sessionDir = sessionDir;
    this.persist = persist;
    this.flushed = false;
    this.fileEntries = [];
    this.byId = new Map();
    this.labelsById = new Map();
    this.leafId = null;
    if (sessionFile) this.setSessionFile(sessionFile);
    else this.newSession(newSessionOptions);
  }

  static create(cwd, sessionDir, options) {
    return new SessionManager(cwd, sessionDir ?? defaultSessionDir(cwd), undefined, true, options);
  }

  static inMemory(cwd = process.cwd(), options) {
    return new SessionManager(cwd, "", undefined, false, options);
  }

  static open(path, sessionDir, cwdOverride) {
    const header = existsSync(path) ? parseSessionEntries(readFileSync(path, "utf8")).find((entry) => entry.type === "session") : undefined;
    return new SessionManager(cwdOverride ?? header?.cwd ?? process.cwd(), sessionDir ?? resolve(path, ".."), path, true);
  }

  static continueRecent(cwd, sessionDir) {
    const directory = sessionDir ?? defaultSessionDir(cwd);
    const recent = listIn(directory).filter((each) => !each.cwd || resolve(each.cwd) === resolve(cwd))[0];
    return new SessionManager(cwd, directory, recent?.path, true);
  }

  static forkFrom(sourcePath, targetCwd, sessionDir, options) {
    const entries = parseSessionEntries(readFileSync(sourcePath, "utf8"));
    migrateSessionEntries(entries);
    const fork = new SessionManager(targetCwd, sessionDir ?? defaultSessionDir(targetCwd), undefined, true, { ...options, parentSession: sourcePath });
    fork.fileEntries = [...fork.fileEntries, ...entries.filter((entry) => entry.type !== "session")];
    fork._buildIndex();
    fork._rewriteFile();
    return fork;
  }

  static async list(cwd, sessionDir, onProgress) {
    return listIn(sessionDir ?? defaultSessionDir(cwd), onProgress);
  }

  static async listAll(onProgress) {
    const root = join(getAgentDir(), "sessions");
    let names = [];
    try {
      names = readdirSync(root);
    } catch {
      return [];
    }
    return names.flatMap((name) => listIn(join(root, name), onProgress)).sort((a, b) => b.modified - a.modified);
  }

  static async findById(id, cwd, sessionDir) {
    return (await SessionManager.list(cwd, sessionDir)).find((each) => each.id === id || each.id.startsWith(id));
  }

  newSession(options = {}) {
    const timestamp = new Date().toISOString();
    this.sessionId = options.id ?? uuidv7();
    const header = { type: "session", version: CURRENT_SESSION_VERSION, id: this.sessionId, timestamp, cwd: this.cwd };
    if (options.parentSession) header.parentSession = options.parentSession;
    this.fileEntries = [header];
    this._buildIndex();
    this.flushed = false;
    this.sessionFile = this.persist ? join(this.sessionDir, fileName(timestamp, this.sessionId)) : undefined;
    return this.sessionFile;
  }

  setSessionFile(sessionFile) {
    this.sessionFile = resolve(sessionFile);
    const entries = existsSync(this.sessionFile) ? parseSessionEntries(readFileSync(this.sessionFile, "utf8")) : [];
    if (entries[0]?.type !== "session") {
      const file = this.sessionFile;
      this.newSession();
      this.sessionFile = file;
      return;
    }
    const old = (entries[0].version ?? 1) < CURRENT_SESSION_VERSION;
    if (old) migrateSessionEntries(entries);
    this.fileEntries = entries;
    this.sessionId = entries[0].id;
    this.flushed = true;
    this._buildIndex();
    if (old) this._rewriteFile();
  }

  _buildIndex() {
    this.byId = new Map();
    this.labelsById = new Map();
    this.leafId = null;
    for (const entry of this.fileEntries) {
      if (entry.type === "session") continue;
      this.byId.set(entry.id, entry);
      this.leafId = entry.id;
      if (entry.type === "label") this.#label(entry);
    }
  }

  #label(entry) {
    if (entry.label) this.labelsById.set(entry.targetId, entry.label);
    else this.labelsById.delete(entry.targetId);
  }

  _rewriteFile() {
    if (!this.persist || !this.sessionFile) return;
    mkdirSync(this.sessionDir || resolve(this.sessionFile, ".."), { recursive: true });
    writeFileSync(this.sessionFile, `${this.fileEntries.map((entry) => JSON.stringify(entry)).join("\n")}\n`);
    this.flushed = true;
  }

  _persist(entry) {
    if (!this.persist || !this.sessionFile) return;
    if (this.flushed) {
      appendFileSync(this.sessionFile, `${JSON.stringify(entry)}\n`);
      return;
    }
    // A session that nobody said anything in leaves no file behind.
    if (this.fileEntries.some((each) => each.type === "message" || each.type === "custom_message")) this._rewriteFile();
  }

  _appendEntry(entry) {
    this.fileEntries.push(entry);
    this.byId.set(entry.id, entry);
    this.leafId = entry.id;
    this._persist(entry);
    return entry.id;
  }

  #frame() {
    return { id: newId(this.byId), parentId: this.leafId, timestamp: new Date().toISOString() };
  }

  isPersisted() { return this.persist; }
  getCwd() { return this.cwd; }
  getSessionDir() { return this.sessionDir; }
  usesDefaultSessionDir() { return this.sessionDir === defaultSessionDir(this.cwd); }
  getSessionId() { return this.sessionId; }
  getSessionFile() { return this.sessionFile; }

  appendMessage(message) {
    return this._appendEntry({ type: "message", ...this.#frame(), message });
  }

  appendThinkingLevelChange(thinkingLevel) {
    return this._appendEntry({ type: "thinking_level_change", ...this.#frame(), thinkingLevel });
  }

  appendModelChange(provider, modelId) {
    return this._appendEntry({ type: "model_change", ...this.#frame(), provider, modelId });
  }

  appendUsage(usage, details) {
    return this._appendEntry({ type: "usage", ...this.#frame(), usage, ...(details ? { details } : {}) });
  }

  appendCompaction(summary, firstKeptEntryId, tokensBefore, details, fromHook) {
    return this._appendEntry({ type: "compaction", ...this.#frame(), summary, firstKeptEntryId, tokensBefore, details, fromHook });
  }

  appendCustomEntry(customType, data) {
    return this._appendEntry({ type: "custom", customType, data, ...this.#frame() });
  }

  appendCustomMessageEntry(customType, content, display, details) {
    return this._appendEntry({ type: "custom_message", customType, content, display, details, ...this.#frame() });
  }

  appendSessionInfo(name) {
    return this._appendEntry({ type: "session_info", ...this.#frame(), name: name.replace(/[\r\n]+/g, " ").trim() });
  }

  appendContextEdit(edit) {
    return this._appendEntry({ type: "context_edit", ...this.#frame(), ...edit });
  }

  appendLabelChange(targetId, label) {
    if (!this.byId.has(targetId)) throw new Error(`Entry ${targetId} not found`);
    const entry = { type: "label", ...this.#frame(), targetId, label };
    this._appendEntry(entry);
    this.#label(entry);
    return entry.id;
  }

  getSessionName() {
    return this.getEntries().findLast((entry) => entry.type === "session_info")?.name?.trim() || undefined;
  }

  getLeafId() { return this.leafId; }
  getLeafEntry() { return this.leafId ? this.byId.get(this.leafId) : undefined; }
  getEntry(id) { return this.byId.get(id); }
  getLabel(id) { return this.labelsById.get(id); }

  getChildren(parentId) {
    return this.getEntries().filter((entry) => entry.parentId === parentId);
  }

  getBranch(fromId) {
    return branchOf(this.getEntries(), fromId ?? this.leafId, this.byId);
  }

  buildContextEntries() { return buildContextEntries(this.getEntries(), this.leafId, this.byId); }
  buildSessionProjection() { return buildSessionProjection(this.getEntries(), this.leafId, this.byId); }
  buildSessionContext() { return buildSessionContext(this.getEntries(), this.leafId, this.byId); }
  getHeader() { return this.fileEntries.find((entry) => entry.type === "session") ?? null; }
  getEntryCount() { return this.getEntries().length; }
  getEntries() { return this.fileEntries.filter((entry) => entry.type !== "session"); }

  getTree() {
    const nodes = new Map();
    const roots = [];
    for (const entry of this.getEntries()) {
      const label = this.labelsById.get(entry.id);
      nodes.set(entry.id, { entry, children: [], ...(label ? { label } : {}) });
    }
    for (const node of nodes.values()) {
      const parent = node.entry.parentId ? nodes.get(node.entry.parentId) : undefined;
      (parent && parent !== node ? parent.children : roots).push(node);
    }
    return roots;
  }

  branch(branchFromId) {
    if (!this.byId.has(branchFromId)) throw new Error(`Entry ${branchFromId} not found`);
    this.leafId = branchFromId;
  }

  resetLeaf() {
    this.leafId = null;
  }

  branchWithSummary(branchFromId, summary, details, fromHook) {
    if (branchFromId !== null && !this.byId.has(branchFromId)) throw new Error(`Entry ${branchFromId} not found`);
    const left = this.leafId;
    this.leafId = branchFromId;
    return this._appendEntry({ type: "branch_summary", ...this.#frame(), fromId: left ?? "root", summary, details, fromHook });
  }

  createBranchedSession(leafId) {
    const path = this.getBranch(leafId).filter((entry) => entry.type !== "label");
    if (path.length === 0) throw new Error(`Entry ${leafId} not found`);
    const parent = this.sessionFile;
    this.newSession({ parentSession: this.persist ? parent : undefined });
    let before = null;
    for (const entry of path) {
      this.fileEntries.push({ ...entry, parentId: before });
      before = entry.id;
    }
    this._buildIndex();
    if (this.persist) this._rewriteFile();
    return this.sessionFile;
  }
}

/** The name of a session file without its directory. */
export function sessionFileName(path) {
  return basename(path);
}
