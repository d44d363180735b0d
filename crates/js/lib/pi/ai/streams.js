// Asking models. An API that the extension registered itself is used directly;
// every other model is the agent's, and the host is asked for it.
import { op, stream as hostStream } from "jackfield:host";
import { AssistantMessageEventStream, lazyStream } from "jackfield:pi/ai/event-stream";

const apis = new Map();
const imageApis = new Map();

/** Makes an API known: `{ api, stream, streamSimple }`. */
export function registerApiProvider(provider, sourceId) {
  apis.set(provider.api, { ...provider, sourceId });
}

/** The API of a name, or undefined. */
export function getApiProvider(api) { return apis.get(api); }
/** All registered APIs. */
export function getApiProviders() { return [...apis.values()]; }

/** Forgets the APIs of one source. */
export function unregisterApiProviders(sourceId) {
  for (const [api, provider] of apis) if (provider.sourceId === sourceId) apis.delete(api);
}

/** Forgets all registered APIs. */
export function resetApiProviders() { apis.clear(); }
/** The built-in APIs are the agent's; nothing is registered. */
export function registerBuiltInApiProviders() {}
/** The built-in APIs of images are the agent's; nothing is registered. */
export function registerBuiltInImagesApiProviders() {}
/** Makes an API of images known. */
export function registerImagesApiProvider(provider, sourceId) { imageApis.set(provider.api, { ...provider, sourceId }); }
/** The API of images of a name, or undefined. */
export function getImagesApiProvider(api) { return imageApis.get(api); }

const plainOptions = ({ signal: _signal, onPayload: _payload, onResponse: _response, apiKey: _key, ...rest } = {}) => JSON.parse(JSON.stringify(rest));
const reference = (model) => ({ provider: model?.provider, id: model?.id, api: model?.api });
const request = (name, model, context, options) => ({ op: name, model: reference(model), context: JSON.parse(JSON.stringify(context ?? {})), options: plainOptions(options) });

/** The host's agent as a stream of events. */
function agentStream(model, context, options, simple) {
  return lazyStream(model, options, () => new Promise((resolve, reject) => {
    const events = new AssistantMessageEventStream();
    const call = hostStream("agent", { ...request("stream", model, context, options), simple }, (kind, value) => {
      if (kind === "data") {
        resolve(events);
        events.push(value);
      } else if (kind === "end") {
        resolve(events);
        events.end(value?.message);
      } else reject(value);
    });
    options?.signal?.addEventListener("abort", () => call.close(), { once: true });
  }));
}

/** Streams an answer. Errors come as the last event, with the reason in the message. */
export function stream(model, context, options) {
  const own = apis.get(model?.api);
  return own?.stream ? own.stream(model, context, options) : agentStream(model, context, options, false);
}

/** See `stream`, with the options that all models share. */
export function streamSimple(model, context, options) {
  const own = apis.get(model?.api);
  const run = own?.streamSimple ?? own?.stream;
  return run ? run(model, context, options) : agentStream(model, context, options, true);
}

/** One whole answer. Rejects when there is no agent to ask. */
export async function complete(model, context, options) {
  if (apis.has(model?.api)) return stream(model, context, options).result();
  return op("agent", request("complete", model, context, options), { signal: options?.signal });
}

/** See `complete`, with the options that all models share. */
export async function completeSimple(model, context, options) {
  if (apis.has(model?.api)) return streamSimple(model, context, options).result();
  return op("agent", { ...request("complete", model, context, options), simple: true }, { signal: options?.signal });
}

/** Images from a model. */
export async function generateImages(model, context, options) {
  const own = imageApis.get(model?.api);
  if (own?.generateImages) return own.generateImages(model, context, options);
  return op("agent", request("generate_images", model, context, options), { signal: options?.signal });
}

/** See `generateImages`. */
export async function generateImagesOpenRouter(model, context, options) {
  return op("agent", request("generate_images", model, context, options), { signal: options?.signal });
}

/** An API whose functions are loaded when they are first called. */
export function lazyApi(load, _options) {
  let loaded;
  const module = () => (loaded ??= Promise.resolve(load()));
  return {
    stream: (model, context, options) => lazyStream(model, options, async () => (await module()).stream(model, context, options)),
    streamSimple: (model, context, options) => lazyStream(model, options, async () => (await module()).streamSimple(model, context, options)),
  };
}

const cleanups = new Set();

/** Calls `cleanup` when the resources of a session are given up; returns how to stop that. */
export function registerSessionResourceCleanup(cleanup) {
  cleanups.add(cleanup);
  return () => cleanups.delete(cleanup);
}

/** Gives up the resources of a session, or of all. */
export function cleanupSessionResources(sessionId) {
  for (const cleanup of [...cleanups]) cleanup(sessionId);
}
