// Messages of a session as a model sees them, and a conversation as text.

const BRANCH = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
const COMPACTION = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const TOOL_RESULT_CHARS = 2000;

const user = (text, timestamp) => ({ role: "user", content: [{ type: "text", text }], timestamp });

/** A user's command with its output, as text. */
export function bashExecutionText(message) {
  let text = `Ran \`${message.command}\`\n`;
  text += message.output ? `\`\`\`\n${message.output}\n\`\`\`` : "(no output)";
  if (message.cancelled) text += "\n\n(command cancelled)";
  else if (message.exitCode !== null && message.exitCode !== undefined && message.exitCode !== 0) text += `\n\nCommand exited with code ${message.exitCode}`;
  if (message.truncated && message.fullOutputPath) text += `\n\n[Output truncated. Full output: ${message.fullOutputPath}]`;
  return text;
}

/** Messages in the three roles that models know; what only people see is left out. */
export function convertToLlm(messages) {
  const out = [];
  for (const message of messages) {
    switch (message.role) {
      case "bashExecution":
        if (!message.excludeFromContext) out.push(user(bashExecutionText(message), message.timestamp));
        break;
      case "custom":
        out.push({ role: "user", content: typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content, timestamp: message.timestamp });
        break;
      case "branchSummary":
        out.push(user(`${BRANCH}${message.summary}</summary>`, message.timestamp));
        break;
      case "compactionSummary":
        out.push(user(`${COMPACTION}${message.summary}\n</summary>`, message.timestamp));
        break;
      case "user":
      case "assistant":
      case "toolResult":
      case "system":
        out.push(message);
        break;
      default:
        break;
    }
  }
  return out;
}

const texts = (content) => (typeof content === "string" ? content : content.filter((part) => part.type === "text").map((part) => part.text).join(""));

/** A conversation as text, for summaries: tool results are cut, thinking is left out. */
export function serializeConversation(messages) {
  const parts = [];
  for (const message of messages) {
    if (message.role === "user") {
      const text = texts(message.content);
      if (text) parts.push(`[User]: ${text}`);
    } else if (message.role === "assistant") {
      const said = message.content.filter((part) => part.type === "text").map((part) => part.text).join("\n");
      const calls = message.content
        .filter((part) => part.type === "toolCall")
        .map((part) => `${part.name}(${Object.entries(part.arguments ?? {}).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")})`);
      if (said) parts.push(`[Assistant]: ${said}`);
      if (calls.length > 0) parts.push(`[Assistant tool calls]: ${calls.join("; ")}`);
    } else if (message.role === "toolResult") {
      const text = texts(message.content);
      if (!text) continue;
      const rest = text.length - TOOL_RESULT_CHARS;
      parts.push(`[Tool result]: ${rest > 0 ? `${text.slice(0, TOOL_RESULT_CHARS)}\n\n[... ${rest} more characters truncated]` : text}`);
    }
  }
  return parts.join("\n\n");
}

/** The skill block that a message starts with, or null. */
export function parseSkillBlock(text) {
  const match = /^<skill name="([^"]+)" location="([^"]+)">\n([\s\S]*?)\n<\/skill>(?:\n\n([\s\S]+))?$/.exec(text);
  return match ? { name: match[1], location: match[2], content: match[3], userMessage: match[4]?.trim() || undefined } : null;
}
