// The `pi` object that a factory gets. Registrations are kept in the extension's state and may be made at any time; actions
// need a session and fail inside the factory, as with pi. Errors of the registering calls have pi's own wording, because
// extensions and their tests look at it.

import { opSync, op } from "jackfield:host";
import { assertActive, assertBound, changed, flagValue, flushChanges, isUnsupported, plain } from "jackfield:pi/runtime/state";
import { contributions } from "jackfield:pi/runtime/registrations";
import { busEmit, busOn } from "jackfield:pi/runtime/bus";
import { execCommand } from "jackfield:pi/runtime/exec";
import { mcpNamespace, validateMcpServer } from "jackfield:pi/runtime/mcp";
import { sendMessage, sendUserMessage, appendEntry, sessionName, setLabel, setSessionName, toolLists, commandList } from "jackfield:pi/runtime/session";
import { createContext } from "jackfield:pi/runtime/context";

function registering(state) {
  return {
    on(event, handler) {
      assertActive(state);
      const registered = (...args) => handler(...args);
      const list = state.handlers.get(event) ?? [];
      list.push(registered);
      state.handlers.set(event, list);
      changed(state, contributions);
      return () => {
        const current = state.handlers.get(event);
        const index = current?.indexOf(registered) ?? -1;
        if (index === -1) return;
        current.splice(index, 1);
        if (current.length === 0) state.handlers.delete(event);
        changed(state, contributions);
      };
    },
    registerTool(tool) {
      assertActive(state);
      const schema = tool.parameters;
      if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
        throw new Error(`Tool "${tool.name}" registered by extension "${state.path}" must define an object parameter schema.`);
      }
      state.tools.set(tool.name, tool);
      changed(state, contributions);
    },
    registerCommand(name, options) {
      assertActive(state);
      if (typeof name !== "string" || name.length === 0) {
        throw new Error(`Command registered by extension "${state.path}" must have a non-empty string name. Use pi.registerCommand("name", { description, handler }).`);
      }
      if (typeof options?.handler !== "function") {
        throw new Error(`Command "/${name}" registered by extension "${state.path}" must define handler().`);
      }
      state.commands.set(name, { ...options, name: options.name ?? name });
      changed(state, contributions);
    },
    registerShortcut(shortcut, options) {
      assertActive(state);
      state.shortcuts.set(shortcut, { ...options, shortcut });
      changed(state, contributions);
    },
    registerFlag(name, options) {
      assertActive(state);
      if (options.default !== undefined && typeof options.default !== options.type) {
        throw new Error(`Invalid default for flag "${name}": expected ${options.type}, got ${typeof options.default}`);
      }
      const first = state.flags.get(name)?.value;
      state.flags.set(name, { options, value: first ?? options.default });
      changed(state, contributions);
    },
    registerMessageRenderer(customType, renderer) {
      assertActive(state);
      state.messageRenderers.set(customType, renderer);
      changed(state, contributions);
    },
    registerEntryRenderer(customType, renderer) {
      assertActive(state);
      state.entryRenderers.set(customType, renderer);
      changed(state, contributions);
    },
    registerToolRenderer(resolver) {
      assertActive(state);
      state.toolRenderers.push(resolver);
      changed(state, contributions);
    },
    registerMarkdownTransformer(transformer) {
      assertActive(state);
      state.markdownTransformer = transformer;
      changed(state, contributions);
    },
    getFlag(name) {
      assertActive(state);
      const flag = state.flags.get(name);
      if (flag === undefined) return undefined;
      // Inside the factory pi has not read the command line yet: only the default is there.
      const given = state.phase === "loading" ? undefined : flagValue(name);
      return given ?? flag.value;
    },
  };
}

function providing(state) {
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

function acting(state) {
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

export function createApi(state) {
  return {
    ...registering(state),
    ...acting(state),
    exec(command, args, options) {
      assertActive(state);
      return execCommand(command, args, options);
    },
    ...providing(state),
    events: {
      on(channel, handler) {
        assertActive(state);
        const off = busOn(state, channel, handler);
        changed(state, contributions);
        return off;
      },
      emit(channel, data) {
        assertActive(state);
        busEmit(state, channel, data);
      },
    },
  };
}


