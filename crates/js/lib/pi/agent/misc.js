// The rest of pi's helpers: its command-line options, the clipboard, images.
import { unsupported } from "jackfield:pi/agent/unsupported";

const VALUES = {
  "--provider": "provider", "--model": "model", "--api-key": "apiKey", "--system-prompt": "systemPrompt", "--thinking": "thinking", "--mode": "mode",
  "--name": "name", "--session": "session", "--session-id": "sessionId", "--fork": "fork", "--session-dir": "sessionDir", "--export": "export", "--theme-name": "useTheme",
};
const LISTS = { "--append-system-prompt": "appendSystemPrompt", "--extension": "extensions", "-e": "extensions", "--skill": "skills", "--prompt-template": "promptTemplates", "--theme": "themes" };
const COMMAS = { "--models": "models", "--tools": "tools", "-t": "tools", "--exclude-tools": "excludeTools" };
const SWITCHES = {
  "--help": "help", "-h": "help", "--version": "version", "-v": "version", "--continue": "continue", "-c": "continue", "--resume": "resume", "-r": "resume",
  "--no-session": "noSession", "--no-tools": "noTools", "--no-builtin-tools": "noBuiltinTools", "--no-extensions": "noExtensions", "-ne": "noExtensions",
  "--no-skills": "noSkills", "-ns": "noSkills", "--no-prompt-templates": "noPromptTemplates", "-np": "noPromptTemplates", "--no-themes": "noThemes",
  "--no-context-files": "noContextFiles", "-nc": "noContextFiles", "--no-mcp": "noMcp", "--offline": "offline", "--verbose": "verbose",
};
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/** pi's command-line options. */
export function parseArgs(args) {
  const result = { messages: [], fileArgs: [], unknownFlags: new Map(), diagnostics: [] };
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    const next = args[i + 1];
    if (arg === "--print" || arg === "-p") result.print = true;
    else if (arg === "--list-models") {
      result.listModels = next !== undefined && !next.startsWith("-") ? args[++i] : true;
    } else if (SWITCHES[arg]) result[SWITCHES[arg]] = true;
    else if (VALUES[arg] && next !== undefined) {
      i += 1;
      if (arg === "--thinking" && !LEVELS.includes(next)) result.diagnostics.push({ type: "warning", message: `Invalid thinking level "${next}". Valid values: ${LEVELS.join(", ")}` });
      else if (arg !== "--mode" || ["text", "json", "rpc"].includes(next)) result[VALUES[arg]] = next;
    } else if (LISTS[arg] && next !== undefined) (result[LISTS[arg]] ??= []).push(args[++i]);
    else if (COMMAS[arg] && next !== undefined) result[COMMAS[arg]] = args[++i].split(",").map((part) => part.trim()).filter(Boolean);
    else if (arg.startsWith("@")) result.fileArgs.push(arg.slice(1));
    else if (arg.startsWith("--")) {
      const equals = arg.indexOf("=");
      if (equals > 0) result.unknownFlags.set(arg.slice(2, equals), arg.slice(equals + 1));
      else if (next !== undefined && !next.startsWith("-") && !next.startsWith("@")) result.unknownFlags.set(arg.slice(2), args[++i]);
      else result.unknownFlags.set(arg.slice(2), true);
    } else if (arg.startsWith("-") && arg.length > 1) result.diagnostics.push({ type: "error", message: `Unknown option: ${arg}` });
    else result.messages.push(arg);
  }
  return result;
}

/** Text to the clipboard: there is none here. */
export async function copyToClipboard(_text) {
  throw unsupported("the clipboard", "show the text to the user instead, for example with ctx.ui.notify");
}

/** An image as PNG; only PNG stays what it is. */
export async function convertToPng(base64Data, mimeType) {
  return mimeType === "image/png" ? { data: base64Data, mimeType } : null;
}

/** An image made smaller; null when it would have to be decoded for that. */
export async function resizeImage(_inputBytes, _mimeType, _options) {
  return null;
}

/** What to tell a model about an image that was made smaller. */
export function formatDimensionNote(result) {
  if (!result.wasResized) return undefined;
  const scale = (result.originalWidth / result.width).toFixed(2);
  return `[Image: original ${result.originalWidth}x${result.originalHeight}, displayed at ${result.width}x${result.height}. Multiply coordinates by ${scale} to map to original image.]`;
}
