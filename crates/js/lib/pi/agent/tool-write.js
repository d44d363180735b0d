// The built-in write tool.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { withFileMutationQueue } from "jackfield:pi/agent/mutation-queue";
import { renderers } from "jackfield:pi/agent/tool-render";
import { PREFER_STRICT, objectSchema, resolveToolPath, stringField, textResult, throwIfAborted, toolFromDefinition } from "jackfield:pi/agent/tool-shape";

const defaults = {
  writeFile: (path, content) => writeFile(path, content, "utf-8"),
  mkdir: (directory) => mkdir(directory, { recursive: true }).then(() => {}),
};

/** The definition of the write tool. `options.operations` may write elsewhere. */
export function createWriteToolDefinition(cwd, options) {
  const operations = options?.operations ?? defaults;
  return {
    name: "write",
    label: "write",
    description: "Write content to a file. Creates the file if it doesn't exist, overwrites if it does. Automatically creates parent directories.",
    promptSnippet: "Create or overwrite files",
    promptGuidelines: ["Use write only for new files or complete rewrites."],
    parameters: objectSchema(["path", "content"], {
      path: stringField("Path to the file to write (relative or absolute)"),
      content: stringField("Content to write to the file"),
    }),
    constrainedSampling: PREFER_STRICT,
    async execute(_toolCallId, params, signal, _onUpdate, _ctx) {
      const path = resolveToolPath(params.path, cwd);
      return withFileMutationQueue(path, async () => {
        throwIfAborted(signal);
        await operations.mkdir(dirname(path));
        throwIfAborted(signal);
        await operations.writeFile(path, params.content);
        throwIfAborted(signal);
        return textResult(`Successfully wrote to ${params.path}`);
      });
    },
    ...renderers("write", (args) => args.path ?? args.file_path ?? ""),
  };
}

/** The write tool. */
export function createWriteTool(cwd, options) {
  return toolFromDefinition(createWriteToolDefinition(cwd, options));
}
