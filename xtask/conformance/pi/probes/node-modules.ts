// The modules of Node that extensions use while they load.
import assert from "node:assert";
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { EventEmitter, once } from "node:events";
import * as os from "node:os";
import path from "path";
import { performance } from "node:perf_hooks";
import { parse, stringify } from "node:querystring";
import { createInterface } from "node:readline";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as delay } from "node:timers/promises";
import url from "node:url";
import util, { inspect, parseArgs, stripVTControlCharacters, types } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { attempt, attemptAsync, type Api, tell } from "./lib/tell.ts";

export default async function (pi: Api) {
  const emitter = new EventEmitter();
  setTimeout(() => emitter.emit("x", 1, 2), 1);
  const store = new AsyncLocalStorage<string>();
  const upper = new Transform({ transform(chunk, _encoding, done) { done(null, String(chunk).toUpperCase()); } });
  const collected: string[] = [];
  await pipeline(Readable.from(["a", "b"]), upper, async function (source) { for await (const chunk of source) collected.push(String(chunk)); });
  const lines: string[] = [];
  for await (const line of createInterface({ input: Readable.from(["one\ntw", "o\nthree"]) })) lines.push(line);
  const decoder = new StringDecoder("utf8");
  tell(pi, {
    assert: attempt(() => assert.deepStrictEqual({ a: [1] }, { a: [2] })), hash: createHash("sha256").update("x").digest("hex"), hmac: createHmac("sha1", "k").update("x").digest("base64"),
    random: [randomBytes(8).length, randomUUID().length, timingSafeEqual(Buffer.from("a"), Buffer.from("a"))], once: await once(emitter, "x"),
    als: await store.run("inside", async () => { await delay(1); return store.getStore(); }),
    os: [os.platform(), os.EOL, typeof os.cpus().length, typeof os.hostname(), os.type()], path: [path.join("a", "..", "b"), path.resolve("/a", "../b"), path.relative("/a/b", "/a/c"), path.parse("/x/y.tar.gz"), path.posix === path],
    now: typeof performance.now(), query: [parse("a=1&a=2&b=%20"), stringify({ a: [1, 2], b: "x y" })], collected, lines, decoded: decoder.write(Buffer.from([0xc5])) + decoder.write(Buffer.from([0xbc])),
    url: [url.fileURLToPath("file:///a%20b"), url.pathToFileURL("/a b").href, new URL("../x?y#z", "https://h/a/b/c").href],
    inspect: [inspect({ a: [1, "x"], m: new Map([["k", new Set([1])]]), d: new Date(0), n: null, f() {} }), util.format("%s %d %j %o", "a", 1, { b: 2 }, [3])],
    args: parseArgs({ args: ["--a", "1", "-b"], options: { a: { type: "string" }, b: { type: "boolean", short: "b" } } }).values, stripped: stripVTControlCharacters("\u001b[1mx\u001b[0m"), types: types.isPromise(Promise.resolve()),
    zlib: gunzipSync(gzipSync("squeezed")).toString(), buffer: [Buffer.from("aGk", "base64").toString(), Buffer.concat([Buffer.from("a"), Buffer.from([0x62])]).toString("hex"), Buffer.byteLength("ż")],
    intl: [new Intl.NumberFormat("en-US").format(1234567.891), (1234.5).toLocaleString("en-US"), new Date(0).toISOString(), new Intl.DateTimeFormat("en-US", { timeZone: "UTC" }).format(new Date(0)), "b".localeCompare("a"), [...new Intl.Segmenter("en", { granularity: "grapheme" }).segment("e\u0301x")].length],
    web: [new TextDecoder().decode(new TextEncoder().encode("ż")), btoa("hi"), structuredClone(new Map([[1, { a: 1 }]])).get(1), new Headers({ A: "b" }).get("a"), await new Response("body").text(), new URLSearchParams({ a: "b c" }).toString(), AbortSignal.abort().aborted, await new Blob(["x"]).text(), typeof crypto.subtle, crypto.randomUUID().length],
    refused: await attemptAsync(() => fetch("http://127.0.0.1:1/")).then((error: any) => error.threw), process: [process.platform, typeof process.pid, process.argv.length > 0, typeof process.version, process.versions.node.split(".")[0] >= "20", typeof process.hrtime.bigint(), typeof process.memoryUsage().rss, process.exitCode === undefined, typeof process.stdout.write, process.env.NO_SUCH === undefined],
  });
}
