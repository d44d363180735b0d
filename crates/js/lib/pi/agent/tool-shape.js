// What the built-in tools share: paths as models write them, the shape of a
// tool made from its definition, and renderers that show a call as text.
import { homedir } from "node:os";
import { isAbsolute, resolve } from "node:path";

/** An absolute path from what a model wrote: `~`, a leading `@` and Unicode blanks are understood. */
export function resolveToolPath(path, cwd) {
  let text = String(path ?? "").replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ");
  if (text.startsWith("@")) text = text.slice(1);
  if (text === "~") return homedir();
  if (text.startsWith("~/")) return resolve(homedir(), text.slice(2));
  return isAbsolute(text) ? text : resolve(cwd, text);
}

/** Throws when the call was cancelled. */
export function throwIfAborted(signal) {
  if (signal?.aborted) throw new Error("Operation aborted");
}

/** A text result; `details` and `structuredContent` only when given. */
export function textResult(text, details, structuredContent) {
  const result = { content: [{ type: "text", text }], details };
  if (structuredContent !== undefined) result.structuredContent = structuredContent;
  return result;
}

const schemaOf = (type) => (description) => ({ type, description });
/** Schema of a text field. */
export const stringField = schemaOf("string");
/** Schema of a number field. */
export const numberField = schemaOf("number");
/** Schema of a yes/no field. */
export const booleanField = schemaOf("boolean");

/** Schema of an object. */
export function objectSchema(required, properties) {
  return required.length > 0 ? { type: "object", required, properties } : { type: "object", properties };
}

/** How strictly providers may sample arguments. */
export const PREFER_STRICT = Object.freeze({ type: "json_schema", strict: "prefer" });

/** The tool that an agent runs, from the definition that an extension registers. */
export function toolFromDefinition(definition, { withPrompt = false } = {}) {
  const tool = {
    name: definition.name,
    label: definition.label,
    description: definition.description,
    parameters: definition.parameters,
    outputSchema: definition.outputSchema,
    constrainedSampling: definition.constrainedSampling,
    prepareArguments: definition.prepareArguments,
    executionMode: definition.executionMode,
    execute: (toolCallId, params, signal, onUpdate, ctx) => definition.execute(toolCallId, params, signal, onUpdate, ctx),
  };
  if (withPrompt) {
    tool.promptSnippet = definition.promptSnippet;
    tool.promptGuidelines = definition.promptGuidelines;
  }
  return tool;
}

/** Text of a result. */
export function resultText(result) {
  return (result?.content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n");
}
