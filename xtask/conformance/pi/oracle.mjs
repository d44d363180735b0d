// Plays one behaviour script against real pi and writes down what could be observed, as one JSON document.
//
//   node oracle.mjs PI_PACKAGE_DIR EXAMPLE SCRIPT.json OUT.json [SESSION.jsonl]
//
// The extension is loaded by pi's own loader and driven by pi's own ExtensionRunner; around it stand a person who answers
// dialogs from the script (with the field names of pi's RPC mode), an agent that only records what is asked of it and
// answers from the script, and a real session. The working directory is the project. What comes out is raw: the chore that
// started this makes paths, ids and times comparable, for both sides in the same way.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [packageDir, example, scriptFile, outFile, sessionFile] = process.argv.slice(2);
const script = JSON.parse(readFileSync(scriptFile, "utf8"));
const bundle = resolve(packageDir, "dist/bundle");
const load = (file) => import(pathToFileURL(file).href);
const pi = await load(join(bundle, "index.js"));
const virtual = readdirSync(join(bundle, "chunks")).find((name) => /^virtual-modules-.*\.js$/.test(name));
const { VIRTUAL_MODULES } = await load(join(bundle, "chunks", virtual));
const { validateToolArguments } = VIRTUAL_MODULES["@earendil-works/pi-ai"];
pi.initTheme?.("dark");

const cwd = process.cwd();
/** What happened since the step began. */
let records = [];
let answers = [];

const plain = (value) => (value === undefined ? null : JSON.parse(JSON.stringify(value)));
const record = (what) => void records.push(plain(what));
const message = (error) => (error instanceof Error ? error.message : String(error));

/** Answers of the agent: a list is used up one by one, its last for good. */
function told(op, otherwise) {
  const given = script.agent?.[op];
  if (given === undefined) return otherwise;
  if (!Array.isArray(given) || op === "models") return given;
  return given.length > 1 ? given.shift() : given[0];
}

function dialog(request, options, otherwise) {
  if (options?.signal?.aborted) return Promise.resolve(otherwise);
  record({ ui: request.method, ...request, method: undefined, timeout: options?.timeout });
  const answer = answers.shift() ?? null;
  return new Promise((done) => setImmediate(() => done(answer === null ? otherwise : answer)));
}

const nothing = () => {};

const ui = {
  select: (title, options, opts) => dialog({ method: "select", title, options }, opts, undefined),
  confirm: (title, text, opts) => dialog({ method: "confirm", title, message: text }, opts, false),
  input: (title, placeholder, opts) => dialog({ method: "input", title, placeholder }, opts, undefined),
  editor: (title, prefill) => dialog({ method: "editor", title, prefill }, undefined, undefined),
  notify: (text, type) => record({ ui: "notify", message: text, notifyType: type ?? "info" }),
  setStatus: (key, text) => record({ ui: "setStatus", statusKey: key, statusText: text }),
  setWidget(key, content, options) {
    if (content !== undefined && !Array.isArray(content)) return;
    record({ ui: "setWidget", widgetKey: key, widgetLines: content, widgetPlacement: options?.placement });
  },
  setTitle: (title) => record({ ui: "setTitle", title }),
  setEditorText: (text) => record({ ui: "set_editor_text", text }),
  pasteToEditor: (text) => record({ ui: "set_editor_text", text }),
  getEditorText: () => "",
  custom: async () => undefined,
  onTerminalInput: () => nothing,
  setWorkingMessage: nothing,
  setWorkingVisible: nothing,
  setWorkingIndicator: nothing,
  setHiddenThinkingLabel: nothing,
  setFooter: nothing,
  setHeader: nothing,
  addAutocompleteProvider: nothing,
  setEditorComponent: nothing,
  getEditorComponent: () => undefined,
  // pi's default theme; it is not exported, but a runner without a user interface hands it out.
  get theme() {
    return bare.getUIContext().theme;
  },
  getAllThemes: () => [],
  getTheme: () => undefined,
  setTheme: () => ({ success: false, error: "Theme switching not supported in RPC mode" }),
  getToolsExpanded: () => false,
  setToolsExpanded: nothing,
};

