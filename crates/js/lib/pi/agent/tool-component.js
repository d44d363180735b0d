// One tool call as a component: the tool's own renderers when it has them,
// otherwise its name, its arguments and its output as text.
import { Box, Container } from "jackfield:pi/tui/container";
import { Spacer, Text } from "jackfield:pi/tui/text";
import { keyHint, keyText } from "jackfield:pi/agent/app-keys";
import { currentTheme } from "jackfield:pi/agent/theme";
import { resultText } from "jackfield:pi/agent/tool-shape";

/** See the file comment. */
export class ToolExecutionComponent extends Container {
  constructor(toolName, toolCallId, args, options = {}, toolDefinition, ui, cwd) {
    super();
    this.toolName = toolName;
    this.toolCallId = toolCallId;
    this.args = args;
    this.options = options;
    this.definition = toolDefinition;
    this.ui = ui;
    this.cwd = cwd;
    this.state = {};
    this.expanded = false;
    this.isPartial = true;
    this.argsComplete = false;
    this.executionStarted = false;
    this.result = undefined;
    this.updateDisplay();
  }

  updateArgs(args) {
    this.args = args;
    this.updateDisplay();
  }

  markExecutionStarted() {
    this.executionStarted = true;
    this.updateDisplay();
  }

  setArgsComplete() {
    this.argsComplete = true;
    this.updateDisplay();
  }

  updateResult(result, isPartial = false) {
    this.result = result;
    this.isPartial = isPartial;
    this.updateDisplay();
  }

  setExpanded(expanded) {
    this.expanded = expanded;
    this.updateDisplay();
  }

  setOutputPad(outputPad) {
    this.options = { ...this.options, outputPad };
    this.updateDisplay();
  }

  setShowImages(showImages) {
    this.options = { ...this.options, showImages };
  }

  setImageWidthCells(imageWidthCells) {
    this.options = { ...this.options, imageWidthCells };
  }

  invalidate() {
    super.invalidate();
    this.updateDisplay();
  }

  getTextOutput() {
    return resultText(this.result);
  }

  getRenderContext(lastComponent) {
    return {
      args: this.args, toolCallId: this.toolCallId, invalidate: () => this.updateDisplay(), lastComponent, state: this.state, cwd: this.cwd,
      executionStarted: this.executionStarted, argsComplete: this.argsComplete, isPartial: this.isPartial, expanded: this.expanded,
      showImages: this.options?.showImages ?? true, isError: this.result?.isError ?? false, outputPad: this.options?.outputPad ?? 1, keyText, keyHint,
    };
  }

  #part(render, fallback) {
    try {
      return render() ?? fallback();
    } catch {
      return fallback();
    }
  }

  updateDisplay() {
    this.clear();
    const theme = currentTheme();
    const tint = this.isPartial ? "toolPendingBg" : this.result?.isError ? "toolErrorBg" : "toolSuccessBg";
    const shell = this.definition?.renderShell === "self" ? new Container() : new Box(this.options?.outputPad ?? 1, 1, (line) => theme.bg(tint, line));
    const call = this.#part(
      () => this.definition?.renderCall?.(this.args ?? {}, theme, this.getRenderContext(this.callComponent)),
      () => new Text(theme.fg("toolTitle", theme.bold(this.toolName)), 0, 0),
    );
    this.callComponent = call;
    shell.addChild(call);
    if (this.result) {
      const view = this.#part(
        () => this.definition?.renderResult?.(this.result, { expanded: this.expanded, isPartial: this.isPartial }, theme, this.getRenderContext(this.resultComponent)),
        () => new Text(theme.fg("toolOutput", this.getTextOutput()), 0, 0),
      );
      this.resultComponent = view;
      shell.addChild(view);
    }
    this.addChild(new Spacer(1));
    this.addChild(shell);
  }
}
