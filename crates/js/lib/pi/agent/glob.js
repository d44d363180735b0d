// Glob patterns and .gitignore rules, for the search tools. Own matching: `*`,
// `**`, `?`, `[a-z]`, `{a,b}`; a pattern without a slash matches at any depth.

function classAt(pattern, at) {
  const end = pattern.indexOf("]", at + 2);
  if (end === -1) return null;
  const body = pattern.slice(at + 1, end).replace(/^!/, "^").replace(/\\/g, "\\\\");
  return { source: `[${body}]`, length: end - at + 1 };
}

function translate(pattern) {
  let out = "";
  let braces = 0;
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i];
    if (char === "*") {
      if (pattern[i + 1] === "*") {
        const whole = (i === 0 || pattern[i - 1] === "/") && (pattern[i + 2] === undefined || pattern[i + 2] === "/");
        if (whole && pattern[i + 2] === "/") {
          out += "(?:[^/]*/)*";
          i += 2;
        } else {
          out += ".*";
          i += 1;
        }
      } else out += "[^/]*";
    } else if (char === "?") out += "[^/]";
    else if (char === "[") {
      const set = classAt(pattern, i);
      out += set ? set.source : "\\[";
      i += set ? set.length - 1 : 0;
    } else if (char === "{") {
      braces += 1;
      out += "(?:";
    } else if (char === "}" && braces > 0) {
      braces -= 1;
      out += ")";
    } else if (char === "," && braces > 0) out += "|";
    else if (char === "\\" && i + 1 < pattern.length) out += pattern[++i].replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
    else out += char.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  }
  return braces > 0 ? null : out;
}

/** A function that says whether a relative path matches. */
export function globMatcher(pattern, { anyDepth = !pattern.includes("/") } = {}) {
  const source = translate(pattern.replace(/^\.?\//, ""));
  if (source === null) return (path) => path === pattern;
  const regex = new RegExp(`^${anyDepth ? "(?:.*/)?" : ""}${source}$`, "s");
  return (path) => regex.test(path);
}

/** The rules of one .gitignore file, relative to its directory. */
export function ignoreRules(text) {
  const rules = [];
  for (const raw of text.split(/\r?\n/)) {
    let line = raw.replace(/(?<!\\)\s+$/, "");
    if (line === "" || line.startsWith("#")) continue;
    const negated = line.startsWith("!");
    if (negated) line = line.slice(1);
    const directoryOnly = line.endsWith("/");
    if (directoryOnly) line = line.slice(0, -1);
    const anchored = line.includes("/");
    rules.push({ negated, directoryOnly, match: globMatcher(line, { anyDepth: !anchored }) });
  }
  return rules;
}

/** Is a path (relative to the rules' directory) ignored: true, false, or undefined when no rule speaks. */
export function isIgnored(rules, path, isDirectory) {
  for (let i = rules.length - 1; i >= 0; i--) {
    const rule = rules[i];
    if (rule.directoryOnly && !isDirectory) continue;
    if (rule.match(path)) return !rule.negated;
  }
  return undefined;
}
