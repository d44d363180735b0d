// Key bindings of terminal components: names, their default keys and the
// user's own choice. One set is current for the whole extension; components
// ask it which key means what.
import { matchesKey } from "jackfield:pi/tui/keys";

const DEFAULTS = {
  "tui.editor.cursorUp": ["up", "Move cursor up"],
  "tui.editor.cursorDown": ["down", "Move cursor down"],
  "tui.editor.historyPrevious": [[], "Earlier entry of the prompt history"],
  "tui.editor.historyNext": [[], "Later entry of the prompt history"],
  "tui.editor.cursorLeft": [["left", "ctrl+b"], "Move cursor left"],
  "tui.editor.cursorRight": [["right", "ctrl+f"], "Move cursor right"],
  "tui.editor.cursorWordLeft": [["alt+left", "ctrl+left", "alt+b"], "Move cursor word left"],
  "tui.editor.cursorWordRight": [["alt+right", "ctrl+right", "alt+f"], "Move cursor word right"],
  "tui.editor.cursorLineStart": [["home", "ctrl+a"], "Move to line start"],
  "tui.editor.cursorLineEnd": [["end", "ctrl+e"], "Move to line end"],
  "tui.editor.jumpForward": ["ctrl+]", "Jump forward to a character"],
  "tui.editor.jumpBackward": ["ctrl+alt+]", "Jump backward to a character"],
  "tui.editor.pageUp": [["pageUp", "ctrl+pageUp"], "Page up"],
  "tui.editor.pageDown": [["pageDown", "ctrl+pageDown"], "Page down"],
  "tui.editor.deleteCharBackward": ["backspace", "Delete character backward"],
  "tui.editor.deleteCharForward": [["delete", "ctrl+d"], "Delete character forward"],
  "tui.editor.deleteWordBackward": [["ctrl+w", "alt+backspace"], "Delete word backward"],
  "tui.editor.deleteWordForward": [["alt+d", "alt+delete"], "Delete word forward"],
  "tui.editor.deleteToLineStart": ["ctrl+u", "Delete to line start"],
  "tui.editor.deleteToLineEnd": ["ctrl+k", "Delete to line end"],
  "tui.editor.yank": ["ctrl+y", "Put back deleted text"],
  "tui.editor.yankPop": ["alt+y", "Put back older deleted text"],
  "tui.editor.undo": ["ctrl+-", "Undo"],
  "tui.input.newLine": [["shift+enter", "ctrl+j"], "Insert a new line"],
  "tui.input.submit": ["enter", "Submit input"],
  "tui.input.tab": ["tab", "Tab or autocomplete"],
  "tui.input.copy": ["ctrl+c", "Copy selection"],
  "tui.select.up": ["up", "Move selection up"],
  "tui.select.down": ["down", "Move selection down"],
  "tui.select.pageUp": ["pageUp", "Selection page up"],
  "tui.select.pageDown": ["pageDown", "Selection page down"],
  "tui.select.confirm": ["enter", "Confirm selection"],
  "tui.select.cancel": [["escape", "ctrl+c"], "Cancel selection"],
  "tui.altScreen.pageUp": ["pageUp", "Scroll up one page"],
  "tui.altScreen.pageDown": ["pageDown", "Scroll down one page"],
  "tui.altScreen.halfPageUp": [[], "Scroll up half a page"],
  "tui.altScreen.halfPageDown": [[], "Scroll down half a page"],
  "tui.altScreen.lineUp": [[], "Scroll up one line"],
  "tui.altScreen.lineDown": [[], "Scroll down one line"],
  "tui.altScreen.previousPrompt": [["ctrl+shift+up", "ctrl+up"], "Jump to the prompt before"],
  "tui.altScreen.nextPrompt": [["ctrl+shift+down", "ctrl+down"], "Jump to the next prompt"],
  "tui.altScreen.search": ["ctrl+shift+f", "Search"],
  "tui.altScreen.searchNext": [["enter", "ctrl+g"], "Next match"],
  "tui.altScreen.searchPrevious": [["shift+enter", "ctrl+shift+g"], "Match before"],
  "tui.altScreen.searchClose": ["escape", "Close the search"],
  "tui.altScreen.top": ["ctrl+home", "Scroll to the top"],
  "tui.altScreen.bottom": ["ctrl+end", "Scroll to the bottom"],
};

/** The bindings of all terminal components with their default keys. */
export const TUI_KEYBINDINGS = Object.fromEntries(
  Object.entries(DEFAULTS).map(([id, [defaultKeys, description]]) => [id, { defaultKeys, description }]),
);

const list = (keys) => [...new Set(Array.isArray(keys) ? keys : keys === undefined ? [] : [keys])];

/** Bindings with the user's changes applied. The name is pi's. */
export class KeybindingsManager {
  constructor(definitions, userBindings = {}) {
    this.definitions = definitions;
    this.userBindings = userBindings;
    this.keysById = new Map();
    this.conflicts = [];
    this.rebuild();
  }

  rebuild() {
    this.keysById.clear();
    const claims = new Map();
    for (const [id, keys] of Object.entries(this.userBindings)) {
      if (!(id in this.definitions)) continue;
      for (const key of list(keys)) claims.set(key, [...(claims.get(key) ?? []), id]);
    }
    this.conflicts = [...claims].filter(([, ids]) => ids.length > 1).map(([key, keybindings]) => ({ key, keybindings }));
    for (const [id, definition] of Object.entries(this.definitions)) {
      this.keysById.set(id, list(this.userBindings[id] ?? definition.defaultKeys));
    }
  }

  /** Is `data` one of the keys of a binding. */
  matches(data, id) {
    return (this.keysById.get(id) ?? []).some((key) => matchesKey(data, key));
  }

  getKeys(id) {
    return [...(this.keysById.get(id) ?? [])];
  }

  getDefinition(id) {
    return this.definitions[id];
  }

  getConflicts() {
    return this.conflicts.map((conflict) => ({ ...conflict, keybindings: [...conflict.keybindings] }));
  }

  setUserBindings(userBindings) {
    this.userBindings = userBindings;
    this.rebuild();
  }

  getUserBindings() {
    return { ...this.userBindings };
  }

  /** Every binding with its keys: one key as text, otherwise a list. */
  getResolvedBindings() {
    const out = {};
    for (const id of Object.keys(this.definitions)) {
      const keys = this.keysById.get(id) ?? [];
      out[id] = keys.length === 1 ? keys[0] : [...keys];
    }
    return out;
  }
}

let current = null;

/** The bindings in force. */
export function getKeybindings() {
  current ??= new KeybindingsManager(TUI_KEYBINDINGS);
  return current;
}

/** Puts other bindings in force. */
export function setKeybindings(keybindings) {
  current = keybindings;
}
