// Components of pi's own interface that extensions use: borders, loaders with a
// frame, the editor to derive from, and the blocks of a conversation. They
// render what they are given; nothing asks an agent.
import { wrapTextWithAnsi } from "jackfield:pi/tui/ansi";
import { Box, Container } from "jackfield:pi/tui/container";
import { Editor } from "jackfield:pi/tui/editor";
import { CancellableLoader, Loader } from "jackfield:pi/tui/loader";
import { Markdown } from "jackfield:pi/tui/markdown";
import { Spacer, Text } from "jackfield:pi/tui/text";
import { keyHint } from "jackfield:pi/agent/app-keys";
import { currentTheme, getMarkdownTheme } from "jackfield:pi/agent/theme";
import { resultText } from "jackfield:pi/agent/tool-shape";

/** A line as wide as the screen. */
export class DynamicBorder {
  constructor(color = (text) => currentTheme().fg("border", text)) {
    this.color = color;
  }

  invalidate() {}

  render(width) {
    return [this.color("─".repeat(Math.max(1, width)))];
  }
}

/** A loader between two borders; `signal` aborts when the user cancels. */
export class BorderedLoader extends Container {
  constructor(tui, theme, message, options) {
    super();
    this.cancellable = options?.cancellable ?? true;
    const border = (text) => theme.fg("border", text);
    const kind = this.cancellable ? CancellableLoader : Loader;
    this.signalController = this.cancellable ? undefined : new AbortController();
    this.loader = new kind(tui, (text) => theme.fg("accent", text), (text) => theme.fg("muted", text), message);
    this.addChild(new DynamicBorder(border));
    this.addChild(this.loader);
    if (this.cancellable) {
      this.addChild(new Spacer(1));
      this.addChild(new Text(keyHint("tui.select.cancel", "cancel"), 1, 0));
    }
    this.addChild(new Spacer(1));
    this.addChild(new DynamicBorder(border));
  }

  get signal() {
    return this.cancellable ? this.loader.signal : this.signalController.signal;
  }

  set onAbort(handler) {
    if (this.cancellable) this.loader.onAbort = handler;
  }

  setMessage(message) {
    this.loader.setMessage(message);
  }

  handleInput(data) {
    this.loader.handleInput?.(data);
  }

  dispose() {
    this.loader.dispose?.();
    this.loader.stop();
  }
}

/** The editor that extensions derive from: application keys first, then editing. */
export class CustomEditor extends Editor {
  constructor(tui, theme, keybindings, options) {
    super(tui, theme, options);
    this.keybindings = keybindings;
    this.embedWorkingStatus = options?.embedWorkingStatus ?? false;
    this.workingStatusIndicator = undefined;
    this.actionHandlers = new Map();
    this.onEscape = undefined;
    this.onCtrlD = undefined;
    this.onPasteImage = undefined;
    this.onExtensionShortcut = undefined;
  }

  setWorkingStatusIndicator(indicator) {
    this.workingStatusIndicator = indicator;
  }

  onAction(action, handler) {
    this.actionHandlers.set(action, handler);
  }

  handleInput(data) {
    const is = (id) => this.keybindings?.matches?.(data, id) ?? false;
    if (this.onExtensionShortcut?.(data)) return;
    if (is("app.clipboard.pasteImage")) {
      this.onPasteImage?.();
      return;
    }
    if (is("app.interrupt")) {
      const handler = this.onEscape ?? this.actionHandlers.get("app.interrupt");
      if (handler && !this.isShowingAutocomplete()) {
        handler();
        return;
      }
      super.handleInput(data);
      return;
    }
    if (is("app.exit") && this.getText().length === 0) {
      const handler = this.onCtrlD ?? this.actionHandlers.get("app.exit");
      if (handler) {
        handler();
        return;
      }
    }
    for (const [action, handler] of this.actionHandlers) {
      if (action === "app.interrupt" || action === "app.exit" || !is(action)) continue;
      handler();
      return;
    }
    super.handleInput(data);
  }
}

