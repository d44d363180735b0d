// What becomes of a call of the host that is no tool: a command, a hook, an event that is asked, a shortcut or a completion. No
// part of the start, so that extensions which nobody calls do not even read it.

import { beginCall, endCall, messageOf, report } from "jackfield:pi/runtime/state";
import { createCommandContext, createContext } from "jackfield:pi/runtime/context";
import { ask as askHandlers } from "jackfield:pi/runtime/events";
import { runHook } from "jackfield:pi/runtime/hooks";

async function runCommand(current, { call_id: id, name, args }) {
  const command = current.commands.get(name);
  if (command === undefined) return { action: "noop", error: `command /${name} is not registered` };
  const call = beginCall(current, id, "command");
  try {
    await command.handler(args ?? "", createCommandContext(current, call));
    return { action: "noop" };
  } catch (error) {
    report(current, "command", error, `command:${name}`);
    return { action: "noop", error: messageOf(error) };
  } finally {
    endCall(current, call);
  }
}

async function runShortcut(current, { call_id: id, key }) {
  const wanted = String(key).toLowerCase();
  const found = [...current.shortcuts.values()].findLast((one) => String(one.shortcut).toLowerCase() === wanted);
  const call = beginCall(current, id, "shortcut");
  try {
    await found?.handler?.(createContext(current, call));
  } catch (error) {
    report(current, "shortcut", error, `shortcut:${key}`);
  } finally {
    endCall(current, call);
  }
  return {};
}

async function runComplete(current, { name, prefix }) {
  const complete = current.commands.get(name)?.getArgumentCompletions;
  if (typeof complete !== "function") return { items: null };
  try {
    const items = await complete(prefix ?? "");
    return { items: Array.isArray(items) ? JSON.parse(JSON.stringify(items)) : null };
  } catch (error) {
    report(current, "command", error, `command:${name}`);
    return { items: null };
  }
}

async function within(current, message, run) {
  const call = beginCall(current, message.call_id, "hook");
  try {
    return await run(call);
  } finally {
    endCall(current, call);
  }
}

/** Has a call done by whoever it is for. */
export function dispatch(current, message) {
  switch (message.kind) {
    case "command":
      return runCommand(current, message);
    case "hook":
      return within(current, message, (open) => runHook(current, message.hook, open));
    case "ask":
      return within(current, message, (open) => askHandlers(current, message.event, message.asked, open));
    case "shortcut":
      return runShortcut(current, message);
    case "complete":
      return runComplete(current, message);
    default:
      throw new Error(`calls of kind ${message.kind} are not known to pi extensions`);
  }
}
