// The host's hooks in terms of pi's events: a tool call about to run, its result, a message of the person, the start of a
// run. Hooks carry less than pi's events; what they lack (the arguments of a finished call) is remembered from before.

import { op } from "jackfield:host";
import { compact, report } from "jackfield:pi/runtime/state";
import { ask, askToolCall, askToolResult } from "jackfield:pi/runtime/events";
import { same } from "jackfield:pi/runtime/schema";
import { toolResult } from "jackfield:pi/runtime/tools";

const CONTINUE = { verdict: "continue" };
const REMEMBERED = 256;

/** Keeps the arguments of a call for the handlers of its result. */
export function rememberInput(state, id, input) {
  state.inputs.delete(id);
  state.inputs.set(id, input);
  if (state.inputs.size > REMEMBERED) state.inputs.delete(state.inputs.keys().next().value);
}

async function beforeToolCall(state, hook, call) {
  const data = { toolCallId: hook.call_id, toolName: hook.tool, input: hook.arguments ?? {} };
  const before = structuredClone(data.input);
  const asked = await askToolCall(state, "tool_call", { data, result: null }, call);
  if (asked.result?.block) return { verdict: "block", reason: asked.result.reason || "Tool execution was blocked" };
  const { input } = asked.data;
  rememberInput(state, hook.call_id, input);
  return same(before, input) ? CONTINUE : { verdict: "replace", value: input };
}

/** The host's content blocks as pi writes them. */
function piContent(content) {
  return (content ?? []).map(({ mime_type: mimeType, ...block }) => (block.type === "image" ? { ...block, mimeType } : block));
}

async function afterToolCall(state, hook, call) {
  const { result = {} } = hook;
  const input = hook.arguments ?? state.inputs.get(hook.call_id) ?? {};
  state.inputs.delete(hook.call_id);
  const content = piContent(result.content);
  if (content.length === 0 && hook.error) content.push({ type: "text", text: hook.error });
  const data = compact({
    toolCallId: hook.call_id,
    toolName: hook.tool,
    input,
    content,
    details: result.details,
    isError: result.is_error === true || hook.error !== undefined,
  });
  const asked = await askToolResult(state, "tool_result", { data, result: null }, call);
  return asked.result === null ? CONTINUE : { verdict: "replace", value: toolResult({ ...asked.result }) };
}

async function beforeMessage(state, hook, call) {
  const data = { text: hook.text, source: hook.source };
  const { result } = await ask(state, "input", { data }, call);
  if (result?.action === "handled") return { verdict: "block", reason: "handled by an extension" };
  return result?.action === "transform" && result.text !== hook.text ? { verdict: "replace", value: result.text } : CONTINUE;
}

async function beforeAgentStart(state, hook, call) {
  const { prompt = "", images, ...context } = hook.context ?? {};
  const data = compact({ ...context, messageType: "user", prompt, images, systemPrompt: hook.system_prompt });
  const { result } = await ask(state, "before_agent_start", { data }, call);
  for (const message of result?.messages ?? []) {
    try {
      await op("session", { op: "append", entry: { type: "custom_message", ...message } });
    } catch (error) {
      report(state, "before_agent_start", error);
    }
  }
  const { systemPrompt } = result ?? {};
  return systemPrompt !== undefined && systemPrompt !== hook.system_prompt ? { verdict: "replace", value: systemPrompt } : CONTINUE;
}

const HOOKS = {
  before_tool_call: beforeToolCall,
  after_tool_call: afterToolCall,
  before_message: beforeMessage,
  before_agent_start: beforeAgentStart,
};

export async function runHook(state, hook, call) {
  const run = Object.hasOwn(HOOKS, hook.hook) ? HOOKS[hook.hook] : undefined;
  return run === undefined ? CONTINUE : run(state, hook, call);
}
