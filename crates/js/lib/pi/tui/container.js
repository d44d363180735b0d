// Components that hold others: a plain column (Container), a padded block with
// a background (Box) and a region that answers the mouse. Mouse events go to
// the child under the pointer, in its own coordinates.
import { paintLine } from "jackfield:pi/tui/ansi";

/** Marks where the hardware cursor goes in a rendered line. */
export const CURSOR_MARKER = "\x1b_pi:c\x07";

/** Can this component take the keyboard focus. */
export function isFocusable(component) {
  return component !== null && component !== undefined && "focused" in component;
}

/** Hands a mouse event to a component and says who took it, or undefined. */
export function dispatchMouseEvent(component, event) {
  const result = component.handleMouse?.(event);
  if (!result) return undefined;
  if (result.target) return result;
  if (result.handled === false) return undefined;
  const target = { component, originX: event.screenX - event.x, originY: event.screenY - event.y, width: event.width, height: event.height };
  return { ...result, handled: true, target, ...(result.focus ? { focusTarget: component } : {}) };
}

function dispatchToChild(layout, event, inset) {
  const row = event.y - inset.y;
  for (const { child, top, height, width } of layout) {
    if (row < top || row >= top + height) continue;
    const x = event.x - inset.x;
    if (x < 0 || x >= width) return undefined;
    return dispatchMouseEvent(child, { ...event, x, y: row - top, width, height });
  }
  return undefined;
}

/** A column of components. */
export class Container {
  constructor() {
    this.children = [];
    this.mouseLayout = [];
  }

  addChild(component) {
    this.children.push(component);
  }

  removeChild(component) {
    const at = this.children.indexOf(component);
    if (at !== -1) this.children.splice(at, 1);
  }

  clear() {
    this.children = [];
  }

  invalidate() {
    for (const child of this.children) child.invalidate?.();
  }

  handleMouse(event) {
    return dispatchToChild(this.mouseLayout ?? [], event, { x: 0, y: 0 });
  }

  render(width) {
    const lines = [];
    const layout = [];
    for (const child of this.children) {
      const part = child.render(width);
      layout.push({ child, top: lines.length, height: part.length, width });
      for (const line of part) lines.push(line);
    }
    this.mouseLayout = layout;
    return lines;
  }
}

/** A block with padding around its children and a background under all of it. */
export class Box {
  constructor(paddingX = 1, paddingY = 1, bgFn) {
    this.children = [];
    this.paddingX = paddingX;
    this.paddingY = paddingY;
    this.bgFn = bgFn;
    this.cache = undefined;
    this.mouseLayout = [];
  }

  addChild(component) {
    this.children.push(component);
    this.invalidateCache();
  }

  removeChild(component) {
    const at = this.children.indexOf(component);
    if (at === -1) return;
    this.children.splice(at, 1);
    this.invalidateCache();
  }

  clear() {
    this.children = [];
    this.invalidateCache();
  }

  setBgFn(bgFn) {
    this.bgFn = bgFn;
  }

  setPaddingX(paddingX) {
    if (this.paddingX === paddingX) return;
    this.paddingX = paddingX;
    this.invalidateCache();
  }

  invalidateCache() {
    this.cache = undefined;
  }

  invalidate() {
    this.invalidateCache();
    for (const child of this.children) child.invalidate?.();
  }

  handleMouse(event) {
    return dispatchToChild(this.mouseLayout, event, { x: this.paddingX, y: this.paddingY });
  }

  render(width) {
    if (this.children.length === 0) return [];
    const inner = Math.max(1, width - this.paddingX * 2);
    const margin = " ".repeat(this.paddingX);
    const body = [];
    const layout = [];
    for (const child of this.children) {
      const part = child.render(inner);
      layout.push({ child, top: body.length, height: part.length, width: inner });
      for (const line of part) body.push(margin + line);
    }
    this.mouseLayout = layout;
    if (body.length === 0) return [];
    const blank = new Array(this.paddingY).fill("");
    return [...blank, ...body, ...blank].map((line) => this.applyBg(line, width));
  }

  applyBg(line, width) {
    return paintLine(line, width, this.bgFn ?? ((text) => text));
  }
}

/** A component whose mouse events another function sees first. */
export class MouseRegion {
  constructor(child, onMouse) {
    this.child = child;
    this.onMouse = onMouse;
  }

  render(width) {
    return this.child.render(width);
  }

  handleMouse(event) {
    return dispatchMouseEvent(this.child, event) ?? this.onMouse(event);
  }

  invalidate() {
    this.child.invalidate?.();
  }
}
