// An extension's life: loading, what it registers, events with their rules, tools, commands and the end. Works with any
// host: nothing here depends on what a host call answers.
import assert from "node:assert";
import { start, call, tool as run, notify, cancel, shutdown } from "jackfield:pi/runtime";

const load = (factory) => start({ importModule: async () => ({ default: factory }) });
const ask = (event, data, result = null) => call({ kind: "ask", call_id: `ask-${event}`, event, asked: { data, result, stop: false } });
const hook = (value) => call({ kind: "hook", call_id: "h", hook: value });
const tool = (name, args, call_id = "c") => new Promise((done, failed) => run(call_id, name, args, (_, ok, value) => (ok ? done : failed)(value)));
const object = (properties = {}, required = Object.keys(properties)) => ({ type: "object", properties, required });
const text = (value) => ({ content: [{ type: "text", text: value }] });

// Loading.
await assert.rejects(start({ importModule: async () => ({ default: { factory() {} } }) }), /^Error: Extension does not export a valid factory function: /);
await assert.rejects(start({ importModule: async () => { throw new Error("boom"); } }), /^Error: boom|Failed to load extension: boom/);
for (const [action, expected] of [
  [(pi) => pi.sendMessage({}), /Failed to load extension: Extension runtime not initialized\. Action methods cannot be called during extension loading\./],
  [(pi) => pi.getActiveTools(), /not initialized/],
  [(pi) => pi.registerTool({ name: "x" }), /Tool "x" registered by extension ".*" must define an object parameter schema\./],
  [(pi) => pi.registerTool({ name: "x", parameters: [] }), /must define an object parameter schema/],
  [(pi) => pi.registerCommand("", {}), /must have a non-empty string name/],
  [(pi) => pi.registerCommand("c", {}), /Command "\/c" registered by extension ".*" must define handler\(\)\./],
  [(pi) => pi.registerFlag("f", { type: "boolean", default: "x" }), /Invalid default for flag "f": expected boolean, got string/],
  [(pi) => pi.registerProvider("p"), /Provider config is required when registering by name/],
  [(pi) => pi.registerMcpServer("a b", {}), /invalid server name "a b"/],
  [(pi) => pi.registerMcpServer("a", {}), /server "a" needs either "command" \(stdio\) or "url"/],
  [(pi) => { pi.registerMcpServer("a-b", { command: "x" }); pi.unregisterMcpServer("a-b"); pi.registerMcpServer("a_b", { command: "x" }); pi.registerMcpServer("a-b", { command: "x" }); }, /conflicts with registered server "a_b"/],
]) {
  const failure = await load(action).then(() => undefined, (error) => error);
  assert.match(`${failure?.message}`, expected);
}
let kept;
await assert.rejects(load((pi) => { kept = pi; pi.on("x", () => {}); throw new Error("late"); }), /Failed to load extension: late|late/);
assert.throws(() => kept.on("x", () => {}), /failed to load and its API is no longer active/);
await assert.rejects(tool("any", {}), /is not running/);

