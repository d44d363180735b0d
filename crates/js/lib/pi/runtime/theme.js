// The theme that extensions colour their text with. Token names are pi's; the colours are our own, for a dark terminal.
// Text is wrapped in real escape sequences also where no terminal is, as pi does in its rpc mode; faces that show plain
// text strip them.

const PALETTE = {
  text: "#dcdfe4", muted: "#9aa0aa", dim: "#7b818c", faint: "#5c616b", line: "#4a4f59",
  violet: "#b294f0", blue: "#7cb0f5", green: "#7fc98f", red: "#f0837c", yellow: "#e2b862", orange: "#e09a5f",
  teal: "#6cc4c4", pink: "#ea7fb4", panel: "#34373e", bluePanel: "#24344d", greenPanel: "#22402d",
  redPanel: "#4d2a2b", violetPanel: "#3a2f52", orangePanel: "#4d3a22",
};

const FOREGROUND = {
  accent: "violet", border: "blue", borderAccent: "violet", borderMuted: "faint", success: "green", error: "red",
  warning: "yellow", muted: "muted", dim: "dim", text: "text", thinkingText: "muted", scrollbarTrack: "line",
  scrollbarThumb: "muted", searchMatchText: "muted", userMessageText: "text", customMessageText: "muted",
  customMessageLabel: "violet", toolTitle: "text", toolOutput: "muted", mdHeading: "yellow", mdLink: "blue",
  mdLinkUrl: "muted", mdCode: "violet", mdCodeBlock: "green", mdCodeBlockBorder: "muted", mdQuote: "muted",
  mdQuoteBorder: "muted", mdHr: "muted", mdListBullet: "violet", toolDiffAdded: "green", toolDiffRemoved: "red",
  toolDiffContext: "muted", syntaxComment: "muted", syntaxKeyword: "blue", syntaxFunction: "yellow",
  syntaxVariable: "teal", syntaxString: "orange", syntaxNumber: "green", syntaxType: "violet", syntaxOperator: "muted",
  syntaxPunctuation: "muted", thinkingOff: "faint", thinkingMinimal: "dim", thinkingLow: "blue", thinkingMedium: "teal",
  thinkingHigh: "violet", thinkingXhigh: "pink", thinkingMax: "red", bashMode: "green",
};

const BACKGROUND = {
  selectedBg: "bluePanel", searchMatchBg: "orangePanel", userMessageBg: "bluePanel", customMessageBg: "violetPanel",
  toolPendingBg: "panel", toolSuccessBg: "greenPanel", toolErrorBg: "redPanel",
};

const CUBE = [0, 95, 135, 175, 215, 255];

function channels(hex) {
  const full = /^#[0-9a-f]{3}$/i.test(hex) ? hex.replace(/[0-9a-f]/gi, (digit) => digit + digit) : hex;
  if (!/^#[0-9a-f]{6}$/i.test(full)) throw new Error(`Invalid color value: ${hex}`);
  const value = Number.parseInt(full.slice(1), 16);
  return { r: value >> 16, g: (value >> 8) & 255, b: value & 255 };
}

/** The nearest of the 240 fixed colours of a terminal that has no more. */
function nearestIndex({ r, g, b }) {
  const nearest = (value) => CUBE.reduce((best, level, at) => (Math.abs(level - value) < Math.abs(CUBE[best] - value) ? at : best), 0);
  const [x, y, z] = [nearest(r), nearest(g), nearest(b)];
  const distance = (p, q, s) => (p - r) ** 2 + (q - g) ** 2 + (s - b) ** 2;
  const step = Math.max(0, Math.min(23, Math.round(((r + g + b) / 3 - 8) / 10)));
  const grey = 8 + step * 10;
  return distance(grey, grey, grey) < distance(CUBE[x], CUBE[y], CUBE[z]) ? 232 + step : 16 + 36 * x + 6 * y + z;
}

/** The sequence that switches a colour on; an empty value is the terminal's own. */
function sequence(value, mode, layer) {
  if (value === "") return `\x1b[${layer + 1}m`;
  if (typeof value === "number") return `\x1b[${layer};5;${value}m`;
  const color = typeof value === "string" ? channels(value) : value;
  if (mode === "256color") return `\x1b[${layer};5;${nearestIndex(color)}m`;
  return `\x1b[${layer};2;${color.r};${color.g};${color.b}m`;
}

const MARKS = { bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], strikethrough: [9, 29] };

function marked(name, text) {
  const [on, off] = MARKS[name];
  return text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`;
}

export class Theme {
  #fg = new Map();
  #bg = new Map();
  #mode;

  constructor(fgColors, bgColors, mode = "truecolor", options = {}) {
    this.name = options.name;
    this.sourcePath = options.sourcePath;
    this.sourceInfo = options.sourceInfo;
    this.appearance = options.appearance ?? "dark";
    this.#mode = mode;
    const colors = {};
    const add = (map, layer, given) => {
      for (const [token, value] of Object.entries(given)) {
        map.set(token, sequence(value, mode, layer));
        if (typeof value === "string" && value !== "") colors[token] = channels(value);
      }
    };
    add(this.#fg, 38, { ...defaults(FOREGROUND), ...fgColors });
    add(this.#bg, 48, { ...defaults(BACKGROUND), ...bgColors });
    this.colors = Object.freeze(colors);
  }

  #find(map, token) {
    const found = map.get(token);
    if (found === undefined) throw new Error(`Unknown theme color: ${token}`);
    return found;
  }

  fg(color, text) {
    return `${this.#find(this.#fg, color)}${text}\x1b[39m`;
  }

  bg(color, text) {
    return `${this.#find(this.#bg, color)}${text}\x1b[49m`;
  }

  bold(text) {
    return marked("bold", text);
  }

  italic(text) {
    return marked("italic", text);
  }

  underline(text) {
    return marked("underline", text);
  }

  inverse(text) {
    return marked("inverse", text);
  }

  strikethrough(text) {
    return marked("strikethrough", text);
  }

  style(text, options = {}) {
    let styled = text;
    for (const name of Object.keys(MARKS)) if (options[name]) styled = marked(name, styled);
    const layer = (value, map, code) => {
      if (value === undefined) return;
      const on = typeof value === "string" ? this.#find(map, value) : sequence(value, this.#mode, code);
      styled = `${on}${styled}\x1b[${code + 1}m`;
    };
    layer(options.fg, this.#fg, 38);
    layer(options.bg, this.#bg, 48);
    return styled;
  }

  getFgAnsi(color) {
    return this.#find(this.#fg, color);
  }

  getBgAnsi(color) {
    return this.#find(this.#bg, color);
  }

  getColorMode() {
    return this.#mode;
  }

  getThinkingBorderColor(level) {
    const name = `thinking${String(level).charAt(0).toUpperCase()}${String(level).slice(1)}`;
    const token = this.#fg.has(name) && name !== "thinkingText" ? name : "thinkingOff";
    return (text) => this.fg(token, text);
  }

  getBashModeBorderColor() {
    return (text) => this.fg("bashMode", text);
  }
}

function defaults(tokens) {
  return Object.fromEntries(Object.entries(tokens).map(([token, color]) => [token, PALETTE[color]]));
}

export const theme = new Theme({}, {}, "truecolor", { name: "dark", appearance: "dark" });
