// Events: handlers run in the order of registration, each awaited before the next. What a handler's answer does depends on
// the event. A question goes from extension to extension: the host hands in what the ones before made of it (`asked`) and
// gets back what this one's handlers made of it, so that the rules hold across extensions as they do inside one.

import { info } from "jackfield:host";
import { compact, controllerOf, handlersOf, messageOf, plain, report } from "jackfield:pi/runtime/state";
import { REMOVED_EVENTS } from "jackfield:pi/runtime/registrations";
import { createContext, createTrustContext } from "jackfield:pi/runtime/context";
import { askUserBash } from "jackfield:pi/runtime/user-bash";

/** Runs all handlers of an event with what `eventFor` makes; `take` gets each answer and says `true` to stop. */
export async function each(state, name, ctx, eventFor, take) {
  for (const handler of handlersOf(state, name)) {
    try {
      const answer = await handler(eventFor(), ctx);
      if (take && take(answer) === true) return true;
    } catch (error) {
      report(state, name, error);
    }
  }
  return false;
}

/** Handlers under names that pi no longer has, for an event that took their place. */
async function tellRemoved(state, event, ctx) {
  for (const [name, { event: now, reasons }] of Object.entries(REMOVED_EVENTS)) {
    if (now !== event.type || !reasons.includes(event.reason)) continue;
    await each(state, name, ctx, () => ({ ...event, type: name }));
  }
}

/** Tells all handlers of an event; nobody waits for an answer. */
export async function tell(state, event, call) {
  const ctx = createContext(state, call);
  await each(state, event.type, ctx, () => event);
  await tellRemoved(state, event, ctx);
}

const BEFORE = new Set(["session_before_switch", "session_before_fork", "session_before_compact", "session_before_tree"]);

function fields(event) {
  const { type, signal, ...data } = event;
  return plain(data) ?? {};
}

const answered = (data, result, stop = false) => ({ data: plain(data) ?? {}, result: plain(result) ?? null, stop });

/** Handlers share one event object and may edit it; their answers do not count. */
async function askAll(state, name, asked, call) {
  const event = { ...asked.data, type: name };
  await tell(state, event, call);
  return answered(fields(event), asked.result);
}

async function askBefore(state, name, asked, call) {
  const event = { ...asked.data, type: name };
  if (name === "session_before_compact" || name === "session_before_tree") event.signal = controllerOf(call).signal;
  let result = asked.result;
  const stop = await each(state, name, createContext(state, call), () => event, (answer) => {
    if (!answer) return false;
    result = answer;
    return Boolean(answer.cancel);
  });
  return answered(fields(event), result, stop);
}

async function askTrust(state, name, asked) {
  let result = asked.result;
  const stop = await each(state, name, createTrustContext(state), () => ({ ...asked.data, type: name }), (answer) => {
    if (answer.trusted === "undecided") return false;
    result = answer;
    return true;
  });
  return answered(asked.data, result, stop);
}

async function askResources(state, name, asked, call) {
  const result = { ...asked.result };
  await each(state, name, createContext(state, call), () => ({ ...asked.data, type: name }), (answer) => {
    for (const key of ["skillPaths", "promptPaths", "themePaths"]) {
      if (answer?.[key]?.length) result[key] = [...(result[key] ?? []), ...answer[key]];
    }
  });
  return answered(asked.data, result);
}

async function askInput(state, name, asked, call) {
  let { text, images } = asked.data;
  let result = asked.result;
  const stop = await each(state, name, createContext(state, call), () => ({ ...asked.data, type: name, text, images }), (answer) => {
    if (answer?.action === "handled") {
      result = answer;
      return true;
    }
    if (answer?.action === "transform") {
      text = answer.text;
      images = answer.images ?? images;
      // A transformation that changes nothing is none.
      const changed = text !== asked.data.text || images !== asked.data.images;
      result = changed ? compact({ action: "transform", text, images }) : asked.result;
    }
    return false;
  });
  return answered({ ...asked.data, text, images }, result ?? { action: "continue" }, stop);
}

/** The parts of the system prompt, all there for handlers that add to them. */
function promptOptions(given) {
  return {
    ...given,
    selectedTools: [...(given?.selectedTools ?? ["read", "bash", "edit", "write"])],
    hiddenTools: [...(given?.hiddenTools ?? [])],
    toolSnippets: { ...given?.toolSnippets },
    toolGuidelines: { ...given?.toolGuidelines },
    promptGuidelines: [...(given?.promptGuidelines ?? [])],
    appendSystemPrompt: given?.appendSystemPrompt ?? "",
    sections: { ...given?.sections },
    cwd: given?.cwd ?? info.project,
    contextFiles: [...(given?.contextFiles ?? [])],
    skills: [...(given?.skills ?? [])],
  };
}

async function askBeforeAgentStart(state, name, asked, call) {
  const options = promptOptions(asked.data.systemPromptOptions);
  const messages = [...(asked.result?.messages ?? [])];
  let prompt = asked.result?.systemPrompt ?? asked.data.systemPrompt ?? "";
  let forced = asked.result?.systemPrompt;
  const current = () => options.forceSystemPrompt ?? prompt;
  const eventFor = () => ({
    messageType: "user",
    ...asked.data,
    type: name,
    get systemPrompt() {
      return current();
    },
    systemPromptOptions: options,
  });
  await each(state, name, createContext(state, call, current), eventFor, (answer) => {
    if (answer?.message) messages.push(answer.message);
    if (answer?.systemPrompt !== undefined) {
      options.forceSystemPrompt = undefined;
      prompt = forced = answer.systemPrompt;
    }
  });
  if (options.forceSystemPrompt !== undefined) forced = options.forceSystemPrompt;
  const result = messages.length > 0 || forced !== undefined ? compact({ messages, systemPrompt: forced }) : asked.result;
  const data = { ...asked.data, systemPrompt: current() };
  data.systemPromptOptions = options;
  return answered(data, result);
}