const sessionManager = sessionFile ? pi.SessionManager.open(sessionFile) : pi.SessionManager.inMemory(cwd);

/** The session's own fields are its business; what was added is what counts. */
function appended(id) {
  const { id: _id, parentId, timestamp, ...entry } = sessionManager.getEntry(id);
  record({ entry });
}

const asked = (op, params) => record({ agent: op, ...params });

const modelRegistry = {
  getAll: () => told("models", []),
  getAvailable: () => told("models", []),
  find: (provider, id) => told("models", []).find((model) => model.provider === provider && model.id === id),
  findOfType: () => undefined,
  hasConfiguredAuth: () => true,
  getApiKeyAndHeaders: async () => ({ ok: true, apiKey: undefined, headers: undefined }),
  getError: () => undefined,
  registerProvider: nothing,
  unregisterProvider: nothing,
  registerVirtualModel: nothing,
  unregisterVirtualModel: nothing,
  async complete(model, context, options) {
    const { signal, ...rest } = options ?? {};
    asked("complete", { model, context, options: rest });
    return told("complete", {});
  },
};

const bus = pi.createEventBus();
const loaded = await pi.discoverAndLoadExtensions([resolve(example)], cwd, join(process.env.HOME, ".pi", "agent"), bus);
if (loaded.errors.length > 0 || loaded.extensions.length !== 1) {
  console.error(`cannot load ${example}: ${JSON.stringify(loaded.errors)}`);
  process.exit(1);
}
const runner = new pi.ExtensionRunner(loaded.extensions, loaded.runtime, cwd, sessionManager, modelRegistry);
const bare = new pi.ExtensionRunner([], loaded.runtime, cwd, sessionManager, modelRegistry);

let chosen;
const ownTools = () => runner.getAllRegisteredTools();
/** pi's own tools: all that there are, and the four that a session starts with. */
const builtin = ["read", "bash", "edit", "write", "grep", "find", "ls"];
const known = (name) => builtin.includes(name) || ownTools().some((tool) => tool.definition.name === name);
const atFirst = () => [
  ...builtin.slice(0, 4),
  ...ownTools().filter((tool) => tool.definition.defaultActive !== false).map((tool) => tool.definition.name),
];

runner.bindCore(
  {
    sendMessage: (sent, options) => asked("send_message", { message: sent, options: options ?? {} }),
    sendUserMessage: (content, options) => asked("send_user_message", { content, options: options ?? {} }),
    appendEntry: (customType, data) => appended(sessionManager.appendCustomEntry(customType, data)),
    setSessionName: (name) => appended(sessionManager.appendSessionInfo(name)),
    getSessionName: () => sessionManager.getSessionName(),
    setLabel: (id, label) => appended(sessionManager.appendLabelChange(id, label)),
    getActiveTools: () => chosen ?? [...new Set(atFirst())],
    getAllTools: () => [
      ...builtin.map((name) => ({ name })),
      ...ownTools().map(({ definition, sourceInfo }) => ({
        name: definition.name,
        description: definition.description,
        parameters: definition.parameters,
        promptGuidelines: definition.promptGuidelines,
        exposure: definition.exposure ?? "direct",
        sourceInfo,
      })),
    ],
    getSettings: () => told("settings", {}),
    setActiveTools: (names) => {
      chosen = names.filter(known);
      record({ active_tools: chosen });
    },
    refreshTools: nothing,
    getCommands: () =>
      runner.getRegisteredCommands().map((command) => ({
        name: command.invocationName,
        description: command.description,
        source: "extension",
        sourceInfo: command.sourceInfo,
      })),
    async setModel(model) {
      asked("set_model", { model });
      return told("set_model", true);
    },
    getThinkingLevel: () => told("thinking", "off"),
    setThinkingLevel: (level) => asked("set_thinking", { level }),
  },
  {
    getModel: () => told("model", undefined),
    getScopedModels: () => [],
    isIdle: () => told("is_idle", true),
    isProjectTrusted: () => true,
    getSignal: () => undefined,
    abort: () => asked("abort", {}),
    hasPendingMessages: () => false,
    shutdown: () => asked("shutdown", {}),
    getContextUsage: () => told("context_usage", undefined),
    compact(options) {
      asked("compact", { customInstructions: options?.customInstructions });
      Promise.resolve().then(() => options?.onComplete?.(told("compact", {})));
    },
    getSystemPrompt: () => told("system_prompt", ""),
  },
);

