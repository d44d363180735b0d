// Renderers of the built-in tools: the call as a title line and the result as
// text, shortened until it is expanded.
import { Text } from "jackfield:pi/tui/text";
import { resultText } from "jackfield:pi/agent/tool-shape";

const SHORT = 10;

const reuse = (context, text) => {
  const last = context?.lastComponent;
  if (last instanceof Text) {
    last.setText(text);
    return last;
  }
  return new Text(text, 0, 0);
};

/** `renderCall` and `renderResult` of a tool; `summary(args)` is what follows its name. */
export function renderers(name, summary) {
  return {
    renderCall(args, theme, context) {
      return reuse(context, `${theme.fg("toolTitle", theme.bold(name))} ${theme.fg("accent", String(summary(args ?? {}) ?? ""))}`.trimEnd());
    },
    renderResult(result, options, theme, context) {
      const lines = resultText(result).trimEnd().split("\n");
      const shown = options?.expanded ? lines : lines.slice(0, SHORT);
      const text = shown.map((line) => theme.fg("toolOutput", line)).join("\n");
      const rest = lines.length - shown.length;
      return reuse(context, rest > 0 ? `${text}\n${theme.fg("muted", `... (${rest} more lines)`)}` : text);
    },
  };
}
