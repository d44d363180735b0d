// The session: the read view that handlers get as `ctx.sessionManager`, and what `pi` does to the session. All of it is
// synchronous in pi, so it blocks on the host here. What was read is kept for the length of one synchronous run: nothing
// else can change the session in between, and code that reads entry after entry asks the host once. A host without a
// session answers `unsupported`; reading then gives an empty session, writing fails.

import { info, op, opSync } from "jackfield:host";
import { compact, fire, isUnsupported, plain, report } from "jackfield:pi/runtime/state";
import { contextEntries, labelsOf, pathTo, projection, treeOf } from "jackfield:pi/runtime/tree";
import { toolInfo } from "jackfield:pi/runtime/registrations";

let kept = new Map();

function forgetReads() {
  kept = new Map();
}

function read(what) {
  if (kept.has(what)) return kept.get(what);
  let answer;
  try {
    answer = opSync("session", { op: what }) ?? {};
  } catch (error) {
    if (!isUnsupported(error)) throw error;
    answer = {};
  }
  if (kept.size === 0) queueMicrotask(forgetReads);
  kept.set(what, answer);
  return answer;
}

function write(params) {
  forgetReads();
  try {
    return opSync("session", params);
  } finally {
    forgetReads();
  }
}

function snapshot() {
  if (kept.has("snapshot")) return kept.get("snapshot");
  const answer = read("entries");
  const all = Array.isArray(answer.entries) ? answer.entries : [];
  const entries = all.filter((entry) => entry.type !== "session");
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const last = entries.length > 0 ? entries[entries.length - 1].id : null;
  const leafId = answer.leafId !== undefined ? answer.leafId : answer.leaf_id !== undefined ? answer.leaf_id : last;
  const header = answer.header ?? all.find((entry) => entry.type === "session") ?? null;
  const view = { entries, byId, leafId, header, labels: labelsOf(entries) };
  kept.set("snapshot", view);
  return view;
}

function branch(fromId) {
  const { byId, leafId } = snapshot();
  return pathTo(byId, fromId ?? leafId);
}

/** The read-only view of the session. */
export const sessionManager = Object.freeze({
  getCwd: () => read("info").cwd ?? info.project,
  getSessionDir: () => read("info").session_dir ?? "",
  getSessionId: () => read("info").session_id ?? "",
  getSessionFile: () => read("info").session_file ?? undefined,
  getLeafId: () => snapshot().leafId,
  getLeafEntry: () => snapshot().byId.get(snapshot().leafId),
  getEntry: (id) => snapshot().byId.get(id),
  getChildren: (parentId) => snapshot().entries.filter((entry) => entry.parentId === parentId),
  getLabel: (id) => snapshot().labels.get(id)?.label,
  getBranch: (fromId) => branch(fromId),
  buildContextEntries: () => contextEntries(branch()),
  buildSessionProjection: () => projection(branch()),
  buildSessionContext: () => {
    const { messages, thinkingLevel, model } = projection(branch());
    return { messages, thinkingLevel, model };
  },
  getHeader: () => snapshot().header,
  getEntries: () => snapshot().entries.slice(),
  getEntryCount: () => snapshot().entries.length,
  getTree: () => treeOf(snapshot().entries, snapshot().labels),
  getSessionName: () => sessionName(),
  isPersisted: () => read("info").session_file !== undefined,
});

export function sessionName() {
  return read("name").name?.trim() || undefined;
}

export function setSessionName(name) {
  write({ op: "set_name", name: name.replace(/[\r\n]+/g, " ").trim() });
}

export function setLabel(id, label) {
  write({ op: "set_label", id, label: label || null });
}

export function appendEntry(customType, data) {
  write({ op: "append", entry: compact({ type: "custom", customType, data: plain(data) }) });
}

function customMessage(message) {
  const { customType, display } = message;
  return compact({ customType, content: plain(message.content) ?? [], display, details: plain(message.details) });
}

/** Adds a message that an extension made. Without an agent nobody can answer it, but the session can keep it. */
export async function deliverMessage(message, options) {
  const sent = customMessage(message);
  forgetReads();
  try {
    await op("agent", { op: "send_message", message: sent, options: plain(options) ?? {} });
  } catch (error) {
    if (!isUnsupported(error) || options?.triggerTurn) throw error;
    await op("session", { op: "append", entry: { type: "custom_message", ...sent } });
  } finally {
    forgetReads();
  }
}

