// Models as data: costs, thinking levels, and collections of providers. No
// catalogue is built in: the models are the agent's, or those an extension
// defines itself.
import { lazyStream } from "jackfield:pi/ai/event-stream";

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/** What went wrong with a provider or a model. */
export class ModelsError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = "ModelsError";
    this.code = code;
  }
}

/** The cost of a usage in dollars, also written into it. Prices are per million tokens; tiers count from their size on. */
export function calculateCost(model, usage) {
  let rates = model.cost;
  const size = usage.input + usage.cacheRead + usage.cacheWrite;
  for (const tier of model.cost.tiers ?? []) if (size > tier.inputTokensAbove) rates = tier;
  const { cost } = usage;
  for (const name of ["input", "output", "cacheRead"]) cost[name] = ((rates[name] ?? 0) / 1e6) * (usage[name] ?? 0);
  cost.cacheWrite = ((rates.cacheWrite ?? 0) * (usage.cacheWrite ?? 0)) / 1e6;
  cost.total = cost.input + cost.output + cost.cacheRead + cost.cacheWrite;
  cost.totalFromProvider = false;
  return cost;
}

/** The thinking levels of a model. The two highest have to be named by the model. */
export function getSupportedThinkingLevels(model) {
  if (!model.reasoning) return ["off"];
  const map = model.thinkingLevelMap ?? {};
  return LEVELS.filter((level) => map[level] !== null && (map[level] !== undefined || (level !== "xhigh" && level !== "max")));
}

/** The nearest level that a model has: lower ones first. */
export function clampThinkingLevel(model, level) {
  const levels = getSupportedThinkingLevels(model);
  if (levels.includes(level)) return level;
  const at = LEVELS.indexOf(level);
  return levels.findLast((each) => LEVELS.indexOf(each) < at) ?? levels[0] ?? "off";
}

/** The same model of the same provider. */
export function modelsAreEqual(a, b) {
  return Boolean(a && b) && a.id === b.id && a.provider === b.provider;
}

/** Does a model speak an API. */
export function hasApi(model, api) {
  return model.api === api;
}

/** "chat" unless the model says otherwise. */
export function getModelType(model) {
  return model.type ?? "chat";
}

/** Is a model of a type. */
export function isModelType(model, type) {
  return getModelType(model) === type;
}

/** A provider from its description: its models and how to stream from them. */
export function createProvider(input) {
  const models = () => (input.models ?? []).map((model) => ({ provider: input.id, ...model }));
  const apiOf = (model) => {
    const api = typeof input.api?.stream === "function" ? input.api : input.api?.[model.api];
    if (!api) throw new ModelsError("api", `provider ${input.id} has no way to speak ${model.api}`);
    return api;
  };
  return {
    id: input.id,
    name: input.name ?? input.id,
    baseUrl: input.baseUrl,
    headers: input.headers,
    auth: input.auth ?? {},
    getModels: models,
    refreshModels: input.refreshModels,
    stream: (model, context, options) => apiOf(model).stream(model, context, options),
    streamSimple: (model, context, options) => apiOf(model).streamSimple(model, context, options),
  };
}

/** A changeable collection of providers. */
export function createModels(options = {}) {
  const providers = new Map();
  const all = (type) => [...providers.values()].flatMap((provider) => provider.getModels()).filter((model) => isModelType(model, type));
  const owner = (model) => {
    const provider = providers.get(model.provider);
    if (!provider) throw new ModelsError("provider", `Unknown provider: ${model.provider}`);
    return provider;
  };
  const collection = {
    options,
    setProvider(provider) { providers.set(provider.id, provider); },
    deleteProvider(id) { providers.delete(id); },
    clearProviders() { providers.clear(); },
    getProviders: () => [...providers.values()],
    getProvider: (id) => providers.get(id),
    getModels: (provider) => all("chat").filter((model) => provider === undefined || model.provider === provider),
    getModel: (provider, id) => all("chat").find((model) => model.provider === provider && model.id === id),
    getModelsOfType: (type) => all(type),
    getModelOfType: (type, provider, id) => all(type).find((model) => model.provider === provider && model.id === id),
    async refresh() {},
    async checkAuth() { return undefined; },
    async getAuth() { return undefined; },
    stream: (model, context, streamOptions) => lazyStream(model, streamOptions, () => owner(model).stream(model, context, streamOptions)),
    streamSimple: (model, context, streamOptions) => lazyStream(model, streamOptions, () => owner(model).streamSimple(model, context, streamOptions)),
    complete: (model, context, streamOptions) => collection.stream(model, context, streamOptions).result(),
    completeSimple: (model, context, streamOptions) => collection.streamSimple(model, context, streamOptions).result(),
  };
  return collection;
}

/** Credentials in memory; changes of one provider happen one after the other. */
export class InMemoryCredentialStore {
  constructor() {
    this.credentials = new Map();
    this.queues = new Map();
  }

  enqueue(providerId, task) {
    const next = (this.queues.get(providerId) ?? Promise.resolve()).then(task, task);
    this.queues.set(providerId, next.catch(() => {}));
    return next;
  }

  async read(providerId) {
    return this.credentials.get(providerId);
  }

  async list() {
    return [...this.credentials].map(([providerId, credential]) => ({ providerId, type: credential.type }));
  }

  modify(providerId, change) {
    return this.enqueue(providerId, async () => {
      const next = await change(this.credentials.get(providerId));
      if (next !== undefined) this.credentials.set(providerId, next);
      return this.credentials.get(providerId);
    });
  }

  delete(providerId) {
    return this.enqueue(providerId, async () => { this.credentials.delete(providerId); });
  }
}

/** Lists of models in memory. */
export class InMemoryModelsStore {
  constructor() {
    this.entries = new Map();
  }

  async read(providerId) {
    return this.entries.get(providerId);
  }

  async write(providerId, entry) {
    this.entries.set(providerId, structuredClone(entry));
  }

  async delete(providerId) {
    this.entries.delete(providerId);
  }
}
