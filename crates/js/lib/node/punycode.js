// node:punycode: RFC 3492 and the small Unicode functions around it.
const BASE = 36;
const T_MIN = 1;
const T_MAX = 26;
const SKEW = 38;
const DAMP = 700;
const START_BIAS = 72;
const START = 128;
const DOTS = /[\u002E\u3002\uFF0E\uFF61]/;

const adapt = (deltaIn, count, first) => {
  let delta = first ? Math.floor(deltaIn / DAMP) : deltaIn >> 1;
  delta += Math.floor(delta / count);
  let k = 0;
  for (; delta > ((BASE - T_MIN) * T_MAX) >> 1; k += BASE) delta = Math.floor(delta / (BASE - T_MIN));
  return Math.floor(k + ((BASE - T_MIN + 1) * delta) / (delta + SKEW));
};
const limit = (k, bias) => Math.min(Math.max(k - bias, T_MIN), T_MAX);
const digitText = (d) => String.fromCharCode(d < 26 ? d + 97 : d + 22);
const digitOf = (code) => {
  if (code >= 48 && code < 58) return code - 22;
  if (code >= 65 && code < 91) return code - 65;
  return code >= 97 && code < 123 ? code - 97 : BASE;
};
const invalid = (text) => new RangeError(text);

export const ucs2 = {
  decode: (text) => Array.from(text, (c) => c.codePointAt(0)),
  encode: (points) => points.map((p) => String.fromCodePoint(p)).join(""),
};

export function decode(input) {
  const out = [];
  const hyphen = Math.max(input.lastIndexOf("-"), 0);
  for (let i = 0; i < hyphen; i++) {
    if (input.charCodeAt(i) >= 0x80) throw invalid("Illegal input >= 0x80 (not a basic code point)");
    out.push(input.charCodeAt(i));
  }
  let n = START;
  let i = 0;
  let bias = START_BIAS;
  for (let at = hyphen > 0 ? hyphen + 1 : 0; at < input.length;) {
    const before = i;
    for (let weight = 1, k = BASE; ; k += BASE) {
      if (at >= input.length) throw invalid("Invalid input");
      const digit = digitOf(input.charCodeAt(at++));
      if (digit >= BASE) throw invalid("Invalid input");
      if (digit > Math.floor((0x7fffffff - i) / weight)) throw invalid("Overflow: input needs wider integers to process");
      i += digit * weight;
      const t = limit(k, bias);
      if (digit < t) break;
      weight *= BASE - t;
    }
    const length = out.length + 1;
    bias = adapt(i - before, length, before === 0);
    n += Math.floor(i / length);
    i %= length;
    out.splice(i++, 0, n);
  }
  return String.fromCodePoint(...out);
}

export function encode(input) {
  const points = ucs2.decode(input);
  let out = points.filter((p) => p < 0x80).map((p) => String.fromCharCode(p)).join("");
  const basic = out.length;
  let handled = basic;
  if (basic > 0) out += "-";
  let n = START;
  let delta = 0;
  let bias = START_BIAS;
  while (handled < points.length) {
    const next = points.reduce((least, p) => (p >= n && p < least ? p : least), 0x7fffffff);
    if (next - n > Math.floor((0x7fffffff - delta) / (handled + 1))) throw invalid("Overflow: input needs wider integers to process");
    delta += (next - n) * (handled + 1);
    n = next;
    for (const point of points) {
      if (point < n) delta++;
      if (point !== n) continue;
      let q = delta;
      for (let k = BASE; ; k += BASE) {
        const t = limit(k, bias);
        if (q < t) break;
        out += digitText(t + ((q - t) % (BASE - t)));
        q = Math.floor((q - t) / (BASE - t));
      }
      out += digitText(q);
      bias = adapt(delta, handled + 1, handled === basic);
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return out;
}

const eachLabel = (domain, change) => {
  const at = domain.lastIndexOf("@");
  const head = at === -1 ? "" : domain.slice(0, at + 1);
  return head + domain.slice(at + 1).split(DOTS).map(change).join(".");
};
// eslint-disable-next-line no-control-regex
export const toASCII = (domain) => eachLabel(domain, (label) => (/[^\0-\x7F]/.test(label) ? `xn--${encode(label)}` : label));
export const toUnicode = (domain) => eachLabel(domain, (label) => (/^xn--/.test(label) ? decode(label.slice(4).toLowerCase()) : label));
export const version = "2.1.0";
export default { version, ucs2, decode, encode, toASCII, toUnicode };
