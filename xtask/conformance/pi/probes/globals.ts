// Things that extensions do to globals, and long-lived things that they leave behind when they load.
import { createServer } from "node:http";
import { watch } from "node:fs";
import { type Api, tell } from "./lib/tell.ts";

const KEY = Symbol.for("probe.registry");
const shared = ((globalThis as any)[KEY] ??= { count: 0 });
shared.count++;

export default async function (pi: Api) {
  process.on("exit", () => {});
  process.on("SIGTERM", () => {});
  process.on("uncaughtException", () => {});
  process.on("unhandledRejection", () => {});
  const timer = setInterval(() => {}, 1000);
  timer.unref();
  const watcher = watch(process.cwd(), () => {});
  watcher.unref?.();
  const server = createServer((_request, response) => response.end("served"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const answer = await fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
  server.close();
  watcher.close();
  const original = console.log;
  console.log = () => {};
  console.log("swallowed");
  console.log = original;
  (process.env as any).PROBE_SET = 1;
  tell(pi, { count: shared.count, answer, port: typeof port, env: process.env.PROBE_SET, hasRef: timer.hasRef(), title: typeof process.title });
  Promise.reject(new Error("nobody waits for this")).catch(() => {});
}
