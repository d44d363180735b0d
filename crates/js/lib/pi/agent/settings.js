// Settings: pi's settings.json of the user and of the project, merged. Values
// that are set here are kept in memory and written to the file they belong to.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CONFIG_DIR_NAME, getAgentDir } from "jackfield:pi/agent/paths";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function merge(base, over) {
  const out = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue;
    out[key] = isObject(value) && isObject(base[key]) ? merge(base[key], value) : value;
  }
  return out;
}

/** Getter name → path in the settings and the value without one. */
const FIELDS = {
  LastChangelogVersion: ["lastChangelogVersion"], SessionDir: ["sessionDir"], DefaultProvider: ["defaultProvider"], DefaultModel: ["defaultModel"],
  SteeringMode: ["steeringMode", "one-at-a-time"], FollowUpMode: ["followUpMode", "one-at-a-time"], ThemeSetting: ["theme"], Theme: ["theme"],
  DefaultThinkingLevel: ["defaultThinkingLevel"], Transport: ["transport", "auto"], CompactionEnabled: ["compaction.enabled", true],
  CompactionReserveTokens: ["compaction.reserveTokens", 16384], CompactionKeepRecentTokens: ["compaction.keepRecentTokens", 20000],
  BranchSummarySkipPrompt: ["branchSummary.skipPrompt", false], RetryEnabled: ["retry.enabled", true], HideThinkingBlock: ["hideThinkingBlock", false],
  ShellPath: ["shellPath"], QuietStartup: ["quietStartup", false], ShellCommandPrefix: ["shellCommandPrefix"], NpmCommand: ["npmCommand"],
  CollapseChangelog: ["collapseChangelog", false], EnableInstallTelemetry: ["enableInstallTelemetry", true], EnableAnalytics: ["enableAnalytics", false],
  Packages: ["packages", []], ExtensionPaths: ["extensions", []], SkillPaths: ["skills", []], PromptTemplatePaths: ["prompts", []],
  ThemePaths: ["themes", []], EnableSkillCommands: ["enableSkillCommands", true], ThinkingBudgets: ["thinkingBudgets"],
  ShowImages: ["terminal.showImages", true], ImageWidthCells: ["terminal.imageWidthCells", 60], ClearOnShrink: ["terminal.clearOnShrink", false],
  ShowTerminalProgress: ["terminal.showTerminalProgress", false], ImageAutoResize: ["images.autoResize", true], BlockImages: ["images.blockImages", false],
  EnabledModels: ["enabledModels"], DefaultTools: ["defaultTools"], DoubleEscapeAction: ["doubleEscapeAction", "tree"], TreeFilterMode: ["treeFilterMode", "default"],
  ShowHardwareCursor: ["showHardwareCursor", false], EditorPaddingX: ["editorPaddingX", 0], OutputPad: ["outputPad", 1],
  AutocompleteMaxVisible: ["autocompleteMaxVisible", 5], CodeBlockIndent: ["markdown.codeBlockIndent", "  "], Warnings: ["warnings", {}],
  DefaultProjectTrust: ["defaultProjectTrust", "ask"], TuiMode: ["tuiMode", "regular"], ExternalEditorCommand: ["externalEditor"],
  ShowCacheMissNotices: ["showCacheMissNotices", false], MermaidRenderingMode: ["markdown.mermaid", "auto"], HttpIdleTimeoutMs: ["httpIdleTimeoutMs"],
  CacheWarmingMode: ["cacheWarming", "off"], SessionShareDestination: ["sessionShareDestination"], TrackingId: ["trackingId"],
};

const at = (settings, path) => path.split(".").reduce((value, key) => (isObject(value) ? value[key] : undefined), settings);

function put(settings, path, value) {
  const keys = path.split(".");
  const last = keys.pop();
  let target = settings;
  for (const key of keys) {
    if (!isObject(target[key])) target[key] = {};
    target = target[key];
  }
  if (value === undefined) delete target[last];
  else target[last] = value;
}

/** See the file comment. The name is pi's. */
export class SettingsManager {
  constructor(storage, globalSettings, projectSettings) {
    this.storage = storage;
    this.globalSettings = globalSettings;
    this.projectSettings = projectSettings;
    this.overrides = {};
    this.errors = [];
    this.trusted = true;
  }

  static create(cwd, agentDir = getAgentDir(), options = {}) {
    const paths = { global: join(agentDir, "settings.json"), project: join(cwd, CONFIG_DIR_NAME, "settings.json") };
    const manager = new SettingsManager({ paths }, {}, {});
    manager.trusted = options.projectTrusted ?? true;
    manager.#load();
    return manager;
  }

