// Completion inside the editor: when to ask the provider, the list below the
// text, and what the keys do while it is shown.
import { SelectList } from "jackfield:pi/tui/select-list";

const TYPING_WAIT_MS = 20;

/** The completion of one editor. */
export class EditorCompletion {
  constructor(editor, maxVisible) {
    this.editor = editor;
    this.setMaxVisible(maxVisible);
    this.provider = null;
    this.list = null;
    this.prefix = "";
    this.abort = null;
    this.timer = null;
  }

  setMaxVisible(maxVisible) {
    this.maxVisible = Number.isFinite(maxVisible) ? Math.max(3, Math.min(20, Math.floor(maxVisible))) : 5;
  }

  setProvider(provider) {
    this.cancel();
    this.provider = provider;
  }

  cancel() {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.abort?.abort();
    this.abort = null;
    this.list = null;
    this.prefix = "";
  }

  /** Takes the keys of the list while it is shown. True when the key is used up. */
  handleInput(data, keys) {
    if (!this.list) return false;
    if (keys.matches(data, "tui.select.cancel")) {
      this.cancel();
      return true;
    }
    if (["up", "down", "pageUp", "pageDown"].some((name) => keys.matches(data, `tui.select.${name}`))) {
      this.list.handleInput(data);
      return true;
    }
    const tab = keys.matches(data, "tui.input.tab");
    if (!tab && !keys.matches(data, "tui.select.confirm")) return false;
    const item = this.list.getSelectedItem();
    if (!item) return false;
    const command = this.prefix.startsWith("/");
    this.#apply(item);
    // Enter on a command name runs it; Tab only writes it.
    return tab || !command;
  }

  #apply(item) {
    const { editor } = this;
    const { lines, cursorLine, cursorCol } = editor.state;
    editor.pushUndoSnapshot();
    editor.lastAction = null;
    editor.state = { ...this.provider.applyCompletion(lines, cursorLine, cursorCol, item, this.prefix) };
    editor.preferredVisualCol = null;
    this.cancel();
    editor.onChange?.(editor.getText());
  }

  #before() {
    const { lines, cursorLine, cursorCol } = this.editor.state;
    return lines[cursorLine].slice(0, cursorCol);
  }

  #wanted(text) {
    const before = this.#before();
    if (this.editor.state.cursorLine === 0 && before.startsWith("/")) return true;
    const triggers = this.provider?.triggerCharacters ?? [];
    const word = /[^\s]*$/.exec(before)[0];
    return word.startsWith("@") || triggers.some((trigger) => word.startsWith(trigger) || text === trigger);
  }

  afterTyping(text) {
    if (!this.provider) return;
    if (this.list || this.#wanted(text)) this.#later(false);
  }

  afterDeleting() {
    if (!this.provider) return;
    if (this.list || this.#wanted("")) this.#later(false);
  }

  #later(force) {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = null;
      this.request(force);
    }, TYPING_WAIT_MS);
  }

  /** Asks the provider now. An answer for a text that has changed meanwhile is dropped. */
  request(force) {
    const { provider, editor } = this;
    if (!provider) return;
    const { lines, cursorLine, cursorCol } = editor.state;
    if (force && provider.shouldTriggerFileCompletion?.(lines, cursorLine, cursorCol) === false) force = false;
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    const text = editor.getText();
    Promise.resolve(provider.getSuggestions([...lines], cursorLine, cursorCol, { signal: abort.signal, force })).then(
      (found) => {
        if (abort.signal.aborted || editor.getText() !== text) return;
        this.#show(found, force);
      },
      () => this.cancel(),
    );
  }

  #show(found, force) {
    if (!found || found.items.length === 0) this.cancel();
    else {
      this.prefix = found.prefix;
      if (force && found.items.length === 1) this.#apply(found.items[0]);
      else {
        this.list = new SelectList(found.items, this.maxVisible, this.editor.theme.selectList);
        const best = found.items.findIndex((item) => item.value.toLowerCase().startsWith(found.prefix.toLowerCase().replace(/^[@/]/, "")));
        if (best > 0) this.list.setSelectedIndex(best);
      }
    }
    this.editor.tui?.requestRender?.();
  }
}