const markdown = (text, theme, pad = 1, style) => new Markdown(text.trim(), pad, 0, theme ?? getMarkdownTheme(), style);
const textOf = (content) => (typeof content === "string" ? content : resultText({ content }));

/** What the user said. */
export class UserMessageComponent extends Container {
  constructor(text, markdownTheme, outputPad = 1) {
    super();
    this.text = text;
    this.markdownTheme = markdownTheme;
    this.outputPad = outputPad;
    this.rebuild();
  }

  setOutputPad(outputPad) {
    this.outputPad = outputPad;
    this.rebuild();
  }

  rebuild() {
    this.clear();
    const box = new Box(this.outputPad, 1, (line) => currentTheme().bg("userMessageBg", line));
    box.addChild(markdown(this.text, this.markdownTheme, 0, { color: (text) => currentTheme().fg("userMessageText", text) }));
    this.addChild(box);
  }
}

/** What the model said. */
export class AssistantMessageComponent extends Container {
  constructor(message, hideThinkingBlock = false, markdownTheme, hiddenThinkingLabel = "Thinking...", outputPad = 1) {
    super();
    this.hideThinkingBlock = hideThinkingBlock;
    this.markdownTheme = markdownTheme;
    this.hiddenThinkingLabel = hiddenThinkingLabel;
    this.outputPad = outputPad;
    if (message) this.updateContent(message);
  }

  setHideThinkingBlock(hide) {
    this.hideThinkingBlock = hide;
    if (this.message) this.updateContent(this.message);
  }

  setHiddenThinkingLabel(label) {
    this.hiddenThinkingLabel = label;
    if (this.message) this.updateContent(this.message);
  }

  setOutputPad(outputPad) {
    this.outputPad = outputPad;
    if (this.message) this.updateContent(this.message);
  }

  updateContent(message) {
    this.message = message;
    this.clear();
    const theme = currentTheme();
    for (const part of message.content ?? []) {
      if (part.type === "text" && part.text.trim()) {
        this.addChild(new Spacer(1));
        this.addChild(markdown(part.text, this.markdownTheme, this.outputPad));
      } else if (part.type === "thinking" && part.thinking.trim()) {
        this.addChild(new Spacer(1));
        if (this.hideThinkingBlock) this.addChild(new Text(theme.italic(theme.fg("thinkingText", this.hiddenThinkingLabel)), this.outputPad, 0));
        else this.addChild(markdown(part.thinking, this.markdownTheme, this.outputPad, { color: (text) => theme.fg("thinkingText", text), italic: true }));
      }
    }
    if (message.stopReason === "error") this.addChild(new Text(theme.fg("error", `Error: ${message.errorMessage ?? "Unknown error"}`), this.outputPad, 0));
    else if (message.stopReason === "aborted") this.addChild(new Text(theme.fg("error", message.errorMessage ?? "Operation aborted"), this.outputPad, 0));
  }
}

/** A block with a label that opens and closes. */
class LabelledMessage extends Box {
  constructor(label, text, markdownTheme, outputPad = 1) {
    super(outputPad, 1, (line) => currentTheme().bg("customMessageBg", line));
    this.label = label;
    this.body = text;
    this.markdownTheme = markdownTheme;
    this.expanded = false;
    this.updateDisplay();
  }

  setExpanded(expanded) {
    this.expanded = expanded;
    this.updateDisplay();
  }

  setOutputPad(outputPad) {
    this.setPaddingX(outputPad);
  }

  updateDisplay() {
    this.clear();
    const theme = currentTheme();
    this.addChild(new Text(theme.fg("customMessageLabel", theme.bold(`[${this.label}]`)), 0, 0));
    if (this.expanded || this.alwaysOpen) this.addChild(markdown(this.body, this.markdownTheme, 0));
    else this.addChild(new Text(keyHint("app.tools.expand", "expand"), 0, 0));
  }
}

/** The summary of a branch that was left. */
export class BranchSummaryMessageComponent extends LabelledMessage {
  constructor(message, markdownTheme, outputPad) {
    super("branch", message.summary, markdownTheme, outputPad);
  }
}

