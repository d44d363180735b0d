// The models an extension can see. Providers that the extension registers are
// kept here; everything about other models and credentials is the agent's.
import { agentCall, agentCallSync, unsupported } from "jackfield:pi/agent/unsupported";

function ask(name, params, otherwise) {
  try {
    return agentCallSync(name, params);
  } catch (error) {
    if (error?.code === "unsupported") return otherwise;
    throw error;
  }
}

/** pi's registry of models and providers. */
export class ModelRegistry {
  constructor(runtime) {
    this.runtime = runtime;
    this.providers = new Map();
  }

  #own() {
    return [...this.providers].flatMap(([provider, config]) => (config.models ?? []).map((model) => ({ api: config.api, baseUrl: config.baseUrl, ...model, provider })));
  }

  async refresh() {}
  getError() { return undefined; }
  getAll() { return [...(ask("models", {}, { models: [] }).models ?? []), ...this.#own()]; }
  getAvailable() { return [...(ask("models", { available: true }, { models: [] }).models ?? []), ...this.#own().filter((model) => this.hasConfiguredAuth(model))]; }
  find(provider, modelId) { return this.getAll().find((model) => model.provider === provider && model.id === modelId); }
  findOfType(type, provider, modelId) { return this.getModelsOfType(type).find((model) => model.provider === provider && model.id === modelId); }
  getModelsOfType(type) { return this.getAll().filter((model) => (model.type ?? "chat") === type); }
  getAvailableOfType(type) { return this.getAvailable().filter((model) => (model.type ?? "chat") === type); }
  getModelOfType(type, provider, modelId) { return this.findOfType(type, provider, modelId); }
  hasConfiguredAuth(model) { return Boolean(this.providers.get(model.provider)?.apiKey); }
  async getApiKeyAndHeaders(model) {
    const config = this.providers.get(model.provider);
    if (config?.apiKey) return { ok: true, apiKey: config.apiKey, headers: config.headers };
    return { ok: false, error: `no credentials for the provider ${model.provider}: this host gives extensions no keys of its agent` };
  }
  async getApiKeyForProvider(provider) { return this.providers.get(provider)?.apiKey; }
  getProviderAuthStatus(provider) { return { configured: this.providers.has(provider) }; }
  async getProviderAuth(_provider) { return undefined; }
  getProvider(id) { return this.providers.get(id); }
  getProviderDisplayName(provider) { return this.providers.get(provider)?.name ?? provider; }
  isUsingOAuth(_model) { return false; }
  stream(model, _context, _options) { throw unsupported(`streaming from ${model?.id}`, "the host has no agent"); }
  streamSimple(model, context, options) { return this.stream(model, context, options); }
  async complete(model, context, options) { return agentCall("complete", { model: { provider: model.provider, id: model.id }, context }, { signal: options?.signal }); }
  async classify(model, request) { return agentCall("classify", { model: { provider: model.provider, id: model.id }, request }); }
  async generateImages(model, request) { return agentCall("generate_images", { model: { provider: model.provider, id: model.id }, request }); }
  registerProvider(name, config) { this.providers.set(typeof name === "string" ? name : name.id, typeof name === "string" ? config : name); }
  unregisterProvider(name) { this.providers.delete(name); }
  registerVirtualModel(_config) {}
  unregisterVirtualModel(_provider, _id) {}
  getRegisteredProviderConfig(name) { return this.providers.get(name); }
  getRegisteredNativeProvider(_name) { return undefined; }
  getRegisteredProviderIds() { return [...this.providers.keys()]; }
}

/** pi's owner of models and credentials. */
export class ModelRuntime extends ModelRegistry {
  static async create(_options) {
    return new ModelRuntime();
  }

  getProviders() { return [...this.providers.values()]; }
  getModels() { return this.getAll(); }
  getModel(provider, id) { return this.find(provider, id); }
  getAllModels() { return this.getAll(); }
  getAvailableSnapshot() { return this.getAvailable(); }
  async getAuth(_provider) { return undefined; }
  async login(_provider) { throw unsupported("login", "log in with the agent itself"); }
  async logout(_provider) { throw unsupported("logout", "log out with the agent itself"); }
}

/** A credential that pi stored; none is handed to extensions here. */
export function readStoredCredential(_provider) {
  return undefined;
}

/** The model that command-line options name, among the ones that can be seen. */
export function resolveCliModel(options) {
  const models = options.modelRegistry?.getAll?.() ?? [];
  const wanted = options.cliModel ?? "";
  const [provider, id] = wanted.includes("/") ? [wanted.slice(0, wanted.indexOf("/")), wanted.slice(wanted.indexOf("/") + 1)] : [options.cliProvider, wanted];
  const model = models.find((each) => (provider === undefined || each.provider === provider) && each.id === id);
  return model ? { model, warning: undefined, error: undefined } : { model: undefined, warning: undefined, error: wanted ? `Model "${wanted}" not found.` : undefined };
}

/** The models that patterns name, with what did not match. */
export async function resolveModelScopeWithDiagnostics(patterns, modelRegistry, _options) {
  const models = modelRegistry?.getAvailable ? await modelRegistry.getAvailable() : [];
  const scopedModels = [];
  const diagnostics = [];
  for (const pattern of patterns) {
    const regex = new RegExp(`^${pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`, "i");
    const found = models.filter((model) => regex.test(model.id) || regex.test(`${model.provider}/${model.id}`));
    if (found.length === 0) diagnostics.push({ type: "warning", message: `No models match pattern "${pattern}"`, pattern });
    for (const model of found) if (!scopedModels.some((each) => each.model === model)) scopedModels.push({ model });
  }
  return { scopedModels, diagnostics };
}
