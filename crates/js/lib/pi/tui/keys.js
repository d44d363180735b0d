// Keyboard input: names for what a terminal sends, in the legacy encodings
// (xterm, rxvt, VT220, modifyOtherKeys) and in the Kitty protocol. A name is a
// key with its modifiers in front, such as "ctrl+c" or "shift+enter".

let kittyActive = false;

/** Tells the decoder whether the terminal speaks the Kitty protocol; a few legacy bytes mean other keys then. */
export function setKittyProtocolActive(active) {
  kittyActive = active;
}

/** See `setKittyProtocolActive`. */
export function isKittyProtocolActive() {
  return kittyActive;
}

const named = (names) => Object.fromEntries(names.map((name) => [name, name]));
const join = (...modifiers) => (key) => [...modifiers, key].join("+");

/** Key names, for autocompletion and against typing mistakes. */
export const Key = {
  ...named("escape esc enter return tab space backspace delete insert clear home end pageUp pageDown up down left right".split(" ")),
  ...named(Array.from({ length: 12 }, (_, i) => `f${i + 1}`)),
  backtick: "`", hyphen: "-", equals: "=", leftbracket: "[", rightbracket: "]", backslash: "\\", semicolon: ";",
  quote: "'", comma: ",", period: ".", slash: "/", exclamation: "!", at: "@", hash: "#", dollar: "$", percent: "%",
  caret: "^", ampersand: "&", asterisk: "*", leftparen: "(", rightparen: ")", underscore: "_", plus: "+", pipe: "|",
  tilde: "~", leftbrace: "{", rightbrace: "}", colon: ":", lessthan: "<", greaterthan: ">", question: "?",
  ctrl: join("ctrl"), shift: join("shift"), alt: join("alt"), super: join("super"),
  ctrlShift: join("ctrl", "shift"), shiftCtrl: join("shift", "ctrl"), ctrlAlt: join("ctrl", "alt"),
  altCtrl: join("alt", "ctrl"), shiftAlt: join("shift", "alt"), altShift: join("alt", "shift"),
  ctrlSuper: join("ctrl", "super"), superCtrl: join("super", "ctrl"), shiftSuper: join("shift", "super"),
  superShift: join("super", "shift"), altSuper: join("alt", "super"), superAlt: join("super", "alt"),
  ctrlShiftAlt: join("ctrl", "shift", "alt"), ctrlShiftSuper: join("ctrl", "shift", "super"),
};

const SHIFT = 1;
const ALT = 2;
const CTRL = 4;
const SUPER = 8;
const LOCKS = 64 | 128;
const SYMBOLS = "`-=[]\\;',./!@#$%^&*()_+|~{}:<>?";

const LETTER_KEYS = { A: "up", B: "down", C: "right", D: "left", E: "clear", F: "end", H: "home", P: "f1", Q: "f2", R: "f3", S: "f4" };
const NUMBER_KEYS = {
  2: "insert", 3: "delete", 5: "pageUp", 6: "pageDown", 7: "home", 8: "end", 11: "f1", 12: "f2", 13: "f3", 14: "f4",
  15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10", 23: "f11", 24: "f12",
};
const CODE_KEYS = {
  9: "tab", 13: "enter", 27: "escape", 32: "space", 127: "backspace", 57414: "enter", 57417: "left", 57418: "right",
  57419: "up", 57420: "down", 57421: "pageUp", 57422: "pageDown", 57423: "home", 57424: "end", 57425: "insert", 57426: "delete",
};
const KEYPAD = "0123456789./*-+";
const keypad = (code) => {
  if (code >= 57399 && code <= 57413) return KEYPAD[code - 57399];
  return code === 57415 ? "=" : code === 57416 ? "," : undefined;
};

