// Where pi keeps its things, and the version of its API that this host speaks.
import { homedir } from "node:os";
import { join } from "node:path";
import { info, shared } from "jackfield:host";

/** pi's version whose API this is. */
export const VERSION = "1.5.0";
/** The directory of project settings. */
export const CONFIG_DIR_NAME = ".pi";

/** The directory of user settings: `PI_CODING_AGENT_DIR` or `~/.pi/agent`. */
export function getAgentDir() {
  const set = shared.env ? shared.env("PI_CODING_AGENT_DIR") : info.agentDir;
  if (!set) return join(homedir(), CONFIG_DIR_NAME, "agent");
  return set === "~" || set.startsWith("~/") ? join(homedir(), set.slice(1)) : set;
}

/** The extension's own directory: pi's package is not installed here. */
export function getPackageDir() {
  return info.dir;
}

/** A readme beside the extension. */
export function getReadmePath() {
  return join(getPackageDir(), "README.md");
}

/** Documentation beside the extension. */
export function getDocsPath() {
  return join(getPackageDir(), "docs");
}

/** Examples beside the extension. */
export function getExamplesPath() {
  return join(getPackageDir(), "examples");
}

const LANGUAGES = {
  ts: "typescript", tsx: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript", cjs: "javascript", py: "python", rb: "ruby",
  rs: "rust", go: "go", java: "java", kt: "kotlin", swift: "swift", c: "c", h: "c", cpp: "cpp", cc: "cpp", cxx: "cpp", hpp: "cpp",
  cs: "csharp", php: "php", sh: "bash", bash: "bash", zsh: "bash", fish: "fish", ps1: "powershell", sql: "sql", html: "html", htm: "html",
  css: "css", scss: "scss", sass: "sass", less: "less", json: "json", yaml: "yaml", yml: "yaml", toml: "toml", xml: "xml", md: "markdown",
  markdown: "markdown", dockerfile: "dockerfile", makefile: "makefile", cmake: "cmake", lua: "lua", perl: "perl", r: "r", scala: "scala",
  clj: "clojure", ex: "elixir", exs: "elixir", erl: "erlang", hs: "haskell", ml: "ocaml", vim: "vim", graphql: "graphql", proto: "protobuf",
  tf: "hcl", hcl: "hcl",
};

/** The language of a file by its name, or undefined. */
export function getLanguageFromPath(filePath) {
  const extension = filePath.split(".").at(-1)?.toLowerCase().split("/").at(-1);
  return Object.hasOwn(LANGUAGES, extension) ? LANGUAGES[extension] : undefined;
}
