// Names of keys for hints, with the bindings of the whole application.
import { KeybindingsManager, TUI_KEYBINDINGS } from "jackfield:pi/tui/keybindings";
import { currentTheme } from "jackfield:pi/agent/theme";

const APP = {
  "app.interrupt": "escape", "app.clear": "ctrl+c", "app.exit": "ctrl+d", "app.suspend": "ctrl+z", "app.thinking.cycle": "shift+tab",
  "app.thinking.save": "ctrl+s", "app.model.cycleForward": "ctrl+p", "app.model.cycleBackward": "shift+ctrl+p", "app.model.select": "ctrl+l",
  "app.tools.expand": "ctrl+o", "app.thinking.toggle": "ctrl+t", "app.session.toggleNamedFilter": "ctrl+n", "app.editor.external": "ctrl+g",
  "app.message.copy": "ctrl+x", "app.message.followUp": "alt+enter", "app.message.dequeue": "alt+up", "app.clipboard.pasteImage": "ctrl+v",
  "app.session.new": [], "app.session.tree": [], "app.session.fork": [], "app.session.resume": [],
};

/** All bindings: the application's and those of the components. */
export const APP_KEYBINDINGS = {
  ...TUI_KEYBINDINGS,
  ...Object.fromEntries(Object.entries(APP).map(([id, defaultKeys]) => [id, { defaultKeys, description: id }])),
};

let bindings;

/** Bindings for hints and for custom editors. */
export function appKeybindings() {
  bindings ??= new KeybindingsManager(APP_KEYBINDINGS);
  return bindings;
}

/** The keys of a binding as text: "escape/ctrl+c". */
export function keyText(keybinding) {
  return appKeybindings().getKeys(keybinding).join("/");
}

/** A hint from a key as it is written. */
export function rawKeyHint(key, description) {
  const theme = currentTheme();
  return theme.fg("dim", key) + theme.fg("muted", ` ${description}`);
}

/** A hint from a binding. */
export function keyHint(keybinding, description) {
  return rawKeyHint(keyText(keybinding), description);
}
