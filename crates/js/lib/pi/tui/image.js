// Images in terminals: sizes read from the file's first bytes, the sequences of
// the Kitty and iTerm2 protocols, and a line of text where neither is spoken.
// Headless there is no image protocol unless an extension sets one.
import { native } from "jackfield:host";

let cells = { widthPx: 9, heightPx: 18 };
let capabilities = null;
let overrides = {};
let lastId = 0;
let transcoder = null;

/** Pixels of one character cell. */
export function getCellDimensions() {
  return cells;
}

/** See `getCellDimensions`. */
export function setCellDimensions(dimensions) {
  cells = dimensions;
}

/** What the terminal can show. There is no terminal here, so: colours, nothing else. */
export function detectCapabilities() {
  return { images: null, trueColor: true, hyperlinks: false };
}

/** Capabilities in force, with overrides applied. */
export function getCapabilities() {
  capabilities ??= { ...detectCapabilities(), ...overrides };
  return capabilities;
}

/** Forgets what was detected or set. */
export function resetCapabilitiesCache() {
  capabilities = null;
}

/** Replaces single capabilities, now and after detection. */
export function setCapabilityOverrides(changes) {
  overrides = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  capabilities = null;
}

/** Puts capabilities in force. */
export function setCapabilities(next) {
  capabilities = next;
}

/** "truecolor" or "256color". */
export function getTerminalColorMode() {
  return getCapabilities().trueColor ? "truecolor" : "256color";
}

/** A function that turns other formats into PNG for Kitty; kept for `renderImage`. */
export function setImageTranscoder(next) {
  transcoder = next ?? null;
}

/** The transcoder that was set, or null. */
export function getImageTranscoder() {
  return transcoder;
}

/** A number for an image that is not in use. */
export function allocateImageId() {
  if (lastId === 0) lastId = 1 + Math.floor(Math.random() * 0x7ffffffe);
  else lastId = (lastId % 0xfffffffe) + 1;
  return lastId;
}

const CHUNK = 4096;

/** The Kitty sequence that sends and shows a PNG. */
export function encodeKitty(base64Data, options = {}) {
  const keys = ["a=T", "f=100", "q=2"];
  if (options.moveCursor === false) keys.push("C=1");
  if (options.columns) keys.push(`c=${options.columns}`);
  if (options.rows) keys.push(`r=${options.rows}`);
  if (options.imageId) keys.push(`i=${options.imageId}`);
  const wrap = (head, body) => `\x1b_G${head};${body}\x1b\\`;
  if (base64Data.length <= CHUNK) return wrap(keys.join(","), base64Data);
  let out = "";
  for (let at = 0; at < base64Data.length; at += CHUNK) {
    const last = at + CHUNK >= base64Data.length;
    const head = at === 0 ? `${keys.join(",")},m=1` : `m=${last ? 0 : 1}`;
    out += wrap(head, base64Data.slice(at, at + CHUNK));
  }
  return out;
}

/** Takes one Kitty image off the screen and out of memory. */
export function deleteKittyImage(imageId) {
  return `\x1b_Ga=d,d=I,i=${imageId},q=2\x1b\\`;
}

/** Takes all Kitty images off. */
export function deleteAllKittyImages() {
  return "\x1b_Ga=d,d=A,q=2\x1b\\";
}

/** The iTerm2 sequence of an inline image. */
export function encodeITerm2(base64Data, options = {}) {
  const bytes = Math.floor((base64Data.replace(/=+$/, "").length * 3) / 4);
  const parts = [`inline=${options.inline === false ? 0 : 1}`, `size=${bytes}`];
  if (options.width !== undefined) parts.push(`width=${options.width}`);
  if (options.height !== undefined) parts.push(`height=${options.height}`);
  if (options.name) parts.push(`name=${native("base64_encode", native("utf8_encode", options.name))}`);
  if (options.preserveAspectRatio === false) parts.push("preserveAspectRatio=0");
  return `\x1b]1337;File=${parts.join(";")}:${base64Data}\x07`;
}

/** Cells that an image takes inside the given bounds, proportions kept. */
export function calculateImageCellSize(image, maxWidthCells, maxHeightCells, cell = cells) {
  const columns = Math.max(1, Math.floor(maxWidthCells));
  const scaled = (image.heightPx * columns * cell.widthPx) / Math.max(1, image.widthPx);
  const rows = Math.max(1, Math.ceil(scaled / cell.heightPx));
  if (maxHeightCells === undefined || rows <= maxHeightCells) return { columns, rows };
  const limit = Math.max(1, Math.floor(maxHeightCells));
  const narrower = Math.floor((image.widthPx * limit * cell.heightPx) / Math.max(1, image.heightPx) / cell.widthPx);
  return { columns: Math.min(columns, Math.max(1, narrower)), rows: limit };
}

/** Rows that an image takes at a width. */
export function calculateImageRows(image, targetWidthCells, cell = cells) {
  return calculateImageCellSize(image, targetWidthCells, undefined, cell).rows;
}

function bytesOf(base64Data) {
  try {
    return native("base64_decode", base64Data);
  } catch {
    return new Uint8Array();
  }
}

const text = (bytes, from, to) => String.fromCharCode(...bytes.subarray(from, to));
const be16 = (bytes, at) => (bytes[at] << 8) | bytes[at + 1];
const be32 = (bytes, at) => ((bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]) >>> 0;
const le16 = (bytes, at) => bytes[at] | (bytes[at + 1] << 8);
const le24 = (bytes, at) => le16(bytes, at) | (bytes[at + 2] << 16);