async function replaced(op, params, withSession) {
  asked(op, params);
  const cancelled = told(op, {}).cancelled === true;
  if (!cancelled && withSession) {
    const ctx = runner.createCommandContext();
    ctx.sendMessage = async (sent, options) => asked("send_message", { message: sent, options: options ?? {} });
    ctx.sendUserMessage = async (content, options) => asked("send_user_message", { content, options: options ?? {} });
    await withSession(ctx);
  }
  return { cancelled };
}

runner.bindCommandContext({
  waitForIdle: async () => asked("wait_idle", {}),
  newSession: (options) => replaced("new_session", { parentSession: options?.parentSession }, options?.withSession),
  fork: (entryId, options) => replaced("fork", { entryId, position: options?.position ?? "before" }, options?.withSession),
  navigateTree: (targetId, options) => replaced("navigate", { targetId, ...options }),
  switchSession: (path, options) => replaced("switch", { path }, options?.withSession),
  reload: async () => asked("reload", {}),
});
runner.setUIContext(ui, "rpc");
const failures = [];
runner.onError((failure) => failures.push(failure.error));

const paths = (list) => list.map((item) => item.path);

/** What pi makes of each event that is more than told. */
const emitters = {
  async tool_call(data) {
    const event = { toolCallId: "call-1", ...data, type: "tool_call" };
    const result = await runner.emitToolCall(event).catch((error) => ({ block: true, reason: message(error) }));
    return { result: plain(result), input: event.input };
  },
  async tool_result(data) {
    return { result: plain(await runner.emitToolResult({ toolCallId: "call-1", ...data, type: "tool_result" })) };
  },
  async input(data) {
    return { result: await runner.emitInput(data.text, data.images, data.source ?? "interactive", data.streamingBehavior) };
  },
  async user_bash(data) {
    const event = { excludeFromContext: false, cwd, ...data, type: "user_bash" };
    try {
      const answer = await runner.emitUserBash(event);
      if (!answer?.operations) return { result: plain(answer) };
      let output = "";
      const done = await answer.operations.exec(event.command, event.cwd, { onData: (chunk) => (output += chunk) });
      return { result: { result: { output, exitCode: done.exitCode, cancelled: false, truncated: false } } };
    } catch (error) {
      return { result: { block: true, reason: message(error) } };
    }
  },
  async context(data) {
    return { messages: await runner.emitContext(data.messages) };
  },
  async before_agent_start({ systemPrompt, systemPromptOptions, ...trigger }) {
    const options = { cwd, ...systemPromptOptions, forceSystemPrompt: systemPrompt };
    const done = await runner.emitBeforeAgentStart({ messageType: "user", ...trigger }, options);
    const { forceSystemPrompt, sections } = done.systemPromptOptions;
    return { messages: done.messages, systemPrompt: forceSystemPrompt, sections };
  },
  async message_end(data) {
    return { message: plain(await runner.emitMessageEnd({ ...data, type: "message_end" })) };
  },
  async before_provider_request(data) {
    return { payload: await runner.emitBeforeProviderRequest(data.payload) };
  },
  async resources_discover(data) {
    const found = await runner.emitResourcesDiscover(data.cwd ?? cwd, data.reason ?? "startup");
    return { skillPaths: paths(found.skillPaths), promptPaths: paths(found.promptPaths), themePaths: paths(found.themePaths) };
  },
  async turn_end(data) {
    const done = await runner.emitBoundary({ ...data, type: "turn_end" }, async () => []);
    return { entries: done.entries, continue: done.continue };
  },
  async project_trust(data) {
    // pi's function for this is not exported; its rule for a single handler is this short.
    const ctx = { cwd, mode: "rpc", hasUI: true, ui };
    for (const extension of loaded.extensions) {
      for (const handler of extension.handlers.get("project_trust") ?? []) {
        const answer = await handler({ cwd, ...data, type: "project_trust" }, ctx);
        if (answer.trusted !== "undecided") return { result: answer };
      }
    }
    return { result: null };
  },
};

