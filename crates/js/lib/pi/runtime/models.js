// `ctx.modelRegistry`: the models that the host's agent knows. Reading without an agent gives no models; asking a model
// without one is an error. `getApiKey(model)` is the spelling before pi 0.63, which many extensions still use.

import { op, opSync, stream } from "jackfield:host";
import { assertActive, isUnsupported, messageOf, plain } from "jackfield:pi/runtime/state";

function ask(params, otherwise) {
  try {
    return opSync("agent", params) ?? otherwise;
  } catch (error) {
    if (isUnsupported(error)) return otherwise;
    throw error;
  }
}

const models = (extra) => {
  const list = ask({ op: "models", ...extra }, {}).models;
  return Array.isArray(list) ? list : [];
};

async function auth(params) {
  const answer = await op("agent", { op: "auth", ...params });
  return answer ?? {};
}

/** Events of an answer under way, as pi's event streams give them: iterable, with the whole answer as `result()`. */
function eventStream(params, signal) {
  const queue = [];
  let wake;
  let done = false;
  let settle;
  let refuse;
  const final = new Promise((resolve, reject) => {
    settle = resolve;
    refuse = reject;
  });
  final.then(undefined, () => {});
  const push = (item) => {
    queue.push(item);
    wake?.();
  };
  const call = stream("agent", params, (kind, value) => {
    if (kind === "data") {
      push({ value: value?.event ?? value });
      return;
    }
    done = true;
    if (kind === "end") settle(value?.message ?? value);
    else {
      refuse(value);
      push({ error: value });
    }
    wake?.();
  });
  signal?.addEventListener("abort", () => call.close(), { once: true });
  return {
    result: () => final,
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (queue.length > 0) {
          const item = queue.shift();
          if ("error" in item) throw item.error;
          yield item.value;
        }
        if (done) return;
        await new Promise((resolve) => (wake = resolve));
      }
    },
  };
}

function request(name, model, context, options) {
  const { signal, ...rest } = options ?? {};
  return { params: { op: name, model: plain(model), context: plain(context), options: plain(rest) }, signal };
}

export function createModelRegistry(state, api) {
  const registry = {
    getAll: () => models(),
    getAvailable: () => models({ available: true }),
    find: (provider, id) => models().find((model) => model.provider === provider && model.id === id),
    findOfType: (type, provider, id) => registry.getModelOfType(type, provider, id),
    getModelsOfType: (type, provider) => models({ type, provider }),
    getAvailableOfType: async (type, provider) => models({ type, provider, available: true }),
    getModelOfType: (type, provider, id) => models({ type, provider }).find((model) => model.provider === provider && model.id === id),
    hasConfiguredAuth: (model) => registry.getProviderAuthStatus(model.provider).configured === true,
    getProviderAuthStatus: (provider) => ask({ op: "auth_status", provider }, {}).status ?? { configured: false },
    getProvider: (provider) => ask({ op: "provider", provider }, {}).provider ?? undefined,
    getProviderDisplayName: (provider) => registry.getProvider(provider)?.name ?? provider,
    isUsingOAuth: (model) => registry.getProviderAuthStatus(model.provider).oauth === true,
    async getApiKeyAndHeaders(model) {
      try {
        const { apiKey, headers, baseUrl, env } = await auth({ model: plain(model) });
        return { ok: true, apiKey, headers, ...(baseUrl ? { baseUrl } : {}), env };
      } catch (error) {
        return { ok: false, error: messageOf(error) };
      }
    },
    async getProviderAuth(provider) {
      const { apiKey, headers, baseUrl, env } = await auth({ provider });
      return apiKey || headers ? { auth: { apiKey, headers, baseUrl }, env } : undefined;
    },
    async getApiKeyForProvider(provider) {
      try {
        return (await auth({ provider })).apiKey;
      } catch {
        return undefined;
      }
    },
    async getApiKey(model) {
      const found = await registry.getApiKeyAndHeaders(model);
      return found.ok ? found.apiKey : undefined;
    },
    stream(model, context, options) {
      const { params, signal } = request("stream", model, context, options);
      return eventStream(params, signal);
    },
    streamSimple: (model, context, options) => registry.stream(model, context, options),
    async complete(model, context, options) {
      const { params, signal } = request("complete", model, context, options);
      const answer = await op("agent", params, { signal });
      return answer?.message ?? answer;
    },
    classify: (model, context, options) => op("agent", request("classify", model, context, options).params, { signal: options?.signal }),
    generateImages: (model, context, options) => op("agent", request("generate_images", model, context, options).params, { signal: options?.signal }),
    async refresh() {
      return (await op("agent", { op: "refresh_models" })) ?? {};
    },
    getError: () => ask({ op: "models_error" }, {}).error ?? undefined,
    registerProvider: (provider, config) => api.registerProvider(provider, config),
    unregisterProvider: (name) => api.unregisterProvider(name),
    registerVirtualModel: (definition) => api.registerVirtualModel(definition),
    unregisterVirtualModel: (provider, id) => api.unregisterVirtualModel(provider, id),
    getRegisteredProviderConfig: (name) => state.providers.find((known) => known.name === name)?.config,
    getRegisteredNativeProvider: (name) => state.nativeProviders.find((known) => known?.id === name),
    getRegisteredProviderIds: () => [...state.providers.map((known) => known.name), ...state.nativeProviders.map((known) => known?.id)],
  };
  return registry;
}

/** The model of the session. */
export function currentModel(state) {
  assertActive(state);
  return ask({ op: "model" }, {}).model ?? undefined;
}

export { ask as askAgent };
