// The agent loop: ask the model, run the tools it calls, ask again until it
// calls none. The model is whatever the stream function reaches: an API that the
// extension registered, or the host's agent.
import { PI_ATTRIBUTION } from "jackfield:pi/ai/constants";
import { EventStream } from "jackfield:pi/ai/event-stream";
import { streamSimple } from "jackfield:pi/ai/streams";
import { validateToolArguments } from "jackfield:pi/ai/validate";

/** How an agent names itself unless it is told otherwise. */
export const DEFAULT_AGENT_IDENTITY = { attribution: PI_ATTRIBUTION };

let defaultStream;

/** The stream function of agents that are given none. */
export function setDefaultStreamFn(streamFn) {
  defaultStream = streamFn;
}

/** A stream from a proxy server: the agent's. */
export function streamProxy(model, context, options) {
  return streamSimple(model, context, options);
}

const failure = (text) => ({ content: [{ type: "text", text }], details: {} });

/** Runs one tool call with its hooks; an error becomes an error result. */
export async function runToolCall({ toolCall, tools = [], assistantMessage, context, config = {}, signal, onUpdate }) {
  const tool = tools.find((each) => each.name === toolCall.name);
  let result;
  let isError = false;
  let args = toolCall.arguments;
  try {
    if (!tool) throw new Error(`Tool ${toolCall.name} not found`);
    const prepared = tool.prepareArguments ? tool.prepareArguments(args) : args;
    args = validateToolArguments(tool, { ...toolCall, arguments: prepared });
    const before = await config.beforeToolCall?.({ assistantMessage, toolCall, args, context }, signal);
    if (before?.block) throw new Error(before.reason ?? "Tool execution was blocked");
    result = await tool.execute(toolCall.id, args, signal, onUpdate);
    isError = result?.isError ?? false;
  } catch (error) {
    result = failure(error?.message ?? String(error));
    isError = true;
  }
  const after = await config.afterToolCall?.({ assistantMessage, toolCall, args, result, isError, context }, signal);
  if (after) {
    result = { ...result, content: after.content ?? result.content, details: after.details ?? result.details };
    isError = after.isError ?? isError;
  }
  return { toolCall, result, isError };
}

const resultMessage = ({ toolCall, result, isError }) => ({ role: "toolResult", toolCallId: toolCall.id, toolName: toolCall.name, content: result.content, details: result.details, isError, timestamp: Date.now() });

async function answer(context, config, emit, signal, streamFn) {
  const messages = config.transformContext ? await config.transformContext(context.messages, signal) : context.messages;
  const llm = config.convertToLlm ? await config.convertToLlm(messages) : messages;
  const run = streamFn ?? defaultStream ?? streamSimple;
  const response = await run(config.model, { systemPrompt: context.systemPrompt, messages: llm, tools: context.tools }, { ...config, signal });
  let started = false;
  for await (const event of response) {
    if (event.type === "start") {
      started = true;
      await emit({ type: "message_start", message: event.partial });
    } else if (event.type !== "done" && event.type !== "error") await emit({ type: "message_update", assistantMessageEvent: event, message: event.partial });
  }
  const message = await response.result();
  if (!started) await emit({ type: "message_start", message });
  await emit({ type: "message_end", message });
  return message;
}

async function runTools(message, context, config, emit, signal) {
  const calls = message.content.filter((part) => part.type === "toolCall");
  const one = async (toolCall) => {
    await emit({ type: "tool_execution_start", toolCallId: toolCall.id, toolName: toolCall.name, args: toolCall.arguments });
    const onUpdate = (partialResult) => emit({ type: "tool_execution_update", toolCallId: toolCall.id, toolName: toolCall.name, args: toolCall.arguments, partialResult });
    const done = await runToolCall({ toolCall, tools: context.tools, assistantMessage: message, context, config, signal, onUpdate });
    await emit({ type: "tool_execution_end", toolCallId: toolCall.id, toolName: toolCall.name, result: done.result, isError: done.isError });
    return done;
  };
  const tools = new Map((context.tools ?? []).map((tool) => [tool.name, tool]));
  const inOrder = config.toolExecution === "sequential" || calls.some((call) => tools.get(call.name)?.executionMode === "sequential");
  if (!inOrder) return Promise.all(calls.map(one));
  const out = [];
  for (const call of calls) out.push(await one(call));
  return out;
}

async function loop(context, config, emit, signal, streamFn, added) {
  const add = async (message) => {
    context.messages.push(message);
    added.push(message);
    await emit({ type: "message_start", message });
    await emit({ type: "message_end", message });
  };
  for (;;) {
    for (const message of (await config.getSteeringMessages?.()) ?? []) await add(message);
    const message = await answer(context, config, emit, signal, streamFn);
    context.messages.push(message);
    added.push(message);
    if (message.stopReason === "error" || message.stopReason === "aborted") {
      await emit({ type: "turn_end", message, toolResults: [] });
      break;
    }
    const done = await runTools(message, context, config, emit, signal);
    const toolResults = done.map(resultMessage);
    for (const result of toolResults) await add(result);
    await emit({ type: "turn_end", message, toolResults });
    const stop = done.length > 0 && done.every((each) => each.result.terminate);
    if (done.length === 0 || stop) {
      const more = (await config.getFollowUpMessages?.()) ?? [];
      if (more.length === 0) break;
      await emit({ type: "turn_start" });
      for (const each of more) await add(each);
    } else await emit({ type: "turn_start" });
  }
  await emit({ type: "agent_end", messages: added });
  return added;
}

