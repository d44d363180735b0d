// pi as a library: sessions with an agent inside, its modes and its loaders.
// They need an agent, so each asks the host's agent and passes its answer on;
// without one the error says so. Classes can be named and extended.
import { agentCall, unsupported } from "jackfield:pi/agent/unsupported";

const NO_AGENT = "it needs pi's own agent, and extensions run here without it";

/** An agent session. There is none to be had by `new`. */
export class AgentSession {
  constructor() {
    throw unsupported("AgentSession", NO_AGENT);
  }
}

/** The owner of the current agent session. */
export class AgentSessionRuntime {
  constructor() {
    throw unsupported("AgentSessionRuntime", NO_AGENT);
  }
}

/** pi's terminal interface. */
export class InteractiveMode {
  constructor() {
    throw unsupported("InteractiveMode", NO_AGENT);
  }
}

/** pi's own runner of extensions; here the host runs them. */
export class ExtensionRunner {
  constructor() {
    throw unsupported("ExtensionRunner", "the host itself runs extensions");
  }
}

/** pi's installer of packages. */
export class DefaultPackageManager {
  constructor(options) {
    this.options = options;
  }

  async resolve() {
    return { extensions: [], skills: [], prompts: [], themes: [] };
  }

  async install(source) {
    throw unsupported(`installing ${source}`, "use the host's own command to add an extension");
  }

  async remove(source) {
    throw unsupported(`removing ${source}`, "use the host's own command to remove an extension");
  }
}

/** Credentials could not be brought in line with their store. */
export class CredentialSynchronizationError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "CredentialSynchronizationError";
  }
}

/** A pi process that is spoken to over its RPC mode. */
export class RpcClient {
  constructor(options = {}) {
    this.options = options;
  }

  async start() {
    throw unsupported("RpcClient", "start the pi program with node:child_process and speak its RPC protocol");
  }

  async stop() {}
}

/** A session with an agent. */
export async function createAgentSession(options = {}) {
  return agentCall("create_session", { cwd: options.cwd, tools: options.tools });
}

/** See `createAgentSession`. */
export async function createAgentSessionFromServices(options) {
  return agentCall("create_session", { cwd: options?.services?.cwd });
}

/** See `createAgentSession`. */
export async function createAgentSessionRuntime(_createRuntime, options) {
  return agentCall("create_session", { cwd: options?.cwd });
}

/** See `createAgentSession`. */
export async function createAgentSessionServices(options) {
  return agentCall("create_session", { cwd: options?.cwd });
}

/** pi's command line. */
export async function main(args, _options) {
  return agentCall("main", { args });
}

/** pi's print mode. */
export async function runPrintMode(_runtime, options) {
  return agentCall("run_print_mode", { options });
}

/** pi's RPC mode. */
export async function runRpcMode(_runtime) {
  return agentCall("run_rpc_mode", {});
}

/** Loading other extensions is the host's work. */
export async function discoverAndLoadExtensions(_configuredPaths, _cwd, _agentDir, _eventBus) {
  throw unsupported("discoverAndLoadExtensions", "the host discovers and loads extensions");
}

/** The functions that extensions act through, before a session is bound: each says that it is too early. */
export function createExtensionRuntime() {
  const early = () => {
    throw new Error("Extension runtime not initialized. Action methods cannot be called during extension loading.");
  };
  const names = ["sendMessage", "sendUserMessage", "appendEntry", "setSessionName", "getSessionName", "setLabel", "getActiveTools", "getAllTools", "getSettings", "setActiveTools", "refreshTools", "getCommands", "setModel", "getThinkingLevel", "setThinkingLevel", "createContext"];
  const runtime = Object.fromEntries(names.map((name) => [name, early]));
  return {
    ...runtime,
    flagValues: new Map(),
    pendingProviderRegistrations: [],
    pendingNativeProviderRegistrations: [],
    pendingVirtualModelRegistrations: [],
    mcpServers: new Map(),
    assertActive() {},
    invalidate() {},
    trackEventBusSubscription() {},
    registerProvider(name, config) { this.pendingProviderRegistrations.push({ name, config }); },
    registerNativeProvider(provider) { this.pendingNativeProviderRegistrations.push({ provider }); },
    unregisterProvider(name) { this.pendingProviderRegistrations = this.pendingProviderRegistrations.filter((each) => each.name !== name); },
    registerVirtualModel(config) { this.pendingVirtualModelRegistrations.push({ config }); },
    unregisterVirtualModel(provider, id) { this.pendingVirtualModelRegistrations = this.pendingVirtualModelRegistrations.filter((each) => each.config.provider !== provider || each.config.id !== id); },
  };
}

const builtin = (name) => () => function builtinExtension() {
  throw unsupported(`pi's built-in extension ${name}`, "it is part of pi's own agent");
};

/** pi's built-in code mode, as an extension factory. */
export function createCodemodeExtension(_options) { return builtin("codemode")(); }
/** pi's built-in MCP client, as an extension factory. */
export function createMcpExtension(_options) { return builtin("mcp")(); }
/** pi's built-in tool search, as an extension factory. */
export function createToolSearchExtension(_options) { return builtin("tool-search")(); }