/** The summary that replaced earlier messages. */
export class CompactionSummaryMessageComponent extends LabelledMessage {
  constructor(message, markdownTheme, outputPad) {
    super("compaction", message.summary, markdownTheme, outputPad);
  }
}

/** A skill that was called. */
export class SkillInvocationMessageComponent extends LabelledMessage {
  constructor(skillBlock, markdownTheme, outputPad) {
    super(`skill ${skillBlock.name}`, skillBlock.content, markdownTheme, outputPad);
  }
}

/** A message of an extension, by its own renderer or as text. */
export class CustomMessageComponent extends Container {
  constructor(message, customRenderer, markdownTheme, outputPad = 1) {
    super();
    this.message = message;
    this.customRenderer = customRenderer;
    this.markdownTheme = markdownTheme;
    this.outputPad = outputPad;
    this.expanded = false;
    this.rebuild();
  }

  setExpanded(expanded) {
    this.expanded = expanded;
    this.rebuild();
  }

  setOutputPad(outputPad) {
    this.outputPad = outputPad;
    this.rebuild();
  }

  rebuild() {
    this.clear();
    let own;
    try {
      own = this.customRenderer?.(this.message, { expanded: this.expanded, outputPad: this.outputPad }, currentTheme());
    } catch {
      own = undefined;
    }
    const box = new LabelledMessage(this.message.customType, textOf(this.message.content), this.markdownTheme, this.outputPad);
    box.alwaysOpen = true;
    box.updateDisplay();
    this.addChild(new Spacer(1));
    this.addChild(own ?? box);
  }
}

/** A command that the user ran, with its output. */
export class BashExecutionComponent extends Container {
  constructor(command, ui, excludeFromContext = false, outputPad = 1) {
    super();
    this.command = command;
    this.ui = ui;
    this.excludeFromContext = excludeFromContext;
    this.outputPad = outputPad;
    this.output = "";
    this.expanded = false;
    this.status = "running";
    this.rebuild();
  }

  setExpanded(expanded) {
    this.expanded = expanded;
    this.rebuild();
  }

  appendOutput(chunk) {
    this.output += chunk;
    this.rebuild();
  }

  setComplete(exitCode, cancelled) {
    this.exitCode = exitCode;
    this.status = cancelled ? "cancelled" : exitCode ? "error" : "complete";
    this.rebuild();
  }

  getOutput() {
    return this.output;
  }

  getCommand() {
    return this.command;
  }

  rebuild() {
    this.clear();
    const theme = currentTheme();
    const token = this.excludeFromContext ? "dim" : "bashMode";
    this.addChild(new DynamicBorder((text) => theme.fg(token, text)));
    this.addChild(new Text(theme.fg(token, theme.bold(`$ ${this.command}`)), this.outputPad, 0));
    const lines = this.output.trimEnd().split("\n");
    const shown = this.expanded ? lines : lines.slice(-20);
    if (this.output.trim()) this.addChild(new Text(shown.map((line) => theme.fg("muted", line)).join("\n"), this.outputPad, 0));
    const note = { cancelled: "(cancelled)", error: `(exit ${this.exitCode})` }[this.status];
    if (note) this.addChild(new Text(theme.fg("warning", note), this.outputPad, 0));
    this.addChild(new DynamicBorder((text) => theme.fg(token, text)));
  }
}

/** The screen lines of a text, only the last (or first) ones. */
export function truncateToVisualLines(text, maxVisualLines, width, paddingX = 0, keep = "end") {
  const lines = text ? new Text(text, paddingX, 0).render(width) : [];
  if (lines.length <= maxVisualLines) return { visualLines: lines, skippedCount: 0 };
  const visualLines = keep === "end" ? lines.slice(-maxVisualLines) : lines.slice(0, maxVisualLines);
  return { visualLines, skippedCount: lines.length - maxVisualLines };
}

/** Lines of a text at a width, for components that place them themselves. */
export function wrapLines(text, width) {
  return wrapTextWithAnsi(text, width);
}