async function emit(name, data) {
  if (Object.hasOwn(emitters, name)) return emitters[name](data);
  const signal = /^session_before_(compact|tree)$/.test(name) ? { signal: new AbortController().signal } : {};
  return { result: plain(await runner.emit({ ...data, ...signal, type: name })) };
}

/** A tool call as the agent loop makes it: arguments are checked, guards asked, the tool run, its result shown to guards. */
async function runTool(name, input) {
  const registered = ownTools().find((tool) => tool.definition.name === name);
  const failed = (text) => ({ content: [{ type: "text", text }], details: {}, isError: true });
  if (registered === undefined) return failed(`Tool ${name} not found`);
  const tool = pi.wrapRegisteredTool(registered, runner);
  let args;
  let result;
  try {
    const prepared = tool.prepareArguments ? tool.prepareArguments(input) : input;
    args = validateToolArguments(tool, { type: "toolCall", id: "call-1", name, arguments: prepared });
    const verdict = await runner.emitToolCall({ type: "tool_call", toolName: name, toolCallId: "call-1", input: args });
    if (verdict?.block) return failed(verdict.reason || "Tool execution was blocked");
  } catch (error) {
    return failed(message(error));
  }
  const onUpdate = (partial) => {
    const text = partial.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
    record({ progress: text });
  };
  try {
    result = await tool.execute("call-1", args, new AbortController().signal, onUpdate);
  } catch (error) {
    result = failed(message(error));
  }
  const isError = result.isError === true;
  const { content, details } = result;
  const event = { type: "tool_result", toolName: name, toolCallId: "call-1", input: args, content, details, isError };
  const patch = runner.hasHandlers("tool_result") ? await runner.emitToolResult(event) : undefined;
  return { content: patch?.content ?? content, details: patch?.details ?? details, isError: patch?.isError ?? isError };
}

async function run(step) {
  if (step.event !== undefined) return emit(step.event, step.data ?? {});
  if (step.tool !== undefined) return runTool(step.tool, step.input ?? {});
  if (step.command !== undefined) {
    const command = runner.getCommand(step.command);
    if (command === undefined) return { error: "no such command" };
    try {
      await command.handler(step.args ?? "", runner.createCommandContext());
      return {};
    } catch (error) {
      return { error: message(error) };
    }
  }
  if (step.shortcut !== undefined) {
    await runner.getShortcuts({}).get(step.shortcut).handler(runner.createContext());
    return {};
  }
  if (step.bus !== undefined) {
    bus.emit(step.bus, step.data);
    return {};
  }
  throw new Error(`a step without a kind: ${JSON.stringify(step)}`);
}

async function settled(step) {
  const deadline = Date.now() + 10_000;
  do {
    await new Promise((done) => setTimeout(done, 30));
  } while (records.length < (step.until ?? 0) && Date.now() < deadline);
}

const out = { steps: [] };
for (const step of [{ ...script.start, event: "session_start", data: { reason: "startup" } }, ...script.steps]) {
  records = [];
  answers = [...(step.answers ?? [])];
  failures.length = 0;
  const result = await run(step);
  await settled(step);
  const seen = { result: plain(result), records };
  if (failures.length > 0) seen.failures = [...failures];
  out.steps.push(seen);
}
writeFileSync(outFile, JSON.stringify(out));
process.exit(0);