/** Runs the loop from new messages; `emit` gets every event. Returns the messages that were added. */
export async function runAgentLoop(prompts, context, config, emit, signal, streamFn) {
  const own = { ...context, messages: [...context.messages, ...prompts] };
  await emit({ type: "agent_start" });
  await emit({ type: "turn_start" });
  for (const message of prompts) {
    await emit({ type: "message_start", message });
    await emit({ type: "message_end", message });
  }
  return loop(own, config, emit, signal, streamFn, [...prompts]);
}

/** Goes on with a context whose last message waits for an answer. */
export async function runAgentLoopContinue(context, config, emit, signal, streamFn) {
  if (context.messages.length === 0) throw new Error("Cannot continue: no messages in context");
  if (context.messages.at(-1).role === "assistant") throw new Error("Cannot continue from message role: assistant");
  await emit({ type: "agent_start" });
  await emit({ type: "turn_start" });
  return loop({ ...context, messages: [...context.messages] }, config, emit, signal, streamFn, []);
}

function streamed(run) {
  const stream = new EventStream((event) => event.type === "agent_end", (event) => event.messages);
  run((event) => stream.push(event)).catch((error) => {
    stream.push({ type: "agent_end", messages: [], error: error?.message ?? String(error) });
  });
  return stream;
}

/** See `runAgentLoop`, as a stream of events. */
export function agentLoop(prompts, context, config, signal, streamFn) {
  return streamed((emit) => runAgentLoop(prompts, context, config, emit, signal, streamFn));
}

/** See `runAgentLoopContinue`, as a stream of events. */
export function agentLoopContinue(context, config, signal, streamFn) {
  return streamed((emit) => runAgentLoopContinue(context, config, emit, signal, streamFn));
}

const NO_MODEL = { id: "unknown", name: "unknown", api: "unknown", provider: "unknown", baseUrl: "", reasoning: false, input: [], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 0, maxTokens: 0 };

/** An agent with a state: prompts go in, events come out. */
export class Agent {
  constructor(options = {}) {
    const { initialState, ...rest } = options;
    Object.assign(this, rest);
    this.streamFunction = options.streamFn;
    this.identity = options.identity ?? DEFAULT_AGENT_IDENTITY;
    this.listeners = new Set();
    this.steeringQueue = [];
    this.followUpQueue = [];
    this.activeRun = undefined;
    this._state = { systemPrompt: "", model: NO_MODEL, thinkingLevel: "off", tools: [], messages: [], isStreaming: false, pendingToolCalls: new Set(), ...initialState };
  }

  get state() {
    return this._state;
  }

  get signal() {
    return this.activeRun?.controller.signal;
  }

  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  steer(message) { this.steeringQueue.push(message); }
  followUp(message) { this.followUpQueue.push(message); }
  clearSteeringQueue() { this.steeringQueue = []; }
  clearFollowUpQueue() { this.followUpQueue = []; }

  clearAllQueues() {
    this.clearSteeringQueue();
    this.clearFollowUpQueue();
  }

  hasQueuedMessages() { return this.steeringQueue.length + this.followUpQueue.length > 0; }
  peekQueuedMessages() { return [...this.steeringQueue, ...this.followUpQueue]; }
  abort() { this.activeRun?.controller.abort(); }
  async waitForIdle() { await this.activeRun?.promise.catch(() => {}); }

  reset() {
    this._state.messages = [];
    this._state.errorMessage = undefined;
    this.clearAllQueues();
  }

  async prompt(input, images) {
    const content = typeof input === "string" ? [{ type: "text", text: input }, ...(images ?? [])] : undefined;
    const messages = content ? [{ role: "user", content, timestamp: Date.now() }] : [input].flat();
    await this.#run((context, config, emit, signal) => runAgentLoop(messages, context, config, emit, signal, this.streamFunction));
  }

  async continue() {
    await this.#run((context, config, emit, signal) => runAgentLoopContinue(context, config, emit, signal, this.streamFunction));
  }

  async #run(start) {
    if (this.activeRun) throw new Error("Agent is already processing a prompt. Use steer() or followUp() to queue messages, or wait for completion.");
    const controller = new AbortController();
    const state = this._state;
    const take = (name) => async () => this[name].splice(0);
    const config = {
      model: state.model, reasoning: state.thinkingLevel === "off" ? undefined : state.thinkingLevel, sessionId: this.sessionId, convertToLlm: this.convertToLlm, transformContext: this.transformContext,
      beforeToolCall: this.beforeToolCall, afterToolCall: this.afterToolCall, toolExecution: this.toolExecution, getSteeringMessages: take("steeringQueue"), getFollowUpMessages: take("followUpQueue"),
    };
    const emit = async (event) => {
      if (event.type === "message_end") state.messages = [...state.messages, event.message];
      if (event.type === "tool_execution_start") state.pendingToolCalls = new Set([...state.pendingToolCalls, event.toolCallId]);
      if (event.type === "tool_execution_end") state.pendingToolCalls = new Set([...state.pendingToolCalls].filter((id) => id !== event.toolCallId));
      if (event.type === "turn_end" && event.message.errorMessage) state.errorMessage = event.message.errorMessage;
      for (const listener of [...this.listeners]) await listener(event, controller.signal);
    };
    state.isStreaming = true;
    state.errorMessage = undefined;
    const promise = start({ systemPrompt: state.systemPrompt, messages: [...state.messages], tools: state.tools }, config, emit, controller.signal);
    this.activeRun = { controller, promise };
    try {
      await promise;
    } finally {
      state.isStreaming = false;
      this.activeRun = undefined;
    }
  }
}
