// node:fs/promises, file handles and streams of files.
import assert from "node:assert";
import { Buffer } from "node:buffer";
import fs from "node:fs";
import * as promises from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pipeline } from "node:stream/promises";

const root = await promises.realpath(await promises.mkdtemp(path.join(os.tmpdir(), "jf-fsp-")));
const at = (...parts) => path.join(root, ...parts);
const closed = (stream) => new Promise((resolve) => stream.on("close", resolve));

try {
  await promises.writeFile(at("a"), "one");
  await promises.appendFile(at("a"), "two");
  assert.strictEqual(await promises.readFile(at("a"), "utf8"), "onetwo");
  await promises.writeFile(at("b"), (function* parts() { yield "p"; yield Buffer.from("q"); })());
  assert.strictEqual(await promises.readFile(at("b"), "utf8"), "pq");
  await promises.writeFile(at("c"), fs.createReadStream(at("a")));
  assert.strictEqual(await promises.readFile(at("c"), "utf8"), "onetwo");
  assert.strictEqual(await promises.mkdir(at("x/y"), { recursive: true }), at("x"));
  assert.deepStrictEqual((await promises.readdir(root)).sort(), ["a", "b", "c", "x"]);
  assert.strictEqual(await promises.access(at("a")), undefined);
  await assert.rejects(promises.readFile(at("no")), { code: "ENOENT", syscall: "open", path: at("no"), message: `ENOENT: no such file or directory, open '${at("no")}'` });
  await assert.rejects(promises.readFile(undefined), { code: "ERR_INVALID_ARG_TYPE" });
  await assert.rejects(promises.readFile(at("a"), { signal: AbortSignal.abort() }), { name: "AbortError", code: "ABORT_ERR" });
  await promises.rm(at("x"), { recursive: true });
  await promises.cp(at("a"), at("d"), { filter: async () => true });
  assert.strictEqual((await promises.stat(at("d"))).size, 6);
  const names = [];
  for await (const entry of await promises.opendir(root)) names.push(entry.name);
  assert.deepStrictEqual(names.sort(), ["a", "b", "c", "d"]);
  const found = [];
  for await (const name of promises.glob("[ab]", { cwd: root })) found.push(name);
  assert.deepStrictEqual(found, ["a", "b"]);
  assert.strictEqual(promises.constants.R_OK, 4);
  assert.strictEqual(fs.promises.readFile, promises.readFile);

  // Handles.
  const handle = await promises.open(at("h"), "w+");
  assert.deepStrictEqual(await handle.write("hello"), { bytesWritten: 5, buffer: "hello" });
  assert.strictEqual((await handle.write(Buffer.from("XX"), 0, 1, 0)).bytesWritten, 1);
  const got = await handle.read(Buffer.alloc(3), 0, 3, 0);
  assert.deepStrictEqual([got.bytesRead, got.buffer.toString()], [3, "Xel"]);
  assert.strictEqual((await handle.stat()).size, 5);
  await handle.truncate(2);
  await handle.sync();
  await handle.close();
  assert.strictEqual(handle.fd, -1);
  await assert.rejects(handle.read(Buffer.alloc(1)), { code: "EBADF", message: "file closed" });
  await promises.writeFile(at("lines"), "l1\nl2\r\nl3");
  const lines = [];
  const reader = await promises.open(at("lines"));
  for await (const line of reader.readLines()) lines.push(line);
  assert.deepStrictEqual(lines, ["l1", "l2", "l3"]);

  // Streams of files.
  await promises.writeFile(at("digits"), "0123456789");
  const part = fs.createReadStream(at("digits"), { start: 2, end: 6, highWaterMark: 2, encoding: "utf8" });
  const seen = [];
  for (const name of ["open", "ready", "data", "end", "close"]) part.on(name, (value) => seen.push(name === "data" ? value : name));
  await closed(part);
  assert.deepStrictEqual(seen, ["open", "ready", "23", "45", "6", "end", "close"]);
  assert.deepStrictEqual([part.bytesRead, part.path], [5, at("digits")]);
  const out = fs.createWriteStream(at("w"));
  const told = [];
  for (const name of ["open", "ready", "finish", "close"]) out.on(name, () => told.push(name));
  out.write("a");
  out.write("b");
  out.end("c");
  await closed(out);
  assert.deepStrictEqual([told, out.bytesWritten], [["open", "ready", "finish", "close"], 3]);
  const more = fs.createWriteStream(at("w"), { flags: "a" });
  more.end("d");
  await closed(more);
  const middle = fs.createWriteStream(at("w"), { flags: "r+", start: 1 });
  middle.end("Q");
  await closed(middle);
  assert.strictEqual(await promises.readFile(at("w"), "utf8"), "aQcd");
  const big = Buffer.alloc(300000, 7);
  await promises.writeFile(at("big"), big);
  await pipeline(fs.createReadStream(at("big")), fs.createWriteStream(at("big2")));
  assert.ok(big.equals(await promises.readFile(at("big2"))));
  for (const [make, code, syscall] of [
    [() => fs.createReadStream(at("no")), "ENOENT", "open"],
    [() => fs.createReadStream(root), "EISDIR", "read"],
    [() => fs.createWriteStream(at("no/x")), "ENOENT", "open"],
  ]) {
    const stream = make();
    stream.resume?.();
    const error = await new Promise((resolve) => stream.on("error", resolve));
    assert.deepStrictEqual([error.code, error.syscall], [code, syscall]);
  }
  assert.throws(() => fs.createReadStream(at("a"), { start: 5, end: 2 }), { code: "ERR_OUT_OF_RANGE" });

  // Changes told by the system.
  await promises.mkdir(at("watched"));
  const watcher = fs.watch(at("watched"));
  const change = new Promise((resolve, reject) => watcher.on("change", (kind, name) => resolve(name)).on("error", reject));
  const closing = new Promise((resolve) => watcher.on("close", resolve));
  // Written again until it is seen: when the watch begins is not told.
  const writing = setInterval(() => fs.writeFileSync(at("watched/new"), String(Math.random())), 20);
  assert.strictEqual(await change, "new");
  clearInterval(writing);
  watcher.close();
  await closing;
  assert.throws(() => fs.watch(at("no")), { code: "ENOENT", syscall: "watch", path: at("no") });

  // Changes seen by looking again and again.
  await promises.writeFile(at("seen"), "1");
  await new Promise((resolve) => {
    fs.watchFile(at("seen"), { interval: 10 }, (now, before) => {
      assert.deepStrictEqual([now.size, before.size], [3, 1]);
      fs.unwatchFile(at("seen"));
      resolve();
    });
    setTimeout(() => fs.writeFileSync(at("seen"), "123"), 40);
  });
} finally {
  await promises.rm(root, { recursive: true, force: true });
}
