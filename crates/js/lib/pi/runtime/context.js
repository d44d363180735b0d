// The `ctx` objects: of every handler, of a running tool and of a command. Members are read when they are used, so a ctx
// that was kept shows what is now, and throws once the extension was shut down. What only an agent knows has pi's own
// defaults without one; what only an agent can do fails without one.

import { info, op } from "jackfield:host";
import { assertActive, fire, messageOf, plain } from "jackfield:pi/runtime/state";
import { askAgent, createModelRegistry, currentModel } from "jackfield:pi/runtime/models";
import { deliverMessage, deliverUserMessage, sessionManager, sessionRecorder, toolLists } from "jackfield:pi/runtime/session";
import { createUi } from "jackfield:pi/runtime/ui";
import { thinkingLevel } from "jackfield:pi/runtime/api";

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

/** Adds members that check, at each use, that the extension still runs. */
function guarded(target, state, getters, methods) {
  for (const [name, read] of Object.entries(getters)) {
    Object.defineProperty(target, name, {
      enumerable: true,
      configurable: true,
      get() {
        assertActive(state);
        return read();
      },
    });
  }
  for (const [name, run] of Object.entries(methods)) {
    target[name] = (...args) => {
      assertActive(state);
      return run(...args);
    };
  }
  return target;
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

/** The context of a handler. `call` is the host's call that it serves, if there is one. */
export function createContext(state, call, systemPrompt) {
  const parts = shared(state);
  // pi has a signal while the agent works; commands and shortcuts run outside of that.
  const signal = call && call.kind !== "command" && call.kind !== "shortcut" ? call.controller.signal : undefined;
  return guarded(
    {},
    state,
    {
      ui: () => parts.ui,
      mode: () => info.mode,
      hasUI: () => info.hasUI,
      cwd: () => info.project,
      sessionManager: () => sessionManager,
      modelRegistry: () => parts.modelRegistry,
      model: () => currentModel(state),
      scopedModels: () => askAgent({ op: "scoped_models" }, {}).models ?? [],
      thinkingLevel: () => thinkingLevel(),
      signal: () => (call?.ended ? undefined : signal),
    },
    {
      isIdle: () => askAgent({ op: "is_idle" }, {}).idle ?? !working(state),
      isProjectTrusted: () => askAgent({ op: "trusted" }, {}).trusted ?? true,
      abort: () => fire(state, "abort", "agent", { op: "abort" }),
      hasPendingMessages: () => askAgent({ op: "has_pending" }, {}).pending ?? false,
      shutdown: () => {
        if (info.mode !== "print") fire(state, "shutdown", "agent", { op: "shutdown" });
      },
      getContextUsage: () => askAgent({ op: "context_usage" }, {}).usage ?? undefined,
      compact: (options) => void runCompaction(options),
      getSystemPrompt: () => (systemPrompt ? systemPrompt() : askAgent({ op: "system_prompt" }, {}).prompt ?? ""),
    },
  );
}

/** What a tool gets beyond the rest: other tools, through the host's checks, as calls within its own. */
export function createToolContext(state, call) {
  const ctx = createContext(state, call);
  guarded(ctx, state, { tools: () => toolLists(state).all }, {});
  ctx.executeTool = async (name, args, options) => {
    assertActive(state);
    const id = `${call.id}/${++call.nested}`;
    const toolCall = { type: "toolCall", id, name, arguments: args ?? {} };
    try {
      const signal = options?.signal ?? call.controller.signal;
      const { content, details, is_error: isError, ...rest } = await op("tool", { name, input: plain(args) ?? {} }, { signal });
      return { toolCall, result: { ...rest, content: content ?? [], details: details ?? {} }, isError: isError === true };
    } catch (error) {
      const content = [{ type: "text", text: messageOf(error) }];
      return { toolCall, result: { content, details: {} }, isError: true };
    }
  };
  return ctx;
}

/** The context of a command: it alone may replace the session. */
export function createCommandContext(state, call) {
  const replace = async (params, withSession) => {
    const answer = await op("agent", params);
    const cancelled = answer?.cancelled === true;
    if (!cancelled && withSession) await withSession(replacedContext(state, call));
    return { cancelled };
  };
  return guarded(createContext(state, call), state, {}, {
    getSystemPromptOptions: () => askAgent({ op: "system_prompt_options" }, {}).options ?? { cwd: info.project },
    waitForIdle: async () => {
      await op("agent", { op: "wait_idle" });
    },
    newSession: async (options) => {
      const params = { op: "new_session" };
      if (options?.parentSession !== undefined) params.parentSession = options.parentSession;
      if (options?.setup) {
        const recorder = sessionRecorder();
        await options.setup(recorder.manager);
        params.setup = recorder.entries;
      }
      return replace(params, options?.withSession);
    },
    fork: async (entryId, options) =>
      replace({ op: "fork", entryId, position: options?.position ?? "before" }, options?.withSession),
    navigateTree: async (targetId, options) => replace({ op: "navigate", targetId, ...plain(options ?? {}) }),
    switchSession: async (path, options) => replace({ op: "switch", path }, options?.withSession),
    reload: async () => {
      await op("agent", { op: "reload" });
    },
  });
}

/**
 * The context for `withSession`. The old session's objects may be dead by now, so this one hangs on a life of its own,
 * which ends when the runtime starts the extension anew or shuts it down for good.
 */
function replacedContext(state, call) {
  const next = state.phase === "stale" ? { ...state, phase: "active", calls: new Map(), bus: new Map() } : state;
  return guarded(createCommandContext(next, call), next, {}, {
    sendMessage: (message, options) => deliverMessage(message, options),
    sendUserMessage: (content, options) => deliverUserMessage(content, options),
  });
}

/** The little that a handler of `project_trust` gets: the project is not trusted yet. */
export function createTrustContext(state) {
  const { select, confirm, input, notify } = shared(state).ui;
  return { cwd: info.project, mode: info.mode, hasUI: info.hasUI, ui: { select, confirm, input, notify } };
}
