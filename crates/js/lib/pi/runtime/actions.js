// What `pi` can do beyond registering: the session, the model, providers and MCP servers. Most extensions use none of it, so
// it is loaded when it is used. Actions need a session and fail inside the factory, as with pi.

import { opSync, op } from "jackfield:host";
import { assertActive, assertBound, changed, flushChanges, isUnsupported, plain } from "jackfield:pi/runtime/state";
import { contributions } from "jackfield:pi/runtime/registrations";
import { mcpNamespace, validateMcpServer } from "jackfield:pi/runtime/mcp";
import { sendMessage, sendUserMessage, appendEntry, sessionName, setLabel, setSessionName, toolLists, commandList } from "jackfield:pi/runtime/session";
import { createContext } from "jackfield:pi/runtime/context";

export function providing(state) {
  return {
    registerProvider(providerOrName, config) {
      assertActive(state);
      if (typeof providerOrName === "string") {
        if (!config) throw new Error("Provider config is required when registering by name");
        const at = state.phase === "loading" ? -1 : state.providers.findIndex((known) => known.name === providerOrName);
        if (at === -1) state.providers.push({ name: providerOrName, config });
        else state.providers[at] = { name: providerOrName, config };
      } else {
        state.nativeProviders.push(providerOrName);
      }
      changed(state, contributions);
    },
    unregisterProvider(name) {
      assertActive(state);
      state.providers = state.providers.filter((known) => known.name !== name);
      state.nativeProviders = state.nativeProviders.filter((known) => known?.id !== name);
      changed(state, contributions);
    },
    registerVirtualModel(model) {
      assertActive(state);
      const route = (request) => model.route(request, createContext(state, undefined));
      state.virtualModels.push({ ...model, route });
      changed(state, contributions);
    },
    unregisterVirtualModel(provider, id) {
      assertActive(state);
      state.virtualModels = state.virtualModels.filter((known) => known.provider !== provider || known.id !== id);
      changed(state, contributions);
    },
    registerMcpServer(name, config) {
      assertActive(state);
      const checked = validateMcpServer(name, config);
      if (typeof checked === "string") {
        throw new Error(`Invalid MCP server registered by extension "${state.path}": ${checked}`);
      }
      const space = mcpNamespace(name);
      for (const known of state.mcpServers.keys()) {
        if (known !== name && mcpNamespace(known) === space) {
          throw new Error(`MCP server "${name}" conflicts with registered server "${known}"`);
        }
      }
      state.mcpServers.set(name, structuredClone(checked));
      changed(state, contributions);
    },
    unregisterMcpServer(name) {
      assertActive(state);
      if (state.mcpServers.delete(name)) changed(state, contributions);
    },
    getMcpServers() {
      assertActive(state);
      return [...state.mcpServers].map(([name, config]) => ({ name, config: structuredClone(config), extensionPath: state.path }));
    },
  };
}

export function acting(state) {
  const action = (run) => (...args) => {
    assertBound(state);
    flushChanges(state);
    return run(...args);
  };
  return {
    sendMessage: action((message, options) => sendMessage(state, message, options)),
    sendUserMessage: action((content, options) => sendUserMessage(state, content, options)),
    appendEntry: action((customType, data) => appendEntry(customType, data)),
    setSessionName: action((name) => setSessionName(name)),
    getSessionName: action(() => sessionName()),
    setLabel: action((entryId, label) => setLabel(entryId, label)),
    getActiveTools: action(() => toolLists(state).active),
    getAllTools: action(() => toolLists(state).all),
    setActiveTools: action((names) => {
      opSync("session", { op: "set_tools", names: [...names] });
    }),
    getCommands: action(() => commandList(state)),
    getSettings: action(() => {
      try {
        return opSync("agent", { op: "settings" })?.settings ?? {};
      } catch (error) {
        if (isUnsupported(error)) return {};
        throw error;
      }
    }),
    // pi answers this one with a rejected promise instead of a throw, also before the session is there.
    setModel(model) {
      assertActive(state);
      if (state.phase === "loading") return Promise.reject(new Error("Extension runtime not initialized"));
      return op("agent", { op: "set_model", model: plain(model) }).then((answer) => answer?.ok !== false && answer?.success !== false);
    },
    getThinkingLevel: action(() => thinkingLevel()),
    setThinkingLevel: action((level) => {
      opSync("agent", { op: "set_thinking", level });
    }),
  };
}

/** The level of the session; a host without an agent does not think. */
export function thinkingLevel() {
  try {
    return opSync("agent", { op: "thinking" })?.level ?? "off";
  } catch (error) {
    if (isUnsupported(error)) return "off";
    throw error;
  }
}