// Registrations.
const registered = await load(async (pi) => {
  await null;
  pi.registerTool({ name: "t", label: "T", description: "d", parameters: object(), execute(id, params, signal) {}, promptSnippet: "s", renderCall() {} });
  pi.registerTool({ name: "t", label: "T2", description: "d2", parameters: object(), outputSchema: object(), async execute(a, b) {} });
  pi.registerCommand("cmd", { handler() {}, getArgumentCompletions: (prefix) => [{ value: prefix + "x", label: "l" }] });
  pi.registerFlag("flag", { type: "string", default: "dd", description: "f" });
  assert.strictEqual(pi.getFlag("flag"), "dd");
  assert.strictEqual(pi.getFlag("other"), undefined);
  pi.registerShortcut("ctrl+x", { description: "s", handler() {} });
  pi.registerMessageRenderer("m", () => {});
  pi.registerProvider("p", { baseUrl: "http://x", api: "a", models: [{ id: "m" }], streamSimple() {}, oauth: { name: "O", login() {} } });
  pi.registerVirtualModel({ provider: "v", id: "i", route() {} });
  for (const event of ["tool_call", "tool_call", "input", "session_switch", "made_up"]) pi.on(event, () => {});
  pi.on("gone", () => {})();
  pi.events.on("chan", () => {});
});
assert.deepStrictEqual(registered.tools, [{ name: "t", label: "T2", description: "d2", parameters: object(), output_schema: object(), extra: { executeArity: 2, has: ["execute"] } }]);
assert.deepStrictEqual(registered.commands, [{ name: "cmd", description: "" }]);
assert.deepStrictEqual(registered.hooks, ["before_tool_call", "before_message"]);
assert.deepStrictEqual(registered.events, ["tool_call", "tool_call", "input", "session_switch", "made_up"]);
assert.deepStrictEqual(registered.flags, [{ name: "flag", type: "string", description: "f", default: "dd" }]);
assert.deepStrictEqual(registered.shortcuts, [{ shortcut: "ctrl+x", description: "s" }]);
assert.deepStrictEqual(registered.providers, [{ baseUrl: "http://x", api: "a", name: "p", hasStreamSimple: true, models: [{ id: "m" }], oauth: { name: "O", has: ["login"] } }]);
assert.deepStrictEqual(registered.bus, ["chan"]);
assert.deepStrictEqual(registered.extra.virtualModels, [{ id: "i", provider: "v" }]);
assert.deepStrictEqual(registered.extra.impliedEvents, ["session_start"]);
assert.deepStrictEqual(await call({ kind: "complete", name: "cmd", prefix: "a" }), { items: [{ value: "ax", label: "l" }] });

// Tools.
const seen = [];
await load((pi) => {
  const add = (name, execute, more) => pi.registerTool({ name, parameters: object(), execute, ...more });
  add("string", () => "plain");
  add("nothing", () => {});
  add("nulled", () => null);
  add("bare", () => ({ a: 1 }));
  add("full", () => ({ content: [{ type: "text", text: "x" }, { type: "image", data: "AA", mimeType: "image/png" }], details: { n: 1, f() {} }, isError: true }));
  add("undefinedDetails", () => ({ content: [{ type: "text", text: "x" }], details: undefined }));
  add("throws", () => { throw new Error("bad"); });
  add("throwsText", async () => { throw "text"; });
  add("args", (id, params) => JSON.stringify(params), { parameters: object({ n: { type: "number" }, l: { type: "array", items: { type: "string" } } }), prepareArguments: ({ m }) => ({ n: m, l: "one" }) });
  add("now", (id, params, signal, onUpdate, ctx) => [typeof signal.aborted, typeof onUpdate, typeof ctx.executeTool].join());
  add("waits", (id, params, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("aborted"))));
  add("cycle", () => { const details = { big: 5n }; details.self = details; return { content: [], details }; });
});
assert.deepStrictEqual(await tool("string", {}), text("plain"));
assert.deepStrictEqual(await tool("nothing", {}), text(""));
assert.deepStrictEqual(await tool("nulled", {}), text(""));
assert.deepStrictEqual(await tool("bare", {}), text('{"a":1}'));
assert.deepStrictEqual(await tool("full", {}), {
  content: [{ type: "text", text: "x" }, { type: "image", mime_type: "image/png", data: "AA" }],
  is_error: true,
  details: { n: 1 },
});
assert.deepStrictEqual(await tool("undefinedDetails", {}), text("x"));
assert.deepStrictEqual(await tool("throws", {}), { ...text("bad"), is_error: true });
assert.deepStrictEqual(await tool("throwsText", {}), { ...text("text"), is_error: true });
assert.deepStrictEqual(await tool("args", { m: "5" }), text('{"n":5,"l":["one"]}'));
assert.match((await tool("args", {})).content[0].text, /^Validation failed for tool "args":\n {2}- n: missing\n/);
assert.deepStrictEqual(await tool("now", {}), text("boolean,function,function"));
assert.deepStrictEqual(await tool("missing", {}), { ...text("Tool missing not found"), is_error: true });
assert.deepStrictEqual((await tool("cycle", {})).details, { big: "5", self: "[Circular]" });
const waiting = tool("waits", {}, "w");
await null;
cancel("w");
assert.deepStrictEqual(await waiting, text("aborted"));

