// What an extension has registered, as the host's contract says it: tools, commands, hooks and the rest, with what only pi
// knows under `extra`. Function members become names, because functions stay in the engine.

import { compact, plain } from "jackfield:pi/runtime/state";
import { sourceInfo } from "jackfield:pi/runtime/session";

/** Events of pi that are moments of the host too. */
export const HOOK_OF_EVENT = {
  tool_call: "before_tool_call",
  tool_result: "after_tool_call",
  input: "before_message",
  before_agent_start: "before_agent_start",
};

/** Events that pi no longer has, the event that replaced them, and the reasons that they stood for. */
export const REMOVED_EVENTS = {
  session_switch: { event: "session_start", reasons: ["new", "resume"] },
  session_fork: { event: "session_start", reasons: ["fork"] },
  session_branch: { event: "session_start", reasons: ["fork"] },
};

const TOOL_FUNCTIONS = ["execute", "prepareArguments", "renderCall", "renderResult", "prepareLoadout", "reachesTools"];
const TOOL_FACTS = [
  "promptSnippet", "promptGuidelines", "executionMode", "exposure", "namespace", "annotations", "defaultActive",
  "renderShell",
];

/** What `getAllTools` says of a tool. */
export function toolInfo(state, tool) {
  return compact({
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    promptGuidelines: tool.promptGuidelines,
    exposure: tool.exposure ?? "direct",
    namespace: tool.namespace || undefined,
    annotations: tool.annotations ? { ...tool.annotations } : undefined,
    reachesTools: tool.reachesTools,
    sourceInfo: sourceInfo(state),
  });
}

function toolSpec(tool) {
  const extra = {};
  for (const name of TOOL_FACTS) if (tool[name] !== undefined) extra[name] = plain(tool[name]);
  if (typeof tool.execute === "function") extra.executeArity = tool.execute.length;
  extra.has = TOOL_FUNCTIONS.filter((name) => typeof tool[name] === "function");
  return compact({
    name: String(tool.name),
    label: typeof tool.label === "string" ? tool.label : undefined,
    description: typeof tool.description === "string" ? tool.description : "",
    parameters: plain(tool.parameters),
    output_schema: plain(tool.outputSchema),
    extra: compact(extra),
  });
}

function providerSpec({ name, config }) {
  // The registered name counts; the one for people, if it has one, stands in the way of a comparison with pi.
  const { streamSimple, oauth, models, name: _shown, ...rest } = config;
  const has = oauth && Object.keys(oauth).filter((key) => typeof oauth[key] === "function");
  return compact({
    ...plain(rest),
    name,
    hasStreamSimple: typeof streamSimple === "function",
    models: plain(models),
    oauth: oauth ? compact({ name: oauth.name, has }) : undefined,
  });
}

function commandSpec(name, { description }) {
  return { name, description: typeof description === "string" ? description : "" };
}

/** The extension's contributions as plain data. */
export function contributions(state) {
  const events = [];
  const hooks = [];
  const implied = new Set();
  for (const [name, handlers] of state.handlers) {
    for (let i = 0; i < handlers.length; i++) events.push(name);
    if (HOOK_OF_EVENT[name]) hooks.push(HOOK_OF_EVENT[name]);
    const removed = Object.hasOwn(REMOVED_EVENTS, name) ? REMOVED_EVENTS[name] : undefined;
    if (removed && !state.handlers.has(removed.event)) implied.add(removed.event);
  }
  // Whoever wants to know of a session's end has to know that there was one.
  if (state.handlers.has("session_shutdown") && !state.handlers.has("session_start")) implied.add("session_start");
  const warnings = [];
  for (const name of state.tools.keys()) {
    if (typeof state.tools.get(name).execute !== "function") warnings.push(`tool "${name}" has no execute function and cannot run`);
  }
  return compact({
    tools: [...state.tools.values()].map(toolSpec),
    commands: [...state.commands].map(([name, command]) => commandSpec(name, command)),
    hooks,
    events,
    shortcuts: [...state.shortcuts.values()].map(({ shortcut, description }) => compact({ shortcut, description })),
    flags: [...state.flags].map(([name, { options }]) =>
      compact({ name, type: options.type, description: options.description, default: plain(options.default) })),
    providers: state.providers.map(providerSpec),
    channels: [],
    bus: [...state.bus.keys()],
    extra: compact({
      messageRenderers: [...state.messageRenderers.keys()],
      entryRenderers: [...state.entryRenderers.keys()],
      toolRenderers: state.toolRenderers.length,
      markdownTransformer: state.markdownTransformer !== undefined,
      mcpServers: [...state.mcpServers].map(([name, config]) => ({ name, config: plain(config) })),
      virtualModels: state.virtualModels.map(({ id, provider }) => compact({ id, provider })),
      nativeProviders: state.nativeProviders.map((provider) => provider?.id).filter((id) => typeof id === "string"),
      busChannels: [...state.bus.keys()],
      commands: [...state.commands].map(([name, command]) => ({
        name,
        hasCompletions: typeof command.getArgumentCompletions === "function",
        hasHandler: typeof command.handler === "function",
      })),
      impliedEvents: implied.size > 0 ? [...implied] : undefined,
    }),
    capabilities: [],
    warnings,
  });
}
