// Writes the golden files anew with the real pi: what each extension of the corpus registers there, one JSON line each.
//
//   node measure.mjs --pi DIR --corpus DIR GOLDEN.jsonl…
//
// --pi is an unpacked pi 1.5.0 package (with jiti beside it in node_modules; it wants Node 22), --corpus is the folder that
// `cargo xtask conformance pi` filled. The names in each golden file say what is measured. Every extension gets a process,
// an empty home and an empty project of its own, because some look at the disk while they load.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const sorted = (value) => {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
};
const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
const isEmpty = (value) => !value || (typeof value === "object" && Object.keys(value).length === 0);

/** What is compared, in the golden files' words; what is empty is left out. */
function facts(extension, runtime, bus) {
  const values = (map) => [...(map?.values() ?? [])];
  const keys = (map) => [...(map?.keys() ?? [])];
  const mine = (list) => (list ?? []).filter((one) => one.extensionPath === extension.path);
  const all = {
    tools: values(extension.tools).map(({ definition: { name, label, description, parameters } }) => ({ name, label, description, parameters })),
    commands: values(extension.commands).map(({ name, description }) => ({ name, description: description || undefined })),
    events: Object.fromEntries([...extension.handlers].map(([name, handlers]) => [name, handlers.length])),
    flags: values(extension.flags).map(({ name, type, description, default: value }) => ({ name, type, description, default: value })),
    shortcuts: values(extension.shortcuts).map(({ shortcut, description }) => ({ shortcut, description })),
    providers: mine(runtime.pendingProviderRegistrations).map(({ name, config: { streamSimple, oauth, name: _shown, ...rest } }) => ({
      ...rest,
      name,
      hasStreamSimple: typeof streamSimple === "function",
      oauth: oauth && { name: oauth.name, has: Object.keys(oauth).filter((key) => typeof oauth[key] === "function") },
    })),
    nativeProviders: mine(runtime.pendingNativeProviderRegistrations).map(({ provider }) => provider.id),
    virtualModels: mine(runtime.pendingVirtualModelRegistrations).map(({ definition: { id, provider } }) => ({ id, provider })),
    mcpServers: mine(runtime.mcpServers?.list()).map(({ name, config }) => ({ name, config })),
    messageRenderers: keys(extension.messageRenderers),
    entryRenderers: keys(extension.entryRenderers),
    toolRenderers: extension.toolRenderers?.length ?? 0,
    markdownTransformer: extension.markdownTransformer !== undefined,
    busChannels: bus,
  };
  return Object.fromEntries(Object.entries(plain(all)).filter(([, value]) => !isEmpty(value)));
}

function classOf(error) {
  const missing = /Cannot find (?:module|package) '([^']+)'/.exec(error);
  if (missing) return { class: "missing module", module: missing[1] };
  if (/does not export a valid factory/.test(error)) return { class: "no factory" };
  return { class: "thrown" };
}

async function one(pi, entry) {
  const agent = await import(path.join(pi, "dist/bundle/index.js"));
  const real = agent.createEventBus();
  const channels = new Set();
  const bus = { ...real, emit: (...args) => real.emit(...args), on: (channel, handler) => (channels.add(channel), real.on(channel, handler)) };
  const log = console.log;
  console.log = console.info = console.error;
  const { extensions, errors, runtime } = await agent.discoverAndLoadExtensions([entry], process.cwd(), path.join(process.env.HOME, ".pi/agent"), bus);
  const found = errors[0] ? { error: classOf(errors[0].error) } : { registers: facts(extensions[0], runtime, [...channels]) };
  log(`\n@@${JSON.stringify(found)}`);
  process.exit(0);
}

function measure(pi, corpus, name) {
  const [token] = name.split("/");
  const words = name.split("/").slice(1);
  const folder = token === "$NPM" ? words.slice(0, words[0].startsWith("@") ? 2 : 1).join("__") : undefined;
  const base = { $EXAMPLES: "examples", $INSTALLED: "installed", $NPM: `npm/${folder}/node_modules` }[token];
  const place = token === "$PROBES" ? fileURLToPath(new URL("probes", import.meta.url)) : path.resolve(corpus, base);
  const entry = path.join(place, ...words);
  statSync(entry);
  const scratch = mkdtempSync(path.join(tmpdir(), "measure-"));
  for (const dir of ["home", "project"]) mkdirSync(path.join(scratch, dir));
  const env = { PATH: process.env.PATH, HOME: path.join(scratch, "home") };
  const run = spawnSync(process.execPath, [fileURLToPath(import.meta.url), "--one", pi, entry], { cwd: path.join(scratch, "project"), env, encoding: "utf8", timeout: 120_000 });
  rmSync(scratch, { recursive: true, force: true });
  const line = run.stdout.split("\n").find((text) => text.startsWith("@@"));
  if (!line) throw new Error(`${name}: pi said nothing: ${run.stderr.slice(-2000)}`);
  const text = line.slice(2).replaceAll(place, token).replaceAll(path.join(scratch, "home"), "$HOME").replaceAll(path.join(scratch, "project"), "$PROJECT");
  return JSON.stringify({ extension: name, ...sorted(JSON.parse(text)) });
}

const args = process.argv.slice(2);
if (args[0] === "--one") await one(args[1], args[2]);
const option = (name) => {
  const at = args.indexOf(name);
  if (at < 0) throw new Error(`${name} is missing: node measure.mjs --pi DIR --corpus DIR GOLDEN.jsonl…`);
  return path.resolve(args.splice(at, 2)[1]);
};
const pi = option("--pi");
const corpus = option("--corpus");
for (const file of args) {
  const names = readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line).extension);
  writeFileSync(file, `${names.map((name) => measure(pi, corpus, name)).join("\n")}\n`);
  console.log(`${file}: ${names.length} extensions measured`);
}
