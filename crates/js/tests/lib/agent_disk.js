// What touches the disk and runs programs: tools, sessions, settings, skills.
// Everything happens in a temporary directory.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionManager, SettingsManager, createBashTool, createFindTool, createGrepTool, createReadTool, formatSkillsForPrompt, loadProjectContextFiles, loadSkillsFromDir } from "@earendil-works/pi-coding-agent";

let failures = 0;
function same(got, expected, what) {
  if (JSON.stringify(got) === JSON.stringify(expected)) return;
  failures += 1;
  console.log(`${what}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(got)}`);
}
const root = mkdtempSync(join(tmpdir(), "jackfield-agent-"));
const put = (path, text) => {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text);
};
const run = async (tool, params, signal) => {
  try {
    return (await tool.execute("id", params, signal)).content[0].text;
  } catch (error) {
    return `ERR ${error.message}`;
  }
};
try {
  put("src/main.ts", "export const x = 1;\n// TODO fix\nlast\n");
  put("src/skip.log", "TODO not this\n");
  put("deep/er/b.ts", "nothing\n");
  put("node.bin", "TODO\0binary");
  put(".gitignore", "*.log\n/deep/er\n");
  same(await run(createGrepTool(root), { pattern: "TODO" }), "src/main.ts:2: // TODO fix", "grep");
  same(await run(createGrepTool(root), { pattern: "todo", ignoreCase: true, context: 1, glob: "*.ts" }), "src/main.ts-1- export const x = 1;\nsrc/main.ts:2: // TODO fix\nsrc/main.ts-3- last", "grep with context");
  same(await run(createGrepTool(root), { pattern: "(" }).then((text) => text.slice(0, 4)), "ERR ", "a bad pattern");
  same(await run(createGrepTool(root), { pattern: "x = 1", literal: true, path: "src/main.ts" }), "main.ts:1: export const x = 1;", "grep in a file");
  same(await run(createGrepTool(root), { pattern: "absent" }), "No matches found", "no match");
  same(await run(createFindTool(root), { pattern: "*.ts" }), "src/main.ts", "find");
  same(await run(createFindTool(root), { pattern: "**/*.{ts,log}", path: "src" }), "main.ts\nskip.log", "find below an ignore file");
  same(await run(createReadTool(root), { path: "src/main.ts", limit: 1 }), "export const x = 1;\n\n[3 more lines in file. Use offset=2 to continue.]", "read");
  const bash = createBashTool(root);
  same(await run(bash, { command: "echo out; echo err >&2; exit 3" }).then((text) => text.split("\n").sort().join("|")), "||Command exited with code 3|err|out", "bash");
  same(await run(bash, { command: "sleep 20", timeout: 0.2 }), "ERR Command timed out after 0.2 seconds", "a command that takes too long");
  const stop = new AbortController();
  stop.abort();
  same(await run(bash, { command: "echo x" }, stop.signal), "ERR Command aborted", "a command that is stopped");
  same((await run(bash, { command: "seq 1 3000" })).startsWith("1001\n"), true, "a long output");

  const message = { role: "user", content: "hi", timestamp: 1 };
  const session = SessionManager.create(root, join(root, "sessions"));
  same(existsSync(session.getSessionFile()), false, "an empty session leaves no file");
  const first = session.appendMessage(message);
  session.appendCustomEntry("mine", { a: 1 });
  session.appendSessionInfo("my name");
  session.appendLabelChange(first, "start");
  const lines = readFileSync(session.getSessionFile(), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  same(lines.map((line) => line.type), ["session", "message", "custom", "session_info", "label"], "the file");
  same([lines[0].version, lines[1].parentId, lines[2].parentId], [3, null, first], "parents");
  const again = SessionManager.open(session.getSessionFile());
  same([again.getSessionName(), again.getLabel(first), again.getEntries().length, again.getSessionId()], ["my name", "start", 4, session.getSessionId()], "a session read again");
  same((await SessionManager.list(root, join(root, "sessions"))).map((each) => [each.firstMessage, each.messageCount, each.name]), [["hi", 1, "my name"]], "list");
  const memory = SessionManager.inMemory(root);
  const one = memory.appendMessage(message);
  const two = memory.appendMessage({ ...message, content: "two" });
  memory.branch(one);
  memory.appendMessage({ ...message, content: "three" });
  same(memory.buildSessionContext().messages.map((each) => each.content), ["hi", "three"], "a branch");
  same([memory.getTree()[0].children.length, memory.getSessionFile() ?? null, memory.getBranch(two).length], [2, null, 2], "the tree");
  memory.appendCompaction("sum", memory.getLeafId(), 100);
  same(memory.buildSessionContext().messages.map((each) => each.role), ["compactionSummary", "user"], "after a compaction");

  put("agent/settings.json", JSON.stringify({ theme: "light", compaction: { enabled: false }, packages: ["npm:x"] }));
  put(".pi/settings.json", JSON.stringify({ compaction: { reserveTokens: 5 } }));
  const settings = SettingsManager.create(root, join(root, "agent"));
  same([settings.getTheme(), settings.getCompactionSettings(), settings.getPackages(), settings.getShowImages()], ["light", { enabled: false, reserveTokens: 5, keepRecentTokens: 20000 }, ["npm:x"], true], "settings");
  settings.setTheme("dark");
  same(JSON.parse(readFileSync(join(root, "agent/settings.json"), "utf8")).theme, "dark", "a setting that is written");

  put("skills/a-skill/SKILL.md", "---\nname: a-skill\ndescription: does <b>\n---\nBody");
  put("skills/bad/SKILL.md", "---\nname: Bad Name\n---\nx");
  const { skills, diagnostics } = loadSkillsFromDir({ dir: join(root, "skills"), source: "test" });
  same([skills.map((skill) => skill.name), diagnostics.map((each) => each.message)], [["a-skill"], ["description is required", "name contains invalid characters (must be lowercase a-z, 0-9, hyphens only)"]], "skills");
  same(formatSkillsForPrompt(skills).includes("<description>does &lt;b&gt;</description>"), true, "skills in a prompt");
  put("AGENTS.md", "rules");
  same(loadProjectContextFiles({ cwd: join(root, "src"), agentDir: join(root, "none") }).at(-1)?.content, "rules", "context files");
} finally {
  rmSync(root, { recursive: true, force: true });
}
if (failures > 0) throw new Error(`${failures} checks failed, see the log`);
