// The `ctx` objects: of every handler, of a running tool and of a command. Members are read when they are used, so a ctx
// that was kept shows what is now, and throws once the extension was shut down. What only an agent knows has pi's own
// defaults without one; what only an agent can do fails without one.

import { info, op } from "jackfield:host";
import { kinds, withMembers } from "jackfield:pi/runtime/members";
import { assertActive, controllerOf, fire, messageOf, plain } from "jackfield:pi/runtime/state";
import { askAgent, createModelRegistry, currentModel } from "jackfield:pi/runtime/models";
import { deliverMessage, deliverUserMessage, sessionManager, sessionRecorder, toolLists } from "jackfield:pi/runtime/session";
import { createUi } from "jackfield:pi/runtime/ui";
import { thinkingLevel } from "jackfield:pi/runtime/actions";

const once = new WeakMap();

/** What all contexts of one extension share. */
function shared(state) {
  let parts = once.get(state);
  if (parts === undefined) {
    let ui;
    let registry;
    parts = {
      get ui() {
        return (ui ??= createUi(state));
      },
      get modelRegistry() {
        return (registry ??= createModelRegistry(state, state.api));
      },
    };
    once.set(state, parts);
  }
  return parts;
}

function working(state) {
  for (const call of state.calls.values()) if (call.kind === "tool" || call.kind === "hook") return true;
  return false;
}

async function runCompaction(options) {
  let answer;
  try {
    answer = await op("agent", { op: "compact", customInstructions: options?.customInstructions });
  } catch (error) {
    options?.onError?.(error instanceof Error ? error : new Error(String(error)));
    return;
  }
  options?.onComplete?.(answer?.result ?? answer);
}

const HANDLER = kinds(
  ["ui", "mode", "hasUI", "cwd", "sessionManager", "modelRegistry", "model", "scopedModels", "thinkingLevel", "signal"],
  ["isIdle", "isProjectTrusted", "abort", "hasPendingMessages", "shutdown", "getContextUsage", "compact", "getSystemPrompt"],
);
const TOOL = kinds(["tools"], ["executeTool"], HANDLER);
const COMMAND = kinds(
  [],
  ["getSystemPromptOptions", "waitForIdle", "newSession", "fork", "navigateTree", "switchSession", "reload"],
  HANDLER,
);
const REPLACED = kinds([], ["sendMessage", "sendUserMessage"], COMMAND);

function read({ state, call }, name) {
  assertActive(state);
  switch (name) {
    case "ui": return shared(state).ui;
    case "mode": return info.mode;
    case "hasUI": return info.hasUI;
    case "cwd": return info.project;
    case "sessionManager": return sessionManager;
    case "modelRegistry": return shared(state).modelRegistry;
    case "model": return currentModel(state);
    case "scopedModels": return askAgent({ op: "scoped_models" }, {}).models ?? [];
    case "thinkingLevel": return thinkingLevel();
    // pi has a signal while the agent works; commands and shortcuts run outside of that.
    case "signal": return call && !call.ended && call.kind !== "command" && call.kind !== "shortcut" ? controllerOf(call).signal : undefined;
    default: return toolLists(state).all;
  }
}

/** Members that can be called check, at each call, that the extension still runs. */
function make(cx, name) {
  return (...args) => {
    assertActive(cx.state);
    return act(cx, name, args);
  };
}

function act({ state, call, systemPrompt }, name, [first, second]) {
  switch (name) {
    case "isIdle": return askAgent({ op: "is_idle" }, {}).idle ?? !working(state);
    case "isProjectTrusted": return askAgent({ op: "trusted" }, {}).trusted ?? true;
    case "abort": return fire(state, "abort", "agent", { op: "abort" });
    case "hasPendingMessages": return askAgent({ op: "has_pending" }, {}).pending ?? false;
    case "shutdown": return info.mode === "print" ? undefined : fire(state, "shutdown", "agent", { op: "shutdown" });
    case "getContextUsage": return askAgent({ op: "context_usage" }, {}).usage ?? undefined;
    case "compact": return void runCompaction(first);
    case "getSystemPrompt": return systemPrompt ? systemPrompt() : askAgent({ op: "system_prompt" }, {}).prompt ?? "";
    case "getSystemPromptOptions": return askAgent({ op: "system_prompt_options" }, {}).options ?? { cwd: info.project };
    case "sendMessage": return deliverMessage(first, second);
    case "sendUserMessage": return deliverUserMessage(first, second);
    default: return actLater(state, call, name, first, second);
  }
}

async function actLater(state, call, name, first, options) {
  const replace = async (params, withSession) => {
    const answer = await op("agent", params);
    const cancelled = answer?.cancelled === true;
    if (!cancelled && withSession) await withSession(replacedContext(state, call));
    return { cancelled };
  };
  switch (name) {
    case "waitForIdle": return void (await op("agent", { op: "wait_idle" }));
    case "reload": return void (await op("agent", { op: "reload" }));
    case "newSession": {
      const params = { op: "new_session" };
      if (first?.parentSession !== undefined) params.parentSession = first.parentSession;
      if (first?.setup) {
        const recorder = sessionRecorder();
        await first.setup(recorder.manager);
        params.setup = recorder.entries;
      }
      return replace(params, first?.withSession);
    }
    case "fork": return replace({ op: "fork", entryId: first, position: options?.position ?? "before" }, options?.withSession);
    case "navigateTree": return replace({ op: "navigate", targetId: first, ...plain(options ?? {}) });
    default: return replace({ op: "switch", path: first }, options?.withSession);
  }
}

/** The context of a handler. `call` is the host's call that it serves, if there is one. */
export function createContext(state, call, systemPrompt) {
  return withMembers(HANDLER, { state, call, systemPrompt }, read, make);
}

/** What a tool gets beyond the rest: other tools, through the host's checks, as calls within its own. */
export function createToolContext(state, call) {
  return withMembers(TOOL, { state, call }, read, makeForTool);
}

function makeForTool(cx, name) {
  if (name !== "executeTool") return make(cx, name);
  const { state, call } = cx;
  return async (tool, args, options) => {
    assertActive(state);
    const id = `${call.id}/${++call.nested}`;
    const toolCall = { type: "toolCall", id, name: tool, arguments: args ?? {} };
    try {
      const signal = options?.signal ?? controllerOf(call).signal;
      const { content, details, is_error: isError, ...rest } = await op("tool", { name: tool, input: plain(args) ?? {} }, { signal });
      return { toolCall, result: { ...rest, content: content ?? [], details: details ?? {} }, isError: isError === true };
    } catch (error) {
      const content = [{ type: "text", text: messageOf(error) }];
      return { toolCall, result: { content, details: {} }, isError: true };
    }
  };
}

/** The context of a command: it alone may replace the session. */
export function createCommandContext(state, call) {
  return withMembers(COMMAND, { state, call }, read, make);
}

/**
 * The context for `withSession`. The old session's objects may be dead by now, so this one hangs on a life of its own,
 * which ends when the runtime starts the extension anew or shuts it down for good.
 */
function replacedContext(state, call) {
  const next = state.phase === "stale" ? { ...state, phase: "active", calls: new Map(), bus: new Map() } : state;
  return withMembers(REPLACED, { state: next, call }, read, make);
}

/** The little that a handler of `project_trust` gets: the project is not trusted yet. */
export function createTrustContext(state) {
  const { select, confirm, input, notify } = shared(state).ui;
  return { cwd: info.project, mode: info.mode, hasUI: info.hasUI, ui: { select, confirm, input, notify } };
}
