// A list to choose from: a column of labels, descriptions beside them when
// there is room, a window that follows the selection.
import { truncateToWidth, visibleWidth } from "jackfield:pi/tui/ansi";
import { getKeybindings } from "jackfield:pi/tui/keybindings";

const COLUMN = 32;
const GAP = 2;
const oneLine = (text) => text.replace(/[\r\n]+/g, " ").trim();

/** Where a page key takes the selection: `direction` is -1 or 1, the ends hold. */
export function getSelectPageIndex(keyData, selected, count, page, keybindings = getKeybindings()) {
  if (count <= 0) return undefined;
  const step = Math.max(1, page);
  if (keybindings.matches(keyData, "tui.select.pageUp")) return Math.max(0, selected - step);
  if (keybindings.matches(keyData, "tui.select.pageDown")) return Math.min(count - 1, selected + step);
  return undefined;
}

/** See the file comment. */
export class SelectList {
  constructor(items, maxVisible, theme, layout = {}) {
    this.capturesViewportInput = true;
    this.items = items;
    this.filteredItems = items;
    this.selectedIndex = 0;
    this.mousePressedIndex = undefined;
    this.maxVisible = maxVisible;
    this.theme = theme;
    this.layout = layout;
    this.onSelect = undefined;
    this.onCancel = undefined;
    this.onSelectionChange = undefined;
  }

  setFilter(filter) {
    const wanted = filter.toLowerCase();
    this.filteredItems = this.items.filter((item) => item.value.toLowerCase().startsWith(wanted));
    this.selectedIndex = 0;
  }

  setSelectedIndex(index) {
    this.selectedIndex = Math.max(0, Math.min(index, this.filteredItems.length - 1));
  }

  invalidate() {}

  getVisibleRange() {
    const count = this.filteredItems.length;
    const start = Math.max(0, Math.min(this.selectedIndex - Math.floor(this.maxVisible / 2), count - this.maxVisible));
    return { start, end: Math.min(start + this.maxVisible, count) };
  }

  render(width) {
    if (this.filteredItems.length === 0) return [this.theme.noMatch("  No matching commands")];
    const column = this.getPrimaryColumnWidth();
    const { start, end } = this.getVisibleRange();
    const lines = [];
    for (let i = start; i < end; i++) lines.push(this.renderItem(this.filteredItems[i], i === this.selectedIndex, width, column));
    if (start > 0 || end < this.filteredItems.length) {
      lines.push(this.theme.scrollInfo(truncateToWidth(`  (${this.selectedIndex + 1}/${this.filteredItems.length})`, width - 2, "")));
    }
    return lines;
  }

  renderItem(item, isSelected, width, column) {
    const prefix = isSelected ? "→ " : "  ";
    const description = item.description ? oneLine(item.description) : "";
    if (description && width > 40) {
      const columnWidth = Math.max(1, Math.min(column, width - prefix.length - 4));
      const label = this.truncatePrimary(item, isSelected, Math.max(1, columnWidth - GAP), columnWidth);
      const gap = " ".repeat(Math.max(1, columnWidth - visibleWidth(label)));
      const room = width - prefix.length - visibleWidth(label) - gap.length - 2;
      if (room > 10) {
        const text = truncateToWidth(description, room, "");
        if (isSelected) return this.theme.selectedText(prefix + label + gap + text);
        return prefix + label + this.theme.description(gap + text);
      }
    }
    const room = Math.max(1, width - prefix.length - 2);
    const label = this.truncatePrimary(item, isSelected, room, room);
    return isSelected ? this.theme.selectedText(prefix + label) : prefix + label;
  }

  getPrimaryColumnWidth() {
    const { min, max } = this.getPrimaryColumnBounds();
    let widest = 0;
    for (const item of this.filteredItems) widest = Math.max(widest, visibleWidth(this.getDisplayValue(item)) + GAP);
    return Math.max(min, Math.min(widest, max));
  }

  getPrimaryColumnBounds() {
    const low = this.layout.minPrimaryColumnWidth ?? this.layout.maxPrimaryColumnWidth ?? COLUMN;
    const high = this.layout.maxPrimaryColumnWidth ?? this.layout.minPrimaryColumnWidth ?? COLUMN;
    return { min: Math.max(1, Math.min(low, high)), max: Math.max(1, Math.max(low, high)) };
  }

  truncatePrimary(item, isSelected, maxWidth, columnWidth) {
    const text = this.getDisplayValue(item);
    const cut = this.layout.truncatePrimary?.({ text, maxWidth, columnWidth, item, isSelected }) ?? text;
    return truncateToWidth(cut, maxWidth, "");
  }

  getDisplayValue(item) {
    return item.label || item.value;
  }

  #move(step) {
    const count = this.filteredItems.length;
    this.selectedIndex = (this.selectedIndex + step + count) % count;
    this.notifySelectionChange();
  }

  handleInput(keyData) {
    const keys = getKeybindings();
    const count = this.filteredItems.length;
    if (keys.matches(keyData, "tui.select.cancel")) {
      this.onCancel?.();
      return;
    }
    if (count === 0) return;
    const page = getSelectPageIndex(keyData, this.selectedIndex, count, this.maxVisible, keys);
    if (page !== undefined) {
      this.selectedIndex = page;
      this.notifySelectionChange();
    } else if (keys.matches(keyData, "tui.select.up")) this.#move(-1);
    else if (keys.matches(keyData, "tui.select.down")) this.#move(1);
    else if (keys.matches(keyData, "tui.select.confirm")) {
      const item = this.getSelectedItem();
      if (item) this.onSelect?.(item);
    }
  }

  handleMouse(event) {
    const count = this.filteredItems.length;
    if (count === 0) return undefined;
    if (event.type === "wheel") {
      this.setSelectedIndex(this.selectedIndex + Math.sign(event.wheelDelta ?? 0));
      this.notifySelectionChange();
      return { handled: true, render: true };
    }
    if (event.button !== "left" || (event.type !== "press" && event.type !== "click")) return undefined;
    const { start, end } = this.getVisibleRange();
    const index = start + event.y;
    if (event.y < 0 || index >= end) return undefined;
    if (event.type === "press") {
      this.mousePressedIndex = index;
      this.selectedIndex = index;
      this.notifySelectionChange();
    } else if (this.mousePressedIndex === index) {
      this.mousePressedIndex = undefined;
      this.onSelect?.(this.filteredItems[index]);
    }
    return { handled: true, render: true };
  }

  notifySelectionChange() {
    const item = this.getSelectedItem();
    if (item) this.onSelectionChange?.(item);
  }

  getSelectedItem() {
    return this.filteredItems[this.selectedIndex] ?? null;
  }
}
