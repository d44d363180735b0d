// Credentials from the environment, as far as the host lets an extension see it.

const KEYS = {
  openai: ["OPENAI_API_KEY"], anthropic: ["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"], google: ["GEMINI_API_KEY"], groq: ["GROQ_API_KEY"],
  cerebras: ["CEREBRAS_API_KEY"], xai: ["XAI_API_KEY"], openrouter: ["OPENROUTER_API_KEY"], mistral: ["MISTRAL_API_KEY"], zai: ["ZAI_API_KEY"],
  huggingface: ["HF_TOKEN"], deepseek: ["DEEPSEEK_API_KEY"], "azure-openai-responses": ["AZURE_OPENAI_API_KEY"], "vercel-ai-gateway": ["AI_GATEWAY_API_KEY"],
  minimax: ["MINIMAX_API_KEY"], opencode: ["OPENCODE_API_KEY"], "kimi-coding": ["KIMI_API_KEY"], fireworks: ["FIREWORKS_API_KEY"], together: ["TOGETHER_API_KEY"],
  "github-copilot": ["COPILOT_GITHUB_TOKEN"],
};

const read = (name, env) => (env ?? process.env)[name] || undefined;

/** The variables of a provider that are set, or undefined. */
export function findEnvKeys(provider, env) {
  const found = (KEYS[provider] ?? []).filter((name) => read(name, env));
  return found.length > 0 ? found : undefined;
}

/** The key of a provider from the environment, or undefined. */
export function getEnvApiKey(provider, env) {
  const name = findEnvKeys(provider, env)?.[0];
  return name && read(name, env);
}

/** Where credentials are looked up: the environment and files. */
export function defaultProviderAuthContext() {
  return {
    env: async (name) => read(name),
    async fileExists(path) {
      const { existsSync } = await import("node:fs");
      return existsSync(path);
    },
  };
}

/** A key that is read from the first variable that is set, or typed at login. */
export function envApiKeyAuth(name, envVars) {
  return {
    name,
    async login(interaction) {
      const key = await interaction.prompt({ type: "secret", message: `Enter ${name}` });
      return { type: "api_key", key };
    },
    async resolve({ ctx, credential }) {
      if (credential?.key) return { auth: { apiKey: credential.key }, source: "stored credential" };
      for (const variable of envVars) {
        const value = await ctx.env(variable);
        if (value) return { auth: { apiKey: value }, source: variable };
      }
      return undefined;
    },
  };
}

/** An OAuth flow that is loaded when it is first used. */
export function lazyOAuth(input) {
  let loaded;
  const flow = () => (loaded ??= Promise.resolve(input.load()));
  return {
    name: input.name,
    login: async (interaction) => (await flow()).login(interaction),
    refresh: async (credential) => (await flow()).refresh(credential),
    toAuth: async (credential) => (await flow()).toAuth(credential),
  };
}
