// Themes: named colours for text and backgrounds. There is one built-in theme
// for dark and one for light terminals; a theme object can also be made from
// any set of colours. What is drawn without a terminal is text with escapes.
import { backgroundAnsi, colorToHex, foregroundAnsi, parseColor, styleTextWithAnsi } from "jackfield:pi/tui/colors";
import { info } from "jackfield:host";

const BACKGROUNDS = ["selectedBg", "searchMatchBg", "userMessageBg", "customMessageBg", "toolPendingBg", "toolSuccessBg", "toolErrorBg"];

const PALETTES = {
  dark: { text: "", muted: "#9a9aa6", dim: "#77777f", accent: "#8fb0e8", border: "#5a7fbf", green: "#86c48b", red: "#e07a7a", yellow: "#dcb86a", violet: "#b49be0", cyan: "#7cc5c5", quietBg: "#2b2d36", goodBg: "#233026", badBg: "#382527", pickBg: "#34394a" },
  light: { text: "", muted: "#65656f", dim: "#8a8a94", accent: "#2f5fb3", border: "#5a7fbf", green: "#2f7d3a", red: "#b03a3a", yellow: "#8a6414", violet: "#6a4fb0", cyan: "#1f7a7a", quietBg: "#eceef4", goodBg: "#e3f2e5", badBg: "#f8e4e4", pickBg: "#d6def0" },
};

/** Which colour of the palette a name uses. */
const ROLES = {
  accent: "accent", border: "border", borderAccent: "accent", borderMuted: "dim", success: "green", error: "red", warning: "yellow",
  muted: "muted", dim: "dim", text: "text", thinkingText: "muted", scrollbarTrack: "dim", scrollbarThumb: "muted", searchMatchText: "text",
  userMessageText: "text", customMessageText: "text", customMessageLabel: "violet", toolTitle: "text", toolOutput: "muted",
  mdHeading: "yellow", mdLink: "accent", mdLinkUrl: "dim", mdCode: "cyan", mdCodeBlock: "green", mdCodeBlockBorder: "dim", mdQuote: "muted",
  mdQuoteBorder: "dim", mdHr: "dim", mdListBullet: "accent", toolDiffAdded: "green", toolDiffRemoved: "red", toolDiffContext: "muted",
  syntaxComment: "dim", syntaxKeyword: "accent", syntaxFunction: "yellow", syntaxVariable: "text", syntaxString: "green", syntaxNumber: "cyan",
  syntaxType: "violet", syntaxOperator: "muted", syntaxPunctuation: "muted", thinkingOff: "dim", thinkingMinimal: "muted", thinkingLow: "border",
  thinkingMedium: "accent", thinkingHigh: "violet", thinkingXhigh: "yellow", thinkingMax: "red", bashMode: "green",
  selectedBg: "pickBg", searchMatchBg: "pickBg", userMessageBg: "quietBg", customMessageBg: "quietBg", toolPendingBg: "quietBg",
  toolSuccessBg: "goodBg", toolErrorBg: "badBg",
};

const LEVELS = { off: "thinkingOff", minimal: "thinkingMinimal", low: "thinkingLow", medium: "thinkingMedium", high: "thinkingHigh", xhigh: "thinkingXhigh", max: "thinkingMax" };

/** See the file comment. A colour is `#rrggbb`, a palette index, or "" for the terminal's own. */
export class Theme {
  constructor(fgColors, bgColors, mode, options = {}) {
    this.name = options.name;
    this.sourcePath = options.sourcePath;
    this.sourceInfo = options.sourceInfo;
    this.mode = mode;
    this.ownAppearance = options.appearance;
    this.values = { ...fgColors, ...bgColors };
    this.fgAnsi = new Map();
    this.bgAnsi = new Map();
    for (const [token, value] of Object.entries(fgColors)) this.fgAnsi.set(token, value === "" ? "\x1b[39m" : foregroundAnsi(parseColor(value), mode));
    for (const [token, value] of Object.entries(bgColors)) this.bgAnsi.set(token, value === "" ? "\x1b[49m" : backgroundAnsi(parseColor(value), mode));
  }

  get appearance() {
    return this.ownAppearance ?? "dark";
  }

  get colors() {
    const out = {};
    for (const [token, value] of Object.entries(this.values)) if (value !== "") out[token] = parseColor(value);
    return out;
  }

