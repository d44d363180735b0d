// The built-in tools over operations of our own: definitions and results.
// Expected values were obtained from pi 1.5.0.
import { createBashTool, createBashToolDefinition, createCodingTools, createEditTool, createEditToolDefinition, createFindTool, createGrepToolDefinition, createLsTool, createReadOnlyTools, createReadTool, createReadToolDefinition, createWriteTool, formatReadLineRange, withFileMutationQueue } from "@earendil-works/pi-coding-agent";

let failures = 0;
function same(got, expected, what) {
  if (JSON.stringify(got) === JSON.stringify(expected)) return;
  failures += 1;
  console.log(`${what}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(got)}`);
}
const missing = (path) => Object.assign(new Error(`ENOENT: no such file or directory, access '${path}'`), { code: "ENOENT" });
const files = new Map();
const bytes = (text) => Buffer.from(text, "utf8");
const operations = {
  access: async (path) => { if (!files.has(path)) throw missing(path); },
  readFile: async (path) => bytes(files.get(path)),
  writeFile: async (path, content) => { files.set(path, content); },
  mkdir: async () => {},
};
const run = async (tool, params) => {
  try {
    const { content, ...rest } = await tool.execute("id", params, undefined, () => {});
    return JSON.parse(JSON.stringify({ text: content[0].text, ...rest }));
  } catch (error) {
    return `ERR ${error.message}`;
  }
};

const bash = createBashToolDefinition("/w");
same([bash.name, bash.label, bash.promptSnippet, bash.parameters, bash.constrainedSampling, bash.execute.length], ["bash", "bash", "Execute bash commands (ls, grep, find, etc.)", { type: "object", required: ["command"], properties: { command: { type: "string", description: "Shell command to execute" }, timeout: { type: "number", description: "Timeout in seconds (optional, no default timeout)" } } }, { type: "json_schema", strict: "prefer" }, 5], "bash definition");
same(Object.keys(createBashTool("/w")), ["name", "label", "description", "parameters", "outputSchema", "constrainedSampling", "prepareArguments", "executionMode", "execute", "promptSnippet", "promptGuidelines"], "bash tool");
same(Object.keys(createReadTool("/w")), ["name", "label", "description", "parameters", "outputSchema", "constrainedSampling", "prepareArguments", "executionMode", "execute"], "read tool");
same(Object.keys(createReadToolDefinition("/w")), ["name", "label", "description", "promptSnippet", "promptGuidelines", "parameters", "outputSchema", "constrainedSampling", "execute", "renderCall", "renderResult"], "read definition");
same(Object.keys(createGrepToolDefinition("/w")), ["name", "label", "description", "promptSnippet", "parameters", "execute", "renderCall", "renderResult"], "grep definition");
same([createCodingTools("/w").map((tool) => tool.name), createReadOnlyTools("/w").map((tool) => tool.name)], [["read", "bash", "edit", "write"], ["read", "grep", "find", "ls"]], "sets of tools");

files.set("/w/a.txt", "line1\nline2\nline3\n");
files.set("/w/crlf.txt", "x\r\ny\r\nz\r\n");
files.set("/w/quotes.txt", "it’s “quoted”  \nx — y\n");
files.set("/w/big.txt", Array.from({ length: 2500 }, (_, i) => `row ${i}`).join("\n"));
const read = createReadTool("/w", { operations });
same(await run(read, { path: "a.txt", offset: 2, limit: 1 }), { text: "line2\n\n[2 more lines in file. Use offset=3 to continue.]", structuredContent: "line2\n\n[2 more lines in file. Use offset=3 to continue.]" }, "read a part");
same(await run(read, { path: "@a.txt", offset: "2" }), { text: "line2\nline3\n", structuredContent: "line2\nline3\n" }, "read with a number as text");
same(await run(read, { path: "a.txt", offset: 99 }), "ERR Offset 99 is beyond end of file (4 lines total)", "read past the end");
same(await run(read, { path: "nope" }), "ERR ENOENT: no such file or directory, access '/w/nope'", "read nothing");
same((await run(read, { path: "big.txt" })).text.slice(-70), "\nrow 1999\n\n[Showing lines 1-2000 of 2500. Use offset=2001 to continue.]".slice(-70), "read a long file");
same([formatReadLineRange(), formatReadLineRange(3), formatReadLineRange(3, 4), formatReadLineRange(undefined, 4)], ["", ":3", ":3-6", ":1-4"], "ranges");

const write = createWriteTool("/w", { operations });
same(await run(write, { path: "n/f.txt", content: "hi\n" }), { text: "Successfully wrote to n/f.txt" }, "write");
same(files.get("/w/n/f.txt"), "hi\n", "what was written");

