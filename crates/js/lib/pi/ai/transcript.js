// Transcripts: system prompt and tools written as system messages among the
// others, and back. A system message may change the prompt and add or remove
// tools in the middle of a conversation.

const isSystem = (message) => message.role === "system";

/** The text of a system message. */
export function getSystemMessageText(message) {
  return contentText(message.content);
}

/** The text of a content: texts joined by line breaks, other parts left out. */
export function contentText(content) {
  if (typeof content === "string") return content;
  return content.filter((part) => part.type === "text").map((part) => part.text).join("\n");
}

/** What a provider is told about a tool: only its declaration. */
export function toToolDeclaration(tool) {
  const { name, description, parameters, outputSchema, constrainedSampling, namespace } = tool;
  const out = { name, description, parameters };
  if (outputSchema !== undefined) out.outputSchema = outputSchema;
  if (constrainedSampling !== undefined) out.constrainedSampling = constrainedSampling;
  if (namespace !== undefined) out.namespace = namespace;
  return out;
}

/** Do two tools declare the same. */
export function declarationsEqual(left, right) {
  return JSON.stringify(toToolDeclaration(left)) === JSON.stringify(toToolDeclaration(right));
}

/** The first system message of a conversation, or undefined when there is nothing to say. */
export function createInitialSystemMessage(systemPrompt, tools) {
  const declared = (tools ?? []).map(toToolDeclaration);
  if (!systemPrompt && declared.length === 0) return undefined;
  const message = { role: "system", content: systemPrompt ?? "" };
  if (declared.length > 0) message.toolsAdded = declared;
  return { ...message, timestamp: 0 };
}

/** A context with its prompt and tools as a first system message. */
export function normalizeContext(context) {
  const { systemPrompt, tools, messages, ...rest } = context;
  const first = isSystem(messages[0] ?? {}) ? undefined : createInitialSystemMessage(systemPrompt, tools);
  return { ...rest, messages: first ? [first, ...messages] : [...messages] };
}

/** The system message at the very start, or undefined. */
export function getInitialSystemMessage(messages) {
  return messages.length > 0 && isSystem(messages[0]) ? messages[0] : undefined;
}

/** The messages without the system message at the very start. */
export function withoutInitialSystemMessage(messages) {
  return getInitialSystemMessage(messages) ? messages.slice(1) : messages;
}

/** The last system message that says something. */
export function getCurrentSystemMessage(messages) {
  return messages.findLast((message) => isSystem(message) && message.content !== undefined);
}

/** The system prompt in force. */
export function getCurrentSystemPrompt(messages) {
  const message = getCurrentSystemMessage(messages);
  return message ? getSystemMessageText(message) : "";
}

const removedNames = (message) => (message.toolsRemoved ?? []).map((each) => (typeof each === "string" ? each : each.name));

/** The tools in force. */
export function getCurrentTools(messages) {
  const tools = new Map();
  for (const message of messages) {
    if (!isSystem(message)) continue;
    for (const name of removedNames(message)) tools.delete(name);
    for (const tool of message.toolsAdded ?? []) tools.set(tool.name, tool);
  }
  return [...tools.values()];
}

/** Every tool that was ever declared, the last declaration of each. */
export function getDeclaredTools(messages) {
  const tools = new Map();
  for (const message of messages) if (isSystem(message)) for (const tool of message.toolsAdded ?? []) tools.set(tool.name, tool);
  return [...tools.values()];
}

/** Which tools were added and which removed between two sets. */
export function getToolStateChanges(previous, current) {
  const before = new Map(previous.map((tool) => [tool.name, tool]));
  const after = new Map(current.map((tool) => [tool.name, tool]));
  const toolsAdded = current.filter((tool) => !before.has(tool.name) || !declarationsEqual(before.get(tool.name), tool)).map(toToolDeclaration);
  const toolsRemoved = previous.filter((tool) => !after.has(tool.name)).map((tool) => tool.name);
  return { toolsAdded, toolsRemoved };
}

/** Was a tool declared twice in different ways. */
export function hasToolRedefinitions(messages) {
  const seen = new Map();
  for (const message of messages) {
    if (!isSystem(message)) continue;
    for (const tool of message.toolsAdded ?? []) {
      if (seen.has(tool.name) && !declarationsEqual(seen.get(tool.name), tool)) return true;
      seen.set(tool.name, tool);
    }
  }
  return false;
}

/** Were tools removed or declared anew. */
export function hasNonAdditiveToolChanges(messages) {
  return messages.some((message) => isSystem(message) && removedNames(message).length > 0) || hasToolRedefinitions(messages);
}

/** One system message at the start that says what is in force at the end. */
export function collapseSystemMessages(context) {
  const { messages } = context;
  const first = createInitialSystemMessage(getCurrentSystemPrompt(messages), getCurrentTools(messages));
  const rest = messages.filter((message) => !isSystem(message));
  return { ...context, messages: first ? [first, ...rest] : rest };
}

/** The transcript as a provider can take it: with system messages in the middle, or without. */
export function resolveTranscript(context, supportsMidConvoSystemMessages) {
  return supportsMidConvoSystemMessages ? context : collapseSystemMessages(context);
}

/** The tools to declare with a request, and how many leading system messages they cover. */
export function resolveTranscriptTools(messages, _support) {
  let folded = 0;
  while (folded < messages.length && isSystem(messages[folded])) folded += 1;
  return { requestTools: getCurrentTools(messages), foldedSystemMessages: folded };
}

/** A change of the system prompt as text for models that know no system messages later on. */
export function renderSystemMessageUpdate(message) {
  return getSystemMessageText(message);
}
