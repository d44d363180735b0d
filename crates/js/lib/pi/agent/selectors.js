// Dialogs of pi's interface as components: choose, type, edit. Those that need
// the agent's own lists (models, sessions, settings, logins) show only that
// they cannot be used here, and cancel.
import { Container } from "jackfield:pi/tui/container";
import { Editor } from "jackfield:pi/tui/editor";
import { Input } from "jackfield:pi/tui/input";
import { getKeybindings } from "jackfield:pi/tui/keybindings";
import { SelectList } from "jackfield:pi/tui/select-list";
import { Spacer, Text } from "jackfield:pi/tui/text";
import { keyHint } from "jackfield:pi/agent/app-keys";
import { DynamicBorder } from "jackfield:pi/agent/components";
import { currentTheme, getEditorTheme, getSelectListTheme } from "jackfield:pi/agent/theme";

const PAGE = 10;
const title = (text) => new Text(currentTheme().fg("accent", currentTheme().bold(text)), 1, 0);

class Framed extends Container {
  frame(...parts) {
    this.clear();
    this.addChild(new DynamicBorder());
    for (const part of parts) this.addChild(part);
    this.addChild(new DynamicBorder());
  }
}

class Choice extends Framed {
  constructor(heading, items, selected, onSelect, onCancel, onPreview) {
    super();
    this.selectList = new SelectList(items, PAGE, getSelectListTheme());
    const at = items.findIndex((item) => item.value === selected);
    if (at >= 0) this.selectList.setSelectedIndex(at);
    this.selectList.onSelect = (item) => onSelect(item.value);
    this.selectList.onCancel = () => onCancel();
    if (onPreview) this.selectList.onSelectionChange = (item) => onPreview(item.value);
    this.frame(...(heading ? [title(heading), new Spacer(1)] : []), this.selectList);
  }

  getSelectList() {
    return this.selectList;
  }

  handleInput(data) {
    this.selectList.handleInput(data);
  }
}

const plainItems = (values) => values.map((value) => ({ value, label: value }));

/** One of several texts. */
export class ExtensionSelectorComponent extends Choice {
  constructor(heading, options, onSelect, onCancel, _opts) {
    super(heading, plainItems(options), undefined, onSelect, onCancel);
  }

  dispose() {}
}

/** Images on or off. */
export class ShowImagesSelectorComponent extends Choice {
  constructor(currentValue, onSelect, onCancel) {
    super(undefined, [{ value: "yes", label: "Yes" }, { value: "no", label: "No" }], currentValue ? "yes" : "no", (value) => onSelect(value === "yes"), onCancel);
  }
}

/** A theme. */
export class ThemeSelectorComponent extends Choice {
  constructor(current, onSelect, onCancel, onPreview) {
    super(undefined, plainItems(["dark", "light"]), current, onSelect, onCancel, onPreview);
  }
}

/** A thinking level. */
export class ThinkingSelectorComponent extends Choice {
  constructor(currentLevel, availableLevels, onSelect, onCancel) {
    super(undefined, plainItems(availableLevels), currentLevel, onSelect, onCancel);
    this.focused = false;
  }
}

/** One of the user's messages. */
export class UserMessageSelectorComponent extends Choice {
  constructor(messages, onSelect, onCancel, initialSelectedId) {
    const items = messages.map((message) => ({ value: message.id, label: message.text.replace(/\s+/g, " ") }));
    super("Fork from a message", items, initialSelectedId ?? messages.at(-1)?.id, onSelect, onCancel);
  }

  getMessageList() {
    return this.selectList;
  }
}

/** A line of text. */
export class ExtensionInputComponent extends Framed {
  constructor(heading, placeholder, onSubmit, onCancel, _opts) {
    super();
    this.input = new Input({ placeholder });
    this.input.onSubmit = onSubmit;
    this.input.onEscape = onCancel;
    this.frame(title(heading), new Spacer(1), this.input, new Text(keyHint("tui.select.confirm", "submit"), 1, 0));
  }

  get focused() {
    return this.input.focused;
  }

  set focused(value) {
    this.input.focused = value;
  }

  handleInput(data) {
    this.input.handleInput(data);
  }

  dispose() {}
}

/** Several lines of text. */
export class ExtensionEditorComponent extends Framed {
  constructor(tui, _keybindings, heading, prefill, onSubmit, onCancel) {
    super();
    this.onCancel = onCancel;
    this.editor = new Editor(tui, getEditorTheme());
    if (prefill) this.editor.setText(prefill);
    this.editor.onSubmit = onSubmit;
    this.frame(title(heading), new Spacer(1), this.editor);
  }

  get focused() {
    return this.editor.focused;
  }

  set focused(value) {
    this.editor.focused = value;
  }

  handleInput(data) {
    if (getKeybindings().matches(data, "tui.select.cancel")) this.onCancel();
    else this.editor.handleInput(data);
  }
}

/** A dialog whose data only an agent has. */
class NeedsAgent extends Framed {
  constructor(name, onCancel) {
    super();
    this.onCancel = onCancel;
    this.focused = false;
    this.frame(title(`${name} is not available: this host runs no agent`));
  }

  handleInput(data) {
    if (getKeybindings().matches(data, "tui.select.cancel")) this.onCancel?.();
  }

  dispose() {}
}

const firstCancel = (args) => args.filter((arg) => typeof arg === "function").at(1);

/** Models to choose from: the agent's. */
export class ModelSelectorComponent extends NeedsAgent {
  constructor(...args) { super("the model list", firstCancel(args)); }
}
/** Logins: the agent's. */
export class OAuthSelectorComponent extends NeedsAgent {
  constructor(...args) { super("the list of logins", firstCancel(args)); }
}
/** A login: the agent's. */
export class LoginDialogComponent extends NeedsAgent {
  constructor(...args) { super("a login", firstCancel(args)); }

  get signal() {
    this.controller ??= new AbortController();
    return this.controller.signal;
  }
}
/** Sessions to choose from: the agent's. */
export class SessionSelectorComponent extends NeedsAgent {
  constructor(...args) { super("the session list", firstCancel(args)); }
}
/** Settings: the agent's. */
export class SettingsSelectorComponent extends NeedsAgent {
  constructor(...args) { super("the settings list", args[1]?.onCancel); }
}
/** The session tree: the agent's. */
export class TreeSelectorComponent extends NeedsAgent {
  constructor(...args) { super("the session tree", firstCancel(args)); }
}

/** The line below everything: directory and branch as far as they are known. */
export class FooterComponent {
  constructor(session, footerData) {
    this.session = session;
    this.footerData = footerData;
  }

  setSession(session) {
    this.session = session;
  }

  setAutoCompactEnabled(_enabled) {}

  invalidate() {}

  dispose() {}

  render(_width) {
    const branch = this.footerData?.getGitBranch?.();
    return [currentTheme().fg("dim", [process.cwd(), branch ? `(${branch})` : ""].filter(Boolean).join(" "))];
  }
}

/** pi's greeting picture; here a line of text. */
export class ArminComponent {
  constructor(ui) {
    this.ui = ui;
  }

  invalidate() {}

  dispose() {}

  render(_width) {
    return [currentTheme().fg("accent", "ARMIN SAYS HI")];
  }
}
