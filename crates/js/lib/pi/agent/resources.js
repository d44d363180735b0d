// What pi's agent would load besides extensions: skills, prompts, themes and
// context files, and which projects the user trusts.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { getAgentDir } from "jackfield:pi/agent/paths";
import { loadProjectContextFiles, loadSkills } from "jackfield:pi/agent/skills";

/** Skills and context files of a directory. Extensions are loaded by the host, so that list stays empty. */
export class DefaultResourceLoader {
  constructor(options = {}) {
    this.options = options;
    this.cwd = options.cwd ?? process.cwd();
    this.agentDir = options.agentDir ?? getAgentDir();
    this.skills = { skills: [], diagnostics: [] };
    this.agentsFiles = [];
  }

  async reload() {
    const { options, cwd, agentDir } = this;
    this.skills = options.noSkills ? { skills: [], diagnostics: [] } : loadSkills({ cwd, agentDir, skillPaths: options.additionalSkillPaths ?? [], includeDefaults: true });
    if (options.skillsOverride) this.skills = options.skillsOverride(this.skills);
    const files = options.noContextFiles ? [] : loadProjectContextFiles({ cwd, agentDir });
    this.agentsFiles = options.agentsFilesOverride ? options.agentsFilesOverride({ agentsFiles: files }).agentsFiles : files;
  }

  getExtensions() { return { extensions: [], errors: [], runtime: undefined }; }
  getSkills() { return this.skills; }
  getPrompts() { return { prompts: [], diagnostics: [] }; }
  getThemes() { return { themes: [], diagnostics: [] }; }
  getAgentsFiles() { return { agentsFiles: this.agentsFiles }; }

  getSystemPrompt() {
    const { systemPrompt, systemPromptOverride } = this.options;
    return systemPromptOverride ? systemPromptOverride(systemPrompt) : systemPrompt;
  }

  getAppendSystemPrompt() {
    const { appendSystemPrompt, appendSystemPromptOverride } = this.options;
    const own = appendSystemPrompt === undefined ? [] : [appendSystemPrompt].flat();
    return appendSystemPromptOverride ? appendSystemPromptOverride(own) : own;
  }

  extendResources(_paths) {}
}

/** The user's answers about project trust, in `trust.json`. A directory inherits from its parents. */
export class ProjectTrustStore {
  constructor(agentDir = getAgentDir()) {
    this.path = join(agentDir, "trust.json");
  }

  #read() {
    try {
      const value = JSON.parse(readFileSync(this.path, "utf8"));
      return typeof value === "object" && value !== null ? value : {};
    } catch {
      return {};
    }
  }

  getEntry(cwd) {
    const all = this.#read();
    for (let directory = resolve(cwd); ; directory = dirname(directory)) {
      if (typeof all[directory] === "boolean") return { path: directory, decision: all[directory] };
      if (dirname(directory) === directory) return null;
    }
  }

  get(cwd) {
    return this.getEntry(cwd)?.decision ?? null;
  }

  set(cwd, decision) {
    this.setMany([{ path: cwd, decision }]);
  }

  setMany(decisions) {
    const all = this.#read();
    for (const { path, decision } of decisions) {
      if (decision === null) delete all[resolve(path)];
      else all[resolve(path)] = decision;
    }
    mkdirSync(dirname(this.path), { recursive: true });
    writeFileSync(this.path, `${JSON.stringify(all, null, 2)}\n`);
  }
}
