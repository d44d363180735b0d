// Walking a directory tree the way search programs do: hidden files are
// included, .git and what .gitignore names are not, links are not followed.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ignoreRules, isIgnored } from "jackfield:pi/agent/glob";

const MAX_DEPTH = 128;

function* walkIn(root, relative, scopes, depth) {
  if (depth > MAX_DEPTH) return;
  let entries;
  try {
    entries = readdirSync(join(root, relative), { withFileTypes: true });
  } catch {
    return;
  }
  const own = [...scopes];
  for (const name of [".gitignore", ".ignore"]) {
    if (!entries.some((entry) => entry.name === name)) continue;
    try {
      own.push({ base: relative, rules: ignoreRules(readFileSync(join(root, relative, name), "utf8")) });
    } catch {
      continue;
    }
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  for (const entry of entries) {
    if (entry.name === ".git") continue;
    const path = relative ? `${relative}/${entry.name}` : entry.name;
    const isDirectory = entry.isDirectory();
    let hidden = false;
    for (const scope of own) {
      const local = scope.base ? path.slice(scope.base.length + 1) : path;
      hidden = isIgnored(scope.rules, local, isDirectory) ?? hidden;
    }
    if (hidden) continue;
    yield { path, isDirectory, isFile: entry.isFile() };
    if (isDirectory) yield* walkIn(root, path, own, depth + 1);
  }
}

/** Files and directories below `root`, parents before children, in the order of their names. */
export function walk(root) {
  return walkIn(root, "", [], 0);
}