// A call that waits for the events before it can be cancelled meanwhile.
let release;
await load((pi) => {
  pi.on("made_up", () => new Promise((done) => (release = done)));
  pi.registerTool({ name: "looks", parameters: object(), execute: (id, params, signal) => String(signal.aborted) });
});
notify({ event: "made_up" });
const [left, given] = [tool("looks", {}, "left"), tool("looks", {}, "given up")];
await null;
cancel("given up");
release();
assert.deepStrictEqual([await left, await given], [text("false"), text("true")]);

// What a file is told about itself can be frozen.
Object.freeze(import.meta);
assert.match(import.meta.url, /^file:.*pi_runtime\.js$/);

// Events inside one extension.
await load((pi) => {
  pi.on("tool_call", (event) => { event.input.a = 1; });
  pi.on("tool_call", (event) => (event.input.stop ? { block: true, reason: "no" } : undefined));
  pi.on("tool_call", (event) => { seen.push("third"); if (event.input.fail) throw new Error("guard"); });
  pi.on("tool_call", (event) => { if (event.input.failText) throw "odd"; });
  pi.on("tool_result", () => ({ content: [{ type: "text", text: "new" }] }));
  pi.on("tool_result", (event) => ({ isError: true, details: { was: event.content[0].text, had: event.input.a } }));
  pi.on("tool_result", () => { throw new Error("ignored"); });
  pi.on("input", (event) => (event.text === "h" ? { action: "handled" } : { action: "transform", text: `${event.text}1` }));
  pi.on("input", (event) => (event.text.endsWith("1") ? { action: "transform", text: `${event.text}2` } : undefined));
  pi.on("before_agent_start", (event) => ({ systemPrompt: `${event.systemPrompt}+a`, message: { customType: "x", content: "1", display: true } }));
  pi.on("before_agent_start", (event, ctx) => ({ systemPrompt: `${ctx.getSystemPrompt()}+b` }));
  pi.on("session_before_switch", () => ({ cancel: false }));
  pi.on("session_before_switch", (event) => (event.reason === "new" ? { cancel: true } : undefined));
  pi.on("session_before_switch", () => { seen.push("after cancel"); });
  pi.on("resources_discover", () => ({ skillPaths: ["b"] }));
  pi.on("message_end", (event) => ({ message: { ...event.message, role: "user" } }));
  pi.on("message_end", (event) => ({ message: { ...event.message, content: "edited" } }));
  pi.on("context", (event) => { event.messages.push({ role: "user", content: "more" }); });
  pi.on("context", (event) => { assert.ok(event.messages.every((message) => message.role !== "system")); });
  pi.on("before_provider_request", (event) => ({ ...event.payload, a: 1 }));
  pi.on("before_provider_request", () => undefined);
  pi.on("before_provider_headers", (event) => { event.headers.x = null; });
  pi.on("cache_warming_decision", () => ({ action: "stop" }));
  pi.on("turn_end", (event) => ({ entries: [...event.entries, { type: "custom" }] }));
  pi.on("turn_end", (event) => ({ continue: event.entries.length === 1 }));
  pi.on("project_trust", () => ({ trusted: "undecided" }));
  pi.on("project_trust", (event, ctx) => ({ trusted: ctx.sessionManager === undefined ? "yes" : "no" }));
  pi.on("user_bash", (event) => (event.command === "bad" ? { result: {} } : event.command === "ops" ? { operations: { exec: async (command, cwd, { onData }) => { onData("out"); return { exitCode: 3 }; } } } : undefined));
  pi.on("user_bash", (event) => { if (event.command === "throw") throw new Error("closed"); });
});
const toolCall = (input) => ask("tool_call", { toolCallId: "1", toolName: "x", input });
assert.deepStrictEqual(await toolCall({ b: 2 }), { data: { toolCallId: "1", toolName: "x", input: { b: 2, a: 1 } }, result: null, stop: false });
seen.length = 0;
assert.deepStrictEqual((await toolCall({ stop: true })).result, { block: true, reason: "no" });
assert.deepStrictEqual(seen, []);
const guarded = await toolCall({ fail: true });
assert.deepStrictEqual([guarded.result, guarded.stop], [{ block: true, reason: "guard" }, true]);
assert.strictEqual((await toolCall({ failText: true })).result.reason, "Extension failed, blocking execution: odd");
assert.deepStrictEqual((await call({ kind: "ask", call_id: "s", event: "tool_call", asked: { data: { input: {} }, result: { block: true }, stop: true } })).data, { input: {} });
const result = await ask("tool_result", { toolCallId: "1", toolName: "x", input: { a: 7 }, content: [{ type: "text", text: "old" }], structuredContent: {}, isError: false });
assert.deepStrictEqual(result.result, { content: [{ type: "text", text: "new" }], details: { was: "new", had: 7 }, isError: true });
assert.deepStrictEqual((await ask("input", { text: "a", source: "rpc" })).result, { action: "transform", text: "a12" });
assert.deepStrictEqual(await ask("input", { text: "h", source: "rpc" }), { data: { text: "h", source: "rpc" }, result: { action: "handled" }, stop: true });
const begun = await ask("before_agent_start", { prompt: "p", systemPrompt: "S" }, { messages: [{ customType: "first" }] });
assert.strictEqual(begun.result.systemPrompt, "S+a+b");
assert.deepStrictEqual(begun.data.systemPromptOptions.sections, {}, "there to be added to");
assert.deepStrictEqual(begun.result.messages.map((message) => message.customType), ["first", "x"]);
assert.deepStrictEqual((await ask("session_before_switch", { reason: "resume" })).result, { cancel: false });
seen.length = 0;
assert.strictEqual((await ask("session_before_switch", { reason: "new" })).stop, true);
assert.deepStrictEqual(seen, []);
assert.deepStrictEqual((await ask("resources_discover", { cwd: "/", reason: "startup" }, { skillPaths: ["a"] })).result, { skillPaths: ["a", "b"] });
assert.deepStrictEqual((await ask("message_end", { message: { role: "assistant", content: "x" } })).result, { message: { role: "assistant", content: "edited" } });
assert.deepStrictEqual((await ask("context", { messages: [{ role: "system", content: "s" }, { role: "user", content: "u" }] })).result.messages.map((message) => message.content), ["s", "u", "more"]);
assert.deepStrictEqual((await ask("before_provider_request", { payload: { b: 2 } })).result, { b: 2, a: 1 });
assert.deepStrictEqual((await ask("before_provider_headers", { headers: { x: "1", y: "2" } })).data, { headers: { x: null, y: "2" } });
assert.deepStrictEqual((await ask("cache_warming_decision", { action: "warm" })).result, { action: "stop" });
assert.deepStrictEqual((await ask("turn_end", { turnIndex: 0 })).result, { entries: [{ type: "custom" }], continue: true });
assert.deepStrictEqual((await ask("project_trust", { cwd: "/" })).result, { trusted: "yes" });
assert.deepStrictEqual(await ask("user_bash", { command: "ls" }), { data: { command: "ls" }, result: null, stop: false });
assert.deepStrictEqual((await ask("user_bash", { command: "ops", cwd: "/" })).result, { result: { output: "out", exitCode: 3, cancelled: false, truncated: false } });
assert.strictEqual((await ask("user_bash", { command: "bad" })).result.block, true);
assert.deepStrictEqual((await ask("user_bash", { command: "throw" })).result, { block: true, reason: "closed" });

