// `ctx.ui` for faces that pi would call rpc or print: dialogs are questions to the host, with pi's answers for "nobody
// answered" (undefined, or false for a confirmation). What only a terminal can show (components, footers, editors, raw
// input) does nothing, exactly as in pi's rpc mode. The terminal face puts its own object in place of this one.

import { info, op } from "jackfield:host";
import { compact, fire, flushChanges, handlersOf, isUnsupported, report } from "jackfield:pi/runtime/state";
import { currentTheme } from "jackfield:pi/agent/theme";
import { tell } from "jackfield:pi/runtime/events";

/** Handlers hear when the person is asked something; questions inside questions count as one. */
async function prompting(state, kind, title, run) {
  const named = (event, prompt) => compact({ type: event, reason: "ui_prompt", kind: prompt.kind, title: prompt.title || undefined });
  const announce = (event) => {
    if (handlersOf(state, event.type).length > 0) queueMicrotask(() => void tell(state, event));
  };
  if (state.promptDepth++ === 0) {
    state.prompt = { kind, title };
    announce(named("ui_prompt_start", state.prompt));
  }
  try {
    return await run();
  } finally {
    if (--state.promptDepth === 0) {
      const prompt = state.prompt ?? { kind, title };
      state.prompt = undefined;
      announce(named("ui_prompt_end", prompt));
    }
  }
}

/** Asks the host; an abort or a timeout is the same answer as a cancel. */
async function dialog(state, params, options, otherwise, pick) {
  const signal = options?.signal;
  if (signal?.aborted) return otherwise;
  const stop = new AbortController();
  let timer;
  let giveUp;
  const given = new Promise((resolve) => (giveUp = () => resolve(undefined)));
  signal?.addEventListener("abort", giveUp, { once: true });
  if (options?.timeout) {
    params.timeout = options.timeout;
    timer = setTimeout(giveUp, options.timeout);
  }
  flushChanges(state);
  const asked = op("ui", params, { signal: stop.signal });
  try {
    const answer = await Promise.race([asked, given]);
    return answer === undefined || answer === null || answer.cancelled ? otherwise : (pick(answer) ?? otherwise);
  } catch (error) {
    if (!isUnsupported(error) && error?.code !== "cancelled") report(state, `ui.${params.op}`, error);
    return otherwise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
    asked.then(undefined, () => {});
    stop.abort();
  }
}

const nothing = () => {};

/** What all faces without a terminal have in common. */
function silent() {
  return {
    select: async () => undefined,
    confirm: async () => false,
    input: async () => undefined,
    editor: async () => undefined,
    notify: nothing,
    setStatus: nothing,
    setWidget: nothing,
    setTitle: nothing,
    setEditorText: nothing,
    pasteToEditor: nothing,
    getEditorText: () => "",
    setWorkingMessage: nothing,
    setWorkingVisible: nothing,
    setWorkingIndicator: nothing,
    setHiddenThinkingLabel: nothing,
    custom: async () => undefined,
    setFooter: nothing,
    setHeader: nothing,
    setEditorComponent: nothing,
    getEditorComponent: () => undefined,
    addAutocompleteProvider: nothing,
    onTerminalInput: () => nothing,
    get theme() {
      return currentTheme();
    },
    getAllThemes: () => [],
    getTheme: () => undefined,
    setTheme: () => ({ success: false, error: "UI not available" }),
    getToolsExpanded: () => false,
    setToolsExpanded: nothing,
  };
}

export function createUi(state) {
  const ui = silent();
  const send = (params) => fire(state, `ui.${params.op}`, "ui", compact(params));
  // A note reaches whoever looks at the host, also where nobody can be asked.
  ui.notify = (message, type) => send({ op: "notify", message: String(message), level: type ?? "info" });
  if (!info.hasUI) return ui;
  const value = (answer) => answer.value;
  ui.select = (title, options, opts) =>
    prompting(state, "select", title, () => dialog(state, { op: "select", title, options: [...options] }, opts, undefined, value));
  ui.confirm = (title, message, opts) =>
    prompting(state, "confirm", title, () =>
      dialog(state, compact({ op: "confirm", title, message }), opts, false, (answer) => answer.confirmed));
  ui.input = (title, placeholder, opts) =>
    prompting(state, "input", title, () => dialog(state, compact({ op: "input", title, placeholder }), opts, undefined, value));
  ui.editor = (title, prefill) =>
    prompting(state, "editor", title, () => dialog(state, compact({ op: "editor", title, prefill }), undefined, undefined, value));
  ui.custom = () => prompting(state, "custom", undefined, async () => undefined);
  ui.setStatus = (key, text) => send({ op: "set_status", key, text: text ?? null });
  ui.setWidget = (key, content, options) => {
    if (content !== undefined && content !== null && !Array.isArray(content)) return;
    send({ op: "set_widget", key, lines: content?.map(String) ?? null, placement: options?.placement });
  };
  ui.setTitle = (title) => send({ op: "set_title", title });
  ui.setEditorText = (text) => send({ op: "set_editor_text", text });
  ui.pasteToEditor = (text) => ui.setEditorText(text);
  ui.setTheme = () => ({ success: false, error: "Theme switching not supported in RPC mode" });
  return ui;
}
