// Sets of built-in tools, and telling tool calls and results apart.
import { createBashTool } from "jackfield:pi/agent/tool-bash";
import { createEditTool } from "jackfield:pi/agent/tool-edit";
import { createReadTool } from "jackfield:pi/agent/tool-read";
import { createFindTool, createGrepTool, createLsTool } from "jackfield:pi/agent/tool-search";
import { createWriteTool } from "jackfield:pi/agent/tool-write";

/** Tools that change things: read, bash, edit, write. */
export function createCodingTools(cwd, options) {
  return [createReadTool(cwd, options?.read), createBashTool(cwd, options?.bash), createEditTool(cwd, options?.edit), createWriteTool(cwd, options?.write)];
}

/** Tools that only look: read, grep, find, ls. */
export function createReadOnlyTools(cwd, options) {
  return [createReadTool(cwd, options?.read), createGrepTool(cwd, options?.grep), createFindTool(cwd, options?.find), createLsTool(cwd, options?.ls)];
}