/** Size of a PNG, or null. */
export function getPngDimensions(base64Data) {
  const bytes = bytesOf(base64Data.slice(0, 64));
  if (bytes.length < 24 || text(bytes, 1, 4) !== "PNG") return null;
  return { widthPx: be32(bytes, 16), heightPx: be32(bytes, 20) };
}

/** Size of a JPEG, or null. */
export function getJpegDimensions(base64Data) {
  const bytes = bytesOf(base64Data);
  if (bytes.length < 4 || bytes[0] !== 0xff || bytes[1] !== 0xd8) return null;
  let at = 2;
  while (at + 9 < bytes.length) {
    if (bytes[at] !== 0xff) {
      at += 1;
      continue;
    }
    const marker = bytes[at + 1];
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      return { widthPx: be16(bytes, at + 7), heightPx: be16(bytes, at + 5) };
    }
    const length = be16(bytes, at + 2);
    if (length < 2) return null;
    at += 2 + length;
  }
  return null;
}

/** Size of a GIF, or null. */
export function getGifDimensions(base64Data) {
  const bytes = bytesOf(base64Data.slice(0, 32));
  if (bytes.length < 10 || !/^GIF8[79]a$/.test(text(bytes, 0, 6))) return null;
  return { widthPx: le16(bytes, 6), heightPx: le16(bytes, 8) };
}

/** Size of a WebP in any of its three kinds, or null. */
export function getWebpDimensions(base64Data) {
  const bytes = bytesOf(base64Data.slice(0, 64));
  if (bytes.length < 30 || text(bytes, 0, 4) !== "RIFF" || text(bytes, 8, 12) !== "WEBP") return null;
  const chunk = text(bytes, 12, 16);
  if (chunk === "VP8 ") return { widthPx: le16(bytes, 26) & 0x3fff, heightPx: le16(bytes, 28) & 0x3fff };
  if (chunk === "VP8X") return { widthPx: le24(bytes, 24) + 1, heightPx: le24(bytes, 27) + 1 };
  if (chunk !== "VP8L") return null;
  const bits = (bytes[21] | (bytes[22] << 8) | (bytes[23] << 16) | (bytes[24] << 24)) >>> 0;
  return { widthPx: (bits & 0x3fff) + 1, heightPx: ((bits >> 14) & 0x3fff) + 1 };
}

/** Size of an image by its media type, or null. */
export function getImageDimensions(base64Data, mimeType) {
  switch (mimeType) {
    case "image/png": return getPngDimensions(base64Data);
    case "image/jpeg": return getJpegDimensions(base64Data);
    case "image/gif": return getGifDimensions(base64Data);
    case "image/webp": return getWebpDimensions(base64Data);
    default: return null;
  }
}

/** The sequence that shows an image, and its size; null without an image protocol. */
export function renderImage(base64Data, imageDimensions, options = {}) {
  const protocol = getCapabilities().images;
  if (!protocol) return null;
  const { columns, rows } = calculateImageCellSize(imageDimensions, options.maxWidthCells ?? 80, options.maxHeightCells);
  if (protocol === "iterm2") {
    return { sequence: encodeITerm2(base64Data, { width: columns, height: "auto", preserveAspectRatio: options.preserveAspectRatio ?? true }), columns, rows };
  }
  const sequence = encodeKitty(base64Data, { columns, rows, imageId: options.imageId, moveCursor: options.moveCursor });
  return options.imageId === undefined ? { sequence, columns, rows } : { sequence, columns, rows, imageId: options.imageId };
}

/** A text that is a link in terminals that know OSC 8. */
export function hyperlink(label, url) {
  return `\x1b]8;;${url}\x1b\\${label}\x1b]8;;\x1b\\`;
}

/** What stands in for an image that cannot be shown. */
export function imageFallback(mimeType, dimensions, filename) {
  const parts = [filename, `[${mimeType}]`, dimensions && `${dimensions.widthPx}x${dimensions.heightPx}`];
  return `[Image: ${parts.filter(Boolean).join(" ")}]`;
}

/** An image as a component. */
export class Image {
  constructor(base64Data, mimeType, theme, options = {}, dimensions) {
    this.base64Data = base64Data;
    this.mimeType = mimeType;
    this.theme = theme;
    this.options = options;
    this.dimensions = dimensions ?? getImageDimensions(base64Data, mimeType) ?? { widthPx: 800, heightPx: 600 };
    this.imageId = options.imageId;
    this.cachedLines = undefined;
    this.cachedWidth = undefined;
  }

  getImageId() {
    return this.imageId;
  }

  invalidate() {
    this.cachedLines = undefined;
    this.cachedWidth = undefined;
  }

  render(width) {
    if (this.cachedLines && this.cachedWidth === width) return this.cachedLines;
    const { images } = getCapabilities();
    const maxWidthCells = Math.max(1, Math.min(width - 2, this.options.maxWidthCells ?? 60));
    if (images === "kitty") this.imageId ??= allocateImageId();
    const shown = renderImage(this.base64Data, this.dimensions, { maxWidthCells, maxHeightCells: this.options.maxHeightCells, imageId: this.imageId, moveCursor: false });
    let lines;
    if (!shown) lines = [this.theme.fallbackColor(imageFallback(this.mimeType, this.dimensions, this.options.filename))];
    else if (images === "kitty") lines = [shown.sequence, ...new Array(shown.rows - 1).fill("")];
    else {
      const up = shown.rows > 1 ? `\x1b[${shown.rows - 1}A` : "";
      lines = [...new Array(shown.rows - 1).fill(""), up + shown.sequence];
    }
    this.cachedLines = lines;
    this.cachedWidth = width;
    return lines;
  }
}
