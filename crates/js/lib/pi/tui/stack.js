// Layout: components in a column or side by side, sharing the room by basis,
// grow and shrink, and a view that scrolls.
import { sliceByColumn, visibleWidth } from "jackfield:pi/tui/ansi";
import { Container } from "jackfield:pi/tui/container";

const SEAM = "\x1b[0m\x1b]8;;\x07";
const clamp = (value, low, high) => Math.max(low, Math.min(value, high));

class Stack extends Container {
  constructor(children = [], options = {}) {
    super();
    this.entries = [];
    this.gap = Math.max(0, options.gap ?? 0);
    this.align = options.align ?? "stretch";
    for (const child of children) {
      if (typeof child.render === "function") this.addChild(child);
      else {
        const { component, ...entry } = child;
        this.addChild(component, entry);
      }
    }
  }

  addChild(component, options = {}) {
    super.addChild(component);
    this.entries.push({ component, ...options });
  }

  removeChild(component) {
    super.removeChild(component);
    this.entries = this.entries.filter((entry) => entry.component !== component);
  }

  clear() {
    super.clear();
    this.entries = [];
  }

  shown(width, height) {
    return this.entries.filter((entry) => entry.visible?.({ width, height }) ?? true);
  }
}

/** Sizes of entries along the stack: their basis, then what is left is shared or taken away. */
function allocate(entries, natural, room) {
  const low = (entry) => entry.minSize ?? 0;
  const high = (entry) => entry.maxSize ?? Infinity;
  const base = entries.map((entry, i) => clamp(typeof entry.basis === "number" ? entry.basis : natural[i], low(entry), high(entry)));
  const sizes = [...base];
  let left = room - sizes.reduce((sum, each) => sum + each, 0);
  const growing = left > 0;
  const weight = (i) => (growing ? (entries[i].grow ?? 0) : (entries[i].shrink ?? 1) * base[i]);
  const limit = (i) => (growing ? high(entries[i]) : Math.max(low(entries[i]), 0));
  let open = entries.map((_, i) => i).filter((i) => weight(i) > 0);
  while (left !== 0 && open.length > 0) {
    const total = open.reduce((sum, i) => sum + weight(i), 0);
    const before = left;
    const shares = open.map((i) => Math.trunc((before * weight(i)) / total));
    if (shares.every((share) => share === 0)) shares[0] = Math.sign(before);
    open.forEach((i, at) => {
      const next = growing ? Math.min(limit(i), sizes[i] + shares[at]) : Math.max(limit(i), sizes[i] + shares[at]);
      left -= next - sizes[i];
      sizes[i] = next;
    });
    open = open.filter((i) => sizes[i] !== limit(i));
    if (left === before) break;
  }
  return sizes;
}

/** Components below each other. */
export class VStack extends Stack {
  constructor(children, options) {
    super(children, options);
    this.layoutType = "vstack";
  }

  render(width) {
    const lines = [];
    this.shown(width, 0).forEach((entry, i) => {
      if (i > 0) for (let gap = 0; gap < this.gap; gap++) lines.push("");
      for (const line of entry.component.render(width)) lines.push(line);
    });
    return lines;
  }
}

/** Components beside each other. */
export class HStack extends Stack {
  constructor(children, options) {
    super(children, options);
    this.layoutType = "hstack";
  }

  render(width) {
    const entries = this.shown(width, 0);
    if (entries.length === 0) return [];
    const room = Math.max(0, width - this.gap * (entries.length - 1));
    const natural = entries.map((entry) => entry.component.render(room).reduce((most, line) => Math.max(most, visibleWidth(line.trimEnd())), 0));
    const sizes = allocate(entries, natural, room);
    const columns = entries.map((entry, i) => (sizes[i] > 0 ? entry.component.render(sizes[i]) : []));
    const height = Math.max(...columns.map((lines) => lines.length));
    const offset = (lines) => (this.align === "end" ? height - lines.length : this.align === "center" ? Math.floor((height - lines.length) / 2) : 0);
    const gap = " ".repeat(this.gap);
    return Array.from({ length: height }, (_, row) => {
      const parts = columns.map((lines, i) => {
        const text = lines[row - offset(lines)] ?? "";
        const cut = visibleWidth(text) > sizes[i] ? sliceByColumn(text, 0, sizes[i], true) : text;
        return SEAM + cut + " ".repeat(Math.max(0, sizes[i] - visibleWidth(cut))) + SEAM;
      });
      return parts.join(gap);
    });
  }
}

/** A component seen through a window; without a screen the window is as tall as its content. */
export class ScrollView extends Container {
  constructor(component, options = {}) {
    super();
    this.child = component;
    this.children = [component];
    this.followEnd = options.follow === "end";
    this.primary = options.primary ?? false;
    this.overscroll = options.overscroll ?? "chain";
    this.scrollbarTrackStyle = options.scrollbarTrackStyle ?? ((text) => text);
    this.scrollbarThumbStyle = options.scrollbarThumbStyle ?? ((text) => text);
    this.currentScrollbar = options.scrollbar ?? "hidden";
    this.currentScrollTop = 0;
    this.contentHeight = 0;
    this.currentViewportHeight = 0;
    this.followingEnd = this.followEnd;
    this.scrollbarActive = false;
    this.requestRender = () => {};
  }

  get scrollTop() {
    return this.currentScrollTop;
  }

  get isFollowingEnd() {
    return this.followingEnd;
  }

  get viewportHeight() {
    return this.currentViewportHeight;
  }

  get scrollbar() {
    return this.currentScrollbar;
  }

  get isScrollbarVisible() {
    return this.currentScrollbar === "always" && this.contentHeight > this.currentViewportHeight;
  }

  get isScrollbarActive() {
    return this.scrollbarActive;
  }

  setScrollbar(scrollbar) {
    this.currentScrollbar = scrollbar;
  }

  setScrollbarActive(active) {
    this.scrollbarActive = active;
  }

  getContentWidth(width) {
    return this.currentScrollbar === "always" ? Math.max(1, width - 1) : width;
  }

  get #bottom() {
    return Math.max(0, this.contentHeight - this.currentViewportHeight);
  }

  scrollTo(scrollTop, options = {}) {
    this.currentScrollTop = clamp(Math.trunc(scrollTop), 0, this.#bottom);
    this.followingEnd = this.followEnd && !options.disableFollow && this.currentScrollTop === this.#bottom;
    this.requestRender();
  }

  scrollBy(lines) {
    const before = this.currentScrollTop;
    this.scrollTo(before + lines);
    return this.currentScrollTop - before;
  }

  scrollToStart() {
    this.scrollTo(0);
  }

  scrollToEnd() {
    this.scrollTo(this.#bottom);
  }

  updateLayout(contentHeight, viewportHeight, requestRender) {
    this.contentHeight = contentHeight;
    this.currentViewportHeight = viewportHeight;
    this.requestRender = requestRender;
    this.currentScrollTop = this.followingEnd ? this.#bottom : clamp(this.currentScrollTop, 0, this.#bottom);
  }

  addChild(_component) {
    throw new Error("a ScrollView has exactly one child, given to its constructor");
  }

  removeChild(_component) {
    throw new Error("a ScrollView has exactly one child, given to its constructor");
  }

  clear() {
    throw new Error("a ScrollView has exactly one child, given to its constructor");
  }

  render(width) {
    return this.child.render(width);
  }
}