const CSI_U = /^\x1b\[(\d+)(?::(\d*))?(?::(\d+))?(?:;(\d*)(?::(\d+))?)?(?:;([\d:]*))?u$/;
const CSI_LETTER = /^\x1b\[1;(\d+)(?::(\d+))?([A-Z])$/;
const CSI_NUMBER = /^\x1b\[(\d+)(?:;(\d+)(?::(\d+))?)?~$/;
const OTHER_KEYS = /^\x1b\[27;(\d+);(\d+)~$/;

function event(data, code) {
  const at = data.length > 3 && !data.startsWith("\x1b[200~") ? new RegExp(`:${code}[u~A-DFHPQS]`) : null;
  return at !== null && data.startsWith("\x1b[") && at.test(data);
}

/** Is this the release of a key (Kitty protocol with event types). */
export function isKeyRelease(data) {
  return event(data, 3);
}

/** Is this a key repeating while it is held. */
export function isKeyRepeat(data) {
  return event(data, 2);
}

function codeName(code) {
  if (CODE_KEYS[code]) return CODE_KEYS[code];
  const pad = keypad(code);
  if (pad) return pad;
  if (code > 0x7e) return undefined;
  const char = String.fromCharCode(code);
  return /[a-z0-9]/.test(char) || SYMBOLS.includes(char) ? char : undefined;
}

/** One key from a code point, with what else it may be called. */
function fromCode(code, modifiers, shifted, base) {
  if (modifiers & ~(SHIFT | ALT | CTRL | SUPER)) return null;
  if (code >= 65 && code <= 90) {
    if (!(modifiers & SHIFT)) return null;
    code += 32;
  }
  // A layout that is not Latin names the key by its place; a Latin one by its letter.
  const own = codeName(code);
  const key = own ?? (base === undefined ? undefined : codeName(base));
  if (key === undefined) return null;
  const keys = [{ key, modifiers }];
  if (shifted !== undefined && modifiers & SHIFT && SYMBOLS.includes(String.fromCodePoint(shifted)) && !/[a-z]/.test(key)) {
    keys.unshift({ key: String.fromCodePoint(shifted), modifiers: modifiers & ~SHIFT });
  }
  return keys;
}

function csi(data) {
  let match = CSI_U.exec(data);
  if (match) {
    const modifiers = (match[4] ? parseInt(match[4], 10) - 1 : 0) & ~LOCKS;
    const shifted = match[2] ? parseInt(match[2], 10) : undefined;
    return fromCode(parseInt(match[1], 10), modifiers, shifted, match[3] ? parseInt(match[3], 10) : undefined);
  }
  match = CSI_LETTER.exec(data);
  if (match) {
    const key = LETTER_KEYS[match[3]];
    const modifiers = (parseInt(match[1], 10) - 1) & ~LOCKS;
    return key && !"ER".includes(match[3]) ? [{ key, modifiers }] : null;
  }
  match = OTHER_KEYS.exec(data);
  if (match) return fromCode(parseInt(match[2], 10), parseInt(match[1], 10) - 1);
  match = CSI_NUMBER.exec(data);
  if (match) {
    const key = NUMBER_KEYS[match[1]];
    if (key) return [{ key, modifiers: (match[2] ? parseInt(match[2], 10) - 1 : 0) & ~LOCKS }];
    // The old VT codes of home and end are understood but have no name of their own.
    const silent = { 1: "home", 4: "end" }[match[1]];
    return silent && !match[2] ? [{ key: silent, modifiers: 0, silent: true }] : null;
  }
  match = /^\x1b\[(\d+)([\^$])$/.exec(data);
  if (match) {
    const key = NUMBER_KEYS[match[1]];
    return key && parseInt(match[1], 10) < 10 ? [{ key, modifiers: match[2] === "^" ? CTRL : SHIFT }] : null;
  }
  match = /^\x1b\[\[([A-E])$/.exec(data);
  if (match) return [{ key: `f${match[1].charCodeAt(0) - 64}`, modifiers: 0 }];
  match = /^\x1b(\[|O)([A-Za-z])$/.exec(data);
  if (!match) return null;
  if (data === "\x1b[Z") return [{ key: "tab", modifiers: SHIFT }];
  if (data === "\x1bOM") return [{ key: "enter", modifiers: 0 }];
  if (/[a-e]/.test(match[2])) return [{ key: LETTER_KEYS[match[2].toUpperCase()], modifiers: match[1] === "[" ? SHIFT : CTRL }];
  if (match[1] === "[" && match[2] === "R") return null;
  const key = LETTER_KEYS[match[2]];
  return key ? [{ key, modifiers: 0 }] : null;
}

function control(char, modifiers) {
  const code = char.charCodeAt(0);
  if (code >= 1 && code <= 26) return [{ key: String.fromCharCode(code + 96), modifiers: modifiers | CTRL }];
  const symbol = { 28: "\\", 29: "]", 31: "-" }[code];
  if (!symbol) return null;
  const keys = [{ key: symbol, modifiers: modifiers | CTRL }];
  if (code === 31) keys.push({ key: "_", modifiers: modifiers | CTRL });
  return keys;
}

function escaped(char) {
  if (char === "\x7f" || char === "\b") return [{ key: "backspace", modifiers: ALT }];
  if (char === "\r") return [{ key: "enter", modifiers: kittyActive ? SHIFT : ALT }];
  if (char === "b") return [{ key: "left", modifiers: ALT }, { key: "b", modifiers: ALT, legacy: true }];
  if (char === "f") return [{ key: "right", modifiers: ALT }, { key: "f", modifiers: ALT, legacy: true }];
  if (char === "p") return [{ key: "up", modifiers: ALT }, { key: "p", modifiers: ALT, legacy: true }];
  if (char === "n") return [{ key: "down", modifiers: ALT }, { key: "n", modifiers: ALT, legacy: true }];
  if (char === "\x1b") return [{ key: "[", modifiers: ALT | CTRL }];
  if (char < " ") {
    const keys = control(char, ALT);
    return kittyActive && /[a-z]/.test(keys?.[0].key ?? "") ? null : keys;
  }
  if (kittyActive) return null;
  if (char === " ") return [{ key: "space", modifiers: ALT }];
  if (char === "B") return [{ key: "left", modifiers: ALT }];
  if (char === "F") return [{ key: "right", modifiers: ALT }];
  if (/[a-z0-9]/.test(char) || SYMBOLS.includes(char)) return [{ key: char, modifiers: ALT }];
  return null;
}

function decode(data) {
  if (data.length === 1) {
    if (data === "\x1b") return [{ key: "escape", modifiers: 0 }, { key: "[", modifiers: CTRL }];
    if (data === "\r") return [{ key: "enter", modifiers: 0 }];
    if (data === "\n") return [kittyActive ? { key: "enter", modifiers: SHIFT } : { key: "enter", modifiers: 0 }, { key: "j", modifiers: CTRL }];
    if (data === "\t") return [{ key: "tab", modifiers: 0 }];
    if (data === " ") return [{ key: "space", modifiers: 0 }];
    if (data === "\0") return [{ key: "space", modifiers: CTRL }];
    if (data === "\x7f" || data === "\b") return [{ key: "backspace", modifiers: 0 }];
    if (data < " ") return control(data, 0);
    if (data > "~") return null;
    if (/[A-Z]/.test(data)) return [{ key: data, modifiers: 0 }, { key: data.toLowerCase(), modifiers: SHIFT }];
    return [{ key: data, modifiers: 0 }];
  }
  if (data[0] !== "\x1b") return null;
  return data.length === 2 ? escaped(data[1]) : csi(data);
}

function nameOf({ key, modifiers }) {
  let name = "";
  if (modifiers & SHIFT) name += "shift+";
  if (modifiers & CTRL) name += "ctrl+";
  if (modifiers & ALT) name += "alt+";
  if (modifiers & SUPER) name += "super+";
  return name + key;
}

/** The name of the key that was pressed, or undefined when it has none. */
export function parseKey(data) {
  const keys = decode(data);
  return keys && !keys[0].silent ? nameOf(keys[0]) : undefined;
}

const SAME = { esc: "escape", return: "enter", pageup: "pageUp", pagedown: "pageDown" };
const FLAGS = { ctrl: CTRL, shift: SHIFT, alt: ALT, super: SUPER };

function parseId(id) {
  const lower = id.toLowerCase();
  const plus = lower.endsWith("++") || lower === "+";
  const parts = (plus ? lower.slice(0, -2) : lower).split("+").filter((part) => part !== "");
  const last = plus ? "+" : parts.pop();
  if (last === undefined) return null;
  let modifiers = 0;
  for (const part of parts) modifiers |= FLAGS[part] ?? 0;
  return { key: SAME[last] ?? last, modifiers };
}

/** Is `data` the key that `keyId` names. */
export function matchesKey(data, keyId) {
  const wanted = parseId(keyId);
  // Escape with modifiers is a key of its own in no binding; pi never matches it.
  if (wanted === null || (wanted.key === "escape" && wanted.modifiers !== 0)) return false;
  const keys = decode(data);
  if (!keys) return false;
  return keys.some((each) => each.modifiers === wanted.modifiers && each.key === wanted.key);
}

/** The text of a printable key in the Kitty protocol, or undefined. */
export function decodeKittyPrintable(data) {
  const match = CSI_U.exec(data);
  if (!match) return undefined;
  const modifiers = (match[4] ? parseInt(match[4], 10) - 1 : 0) & ~LOCKS;
  if (modifiers & ~SHIFT) return undefined;
  let code = parseInt(match[1], 10);
  if (match[2] && modifiers & SHIFT) code = parseInt(match[2], 10);
  const pad = keypad(code);
  if (pad) return pad;
  if (CODE_KEYS[code] && code !== 32) return undefined;
  if (code < 32 || (code >= 57344 && code <= 63743) || code > 0x10ffff) return undefined;
  return String.fromCodePoint(code);
}

/** Printable text of a key, whatever the encoding, or undefined. */
export function decodePrintableKey(data) {
  const kitty = decodeKittyPrintable(data);
  if (kitty !== undefined) return kitty;
  const match = OTHER_KEYS.exec(data);
  if (!match || (parseInt(match[1], 10) - 1) & ~SHIFT) return undefined;
  const code = parseInt(match[2], 10);
  return code >= 32 && code !== 127 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}