  static fromStorage(storage, options = {}) {
    const manager = new SettingsManager(storage, {}, {});
    manager.trusted = options.projectTrusted ?? true;
    manager.#load();
    return manager;
  }

  static inMemory(settings = {}, _options) {
    return new SettingsManager({}, structuredClone(settings), {});
  }

  #read(scope) {
    let text;
    if (this.storage.withLock) this.storage.withLock(scope, (current) => { text = current; return undefined; });
    else {
      try {
        text = readFileSync(this.storage.paths[scope], "utf8");
      } catch {
        return {};
      }
    }
    if (!text) return {};
    try {
      const value = JSON.parse(text);
      return isObject(value) ? value : {};
    } catch (error) {
      this.errors.push({ scope, error });
      return {};
    }
  }

  #load() {
    if (!this.storage.paths && !this.storage.withLock) return;
    this.globalSettings = this.#read("global");
    this.projectSettings = this.trusted ? this.#read("project") : {};
  }

  #write(scope) {
    const settings = scope === "global" ? this.globalSettings : this.projectSettings;
    const text = `${JSON.stringify(settings, null, 2)}\n`;
    try {
      if (this.storage.withLock) this.storage.withLock(scope, () => text);
      else if (this.storage.paths) {
        mkdirSync(dirname(this.storage.paths[scope]), { recursive: true });
        writeFileSync(this.storage.paths[scope], text);
      }
    } catch (error) {
      this.errors.push({ scope, error });
    }
  }

  getSettings() { return structuredClone(merge(merge(this.globalSettings, this.projectSettings), this.overrides)); }
  getGlobalSettings() { return structuredClone(this.globalSettings); }
  getProjectSettings() { return structuredClone(this.projectSettings); }
  isProjectTrusted() { return this.trusted; }

  setProjectTrusted(trusted) {
    this.trusted = trusted;
    this.#load();
  }

  async reload() { this.#load(); }
  applyOverrides(overrides) { this.overrides = merge(this.overrides, overrides); }
  async flush() {}
  drainErrors() { return this.errors.splice(0); }

  /** The value at a path of the merged settings. */
  value(path, fallback) {
    const found = at(merge(merge(this.globalSettings, this.projectSettings), this.overrides), path);
    return found === undefined || found === null ? fallback : found;
  }

  /** Sets a value of the user's settings (or the project's) and writes them. */
  change(path, value, scope = "global") {
    put(scope === "global" ? this.globalSettings : this.projectSettings, path, value);
    this.#write(scope);
  }

  getCompactionSettings() {
    return { enabled: this.getCompactionEnabled(), reserveTokens: this.getCompactionReserveTokens(), keepRecentTokens: this.getCompactionKeepRecentTokens() };
  }

  getBranchSummarySettings() {
    return { reserveTokens: this.value("branchSummary.reserveTokens", 16384), skipPrompt: this.getBranchSummarySkipPrompt() };
  }

  getRetrySettings() {
    return { enabled: this.getRetryEnabled(), maxRetries: this.value("retry.maxRetries", 3), baseDelayMs: this.value("retry.baseDelayMs", 2000), maxAgentDelayMs: this.value("retry.maxAgentDelayMs", 60000) };
  }

  setDefaultModelAndProvider(provider, modelId) {
    this.change("defaultProvider", provider);
    this.change("defaultModel", modelId);
  }

  getModelThinkingLevel(provider, modelId) { return this.value("modelThinkingLevels", {})[`${provider}/${modelId}`]; }
  getAllModelThinkingLevels() { return { ...this.value("modelThinkingLevels", {}) }; }
  setProjectPackages(packages) { this.change("packages", packages, "project"); }
  setProjectExtensionPaths(paths) { this.change("extensions", paths, "project"); }
  setProjectSkillPaths(paths) { this.change("skills", paths, "project"); }
  setProjectPromptTemplatePaths(paths) { this.change("prompts", paths, "project"); }
  setProjectThemePaths(paths) { this.change("themes", paths, "project"); }
}

for (const [name, [path, fallback]] of Object.entries(FIELDS)) {
  const copy = (value) => (isObject(value) || Array.isArray(value) ? structuredClone(value) : value);
  Object.defineProperty(SettingsManager.prototype, `get${name}`, { value() { return copy(this.value(path, fallback)); }, configurable: true, writable: true });
  Object.defineProperty(SettingsManager.prototype, `set${name}`, { value(next) { this.change(path, next); }, configurable: true, writable: true });
}