// The host's own hooks.
assert.deepStrictEqual(await hook({ hook: "before_tool_call", call_id: "1", tool: "x", arguments: {} }), { verdict: "replace", value: { a: 1 } });
assert.deepStrictEqual(await hook({ hook: "before_tool_call", call_id: "2", tool: "x", arguments: { a: 1 } }), { verdict: "continue" });
assert.deepStrictEqual(await hook({ hook: "before_tool_call", call_id: "3", tool: "x", arguments: { fail: 1 } }), { verdict: "block", reason: "guard" });
assert.deepStrictEqual(await hook({ hook: "after_tool_call", call_id: "1", tool: "x", duration_ms: 1, result: { content: [{ type: "text", text: "o" }] } }), {
  verdict: "replace",
  value: { content: [{ type: "text", text: "new" }], is_error: true, details: { was: "new", had: 1 } },
});
assert.deepStrictEqual(await hook({ hook: "before_message", text: "q", source: "rpc" }), { verdict: "replace", value: "q12" });
assert.strictEqual((await hook({ hook: "before_message", text: "h", source: "rpc" })).verdict, "block");
assert.deepStrictEqual(await hook({ hook: "turn_start", step: 1 }), { verdict: "continue" });

// Told events, old names, the bus, commands and the end.
const heard = [];
let ctxKept;
let piKept;
await load((pi) => {
  piKept = pi;
  pi.on("session_start", async (event, ctx) => { await null; ctxKept = ctx; heard.push(`start:${event.reason}`); });
  pi.on("session_switch", (event) => heard.push(`${event.type}:${event.reason}`));
  pi.on("session_fork", (event) => heard.push(`${event.type}:${event.reason}`));
  pi.on("session_directory", () => heard.push("directory"));
  const off = pi.on("turn_start", () => { heard.push("turn"); off(); });
  pi.on("agent_start", () => { throw new Error("reported, not thrown"); });
  pi.on("agent_start", () => heard.push("agent"));
  pi.on("session_shutdown", (event) => heard.push(`shutdown:${event.reason}`));
  pi.events.on("c", (data) => heard.push(`bus:${data.n}`));
  pi.registerCommand("ok", { handler: (args, ctx) => { heard.push(`ok:${args}:${typeof ctx.newSession}:${ctx.signal}`); pi.events.emit("c", { n: 1 }); } });
  pi.registerCommand("fails", { handler: async () => { throw new Error("oops"); } });
  pi.registerShortcut("Ctrl+K", { handler: () => heard.push("key") });
});
notify({ event: "session_start", reason: "resume" });
notify({ event: "turn_start" });
notify({ event: "turn_start" });
notify({ event: "agent_start" });
assert.deepStrictEqual(await call({ kind: "command", call_id: "1", name: "ok", args: "a b" }), { action: "noop" });
assert.deepStrictEqual(heard, ["start:resume", "session_switch:resume", "turn", "agent", "ok:a b:function:undefined", "bus:1"]);
heard.length = 0;
await notify({ event: "session_start", reason: "fork" });
notify({ event: "bus:c", data: { n: 2 } });
await call({ kind: "shortcut", call_id: "2", key: "ctrl+k" });
assert.deepStrictEqual(await call({ kind: "command", call_id: "3", name: "fails", args: "" }), { action: "noop", error: "oops" });
assert.deepStrictEqual(heard, ["start:fork", "session_fork:fork", "bus:2", "key"]);
heard.length = 0;
assert.strictEqual(typeof ctxKept.cwd, "string");
await shutdown("reload");
assert.deepStrictEqual(heard, ["shutdown:reload"]);
assert.throws(() => ctxKept.cwd, /stale after session replacement or reload/);
assert.throws(() => piKept.on("x", () => {}), /stale/);
await assert.rejects(call({ kind: "command", call_id: "4", name: "ok", args: "" }), /is not running/);
