// Programs at load time.
import { exec, execFileSync, execSync, spawn, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { attempt, attemptAsync, type Api, tell } from "./lib/tell.ts";

export default async function (pi: Api) {
  const spawned = await new Promise((resolve) => {
    const child = spawn("sh", ["-c", "cat; echo err >&2; exit 3"]);
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk) => (err += chunk));
    child.on("close", (code, signal) => resolve({ out, err, code, signal }));
    child.stdin.end("from stdin");
  });
  const missing = await new Promise((resolve) => spawn("no-such-program-anywhere").on("error", (error: NodeJS.ErrnoException) => resolve([error.code, error.syscall])));
  const run = spawnSync("sh", ["-c", "echo out; exit 2"], { encoding: "utf8" });
  const status = attempt(() => {
    try {
      execSync("exit 7", { stdio: "pipe" });
    } catch (error) {
      return (error as { status: number }).status;
    }
  });
  tell(pi, {
    spawned, missing, run: [run.status, run.stdout, run.stderr, run.signal], status, out: execSync("printf hello").toString(), file: execFileSync("printf", ["%s", "a b"], { encoding: "utf8" }),
    promised: await promisify(exec)("echo promised"), failed: await attemptAsync(() => promisify(exec)("exit 4")),
    none: (spawnSync("no-such-program-anywhere").error as NodeJS.ErrnoException)?.code, env: execSync("echo $PROBE", { env: { ...process.env, PROBE: "set" }, encoding: "utf8" }),
    cwd: execSync("pwd", { cwd: "/", encoding: "utf8" }), input: execSync("cat", { input: "typed", encoding: "utf8" }),
    pi: await attemptAsync(async () => { const { stdout, code, killed } = await pi.exec("echo", ["from pi"]); return { stdout, code, killed }; }),
  });
}
