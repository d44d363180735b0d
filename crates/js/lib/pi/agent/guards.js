// Type guards of tool events and small functions that only carry a type in pi.

const isResultOf = (name) => (event) => event.toolName === name;

/** Is this the result of the built-in bash tool. */
export function isBashToolResult(event) { return isResultOf("bash")(event); }
/** Is this the result of the built-in powershell tool. */
export function isPowerShellToolResult(event) { return isResultOf("powershell")(event); }
/** Is this the result of the built-in read tool. */
export function isReadToolResult(event) { return isResultOf("read")(event); }
/** Is this the result of the built-in edit tool. */
export function isEditToolResult(event) { return isResultOf("edit")(event); }
/** Is this the result of the built-in write tool. */
export function isWriteToolResult(event) { return isResultOf("write")(event); }
/** Is this the result of the built-in grep tool. */
export function isGrepToolResult(event) { return isResultOf("grep")(event); }
/** Is this the result of the built-in find tool. */
export function isFindToolResult(event) { return isResultOf("find")(event); }
/** Is this the result of the built-in ls tool. */
export function isLsToolResult(event) { return isResultOf("ls")(event); }

/** Is this a call of the named tool. */
export function isToolCallEventType(toolName, event) {
  return event.toolName === toolName;
}

/** Returns the definition as it is. */
export function defineTool(tool) {
  return tool;
}

/** Where a made-up resource says it comes from. */
export function createSyntheticSourceInfo(path, options) {
  return { path, source: options.source, scope: options.scope ?? "temporary", origin: options.origin ?? "top-level", baseDir: options.baseDir };
}

/** The tool an agent runs from a registered one: `execute` gets the runner's context. */
export function wrapRegisteredTool(registeredTool, runner) {
  const { definition } = registeredTool;
  return {
    name: definition.name,
    label: definition.label,
    description: definition.description,
    parameters: definition.parameters,
    outputSchema: definition.outputSchema,
    constrainedSampling: definition.constrainedSampling,
    prepareArguments: definition.prepareArguments,
    executionMode: definition.executionMode,
    execute: (toolCallId, params, signal, onUpdate) => definition.execute(toolCallId, params, signal, onUpdate, runner.createContext()),
  };
}

/** See `wrapRegisteredTool`. */
export function wrapRegisteredTools(registeredTools, runner) {
  return registeredTools.map((tool) => wrapRegisteredTool(tool, runner));
}

/** A bus: `on(channel, handler)` returns how to stop listening; a failing handler is reported, not thrown. */
export function createEventBus() {
  const channels = new Map();
  return {
    emit(channel, data) {
      for (const handler of [...(channels.get(channel) ?? [])]) {
        Promise.resolve().then(() => handler(data)).catch((error) => console.error(`Event handler error (${channel}):`, error));
      }
    },
    on(channel, handler) {
      const handlers = channels.get(channel) ?? new Set();
      channels.set(channel, handlers);
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    clear() {
      channels.clear();
    },
  };
}
