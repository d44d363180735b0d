// node:readline, and the modules that exist only to say that they are not there.
import assert from "node:assert";
import { Buffer } from "node:buffer";
import readline from "node:readline";
import questions from "node:readline/promises";
import { PassThrough, Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import dgram from "node:dgram";
import http2 from "node:http2";
import https from "node:https";
import sqlite from "node:sqlite";
import tls from "node:tls";

const sink = () => {
  let text = "";
  return Object.assign(new Writable({ write(chunk, encoding, done) { text += chunk; done(); } }), { text: () => text });
};
const closed = (reader) => new Promise((resolve) => reader.on("close", resolve));

{
  const input = new PassThrough();
  const reader = readline.createInterface({ input });
  const lines = [];
  reader.on("line", (line) => lines.push(line));
  input.write("a\nb\r");
  input.write("\nc\rd");
  input.write(Buffer.from("é").subarray(0, 1));
  input.write(Buffer.from("é").subarray(1));
  input.end("\n\nlast");
  await closed(reader);
  assert.deepStrictEqual(lines, ["a", "b", "c", "dé", "", "last"]);
}
{
  const seen = [];
  for await (const line of readline.createInterface({ input: Readable.from(["x\ny\n", "z"]), crlfDelay: Infinity })) seen.push(line);
  assert.deepStrictEqual(seen, ["x", "y", "z"]);
  const input = new PassThrough();
  const reader = readline.createInterface({ input });
  setImmediate(() => input.write("a\nb\n"));
  for await (const line of reader) {
    assert.strictEqual(line, "a");
    break;
  }
  assert.strictEqual(reader.closed, true);
}
{
  const [input, output] = [new PassThrough(), sink()];
  const reader = readline.createInterface({ input, output });
  const first = new Promise((resolve) => reader.question("name? ", resolve));
  input.write("bob\n");
  assert.strictEqual(await first, "bob");
  const second = promisify(reader.question).call(reader, "age? ");
  input.write("7\n");
  assert.strictEqual(await second, "7");
  assert.strictEqual(output.text(), "name? age? ");
  reader.close();
  assert.throws(() => reader.question("x", () => {}), { code: "ERR_USE_AFTER_CLOSE" });
  const other = new PassThrough();
  const asking = questions.createInterface({ input: other, output: sink() });
  const answer = asking.question("q? ");
  other.write("yes\n");
  assert.strictEqual(await answer, "yes");
  const control = new AbortController();
  const never = asking.question("z? ", { signal: control.signal });
  control.abort();
  await assert.rejects(never, { name: "AbortError" });
  asking.close();
}
{
  const out = sink();
  readline.cursorTo(out, 3);
  readline.cursorTo(out, 3, 4);
  readline.moveCursor(out, -1, 2);
  readline.clearLine(out, -1);
  readline.clearLine(out, 1);
  readline.clearLine(out, 0);
  readline.clearScreenDown(out);
  assert.strictEqual(out.text(), "\x1b[4G\x1b[5;4H\x1b[1D\x1b[2B\x1b[1K\x1b[0K\x1b[2K\x1b[0J");
  const input = new PassThrough();
  readline.emitKeypressEvents(input);
  const keys = [];
  input.on("keypress", (text, key) => keys.push([text, key.name, key.ctrl, key.meta, key.shift]));
  for (const text of ["a", "A", "\r", "\x03", "\x1b[A", "\x1b[1;5C", "\x1ba"]) {
    input.write(text);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepStrictEqual(keys, [
    ["a", "a", false, false, false], ["A", "a", false, false, true], ["\r", "return", false, false, false], ["\x03", "c", true, false, false],
    [undefined, "up", false, false, false], [undefined, "right", true, false, false], [undefined, "a", false, true, false],
  ]);
}
for (const use of [() => http2.connect("https://x"), () => dgram.createSocket("udp4"), () => new sqlite.DatabaseSync(":memory:"), () => https.createServer(), () => tls.createServer(),
  () => tls.connect({ port: 1, rejectUnauthorized: false })]) {
  assert.throws(use, { code: "ERR_JACKFIELD_UNSUPPORTED" });
}
