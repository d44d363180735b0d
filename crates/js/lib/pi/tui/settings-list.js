// A list of settings: label and value in two columns, values that turn with
// Enter or Space, submenus, an optional search line.
import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from "jackfield:pi/tui/ansi";
import { fuzzyFilter } from "jackfield:pi/tui/fuzzy";
import { Input } from "jackfield:pi/tui/input";
import { getKeybindings } from "jackfield:pi/tui/keybindings";
import { getSelectPageIndex } from "jackfield:pi/tui/select-list";

const WIDEST_LABEL = 30;

/** See the file comment. */
export class SettingsList {
  constructor(items, maxVisible, theme, onChange, onCancel, options = {}) {
    this.capturesViewportInput = true;
    this.items = items;
    this.filteredItems = items;
    this.theme = theme;
    this.selectedIndex = 0;
    this.mousePressedIndex = undefined;
    this.maxVisible = maxVisible;
    this.onChange = onChange;
    this.onCancel = onCancel;
    this.searchEnabled = options.enableSearch ?? false;
    this.searchInput = this.searchEnabled ? new Input() : undefined;
    this.submenuComponent = null;
    this.submenuItemIndex = null;
    this.navigateAfterClose = undefined;
  }

  updateValue(id, newValue) {
    const item = this.items.find((each) => each.id === id);
    if (item) item.currentValue = newValue;
  }

  selectItem(id) {
    const at = this.getDisplayItems().findIndex((item) => item.id === id);
    if (at !== -1) this.selectedIndex = at;
  }

  invalidate() {
    this.submenuComponent?.invalidate?.();
  }

  getDisplayItems() {
    return this.searchEnabled ? this.filteredItems : this.items;
  }

  getVisibleRange() {
    const count = this.getDisplayItems().length;
    const start = Math.max(0, Math.min(this.selectedIndex - Math.floor(this.maxVisible / 2), count - this.maxVisible));
    return { start, end: Math.min(start + this.maxVisible, count) };
  }

  render(width) {
    return this.submenuComponent ? this.submenuComponent.render(width) : this.renderMainList(width);
  }

  renderMainList(width) {
    const lines = [];
    if (this.searchInput) lines.push(...this.searchInput.render(width), "");
    if (this.items.length === 0) {
      lines.push(this.theme.hint("  No settings available"));
      if (this.searchEnabled) this.addHintLine(lines, width);
      return lines;
    }
    const shown = this.getDisplayItems();
    if (shown.length === 0) {
      lines.push(truncateToWidth(this.theme.hint("  No matching settings"), width));
      this.addHintLine(lines, width);
      return lines;
    }
    const column = Math.min(WIDEST_LABEL, this.items.reduce((most, item) => Math.max(most, visibleWidth(item.label)), 0));
    const { start, end } = this.getVisibleRange();
    for (let i = start; i < end; i++) {
      const item = shown[i];
      const selected = i === this.selectedIndex;
      const prefix = selected ? this.theme.cursor : "  ";
      const label = item.label + " ".repeat(Math.max(0, column - visibleWidth(item.label)));
      const room = width - visibleWidth(prefix) - column - 2 - 2;
      const value = this.theme.value(truncateToWidth(item.currentValue, room, ""), selected);
      lines.push(truncateToWidth(`${prefix}${this.theme.label(label, selected)}  ${value}`, width));
    }
    if (start > 0 || end < shown.length) {
      lines.push(this.theme.hint(truncateToWidth(`  (${this.selectedIndex + 1}/${shown.length})`, width - 2, "")));
    }
    const description = shown[this.selectedIndex]?.description;
    if (description) {
      lines.push("");
      for (const line of wrapTextWithAnsi(description, width - 4)) lines.push(this.theme.description(`  ${line}`));
    }
    this.addHintLine(lines, width);
    return lines;
  }

  addHintLine(lines, width) {
    const keys = "Enter/Space to change · Esc to cancel";
    lines.push("", truncateToWidth(this.theme.hint(`  ${this.searchEnabled ? "Type to search · " : ""}${keys}`), width));
  }

  handleInput(data) {
    if (this.submenuComponent) {
      this.submenuComponent.handleInput?.(data);
      return;
    }
    const keys = getKeybindings();
    const count = this.getDisplayItems().length;
    const page = getSelectPageIndex(data, this.selectedIndex, count, this.maxVisible, keys);
    if (page !== undefined) this.selectedIndex = page;
    else if (keys.matches(data, "tui.select.up")) {
      if (count > 0) this.selectedIndex = (this.selectedIndex + count - 1) % count;
    } else if (keys.matches(data, "tui.select.down")) {
      if (count > 0) this.selectedIndex = (this.selectedIndex + 1) % count;
    } else if (keys.matches(data, "tui.select.confirm") || data === " ") this.activateItem();
    else if (keys.matches(data, "tui.select.cancel")) this.onCancel();
    else if (this.searchInput) {
      this.searchInput.handleInput(data);
      this.applyFilter(this.searchInput.getValue());
    }
  }

  handleMouse(event) {
    if (this.submenuComponent) return this.submenuComponent.handleMouse?.(event);
    if (event.type !== "click" || event.button !== "left") return undefined;
    const { start, end } = this.getVisibleRange();
    const index = start + event.y - (this.searchEnabled ? 2 : 0);
    if (index < start || index >= end) return undefined;
    this.selectedIndex = index;
    this.activateItem();
    return { handled: true, render: true };
  }

  activateItem() {
    const item = this.getDisplayItems()[this.selectedIndex];
    if (!item) return;
    if (item.submenu) {
      this.submenuItemIndex = this.selectedIndex;
      this.submenuComponent = item.submenu(item.currentValue, (value, options) => {
        if (value !== undefined) {
          item.currentValue = value;
          this.onChange(item.id, value);
        }
        this.navigateAfterClose = options?.navigateTo;
        this.closeSubmenu();
      });
    } else if (item.values && item.values.length > 0) {
      const next = item.values[(item.values.indexOf(item.currentValue) + 1) % item.values.length];
      item.currentValue = next;
      this.onChange(item.id, next);
    }
  }

  closeSubmenu() {
    this.submenuComponent = null;
    if (this.submenuItemIndex !== null) this.selectedIndex = this.submenuItemIndex;
    this.submenuItemIndex = null;
    const target = this.navigateAfterClose;
    this.navigateAfterClose = undefined;
    if (target !== undefined) {
      this.selectItem(target);
      this.activateItem();
    }
  }

  applyFilter(query) {
    this.filteredItems = fuzzyFilter(this.items, query, (item) => item.label);
    this.selectedIndex = 0;
  }
}
