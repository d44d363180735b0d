// Running a tool: its arguments are prepared, fitted to the schema and checked, then it runs, and whatever it returns or
// throws becomes a result. Tools written for pi before 0.51 take their arguments in another order; they are told by the
// names of their parameters.

import { native } from "jackfield:host";
import { beginCall, controllerOf, endCall, flushChanges, isSending, landed, messageOf, plain } from "jackfield:pi/runtime/state";
import { createToolContext } from "jackfield:pi/runtime/context";
import { plainlyFits } from "jackfield:pi/runtime/plain-schema";
import { validateArguments } from "jackfield:pi/runtime/schema";

/** The names of a function's parameters, as far as its source shows them. */
export function parameterNames(fn) {
  const source = Function.prototype.toString.call(fn);
  const single = /^\s*(?:async\s+)?([\w$]+)\s*=>/.exec(source);
  if (single) return [single[1]];
  const start = source.indexOf("(");
  if (start === -1) return [];
  const names = [];
  let depth = 0;
  let name = "";
  for (let i = start; i < source.length; i++) {
    const char = source[i];
    if (source.startsWith("/*", i)) {
      const end = source.indexOf("*/", i);
      if (end === -1) return [];
      i = end + 1;
    } else if (source.startsWith("//", i)) {
      const end = source.indexOf("\n", i);
      if (end === -1) return [];
      i = end;
    } else if (char === '"' || char === "'" || char === "`") {
      for (i++; i < source.length && source[i] !== char; i++) if (source[i] === "\\") i++;
    } else if ("([{".includes(char)) {
      if (++depth > 1) name += char;
    } else if (")]}".includes(char)) {
      if (--depth === 0) break;
      name += char;
    } else if (char === "," && depth === 1) {
      names.push(name);
      name = "";
    } else {
      name += char;
    }
  }
  if (name.trim() !== "") names.push(name);
  return names.map((one) => one.split("=")[0].trim());
}

const UPDATE = /^_*(?:on_?)?updates?(?:_?(?:callback|cb|fn))?$/i;
const SIGNAL = /^_*(?:abort_?)?signal$/i;
const CONTEXT = /^_*(?:ctx|context|toolctx)$/i;

const orders = new WeakMap();

/** Whether `execute` wants (id, params, onUpdate, ctx, signal). Only names that leave no doubt count. */
export function hasOldOrder(execute) {
  if (execute.length < 3) return false;
  let old = orders.get(execute);
  if (old === undefined) orders.set(execute, (old = namesOldOrder(execute)));
  return old;
}

function namesOldOrder(execute) {
  const [, , third, fourth, fifth] = parameterNames(execute);
  if (!third || !UPDATE.test(third)) return false;
  if (fifth !== undefined) return SIGNAL.test(fifth);
  return fourth === undefined || CONTEXT.test(fourth);
}

const short = new WeakMap();

/** Whether `execute` can see nothing beyond its first two arguments, so that the others need not be made. */
export function seesTwo(execute) {
  if (execute.length > 2) return false;
  let two = short.get(execute);
  if (two === undefined) short.set(execute, (two = namesTwo(execute)));
  return two;
}

function namesTwo(execute) {
  if (/\barguments\b|\beval\b|\.\.\.|\[native code\]/.test(Function.prototype.toString.call(execute))) return false;
  const count = parameterNames(execute).length;
  return count <= 2 && count >= execute.length;
}

function block(item) {
  if (typeof item === "string") return { type: "text", text: item };
  if (item?.type === "text") return { type: "text", text: typeof item.text === "string" ? item.text : String(item.text ?? "") };
  if (item?.type === "image") {
    return { type: "image", mime_type: String(item.mimeType ?? item.mime_type ?? ""), data: String(item.data ?? "") };
  }
  return { type: "text", text: JSON.stringify(plain(item) ?? null) };
}

const { getPrototypeOf, keys } = Object;
const PLAIN = Object.prototype;
const { isArray } = Array;
const { isFinite } = Number;