/** The end of a turn or a run: handlers propose entries and whether to go on; the last word on each counts. */
async function askBoundary(state, name, asked, call) {
  let entries = asked.data.entries ?? [];
  let goOn = asked.data.continue ?? false;
  let result = asked.result;
  await each(state, name, createContext(state, call), () => ({ ...asked.data, type: name, entries, continue: goOn }), (answer) => {
    if (answer?.entries !== undefined) entries = answer.entries;
    if (answer?.continue !== undefined) goOn = answer.continue;
    if (answer?.entries !== undefined || answer?.continue !== undefined) result = { entries, continue: goOn };
  });
  return answered({ ...asked.data, entries, continue: goOn }, result);
}

async function askMessageEnd(state, name, asked, call) {
  let { message } = asked.data;
  let result = asked.result;
  await each(state, name, createContext(state, call), () => ({ ...asked.data, type: name, message }), (answer) => {
    if (!answer?.message) return;
    if (answer.message.role !== message?.role) throw new Error("message_end handlers must return a message with the same role");
    message = answer.message;
    result = { message };
  });
  return answered({ ...asked.data, message }, result);
}

/** A throw is no accident here: a guard that fails must not let the call through. */
export async function askToolCall(state, name, asked, call) {
  const event = { ...asked.data, type: name };
  const ctx = createContext(state, call);
  let { result } = asked;
  try {
    for (const handler of handlersOf(state, name)) {
      const answer = await handler(event, ctx);
      if (!answer) continue;
      result = answer;
      if (answer.block) return answered(fields(event), result, true);
    }
  } catch (error) {
    const reason = error instanceof Error ? messageOf(error) : `Extension failed, blocking execution: ${String(error)}`;
    return answered(fields(event), { block: true, reason }, true);
  }
  return answered(fields(event), result);
}

const PATCHED = ["content", "details", "structuredContent", "isError", "usage"];

export async function askToolResult(state, name, asked, call) {
  const event = { ...asked.data, type: name };
  let modified = asked.result !== null && asked.result !== undefined;
  await each(state, name, createContext(state, call), () => event, (answer) => {
    if (!answer) return;
    // Structured content that was not replaced along with the text may no longer say the same.
    if (answer.content !== undefined && answer.structuredContent === undefined) delete event.structuredContent;
    for (const key of PATCHED) {
      if (answer[key] === undefined) continue;
      event[key] = answer[key];
      modified = true;
    }
  });
  const result = modified ? Object.fromEntries(PATCHED.map((key) => [key, event[key]])) : asked.result;
  return answered(fields(event), result);
}

/** Handlers see the conversation without the system messages; those stay, in front of a conversation that was changed. */
async function askContext(state, name, asked, call) {
  let messages = asked.data.messages ?? [];
  let result = asked.result;
  const ctx = createContext(state, call);
  for (const handler of handlersOf(state, name)) {
    const visible = messages.filter((message) => message.role !== "system");
    const before = visible.slice();
    const untouched = (list) => list.length === before.length && list.every((message, i) => message === before[i]);
    try {
      const answer = await handler({ ...asked.data, type: name, messages: visible }, ctx);
      const returned = answer?.messages ?? visible;
      if (!untouched(returned)) messages = [...messages.filter((message) => message.role === "system"), ...returned];
      result = { messages };
    } catch (error) {
      report(state, name, error);
    }
  }
  return answered({ ...asked.data, messages }, result);
}

async function askContextWithSystem(state, name, asked, call) {
  let messages = asked.data.messages ?? [];
  let result = asked.result;
  await each(state, name, createContext(state, call), () => ({ ...asked.data, type: name, messages }), (answer) => {
    const led = messages[0]?.role === "system";
    messages = answer?.messages ?? messages;
    result = { messages };
    if (led && messages[0]?.role !== "system") throw new Error("Handler removed the leading system message; the request has no prompt or initial tool declarations.");
  });
  return answered({ ...asked.data, messages }, result);
}

async function askPayload(state, name, asked, call) {
  let { payload } = asked.data;
  let result = asked.result;
  await each(state, name, createContext(state, call), () => ({ ...asked.data, type: name, payload }), (answer) => {
    if (answer === undefined) return;
    payload = answer;
    result = answer;
  });
  return answered({ ...asked.data, payload }, result);
}

async function askCacheWarming(state, name, asked, call) {
  let result = asked.result;
  await each(state, name, createContext(state, call), () => ({ ...asked.data, type: name }), (answer) => {
    if (answer?.action !== undefined) result = { action: answer.action };
  });
  return answered(asked.data, result);
}

const RULES = {
  project_trust: askTrust,
  resources_discover: askResources,
  input: askInput,
  before_agent_start: askBeforeAgentStart,
  turn_end: askBoundary,
  agent_before_settle: askBoundary,
  message_end: askMessageEnd,
  tool_call: askToolCall,
  tool_result: askToolResult,
  user_bash: askUserBash,
  context: askContext,
  context_with_system: askContextWithSystem,
  before_provider_request: askPayload,
  cache_warming_decision: askCacheWarming,
};

/** Asks this extension's handlers; see the top of the file. */
export async function ask(state, name, given, call) {
  const asked = { data: given?.data ?? {}, result: given?.result ?? null, stop: given?.stop === true };
  if (asked.stop) return asked;
  const rule = BEFORE.has(name) ? askBefore : Object.hasOwn(RULES, name) ? RULES[name] : askAll;
  return rule(state, name, asked, call);
}

export { answered };