  #pick(map, color, kind, make) {
    if (typeof color === "object" && color !== null) return make(color, this.mode);
    const ansi = map.get(color);
    if (ansi === undefined) throw new Error(`Unknown theme ${kind}: ${color}`);
    return ansi;
  }

  getFgAnsi(color) {
    return this.#pick(this.fgAnsi, color, "color", foregroundAnsi);
  }

  getBgAnsi(color) {
    return this.#pick(this.bgAnsi, color, "background color", backgroundAnsi);
  }

  fg(color, text) {
    return `${this.getFgAnsi(color)}${text}\x1b[39m`;
  }

  bg(color, text) {
    return `${this.getBgAnsi(color)}${text}\x1b[49m`;
  }

  style(text, options) {
    const fg = options.fg === undefined ? undefined : this.getFgAnsi(options.fg);
    const bg = options.bg === undefined ? undefined : this.getBgAnsi(options.bg);
    return styleTextWithAnsi(text, fg, bg, options);
  }

  bold(text) { return `\x1b[1m${text}\x1b[22m`; }
  italic(text) { return `\x1b[3m${text}\x1b[23m`; }
  underline(text) { return `\x1b[4m${text}\x1b[24m`; }
  inverse(text) { return `\x1b[7m${text}\x1b[27m`; }
  strikethrough(text) { return `\x1b[9m${text}\x1b[29m`; }

  getColorMode() {
    return this.mode;
  }

  getThinkingBorderColor(level) {
    const token = LEVELS[level] ?? LEVELS.off;
    return (text) => this.fg(token, text);
  }

  getBashModeBorderColor() {
    return (text) => this.fg("bashMode", text);
  }
}

function build(name) {
  const palette = PALETTES[name];
  const fg = {};
  const bg = {};
  for (const [token, role] of Object.entries(ROLES)) (BACKGROUNDS.includes(token) ? bg : fg)[token] = palette[role];
  const mode = /^(?:truecolor|24bit)$/.test(info.env?.COLORTERM ?? "") ? "truecolor" : "256color";
  return new Theme(fg, bg, mode, { name, appearance: name });
}

let current;

/** The theme in force; the dark one until `initTheme` says otherwise. */
export function currentTheme() {
  current ??= build("dark");
  return current;
}

/** Puts a built-in theme in force by name. Other names keep the dark one. */
export function initTheme(themeName, _enableWatcher) {
  current = build(themeName === "light" ? "light" : "dark");
}

/** Colours of code: none here, one colour for all of it. */
export function highlightCode(code, _lang) {
  const theme = currentTheme();
  return code.split("\n").map((line) => theme.fg("mdCodeBlock", line));
}

/** Styles for the Markdown component. */
export function getMarkdownTheme() {
  const fg = (token) => (text) => currentTheme().fg(token, text);
  const attribute = (name) => (text) => currentTheme()[name](text);
  return {
    heading: fg("mdHeading"), link: fg("mdLink"), linkUrl: fg("mdLinkUrl"), code: fg("mdCode"), codeBlock: fg("mdCodeBlock"),
    codeBlockBorder: fg("mdCodeBlockBorder"), quote: fg("mdQuote"), quoteBorder: fg("mdQuoteBorder"), hr: fg("mdHr"),
    listBullet: fg("mdListBullet"), bold: attribute("bold"), italic: attribute("italic"), underline: attribute("underline"),
    strikethrough: attribute("strikethrough"), highlightCode,
  };
}

/** Styles for SelectList. */
export function getSelectListTheme() {
  const fg = (token) => (text) => currentTheme().fg(token, text);
  return { selectedPrefix: fg("accent"), selectedText: fg("accent"), description: fg("muted"), scrollInfo: fg("muted"), noMatch: fg("muted") };
}

/** Styles for SettingsList. */
export function getSettingsListTheme() {
  const theme = currentTheme();
  return {
    label: (text, selected) => (selected ? theme.fg("accent", text) : text),
    value: (text, selected) => theme.fg(selected ? "accent" : "muted", text),
    description: (text) => theme.fg("dim", text),
    cursor: theme.fg("accent", "→ "),
    hint: (text) => theme.fg("dim", text),
  };
}

/** Styles for Editor. */
export function getEditorTheme() {
  return { borderColor: (text) => currentTheme().fg("borderMuted", text), selectList: getSelectListTheme() };
}

/** A diff as `generateDiffString` writes it, in colours. */
export function renderDiff(diffText, _options) {
  const theme = currentTheme();
  const token = { "+": "toolDiffAdded", "-": "toolDiffRemoved" };
  return diffText.split("\n").map((line) => theme.fg(token[line[0]] ?? "toolDiffContext", line.replaceAll("\t", "   "))).join("\n");
}

/** `#rrggbb` of every colour of the theme in force that has one. */
export function themeHex() {
  return Object.fromEntries(Object.entries(currentTheme().colors).map(([token, color]) => [token, colorToHex(color)]));
}
