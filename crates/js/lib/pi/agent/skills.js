// Skills and context files on disk: reading them, checking them, and the text
// about them in a system prompt.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseFrontmatter } from "jackfield:pi/agent/frontmatter";
import { createSyntheticSourceInfo } from "jackfield:pi/agent/guards";
import { CONFIG_DIR_NAME, getAgentDir } from "jackfield:pi/agent/paths";

const NAME_LIMIT = 64;
const DESCRIPTION_LIMIT = 1024;
const MAX_DEPTH = 16;

function nameProblems(name) {
  const out = [];
  if (name.length > NAME_LIMIT) out.push(`name exceeds ${NAME_LIMIT} characters (${name.length})`);
  if (!/^[a-z0-9-]+$/.test(name)) out.push("name contains invalid characters (must be lowercase a-z, 0-9, hyphens only)");
  if (name.startsWith("-") || name.endsWith("-")) out.push("name must not start or end with a hyphen");
  if (name.includes("--")) out.push("name must not contain consecutive hyphens");
  return out;
}

function readSkill(filePath, source) {
  const diagnostics = [];
  const warn = (message) => diagnostics.push({ type: "warning", message, path: filePath });
  let frontmatter;
  try {
    ({ frontmatter } = parseFrontmatter(readFileSync(filePath, "utf8")));
  } catch (error) {
    warn(error.message);
    return { diagnostics };
  }
  const baseDir = dirname(filePath);
  const name = typeof frontmatter.name === "string" ? frontmatter.name : basename(baseDir);
  const description = typeof frontmatter.description === "string" ? frontmatter.description.trim() : "";
  if (!description) warn("description is required");
  else if (description.length > DESCRIPTION_LIMIT) warn(`description exceeds ${DESCRIPTION_LIMIT} characters (${description.length})`);
  for (const problem of nameProblems(name)) warn(problem);
  if (!description) return { diagnostics };
  const sourceInfo = createSyntheticSourceInfo(filePath, { source, baseDir });
  return { diagnostics, skill: { name, description: frontmatter.description, filePath, baseDir, sourceInfo, disableModelInvocation: frontmatter["disable-model-invocation"] === true } };
}

function collect(directory, source, top, depth, out) {
  if (depth > MAX_DEPTH) return;
  const take = (file) => {
    const { skill, diagnostics } = readSkill(file, source);
    if (skill) out.skills.push(skill);
    out.diagnostics.push(...diagnostics);
  };
  let names;
  try {
    names = readdirSync(directory).sort();
  } catch {
    return;
  }
  if (names.includes("SKILL.md")) {
    take(join(directory, "SKILL.md"));
    return;
  }
  for (const name of names) {
    if (name.startsWith(".") || name === "node_modules") continue;
    const path = join(directory, name);
    let isDirectory = false;
    try {
      isDirectory = statSync(path).isDirectory();
    } catch {
      continue;
    }
    if (isDirectory) collect(path, source, false, depth + 1, out);
    else if (top && name.endsWith(".md")) take(path);
  }
}

/** Skills of one directory: `NAME/SKILL.md` at any depth, and Markdown files at the top. */
export function loadSkillsFromDir(options) {
  const out = { skills: [], diagnostics: [] };
  collect(options.dir, options.source, true, 0, out);
  return out;
}

/** Skills of the user, of the project and of given paths; the first of a name wins. */
export function loadSkills(options = {}) {
  const cwd = options.cwd ?? process.cwd();
  const agentDir = options.agentDir ?? getAgentDir();
  const out = { skills: [], diagnostics: [] };
  const named = new Map();
  const add = ({ skills, diagnostics }) => {
    out.diagnostics.push(...diagnostics);
    for (const skill of skills) {
      const before = named.get(skill.name);
      if (before) {
        out.diagnostics.push({ type: "collision", message: `name "${skill.name}" collision`, path: skill.filePath, collision: { resourceType: "skill", name: skill.name, winnerPath: before.filePath, loserPath: skill.filePath } });
      } else {
        named.set(skill.name, skill);
        out.skills.push(skill);
      }
    }
  };
  if (options.includeDefaults ?? true) {
    add(loadSkillsFromDir({ dir: join(agentDir, "skills"), source: "user" }));
    add(loadSkillsFromDir({ dir: join(cwd, CONFIG_DIR_NAME, "skills"), source: "project" }));
  }
  for (const raw of options.skillPaths ?? []) {
    const path = resolve(cwd, raw.startsWith("~/") ? join(homedir(), raw.slice(2)) : raw);
    if (!existsSync(path)) out.diagnostics.push({ type: "warning", message: "skill path does not exist", path });
    else if (statSync(path).isDirectory()) add(loadSkillsFromDir({ dir: path, source: "local" }));
    else {
      const { skill, diagnostics } = readSkill(path, "local");
      add({ skills: skill ? [skill] : [], diagnostics });
    }
  }
  return out;
}

const xml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&apos;");

/** What a system prompt says about skills. */
export function formatSkillsForPrompt(skills, fileReadTool = "read") {
  const visible = skills.filter((skill) => !skill.disableModelInvocation);
  if (visible.length === 0) return "";
  const load = fileReadTool === "bash" ? "Use bash to read" : "Use the read tool to load";
  const lines = ["\n\nThe following skills provide specialized instructions for specific tasks.", `${load} a skill's file when the task matches its description.`, "Resolve relative paths against the skill's directory (parent of SKILL.md). Use absolute paths in tool calls.", "", "<available_skills>"];
  for (const skill of visible) {
    lines.push("  <skill>", `    <name>${xml(skill.name)}</name>`, `    <description>${xml(skill.description)}</description>`, `    <location>${xml(skill.filePath)}</location>`, "  </skill>");
  }
  lines.push("</available_skills>");
  return lines.join("\n");
}

const CONTEXT_FILES = ["AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];

function contextFile(directory) {
  for (const name of CONTEXT_FILES) {
    const path = join(directory, name);
    try {
      return { path, content: readFileSync(path, "utf8") };
    } catch {
      continue;
    }
  }
  return null;
}

/** Instruction files: the user's, then those of every directory from the root down to `cwd`. */
export function loadProjectContextFiles(options = {}) {
  const cwd = resolve(options.cwd ?? process.cwd());
  const own = contextFile(options.agentDir ?? getAgentDir());
  const found = [];
  for (let directory = cwd; ; directory = dirname(directory)) {
    const file = contextFile(directory);
    if (file && file.path !== own?.path) found.unshift(file);
    if (dirname(directory) === directory) break;
  }
  return own ? [own, ...found] : found;
}

/** Has a project files that only a trusted project may load. */
export function hasTrustRequiringProjectResources(cwd) {
  const directory = join(cwd, CONFIG_DIR_NAME);
  return ["extensions", "skills", "prompts", "themes", "settings.json"].some((name) => existsSync(join(directory, name)));
}