const RESULT_KEYS = ["details", "isError", "structuredContent", "usage", "terminate"];

function contentOf(result) {
  const { content } = result;
  if (isArray(content)) {
    const blocks = [];
    for (let i = 0; i < content.length; i++) blocks[i] = block(content[i]);
    return blocks;
  }
  if (typeof content === "string") return [block(content)];
  if (result.structuredContent !== undefined) return [block(JSON.stringify(plain(result.structuredContent)))];
  // Data that is no result at all is still an answer.
  if (!RESULT_KEYS.some((key) => key in result)) return [block(JSON.stringify(plain(result)))];
  return [];
}

/** Whether an object holds nothing but texts, finite numbers, yes and no: JSON says all of it, and nobody need be asked twice. */
function isFlat(value) {
  if (getPrototypeOf(value) !== PLAIN) return false;
  const names = keys(value);
  for (let i = 0; i < names.length; i++) {
    const inner = value[names[i]];
    if (inner === null || typeof inner === "string" || typeof inner === "boolean" || isFinite(inner)) continue;
    return false;
  }
  return true;
}

/** Hands on what JSON can say of a member. */
function handOn(given, result, key) {
  let value = result[key];
  if (value === undefined) return;
  if (typeof value !== "object" || value === null || !isFlat(value)) value = plain(value);
  if (value !== undefined) given[key] = value;
}

/** Whatever a tool returned, as the host's tool result. */
export function toolResult(result) {
  if (result === undefined || result === null) return { content: [block("")] };
  if (typeof result !== "object") return { content: [block(String(result))] };
  if (isArray(result)) return toolResult({ content: result });
  const content = contentOf(result);
  const given = { content: content.length > 0 ? content : [block("")] };
  if (result.isError === true) given.is_error = true;
  handOn(given, result, "details");
  handOn(given, result, "structuredContent");
  handOn(given, result, "usage");
  if (result.terminate === true) given.terminate = true;
  return given;
}

export const errorResult = (text) => ({ content: [{ type: "text", text }], is_error: true });

function progressText(partial) {
  if (typeof partial === "string") return partial;
  return toolResult(partial).content.filter((item) => item.type === "text").map((item) => item.text).join("\n");
}

/** The arguments as the tool gets them. What came from the host is nobody else's, so it is handed on as it is where it fits. */
function argumentsOf(tool, name, args) {
  if (typeof tool.prepareArguments === "function") return validateArguments(name, tool.parameters, tool.prepareArguments(args));
  return plainlyFits(tool.parameters, args) ? args : validateArguments(name, tool.parameters, args);
}

function execute(state, tool, call, params) {
  const { id } = call;
  const { signal } = controllerOf(call);
  const ctx = createToolContext(state, call);
  const onUpdate = (partial) => {
    if (!call.ended) native("progress", id, progressText(partial));
  };
  return hasOldOrder(tool.execute)
    ? tool.execute(id, params, onUpdate, ctx, signal)
    : tool.execute(id, params, signal, onUpdate, ctx);
}

/** Runs a tool and tells `answer`, with the number of the call, what it gave, or why not even that can be said. */
export async function runTool(state, id, name, args, answer, number, begun) {
  try {
    const call = begun ?? beginCall(state, id, "tool");
    let reply;
    try {
      const tool = state.tools.get(name);
      if (tool === undefined) throw new Error(`Tool ${name} not found`);
      if (typeof tool.execute !== "function") throw new Error(`Tool ${name} has no execute function`);
      const params = argumentsOf(tool, name, args ?? {});
      reply = toolResult(await (seesTwo(tool.execute) ? tool.execute(id, params) : execute(state, tool, call, params)));
    } catch (error) {
      reply = errorResult(messageOf(error));
    }
    endCall(state, call);
    // Who waits for the reply has seen what was said and registered before it.
    if (isSending()) await landed();
    flushChanges(state);
    answer(number, true, reply);
  } catch (error) {
    answer(number, false, error);
  }
}
