// Sizes of conversations and where to cut them. Making a summary needs a model
// and goes through the host's agent.
import { convertToLlm } from "jackfield:pi/agent/messages";
import { sessionEntryToContextMessages } from "jackfield:pi/agent/session-entries";
import { agentCall } from "jackfield:pi/agent/unsupported";

/** Defaults of automatic compaction. */
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };
const IMAGE_CHARS = 4800;
const CHARS_PER_TOKEN = 4;

/** Tokens in use after a response. */
export function calculateContextTokens(usage) {
  return usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}

/** Usage of the last response that came to an end, or undefined. */
export function getLastAssistantUsage(entries) {
  const last = entries.findLast((entry) => entry.type === "message" && entry.message.role === "assistant" && entry.message.usage && !["aborted", "error"].includes(entry.message.stopReason));
  return last?.message.usage;
}

/** Is it time to compact. */
export function shouldCompact(contextTokens, contextWindow, settings) {
  return settings.enabled && contextTokens > contextWindow - settings.reserveTokens;
}

function chars(content) {
  if (typeof content === "string") return content.length;
  let total = 0;
  for (const part of content ?? []) {
    if (part.type === "text") total += part.text.length;
    else if (part.type === "image") total += IMAGE_CHARS;
    else if (part.type === "thinking") total += part.thinking.length;
    else if (part.type === "toolCall") total += part.name.length + JSON.stringify(part.arguments ?? {}).length;
  }
  return total;
}

/** A rough count of the tokens of a message. */
export function estimateTokens(message) {
  let total = 0;
  if (message.role === "bashExecution") total = message.command.length + message.output.length;
  else if (message.role === "branchSummary" || message.role === "compactionSummary") total = message.summary.length;
  else total = chars(message.content);
  return Math.ceil(total / CHARS_PER_TOKEN);
}

const role = (entry) => (entry.type === "message" ? entry.message.role : entry.type);
const startsTurn = (entry) => ["user", "bashExecution", "custom_message", "branch_summary"].includes(role(entry));
const canCut = (entry) => ["user", "assistant", "bashExecution", "custom", "branchSummary", "custom_message", "branch_summary"].includes(role(entry));

/** Where the turn of an entry began, or -1. */
export function findTurnStartIndex(entries, entryIndex, startIndex) {
  for (let i = entryIndex; i >= startIndex; i--) if (startsTurn(entries[i])) return i;
  return -1;
}

/** The first entry to keep so that about `keepRecentTokens` stay; never between a call and its result. */
export function findCutPoint(entries, startIndex, endIndex, keepRecentTokens) {
  const points = [];
  for (let i = startIndex; i < endIndex; i++) if (canCut(entries[i])) points.push(i);
  if (points.length === 0) return { firstKeptEntryIndex: startIndex, turnStartIndex: -1, isSplitTurn: false };
  let kept = 0;
  let cut = points[0];
  for (let i = endIndex - 1; i >= startIndex; i--) {
    if (entries[i].type !== "message") continue;
    kept += estimateTokens(entries[i].message);
    if (kept >= keepRecentTokens) {
      cut = points.find((point) => point >= i) ?? points[0];
      break;
    }
  }
  while (cut > startIndex && entries[cut - 1].type !== "message" && entries[cut - 1].type !== "compaction") cut -= 1;
  const clean = role(entries[cut]) === "user";
  const turnStartIndex = clean ? -1 : findTurnStartIndex(entries, cut, startIndex);
  return { firstKeptEntryIndex: cut, turnStartIndex, isSplitTurn: !clean && turnStartIndex !== -1 };
}

/** The entries that leaving a branch would lose, oldest first, and where the branches part. */
export function collectEntriesForBranchSummary(session, oldLeafId, targetId) {
  if (!oldLeafId) return { entries: [], commonAncestorId: null };
  const old = session.getBranch(oldLeafId);
  const target = new Set(session.getBranch(targetId).map((entry) => entry.id));
  const common = old.findLast((entry) => target.has(entry.id));
  const from = common ? old.indexOf(common) + 1 : 0;
  return { entries: old.slice(from), commonAncestorId: common?.id ?? null };
}

function fileOperations() {
  return { read: new Set(), written: new Set(), edited: new Set() };
}

/** Messages for a branch summary, the newest first to count, within a budget. */
export function prepareBranchEntries(entries, tokenBudget = 0) {
  const messages = [];
  const fileOps = fileOperations();
  let totalTokens = 0;
  for (let i = entries.length - 1; i >= 0; i--) {
    for (const message of sessionEntryToContextMessages(entries[i]).toReversed()) {
      if (message.role === "toolResult") continue;
      const tokens = estimateTokens(message);
      if (tokenBudget > 0 && totalTokens + tokens > tokenBudget) return { messages, fileOps, totalTokens };
      messages.unshift(message);
      totalTokens += tokens;
      for (const part of Array.isArray(message.content) ? message.content : []) {
        if (part.type !== "toolCall" || typeof part.arguments?.path !== "string") continue;
        const set = { read: fileOps.read, write: fileOps.written, edit: fileOps.edited }[part.name];
        set?.add(part.arguments.path);
      }
    }
  }
  return { messages, fileOps, totalTokens };
}

/** A summary of messages, by the host's agent. */
export async function generateSummary(currentMessages, model, reserveTokens, _apiKey, _headers, signal, customInstructions, previousSummary, _thinkingLevel, _streamFn, _env, _retry, _callbacks, _extra) {
  const { summary } = await generateSummaryWithUsage(currentMessages, model, reserveTokens, undefined, undefined, signal, customInstructions, previousSummary);
  return summary;
}

/** See `generateSummary`, with what it cost. */
export async function generateSummaryWithUsage(currentMessages, model, reserveTokens, _apiKey, _headers, signal, customInstructions, previousSummary, _thinkingLevel, _streamFn, _env, _retry, _callbacks, _extra) {
  return agentCall("summarize", { messages: convertToLlm(currentMessages), model: model && { provider: model.provider, id: model.id }, reserveTokens, customInstructions, previousSummary }, { signal });
}

/** Compacts a prepared conversation, by the host's agent. */
export async function compact(preparation, model, _apiKey, _headers, customInstructions, signal, thinkingLevel, _streamFn, _env, _retry, _callbacks, _extra) {
  return agentCall("compact", { preparation, model: model && { provider: model.provider, id: model.id }, customInstructions, thinkingLevel }, { signal });
}

/** A summary of a branch, by the host's agent. */
export async function generateBranchSummary(entries, options) {
  const { messages } = prepareBranchEntries(entries);
  return agentCall("branch_summary", { messages: convertToLlm(messages), customInstructions: options?.customInstructions }, { signal: options?.signal });
}
