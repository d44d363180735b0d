// Colours: hex, palette index, OKLCH and OKHSL, mixing, and the escape
// sequences that show them. OKHSL follows Björn Ottosson's published
// definition (sRGB gamut, polynomial cusp fit).

const clamp01 = (value) => Math.min(1, Math.max(0, value));
const round = (value) => Math.round(clamp01(value) * 255);

/** A colour from red, green and blue, 0 to 255. */
export function rgbColor(r, g, b) {
  return { kind: "rgb", r, g, b };
}

/** A colour of the terminal's palette. */
export function indexedColor(index) {
  return { kind: "indexed", index };
}

/** A colour from lightness (0 to 1), chroma and hue in degrees. */
export function oklchColor(l, c, h) {
  return { kind: "oklch", l, c, h };
}

const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const gamma = (value) => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);

function rgbToOklab({ r, g, b }) {
  const [x, y, z] = [r, g, b].map((each) => linear(each / 255));
  const l = Math.cbrt(0.4122214708 * x + 0.5363325363 * y + 0.0514459929 * z);
  const m = Math.cbrt(0.2119034982 * x + 0.6806995451 * y + 0.1073969566 * z);
  const s = Math.cbrt(0.0883024619 * x + 0.2817188376 * y + 0.6299787005 * z);
  return {
    l: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    a: 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    b: 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  };
}

function oklabToLinear(lightness, a, b) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function oklabToRgb(l, a, b) {
  const [red, green, blue] = oklabToLinear(l, a, b).map((value) => round(gamma(Math.max(0, value))));
  return { r: red, g: green, b: blue };
}

function oklchToRgb({ l, c, h }) {
  const angle = (h * Math.PI) / 180;
  const fits = (chroma) => oklabToLinear(l, chroma * Math.cos(angle), chroma * Math.sin(angle)).every((v) => v >= -1e-4 && v <= 1 + 1e-4);
  let chroma = c;
  if (!fits(c)) {
    // Outside sRGB: keep lightness and hue, give up chroma.
    let low = 0;
    let high = c;
    for (let i = 0; i < 24; i++) {
      const middle = (low + high) / 2;
      if (fits(middle)) low = middle;
      else high = middle;
    }
    chroma = low;
  }
  return oklabToRgb(l, chroma * Math.cos(angle), chroma * Math.sin(angle));
}

const BASE16 = [
  [0, 0, 0], [128, 0, 0], [0, 128, 0], [128, 128, 0], [0, 0, 128], [128, 0, 128], [0, 128, 128], [192, 192, 192],
  [128, 128, 128], [255, 0, 0], [0, 255, 0], [255, 255, 0], [0, 0, 255], [255, 0, 255], [0, 255, 255], [255, 255, 255],
];
const CUBE = [0, 95, 135, 175, 215, 255];

function indexToRgb(index) {
  if (index < 16) {
    const [r, g, b] = BASE16[Math.max(0, index)];
    return { r, g, b };
  }
  if (index < 232) {
    const at = index - 16;
    return { r: CUBE[Math.floor(at / 36)], g: CUBE[Math.floor(at / 6) % 6], b: CUBE[at % 6] };
  }
  const grey = 8 + (Math.min(index, 255) - 232) * 10;
  return { r: grey, g: grey, b: grey };
}

/** Red, green and blue of any colour. */
export function colorToRgb(color) {
  if (color.kind === "indexed") return indexToRgb(color.index);
  if (color.kind === "oklch") return oklchToRgb(color);
  return { r: color.r, g: color.g, b: color.b };
}

