// Text helpers of pi-coding-agent: truncation, front matter, diffs, messages,
// keys and themes. Expected values were obtained from pi 1.5.0.
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, DynamicBorder, Theme, VERSION, convertToLlm, defineTool, estimateTokens, formatSize, generateDiffString, generateUnifiedPatch, getLanguageFromPath, getMarkdownTheme, getSelectListTheme, isBashToolResult, isToolCallEventType, keyText, parseArgs, parseFrontmatter, parseSkillBlock, serializeConversation, shouldCompact, stripFrontmatter, truncateHead, truncateLine, truncateTail, truncateToVisualLines } from "@earendil-works/pi-coding-agent";

let failures = 0;
function same(got, expected, what) {
  if (JSON.stringify(got) === JSON.stringify(expected)) return;
  failures += 1;
  console.log(`${what}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(got)}`);
}
const pick = ({ content, truncatedBy, totalLines, totalBytes, outputLines, outputBytes, lastLinePartial, firstLineExceedsLimit }) => [content, truncatedBy, totalLines, totalBytes, outputLines, outputBytes, lastLinePartial, firstLineExceedsLimit];

same([VERSION, DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES], ["1.5.0", 51200, 2000], "constants");
same(pick(truncateHead("a\nb\nc\n", { maxLines: 2 })), ["a\nb", "lines", 3, 6, 2, 3, false, false], "head by lines");
same(pick(truncateHead("xxxxxxxxxx\nyy", { maxBytes: 5 })), ["", "bytes", 2, 13, 0, 0, false, true], "a first line that is too long");
same(pick(truncateHead("aa\nbb\ncc\ndddd", { maxBytes: 6 })), ["aa\nbb", "bytes", 4, 13, 2, 5, false, false], "head by bytes");
same(pick(truncateHead("a\nb\n", {})), ["a\nb\n", null, 2, 4, 2, 4, false, false], "nothing to cut");
same(pick(truncateTail("a\nb\nc", { maxLines: 2 })), ["b\nc", "lines", 3, 5, 2, 3, false, false], "tail by lines");
same(pick(truncateTail("日本語日本語", { maxBytes: 7 })), ["本語", "bytes", 1, 18, 1, 6, true, false], "tail inside a line");
same([truncateLine("hello world", 5), truncateLine("hello", 5)], [{ text: "hello... [truncated]", wasTruncated: true }, { text: "hello", wasTruncated: false }], "one line");
same([0, 1023, 1024, 1536, 1048576].map(formatSize), ["0B", "1023B", "1.0KB", "1.5KB", "1.0MB"], "sizes");
same(truncateToVisualLines("a\nb\nc\nd", 2, 4), { visualLines: ["c   ", "d   "], skippedCount: 2 }, "visual lines");

const FRONT = [
  ["---\na: 1\nb: foo\n---\nbody", { a: 1, b: "foo" }, "body"],
  ["no front matter", {}, "no front matter"],
  ["---\nlist:\n  - a\n  - b\nnested:\n  k: v\n---\n\nBody\n", { list: ["a", "b"], nested: { k: "v" } }, "Body"],
  ["---\na: 'q'\nb: \"d\\n\"\nc: true\nd: null\ne: 1.5\nf: ~\n---\nx", { a: "q", b: "d\n", c: true, d: null, e: 1.5, f: null }, "x"],
  ["---\ndesc: |\n  line1\n  line2\nfold: >\n  a\n  b\nz: 1\n---\nbody", { desc: "line1\nline2\n", fold: "a b\n", z: 1 }, "body"],
  ["---\r\na: 1\r\n---\r\nbody\r\n", { a: 1 }, "body"],
  ["---\na: 1\n", {}, "---\na: 1\n"],
  ["---\n---\nx", {}, "x"],
  ["---\n# c\na: x # comment\nurl: http://x:80/y\ntime: 12:30\nver: 1.2.3\nhex: 0x10\nyes: yes\n---\n", { a: "x", url: "http://x:80/y", time: "12:30", ver: "1.2.3", hex: 16, yes: "yes" }, ""],
  ["---\na: {x: 1, y: [1,2]}\nb: []\nc: \"with: colon\"\n---\n", { a: { x: 1, y: [1, 2] }, b: [], c: "with: colon" }, ""],
  ["---\nallowed-tools: Bash(git:*), Read\n---\nx", { "allowed-tools": "Bash(git:*), Read" }, "x"],
];
for (const [text, frontmatter, body] of FRONT) same([parseFrontmatter(text), stripFrontmatter(text)], [{ frontmatter, body }, body], `front matter ${JSON.stringify(text)}`);
let broken;
try {
  parseFrontmatter("---\nbad: : x\n---\nb");
} catch (error) {
  broken = error.message;
}
same(broken?.startsWith("Nested mappings are not allowed"), true, "bad front matter");
same(Object.getPrototypeOf(parseFrontmatter("---\n__proto__: {x: 1}\n---\n").frontmatter) === Object.prototype, true, "__proto__ is a key like others");

