// Errors of models: which mean that a conversation is too long, which are worth
// another try, and how they are noted in a message.
import { DEFAULT_MAX_AGENT_RETRY_DELAY_MS } from "jackfield:pi/ai/constants";

const OVERFLOW = [
  /prompt is too long/i, /input is too long/i, /too many tokens/i, /exceeds? the (?:model'?s? )?(?:maximum )?context/i, /context[_ ]length[_ ]exceeded/i,
  /maximum context length/i, /context window (?:exceeded|exceeds|limit)/i, /exceeds? the (?:available )?context (?:size|window)/i,
  /input token count.*exceeds/i, /maximum prompt length/i, /reduce the length of the (?:messages|prompt)/i, /exceeds? the limit of \d+/i,
  /model_context_window_exceeded/i, /greater than the context length/i, /request_too_large/i, /token limit exceeded/i,
  /prompt too long/i, /exceeded model token limit/i, /too large for model with \d+ maximum context length/i,
];
const NOT_OVERFLOW = /rate limit|too many requests|throttl/i;
const TRANSIENT = /overloaded|rate.?limit|too many requests|\b(?:408|409|425|429|500|502|503|504|520|522|524|529)\b|service.?unavailable|server.?error|internal.?error|bad gateway|gateway time|network.?error|connection.?(?:error|refused|lost|reset|closed)|fetch failed|socket hang up|timed? ?out|timeout|terminated|upstream|other side closed|premature close|stream ended/i;
const FINAL = /insufficient_quota|invalid.?api.?key|unauthorized|forbidden|billing|payment required|credit balance/i;

/** The patterns that mean "too long". */
export function getOverflowPatterns() {
  return [...OVERFLOW];
}

/** Did the conversation not fit into the model's context. */
export function isContextOverflow(message, contextWindow) {
  const text = message.errorMessage ?? "";
  if (message.stopReason === "error" && text) {
    if (!NOT_OVERFLOW.test(text) && OVERFLOW.some((pattern) => pattern.test(text))) return true;
    if (/^4(?:00|13)\s*(?:status code)?\s*\(no body\)/i.test(text)) return true;
  }
  // Some providers cut silently: more was sent than the model can hold.
  if (contextWindow && message.stopReason === "stop") return message.usage.input + (message.usage.cacheRead ?? 0) > contextWindow;
  return false;
}

/** Is another try likely to help. */
export function isRetryableAssistantError(message) {
  const text = message.errorMessage;
  if (message.stopReason !== "error" || !text) return false;
  if (isContextOverflow(message) || FINAL.test(text)) return false;
  return TRANSIENT.test(text);
}

/** Did the answer stop because less output was allowed than wanted. */
export function isRecoverableLength(message, desiredMaxOutput) {
  return message.stopReason === "length" && (message.usage?.output ?? 0) < desiredMaxOutput;
}

/** The wait before try number `attempt`: doubled each time, up to a limit. */
export function retryDelayMs(policy, attempt) {
  const longest = policy.maxAgentDelayMs ?? DEFAULT_MAX_AGENT_RETRY_DELAY_MS;
  const wait = attempt > 1 ? policy.baseDelayMs * 2 ** (attempt - 1) : policy.baseDelayMs;
  return wait < longest ? wait : longest;
}

function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new Error("Aborted"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Asks again while the error is worth it and the policy allows. */
export async function retryAssistantCall(produce, policy, signal, callbacks) {
  let message = await produce();
  if (!policy?.enabled) return message;
  for (let attempt = 1; attempt <= policy.maxRetries && isRetryableAssistantError(message); attempt++) {
    const delayMs = retryDelayMs(policy, attempt);
    callbacks?.onRetryStart?.({ attempt, maxAttempts: policy.maxRetries, delayMs, errorMessage: message.errorMessage });
    await sleep(delayMs, signal);
    message = await produce();
    callbacks?.onRetryEnd?.({ attempt, success: message.stopReason !== "error" });
  }
  return message;
}

/** Anything that can be thrown, as text. */
export function formatThrownValue(value) {
  return value instanceof Error ? value.message || value.name : String(value);
}

/** Name, message and stack of anything that was thrown. */
export function extractDiagnosticError(error) {
  if (!(error instanceof Error)) return { message: formatThrownValue(error) };
  const out = { name: error.name, message: error.message };
  if (error.stack) out.stack = error.stack;
  if (error.code !== undefined) out.code = error.code;
  return out;
}

/** A note about something that went wrong while a message was made. */
export function createAssistantMessageDiagnostic(type, error, details) {
  return { type, timestamp: Date.now(), error: extractDiagnosticError(error), ...(details === undefined ? {} : { details }) };
}

/** Adds a note to a message. */
export function appendAssistantMessageDiagnostic(message, diagnostic) {
  message.diagnostics = [...(message.diagnostics ?? []), diagnostic];
}
