// Files at load time: in the home, in the project, beside the extension.
import * as fs from "node:fs";
import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import * as path from "node:path";
import { attempt, attemptAsync, type Api, tell } from "./lib/tell.ts";

export default async function (pi: Api) {
  const own = path.join(homedir(), ".pi", "agent", "probe");
  const found: Record<string, unknown> = {
    home: fs.existsSync(homedir()), before: fs.existsSync(own), cwd: fs.readdirSync(process.cwd()).length, tmp: fs.existsSync(tmpdir()),
    missing: attempt(() => fs.readFileSync(path.join(own, "none"), "utf8")),
    missingDir: attempt(() => fs.readdirSync(own)), notDir: attempt(() => fs.readdirSync(__filename)), isDir: attempt(() => fs.readFileSync(__dirname)),
    made: path.relative(homedir(), fs.mkdirSync(own, { recursive: true }) ?? ""),
  };
  fs.writeFileSync(path.join(own, "a.json"), JSON.stringify({ a: 1 }));
  fs.appendFileSync(path.join(own, "a.json"), "\n");
  await writeFile(path.join(own, "b.txt"), "żółw");
  await mkdir(path.join(own, "sub"));
  fs.symlinkSync("b.txt", path.join(own, "link"));
  fs.renameSync(path.join(own, "a.json"), path.join(own, "c.json"));
  found.read = JSON.parse(fs.readFileSync(path.join(own, "c.json"), "utf-8"));
  found.bytes = [...(await readFile(path.join(own, "b.txt")))];
  found.list = fs.readdirSync(own, { withFileTypes: true }).map((entry) => [entry.name, entry.isFile(), entry.isDirectory(), entry.isSymbolicLink()]).sort();
  found.names = (await readdir(own)).sort();
  const facts = await stat(path.join(own, "b.txt"));
  found.stat = [facts.size, facts.isFile(), typeof facts.mtimeMs, facts.mtime instanceof Date, (facts.mode & 0o777).toString(8)];
  found.again = attempt(() => fs.mkdirSync(own));
  found.exclusive = attempt(() => fs.writeFileSync(path.join(own, "b.txt"), "", { flag: "wx" }));
  found.async = await attemptAsync(() => readFile(path.join(own, "none")));
  found.noThrow = fs.statSync(path.join(own, "none"), { throwIfNoEntry: false }) === undefined;
  found.real = fs.realpathSync(path.join(own, "link")).endsWith("b.txt");
  const handle = fs.openSync(path.join(own, "b.txt"), "r");
  const buffer = Buffer.alloc(4);
  found.fd = [fs.readSync(handle, buffer, 0, 4, 0), buffer.toString("hex")];
  fs.closeSync(handle);
  fs.rmSync(own, { recursive: true, force: true });
  found.after = fs.existsSync(own);
  tell(pi, found);
}