same(generateDiffString("a\nb\nc\n", "a\nB\nc\n"), { diff: " 1 a\n-2 b\n+2 B\n 3 c", firstChangedLine: 2 }, "diff");
same(generateUnifiedPatch("f.txt", "a\nb\nc\n", "a\nB\nc\n"), "--- f.txt\n+++ f.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "patch");
const many = Array.from({ length: 30 }, (_, i) => `line${i}`).join("\n");
same(generateDiffString(many, many.replace("line15", "X").replace("line3\n", "")).diff, "  1 line0\n  2 line1\n  3 line2\n- 4 line3\n  5 line4\n  6 line5\n  7 line6\n  8 line7\n    ...\n 12 line11\n 13 line12\n 14 line13\n 15 line14\n-16 line15\n+15 X\n 17 line16\n 18 line17\n 19 line18\n 20 line19\n    ...", "diff with gaps");

const messages = [
  { role: "user", content: "hi", timestamp: 1 },
  { role: "assistant", content: [{ type: "thinking", thinking: "hmm" }, { type: "text", text: "yo" }, { type: "toolCall", id: "t1", name: "bash", arguments: { command: "ls" } }], timestamp: 2 },
  { role: "toolResult", toolCallId: "t1", toolName: "bash", content: [{ type: "text", text: "out" }], isError: false, timestamp: 3 },
  { role: "bashExecution", command: "ls", output: "o", exitCode: 1, cancelled: false, truncated: true, fullOutputPath: "/f", timestamp: 4 },
  { role: "bashExecution", command: "x", output: "o", exitCode: 0, cancelled: false, truncated: false, timestamp: 4, excludeFromContext: true },
  { role: "custom", customType: "c", content: "cc", display: true, timestamp: 5 },
];
const llm = convertToLlm(messages);
same(llm.slice(3), [{ role: "user", content: [{ type: "text", text: "Ran `ls`\n```\no\n```\n\nCommand exited with code 1\n\n[Output truncated. Full output: /f]" }], timestamp: 4 }, { role: "user", content: [{ type: "text", text: "cc" }], timestamp: 5 }], "convertToLlm");
same(serializeConversation(llm.slice(0, 3)), "[User]: hi\n\n[Assistant]: yo\n\n[Assistant tool calls]: bash(command=\"ls\")\n\n[Tool result]: out", "serializeConversation");
same([messages.map(estimateTokens), shouldCompact(190000, 200000, { enabled: true, reserveTokens: 16384 })], [[1, 7, 1, 1, 1, 1], true], "tokens");
same(parseSkillBlock('<skill name="x" location="/p">\ncontent\n</skill>\n\nuser msg'), { name: "x", location: "/p", content: "content", userMessage: "user msg" }, "skill block");
same(["a.ts", "b.py", "d.unknown", "Dockerfile", "x.tsx"].map((path) => getLanguageFromPath(path) ?? null), ["typescript", "python", null, "dockerfile", "typescript"], "languages");
same([isBashToolResult({ toolName: "bash" }), isToolCallEventType("read", { toolName: "bash" }), defineTool(messages) === messages], [true, false, true], "guards");
const { unknownFlags, ...args } = parseArgs(["-p", "hello", "--model", "x", "--mode", "rpc", "@file", "-e", "ext.ts", "--foo", "bar"]);
same([args, [...unknownFlags]], [{ messages: ["hello"], fileArgs: ["file"], diagnostics: [], print: true, model: "x", mode: "rpc", extensions: ["ext.ts"] }, [["foo", "bar"]]], "arguments");
same([keyText("tui.select.cancel"), keyText("nope")], ["escape/ctrl+c", ""], "keys");
same(new DynamicBorder((text) => `<${text}>`).render(5), ["<─────>"], "border");
const theme = new Theme({ accent: "#112233", text: "" }, { selectedBg: 5 }, "truecolor", { name: "t" });
same([theme.fg("accent", "x"), theme.bg("selectedBg", "x"), theme.bold("b"), theme.style("x", { fg: "accent", italic: true })], ["\x1b[38;2;17;34;51mx\x1b[39m", "\x1b[48;5;5mx\x1b[49m", "\x1b[1mb\x1b[22m", "\x1b[38;2;17;34;51m\x1b[3mx\x1b[23m\x1b[39m"], "theme");
same([Object.keys(getMarkdownTheme()), Object.keys(getSelectListTheme())], [["heading", "link", "linkUrl", "code", "codeBlock", "codeBlockBorder", "quote", "quoteBorder", "hr", "listBullet", "bold", "italic", "underline", "strikethrough", "highlightCode"], ["selectedPrefix", "selectedText", "description", "scrollInfo", "noMatch"]], "theme parts");
if (failures > 0) throw new Error(`${failures} checks failed, see the log`);