const edit = createEditTool("/w", { operations });
const change = (path, ...edits) => run(edit, { path, edits: edits.map(([oldText, newText]) => ({ oldText, newText })) });
same(await change("a.txt", ["line2", "LINE2"]), { text: "Successfully replaced 1 block(s) in a.txt.", details: { diff: " 1 line1\n-2 line2\n+2 LINE2\n 3 line3", patch: "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n line1\n-line2\n+LINE2\n line3\n", firstChangedLine: 2 } }, "edit");
same(await change("a.txt", ["nope", "x"]), "ERR Could not find the exact text in a.txt. The old text must match exactly including all whitespace and newlines.", "no match");
same(await change("a.txt", ["line", "x"]), "ERR Found 2 occurrences of the text in a.txt. The text must be unique. Please provide more context to make it unique.", "two matches");
same(await change("a.txt", ["line1", "x"], ["line1\nLINE2", "y"]), "ERR edits[0] and edits[1] overlap in a.txt. Merge them into one edit or target disjoint regions.", "overlap");
same(await change("a.txt", ["zzz", "b"], ["line3", "c"]), "ERR Could not find edits[0] in a.txt. The oldText must match exactly including all whitespace and newlines.", "one of two");
same(await change("a.txt"), "ERR Edit tool input is invalid. edits must contain at least one replacement.", "no edits");
same(await change("a.txt", ["", "x"]), "ERR oldText must not be empty in a.txt.", "empty text");
same(await change("nope.txt", ["a", "b"]), "ERR Could not edit file: nope.txt. Error code: ENOENT.", "no file");
await change("crlf.txt", ["x\ny", "x\nY"]);
same(files.get("/w/crlf.txt"), "x\r\nY\r\nz\r\n", "line endings stay");
await change("quotes.txt", ["it's \"quoted\"", "ok"]);
same(files.get("/w/quotes.txt"), "ok\nx — y\n", "typographic quotes match, other lines stay");
const prepare = createEditToolDefinition("/w").prepareArguments;
same([prepare({ path: "a", oldText: "x", newText: "y" }), prepare({ path: "a", edits: '[{"oldText":"x","newText":"y"}]' })], [{ path: "a", edits: [{ oldText: "x", newText: "y" }] }, { path: "a", edits: [{ oldText: "x", newText: "y" }] }], "arguments as models write them");

const directory = { isDirectory: () => true };
const ls = createLsTool("/w", { operations: { exists: async (path) => path !== "/w/nope", stat: async (path) => (path.endsWith("sub") || path === "/w" ? directory : { isDirectory: () => false }), readdir: async () => ["b.ts", ".hid", "sub", "A"] } });
same(await run(ls, {}), { text: ".hid\nA\nb.ts\nsub/" }, "ls");
same(await run(ls, { limit: 2 }), { text: ".hid\nA\n\n[2 entries limit reached. Use limit=4 for more]", details: { entryLimitReached: 2 } }, "ls with a limit");
same(await run(ls, { path: "nope" }), "ERR Path not found: /w/nope", "ls of nothing");
const find = createFindTool("/w", { operations: { exists: async () => true, glob: async (pattern, root, { limit }) => [`/w/${pattern}`, root, String(limit)] } });
same((await run(find, { pattern: "a.ts", limit: 9 })).text, "a.ts\n\n9", "find");

const shell = (exec, options = {}) => createBashTool("/w", { operations: { exec }, ...options });
const timeless = (result) => JSON.parse(JSON.stringify(result).replace(/"wall_time_seconds":[\d.]+/, '"wall_time_seconds":0'));
const fake = shell(async (command, cwd, { onData, env }) => {
  onData(Buffer.from(`${command} ${cwd} ${env.EXTRA ?? "-"}`));
  return { exitCode: 0 };
}, { commandPrefix: "set -e", spawnHook: (context) => ({ ...context, env: { ...context.env, EXTRA: "7" } }) });
same(timeless(await run(fake, { command: "x" })), { text: "set -e\nx /w 7", structuredContent: { output: "set -e\nx /w 7", truncated: false, exit_code: 0, wall_time_seconds: 0 } }, "bash over other operations");
same(timeless(await run(shell(async () => ({ exitCode: 3 })), { command: "x" })), { text: "(no output)\n\nCommand exited with code 3", structuredContent: { output: "", truncated: false, exit_code: 3, wall_time_seconds: 0 }, isError: true }, "a command that fails");
same(await run(shell(async (_command, _cwd, { onData }) => { onData(Buffer.from("a\n")); throw new Error("aborted"); }), { command: "x" }), "ERR a\n\n\nCommand aborted", "a command that is stopped");
same(await run(shell(async () => { throw new Error("timeout:5"); }), { command: "x" }), "ERR Command timed out after 5 seconds", "a command that takes too long");

const order = [];
const slow = withFileMutationQueue("/w/q", async () => { await Promise.resolve(); await Promise.resolve(); order.push(1); });
const fast = withFileMutationQueue("/w/q", async () => { order.push(2); });
await Promise.all([slow, fast]);
same(order, [1, 2], "changes of one file wait for each other");
if (failures > 0) throw new Error(`${failures} checks failed, see the log`);