/** `#rrggbb` of any colour. */
export function colorToHex(color) {
  const { r, g, b } = colorToRgb(color);
  return `#${[r, g, b].map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}

/** Lightness, chroma and hue of any colour. */
export function colorToOklch(color) {
  if (color.kind === "oklch") return { l: color.l, c: color.c, h: color.h };
  const { l, a, b } = rgbToOklab(colorToRgb(color));
  return { l, c: Math.hypot(a, b), h: ((Math.atan2(b, a) * 180) / Math.PI + 360) % 360 };
}

const K1 = 0.206;
const K2 = 0.03;
const K3 = (1 + K1) / (1 + K2);

/** OKHSL lightness of an OKLAB lightness. */
export function oklabToOkhslLightness(x) {
  const y = K3 * x - K1;
  return 0.5 * (y + Math.sqrt(y * y + 4 * K2 * K3 * x));
}

const toeInverse = (x) => (x * x + K1 * x) / (K3 * (x + K2));

/** The largest saturation of a hue in sRGB, by fit and one Halley step. */
function maxSaturation(a, b) {
  const [k0, k1, k2, k3, k4, wl, wm, ws] =
    -1.88170328 * a - 0.80936493 * b > 1
      ? [1.19086277, 1.76576728, 0.59662641, 0.75515197, 0.56771245, 4.0767416621, -3.3077115913, 0.2309699292]
      : 1.81444104 * a - 1.19445276 * b > 1
        ? [0.73956515, -0.45954404, 0.08285427, 0.1254107, 0.14503204, -1.2684380046, 2.6097574011, -0.3413193965]
        : [1.35733652, -0.00915799, -1.1513021, -0.50559606, 0.00692167, -0.0041960863, -0.7034186147, 1.707614701];
  const guess = k0 + k1 * a + k2 * b + k3 * a * a + k4 * a * b;
  const [kl, km, ks] = [0.3963377774 * a + 0.2158037573 * b, -0.1055613458 * a - 0.0638541728 * b, -0.0894841775 * a - 1.291485548 * b];
  const [l, m, s] = [1 + guess * kl, 1 + guess * km, 1 + guess * ks];
  const f = wl * l ** 3 + wm * m ** 3 + ws * s ** 3;
  const f1 = 3 * (wl * kl * l * l + wm * km * m * m + ws * ks * s * s);
  const f2 = 6 * (wl * kl * kl * l + wm * km * km * m + ws * ks * ks * s);
  return guess - (f * f1) / (f1 * f1 - 0.5 * f * f2);
}

function cuspOf(a, b) {
  const s = maxSaturation(a, b);
  const l = Math.cbrt(1 / Math.max(...oklabToLinear(1, s * a, s * b)));
  return { l, c: l * s };
}

/** The largest chroma at one lightness, found by bisection: exact enough for eight bits. */
function maxChroma(a, b, l) {
  let low = 0;
  let high = 0.5;
  for (let i = 0; i < 40; i++) {
    const middle = (low + high) / 2;
    if (oklabToLinear(l, middle * a, middle * b).every((value) => value >= 0 && value <= 1)) low = middle;
    else high = middle;
  }
  return low;
}

function chromaMarks(l, a, b) {
  const cusp = cuspOf(a, b);
  const most = maxChroma(a, b, l);
  const k = most / Math.min((l * cusp.c) / cusp.l, ((1 - l) * cusp.c) / (1 - cusp.l));
  const sMid = 0.11516993 + 1 / (7.4477897 + 4.1590124 * b + a * (-2.19557347 + 1.75198401 * b + a * (-2.13704948 - 10.02301043 * b + a * (-4.24894561 + 5.38770819 * b + 4.69891013 * a))));
  const tMid = 0.11239642 + 1 / (1.6132032 - 0.68124379 * b + a * (0.40370612 + 0.90148123 * b + a * (-0.27087943 + 0.6122399 * b + a * (0.00299215 - 0.45399568 * b - 0.14661872 * a))));
  const mid = 0.9 * k * (1 / ((l * sMid) ** -4 + ((1 - l) * tMid) ** -4)) ** 0.25;
  const zero = Math.sqrt(1 / ((l * 0.4) ** -2 + ((1 - l) * 0.8) ** -2));
  return { zero, mid, most };
}

/** A colour from OKHSL: hue in degrees, saturation and lightness 0 to 1. */
export function okhslColor(h, s, l) {
  if (l >= 1) return rgbColor(255, 255, 255);
  if (l <= 0) return rgbColor(0, 0, 0);
  const angle = (h * Math.PI) / 180;
  const [a, b] = [Math.cos(angle), Math.sin(angle)];
  const lightness = toeInverse(l);
  const { zero, mid, most } = chromaMarks(lightness, a, b);
  let c;
  if (s < 0.8) {
    const t = 1.25 * s;
    const k1 = 0.8 * zero;
    c = (t * k1) / (1 - (1 - k1 / mid) * t);
  } else {
    const t = (s - 0.8) / 0.2;
    const k1 = (0.2 * mid * mid * 1.5625) / zero;
    c = mid + (t * k1) / (1 - (1 - k1 / (most - mid)) * t);
  }
  return { kind: "rgb", ...oklabToRgb(lightness, c * a, c * b) };
}

/** Hue, saturation and lightness of any colour. */
export function colorToOkhsl(color) {
  const { l, c, h } = colorToOklch(color);
  if (c < 1e-6 || l <= 0 || l >= 1) return { h, s: 0, l: oklabToOkhslLightness(clamp01(l)) };
  const angle = (h * Math.PI) / 180;
  const { zero, mid, most } = chromaMarks(l, Math.cos(angle), Math.sin(angle));
  let s;
  if (c < mid) {
    const k1 = 0.8 * zero;
    s = 0.8 * (c / (k1 + (1 - k1 / mid) * c));
  } else {
    const k1 = (0.2 * mid * mid * 1.5625) / zero;
    s = 0.8 + 0.2 * ((c - mid) / (k1 + (1 - k1 / (most - mid)) * (c - mid)));
  }
  return { h, s: clamp01(s), l: oklabToOkhslLightness(l) };
}

/** A mix of two colours in OKLCH, by the shorter way around the hues. */
export function mixColors(from, to, amount) {
  const a = colorToOklch(from);
  const b = colorToOklch(to);
  let turn = (b.h - a.h) % 360;
  if (turn > 180) turn -= 360;
  if (turn < -180) turn += 360;
  const between = (x, y) => x + (y - x) * amount;
  return oklchColor(between(a.l, b.l), between(a.c, b.c), (((a.h + turn * amount) % 360) + 360) % 360);
}

/** A colour from text (`#rgb`, `#rrggbb`, `oklch(…)`, `okhsl(…)`) or a palette index. */
export function parseColor(value) {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255) return indexedColor(value);
  if (typeof value === "string") {
    const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(value)?.[1];
    if (hex) {
      const full = hex.length === 3 ? [...hex].map((char) => char + char).join("") : hex;
      return rgbColor(...[0, 2, 4].map((at) => parseInt(full.slice(at, at + 2), 16)));
    }
    const call = /^(oklch|okhsl)\(\s*([\d.+-]+)(%?)(?:deg)?[\s,]+([\d.+-]+)(%?)[\s,]+([\d.+-]+)(%?)(?:deg)?\s*\)$/i.exec(value);
    if (call) {
      const part = (at) => (call[at + 1] === "%" ? parseFloat(call[at]) / 100 : parseFloat(call[at]));
      const numbers = [part(2), part(4), part(6)];
      if (numbers.every(Number.isFinite)) return call[1].toLowerCase() === "oklch" ? oklchColor(...numbers) : okhslColor(...numbers);
    }
  }
  throw new Error(`Invalid color value: ${String(value)}`);
}

