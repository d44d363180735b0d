// A provider that plays written answers, for tests of extensions.
import { AssistantMessageEventStream } from "jackfield:pi/ai/event-stream";
import { createProvider } from "jackfield:pi/ai/models";
import { registerApiProvider, unregisterApiProviders } from "jackfield:pi/ai/streams";

const noUsage = () => ({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } });
let count = 0;

/** A text part. */
export function fauxText(text) { return { type: "text", text }; }
/** A thinking part. */
export function fauxThinking(thinking) { return { type: "thinking", thinking }; }
/** A tool call part. */
export function fauxToolCall(name, args, options) { return { type: "toolCall", id: options?.id ?? `faux-call-${++count}`, name, arguments: args }; }

/** A whole answer. */
export function fauxAssistantMessage(content, options = {}) {
  const parts = typeof content === "string" ? [fauxText(content)] : [content].flat();
  const message = { role: "assistant", content: parts, api: "faux", provider: "faux", model: "faux-1", usage: noUsage(), stopReason: options.stopReason ?? "stop", timestamp: options.timestamp ?? Date.now() };
  if (options.errorMessage !== undefined) message.errorMessage = options.errorMessage;
  if (options.responseId !== undefined) message.responseId = options.responseId;
  return message;
}

const DELTA = { text: "text", thinking: "thinking" };

function play(message, stream) {
  const partial = { ...message, content: [] };
  stream.push({ type: "start", partial });
  message.content.forEach((part, contentIndex) => {
    partial.content = [...partial.content, part];
    const kind = part.type === "toolCall" ? "toolcall" : part.type;
    const delta = part.type === "toolCall" ? JSON.stringify(part.arguments) : part[DELTA[part.type]];
    stream.push({ type: `${kind}_start`, contentIndex, partial });
    stream.push({ type: `${kind}_delta`, contentIndex, delta, partial });
    stream.push(part.type === "toolCall" ? { type: "toolcall_end", contentIndex, toolCall: part, partial } : { type: `${kind}_end`, contentIndex, content: delta, partial });
  });
  const failed = message.stopReason === "error" || message.stopReason === "aborted";
  stream.push(failed ? { type: "error", reason: message.stopReason, error: message } : { type: "done", reason: message.stopReason, message });
  stream.end();
}

/** The player: answers in order, each used once; a function makes its answer from the request. */
export function createFauxCore(options = {}) {
  const api = options.api ?? `faux-${++count}`;
  const provider = options.provider ?? "faux";
  const described = options.models ?? [{ id: "faux-1" }];
  const models = described.map((model) => ({
    name: model.id, api, provider, baseUrl: "http://localhost:0", reasoning: false, input: ["text", "image"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 128000, maxTokens: 16384, ...model,
  }));
  let responses = [];
  const state = { callCount: 0 };
  const stream = (model, context, streamOptions) => {
    const out = new AssistantMessageEventStream();
    state.callCount += 1;
    const next = responses.shift();
    Promise.resolve()
      .then(() => (typeof next === "function" ? next(context, streamOptions, state, model) : next))
      .then((message) => message ?? fauxAssistantMessage([], { stopReason: "error", errorMessage: "No more faux responses queued" }))
      .catch((error) => fauxAssistantMessage([], { stopReason: "error", errorMessage: error?.message ?? String(error) }))
      .then((message) => play({ ...message, api, provider, model: model.id }, out));
    return out;
  };
  return {
    api, provider, models, state, stream, streamSimple: stream,
    getModel: (id) => (id === undefined ? models[0] : models.find((model) => model.id === id)),
    setResponses(next) { responses = [...next]; },
    appendResponses(next) { responses.push(...next); },
    getPendingResponseCount: () => responses.length,
  };
}

/** The player as a provider for `createModels`. */
export function fauxProvider(options = {}) {
  const core = createFauxCore(options);
  return { ...core, provider: createProvider({ id: core.provider, name: "Faux", models: core.models, api: { stream: core.stream, streamSimple: core.streamSimple } }) };
}

/** The player as a registered API. */
export function registerFauxProvider(options = {}) {
  const core = createFauxCore(options);
  registerApiProvider({ api: core.api, stream: core.stream, streamSimple: core.streamSimple }, core.api);
  return { ...core, unregister: () => unregisterApiProviders(core.api) };
}