export async function deliverUserMessage(content, options) {
  await op("agent", { op: "send_user_message", content: plain(content), options: plain(options) ?? {} });
}

export function sendMessage(state, message, options) {
  deliverMessage(message, options).then(undefined, (error) => report(state, "send_message", error, "<runtime>"));
}

export function sendUserMessage(state, content, options) {
  fire(state, "send_user_message", "agent", {
    op: "send_user_message",
    content: plain(content),
    options: plain(options) ?? {},
  });
}

/** Where something comes from that the host knows of. */
function sourceOf(state, extension) {
  if (extension === undefined || extension === info.extension) return sourceInfo(state);
  return { path: `<extension:${extension}>`, source: "local", scope: "temporary", origin: "top-level" };
}

/** A tool that the host lists, as pi describes tools. */
function hostTool(state, { source, extension, ...tool }) {
  const own = extension === info.extension ? state.tools.get(tool.name) : undefined;
  if (own !== undefined) return toolInfo(state, own);
  const builtin = { path: `builtin:${tool.name}`, source: "builtin", scope: "temporary", origin: "top-level" };
  return { exposure: "direct", ...tool, sourceInfo: source === "builtin" ? builtin : sourceOf(state, extension) };
}

/** Names of the active tools and facts of all; without a session, the extension's own. */
export function toolLists(state) {
  const answer = read("tools");
  const own = () => [...state.tools.values()].map((tool) => toolInfo(state, tool));
  const all = Array.isArray(answer.all) ? answer.all.map((tool) => hostTool(state, tool)) : own();
  const active = Array.isArray(answer.active)
    ? answer.active
    : own().filter((tool) => state.tools.get(tool.name)?.defaultActive !== false).map((tool) => tool.name);
  return { active: [...active], all: [...all] };
}

export function commandList(state) {
  const answer = read("commands");
  if (Array.isArray(answer.commands)) {
    return answer.commands.map(({ extension, ...command }) => ({ ...command, sourceInfo: sourceOf(state, extension) }));
  }
  return [...state.commands].map(([name, command]) => ({
    name,
    description: command.description,
    source: "extension",
    sourceInfo: sourceInfo(state),
  }));
}

/** Where something of this extension comes from. */
export function sourceInfo(state) {
  return { path: state.path, source: "local", scope: "temporary", origin: "top-level", baseDir: info.dir };
}

/** Takes down what a `newSession({ setup })` callback writes, so that the host can write it into the new session. */
export function sessionRecorder() {
  const entries = [];
  let next = 0;
  let leafId = null;
  const add = (entry) => {
    const id = `setup-${++next}`;
    entries.push(compact({ ...plain(entry), id, parentId: leafId, timestamp: new Date().toISOString() }));
    leafId = id;
    return id;
  };
  const byId = () => new Map(entries.map((entry) => [entry.id, entry]));
  const manager = {
    appendMessage: (message) => add({ type: "message", message }),
    appendThinkingLevelChange: (thinkingLevel) => add({ type: "thinking_level_change", thinkingLevel }),
    appendModelChange: (provider, modelId) => add({ type: "model_change", provider, modelId }),
    appendCustomEntry: (customType, data) => add({ type: "custom", customType, data }),
    appendCustomMessageEntry: (customType, content, display, details) =>
      add({ type: "custom_message", customType, content, display, details }),
    appendSessionInfo: (name) => add({ type: "session_info", name: name.replace(/[\r\n]+/g, " ").trim() }),
    appendLabelChange: (targetId, label) => add({ type: "label", targetId, label }),
    appendContextEdit: (targetId, replacement) => add({ type: "context_edit", targetId, replacement }),
    getEntries: () => entries.slice(),
    getEntry: (id) => byId().get(id),
    getLeafId: () => leafId,
    getBranch: (fromId) => pathTo(byId(), fromId ?? leafId),
    getCwd: () => info.project,
  };
  return { manager, entries };
}
