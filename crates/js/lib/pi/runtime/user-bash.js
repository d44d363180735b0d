// `user_bash`: a command that the person typed. A handler may run it itself; a handler that throws or answers something
// else stops the command, because it may be a guard. Operations are functions and cannot leave the engine, so a handler
// that gives some has the command run here and answers with its outcome.

import { native } from "jackfield:host";
import { controllerOf, handlersOf, messageOf, report } from "jackfield:pi/runtime/state";
import { createContext } from "jackfield:pi/runtime/context";
import { answered } from "jackfield:pi/runtime/events";

const INVALID =
  "Invalid user_bash handler result: return undefined for local execution or exactly one valid { operations } or { result } object";

function isOutcome(result) {
  return (
    typeof result === "object" &&
    result !== null &&
    typeof result.output === "string" &&
    "exitCode" in result &&
    (result.exitCode === undefined || typeof result.exitCode === "number") &&
    typeof result.cancelled === "boolean" &&
    typeof result.truncated === "boolean" &&
    (result.fullOutputPath === undefined || typeof result.fullOutputPath === "string")
  );
}

function isValid(answer) {
  if (typeof answer !== "object" || answer === null) return false;
  const { operations, result } = answer;
  if ((operations !== undefined) === (result !== undefined)) return false;
  return operations === undefined ? isOutcome(result) : typeof operations?.exec === "function";
}

const LIMIT = 1024 * 1024;

async function runOperations(operations, data, call) {
  const pieces = [];
  let size = 0;
  let truncated = false;
  const onData = (chunk) => {
    const text = typeof chunk === "string" ? chunk : native("utf8_decode", chunk, false, true);
    size += text.length;
    pieces.push(text);
    while (size > LIMIT && pieces.length > 1) {
      size -= pieces.shift().length;
      truncated = true;
    }
  };
  const { signal } = controllerOf(call);
  const done = await operations.exec(data.command, data.cwd, { onData, signal });
  return { output: pieces.join(""), exitCode: done?.exitCode ?? undefined, cancelled: signal.aborted, truncated };
}

export async function askUserBash(state, name, asked, call) {
  const event = { ...asked.data, type: name };
  const ctx = createContext(state, call);
  for (const handler of handlersOf(state, name)) {
    try {
      const answer = await handler(event, ctx);
      if (answer === undefined) continue;
      if (!isValid(answer)) throw new Error(INVALID);
      const result = answer.result ?? (await runOperations(answer.operations, asked.data, call));
      return answered(asked.data, { result }, true);
    } catch (error) {
      report(state, name, error);
      return answered(asked.data, { block: true, reason: messageOf(error) }, true);
    }
  }
  return answered(asked.data, asked.result);
}
