// Reading a session's entries: the path from a leaf to the root, what of it the model sees after a compaction, and the tree.
// Pure functions over the entries of pi's session format; nothing here asks the host.

export function pathTo(byId, leafId) {
  const path = [];
  const seen = new Set();
  let entry = leafId === undefined || leafId === null ? undefined : byId.get(leafId);
  while (entry && !seen.has(entry.id)) {
    seen.add(entry.id);
    path.push(entry);
    entry = entry.parentId ? byId.get(entry.parentId) : undefined;
  }
  return path.reverse();
}

/** The entries that count for the model: the newest compaction stands for everything before what it kept. */
export function contextEntries(path) {
  let at = -1;
  for (let i = 0; i < path.length; i++) if (path[i].type === "compaction") at = i;
  if (at === -1) return path.slice();
  const compaction = path[at];
  const start = path.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  const kept = start === -1 || start >= at ? [] : path.slice(start, at);
  const visible = kept.filter((entry) => !(entry.type === "message" && entry.message?.role === "system"));
  return [compaction, ...visible, ...path.slice(at + 1)];
}

const time = (entry) => new Date(entry.timestamp).getTime();

/** The messages that one entry stands for. */
export function entryMessages(entry) {
  switch (entry.type) {
    case "message": {
      const message = entry.message;
      if (message.content !== null && message.content !== undefined) return [message];
      if (message.role === "system") return [{ ...message, content: "" }];
      return ["user", "assistant", "toolResult"].includes(message.role) ? [{ ...message, content: [] }] : [message];
    }
    case "custom_message": {
      const { customType, display, details } = entry;
      return [{ role: "custom", customType, content: entry.content ?? [], display, details, timestamp: time(entry) }];
    }
    case "branch_summary":
      if (!entry.summary) return [];
      return [{ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp: time(entry) }];
    case "compaction": {
      const { summary, tokensBefore } = entry;
      const message = { role: "compactionSummary", summary, tokensBefore, timestamp: time(entry) };
      return entry.systemMessage ? [entry.systemMessage, message] : [message];
    }
    default:
      return [];
  }
}

const EDITABLE = new Set(["user", "assistant", "toolResult", "custom"]);

function edited(messages, edit) {
  if (!edit) return messages;
  if (edit.replacement === null) return [];
  return messages.map((message) => {
    if (!EDITABLE.has(message.role)) return message;
    const given = edit.replacement.content;
    const asBlocks = typeof given === "string" && (message.role === "assistant" || message.role === "toolResult");
    return { ...message, content: asBlocks ? [{ type: "text", text: given }] : given };
  });
}

/** Everything the model sees, with the entry each message comes from. */
export function projection(path) {
  let thinkingLevel = "off";
  let model = null;
  for (const entry of path) {
    if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    else if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    else if (entry.type === "message" && entry.message?.role === "assistant") {
      model = { provider: entry.message.provider, modelId: entry.message.model };
    }
  }
  const selected = contextEntries(path);
  const edits = new Map();
  for (const entry of selected) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  const entries = selected.map((sourceEntry, index) => {
    // An older compaction inside the kept range has no summary of its own any more.
    const superseded = sourceEntry.type === "compaction" && index > 0;
    return { sourceEntry, messages: superseded ? [] : edited(entryMessages(sourceEntry), edits.get(sourceEntry.id)) };
  });
  return { entries, messages: entries.flatMap((entry) => entry.messages), thinkingLevel, model };
}

/** The entries as a tree; those whose parent is missing are roots too. */
export function treeOf(entries, labels) {
  const nodes = new Map();
  for (const entry of entries) {
    const known = labels.get(entry.id);
    nodes.set(entry.id, { entry, children: [], label: known?.label, labelTimestamp: known?.timestamp });
  }
  const roots = [];
  for (const entry of entries) {
    const parent = entry.parentId === entry.id ? undefined : nodes.get(entry.parentId);
    (parent ? parent.children : roots).push(nodes.get(entry.id));
  }
  for (const node of nodes.values()) node.children.sort((a, b) => time(a.entry) - time(b.entry));
  return roots;
}

export function labelsOf(entries) {
  const labels = new Map();
  for (const entry of entries) {
    if (entry.type !== "label") continue;
    if (entry.label) labels.set(entry.targetId, { label: entry.label, timestamp: entry.timestamp });
    else labels.delete(entry.targetId);
  }
  return labels;
}
