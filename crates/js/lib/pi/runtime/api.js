// The `pi` object that a factory gets. Registrations are kept in the extension's state and may be made at any time. Errors of
// the registering calls have pi's own wording, because extensions and their tests look at it.

import { assertActive, changed, flagValue } from "jackfield:pi/runtime/state";
import { kinds, withMembers } from "jackfield:pi/runtime/members";
import { contributions } from "jackfield:pi/runtime/registrations";
import { acting, providing } from "jackfield:pi/runtime/actions";
import { busEmit, busOn } from "jackfield:pi/runtime/bus";
import { execCommand } from "jackfield:pi/runtime/exec";

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

const REGISTERING = [
  "on", "registerTool", "registerCommand", "registerShortcut", "registerFlag", "registerMessageRenderer",
  "registerEntryRenderer", "registerToolRenderer", "registerMarkdownTransformer", "getFlag",
];
const ACTING = [
  "sendMessage", "sendUserMessage", "appendEntry", "setSessionName", "getSessionName", "setLabel", "getActiveTools",
  "getAllTools", "setActiveTools", "getCommands", "getSettings", "setModel", "getThinkingLevel", "setThinkingLevel",
];
const PROVIDING = [
  "registerProvider", "unregisterProvider", "registerVirtualModel", "unregisterVirtualModel", "registerMcpServer",
  "unregisterMcpServer", "getMcpServers",
];
const API = kinds([], [...REGISTERING, ...ACTING, "exec", ...PROVIDING, "events"]);

function bus(state) {
  return {
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
  };
}

function make(cx, name) {
  const { state } = cx;
  if (name === "events") return bus(state);
  if (name === "exec") {
    return (command, args, options) => {
      assertActive(state);
      return execCommand(command, args, options);
    };
  }
  if (REGISTERING.includes(name)) return (cx.registering ??= registering(state))[name];
  return ACTING.includes(name) ? (cx.acting ??= acting(state))[name] : (cx.providing ??= providing(state))[name];
}

export function createApi(state) {
  return withMembers(API, { state }, undefined, make);
}