function nearestIndex({ r, g, b }) {
  const step = (value) => CUBE.reduce((best, each, at) => (Math.abs(each - value) < Math.abs(CUBE[best] - value) ? at : best), 0);
  const [x, y, z] = [step(r), step(g), step(b)];
  const distance = (other) => 0.299 * (r - other.r) ** 2 + 0.587 * (g - other.g) ** 2 + 0.114 * (b - other.b) ** 2;
  const cube = 16 + 36 * x + 6 * y + z;
  const mean = Math.round(0.299 * r + 0.587 * g + 0.114 * b);
  const grey = 232 + Math.min(23, Math.max(0, Math.round((mean - 8) / 10)));
  const spread = Math.max(r, g, b) - Math.min(r, g, b);
  return spread < 10 && distance(indexToRgb(grey)) < distance(indexToRgb(cube)) ? grey : cube;
}

function ansi(color, mode, base) {
  if (color.kind === "indexed") return `\x1b[${base};5;${color.index}m`;
  const rgb = colorToRgb(color);
  return mode === "truecolor" ? `\x1b[${base};2;${rgb.r};${rgb.g};${rgb.b}m` : `\x1b[${base};5;${nearestIndex(rgb)}m`;
}

/** The sequence that turns a text colour on. */
export function foregroundAnsi(color, mode) {
  return ansi(color, mode, 38);
}

/** The sequence that turns a background on. */
export function backgroundAnsi(color, mode) {
  return ansi(color, mode, 48);
}

const ATTRIBUTES = [["italic", 3, 23], ["underline", 4, 24], ["inverse", 7, 27], ["strikethrough", 9, 29]];

/** Text between the given colour sequences and attributes, each turned off again after it. */
export function styleTextWithAnsi(text, fgAnsi, bgAnsi, options) {
  const on = [];
  const off = [];
  const add = (open, close) => {
    on.push(open);
    if (close && off[0] !== close) off.unshift(close);
  };
  if (fgAnsi) add(fgAnsi, "\x1b[39m");
  if (bgAnsi) add(bgAnsi, "\x1b[49m");
  if (options.bold) add("\x1b[1m", "\x1b[22m");
  if (options.dim) add("\x1b[2m", "\x1b[22m");
  for (const [name, open, close] of ATTRIBUTES) if (options[name]) add(`\x1b[${open}m`, `\x1b[${close}m`);
  return on.join("") + text + off.join("");
}

/** Text in colours (`fg`, `bg`) and attributes. */
export function styleText(text, options, mode) {
  const fg = options.fg && foregroundAnsi(options.fg, mode);
  const bg = options.bg && backgroundAnsi(options.bg, mode);
  return styleTextWithAnsi(text, fg, bg, options);
}
