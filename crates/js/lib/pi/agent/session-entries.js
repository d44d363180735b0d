// Session entries: reading them from JSON lines, following a branch, and what
// of it a model sees. Entries form a tree; the path from a leaf to the root is
// the conversation.

/** The version of session files written here. */
export const CURRENT_SESSION_VERSION = 3;
/** The custom entry in which virtual models keep their state. */
export const VIRTUAL_MODEL_STATE_ENTRY = "pi.virtual-model-state";

/** Entries of a session file; lines that are not JSON are skipped. */
export function parseSessionEntries(content) {
  const out = [];
  for (const line of content.split("\n")) {
    if (line.trim() === "") continue;
    try {
      out.push(JSON.parse(line));
    } catch {
      continue;
    }
  }
  return out;
}

/** Brings entries of older files into today's form, in place: ids, parents, names. */
export function migrateSessionEntries(entries) {
  const header = entries.find((entry) => entry.type === "session");
  const version = header?.version ?? 1;
  if (version < 2) {
    let before = null;
    const used = new Set();
    entries.forEach((entry, index) => {
      if (entry.type === "session") return;
      let id = (index + 1).toString(16).padStart(8, "0");
      while (used.has(id)) id = `${id}0`;
      used.add(id);
      entry.id = id;
      entry.parentId = before;
      before = id;
      if (entry.type === "compaction" && typeof entry.firstKeptEntryIndex === "number") {
        entry.firstKeptEntryId = entries[entry.firstKeptEntryIndex]?.id;
        delete entry.firstKeptEntryIndex;
      }
    });
  }
  if (version < 3) {
    for (const entry of entries) if (entry.type === "message" && entry.message?.role === "hookMessage") entry.message.role = "custom";
  }
  if (header) header.version = CURRENT_SESSION_VERSION;
}

const time = (entry) => {
  const at = Date.parse(entry.timestamp);
  return Number.isNaN(at) ? 0 : at;
};

/** The messages that one entry adds to a conversation. */
export function sessionEntryToContextMessages(entry) {
  switch (entry.type) {
    case "message":
      return [entry.message];
    case "custom_message":
      return [{ role: "custom", customType: entry.customType, content: entry.content, display: entry.display, details: entry.details, timestamp: time(entry) }];
    case "branch_summary":
      return entry.summary ? [{ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp: time(entry) }] : [];
    case "compaction":
      return [{ role: "compactionSummary", summary: entry.summary, tokensBefore: entry.tokensBefore, timestamp: time(entry) }];
    default:
      return [];
  }
}

/** The entries from the root to a leaf. Without an id the last entry is the leaf; null is before the first. */
export function branchOf(entries, leafId, byId) {
  if (leafId === null) return [];
  const index = byId ?? new Map(entries.map((entry) => [entry.id, entry]));
  let entry = leafId === undefined ? entries.at(-1) : (index.get(leafId) ?? entries.at(-1));
  const path = [];
  const seen = new Set();
  while (entry && !seen.has(entry.id)) {
    seen.add(entry.id);
    path.unshift(entry);
    entry = entry.parentId ? index.get(entry.parentId) : undefined;
  }
  return path;
}

/** The last compaction of a list of entries, or null. */
export function getLatestCompactionEntry(entries) {
  return entries.findLast((entry) => entry.type === "compaction") ?? null;
}

/** The entries of a branch that count for the model: the last summary, what it kept, what came after. */
export function buildContextEntries(entries, leafId, byId) {
  const path = branchOf(entries.filter((entry) => entry.type !== "session"), leafId, byId);
  const compaction = getLatestCompactionEntry(path);
  if (!compaction) return path;
  const at = path.indexOf(compaction);
  const first = path.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  return [compaction, ...(first >= 0 && first < at ? path.slice(first, at) : []), ...path.slice(at + 1)];
}

/** Context entries with the messages that each adds. */
export function buildSessionProjection(entries, leafId, byId) {
  return { entries: buildContextEntries(entries, leafId, byId).map((sourceEntry) => ({ sourceEntry, messages: sessionEntryToContextMessages(sourceEntry) })) };
}

/** Messages, thinking level and model of a branch. */
export function buildSessionContext(entries, leafId, byId) {
  const list = entries.filter((entry) => entry.type !== "session");
  let thinkingLevel = "off";
  let model = null;
  for (const entry of branchOf(list, leafId, byId)) {
    if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    else if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    else if (entry.type === "message" && entry.message.role === "assistant") model = { provider: entry.message.provider, modelId: entry.message.model };
  }
  return { messages: buildContextEntries(list, leafId, byId).flatMap(sessionEntryToContextMessages), thinkingLevel, model };
}
