// LaTeX as Unicode text, on one line: Greek letters, operators, fractions,
// roots, super- and subscripts, accents. Anything else, and layouts that need
// two dimensions, are left as they were written.

const SYMBOLS = {
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", varepsilon: "ε", zeta: "ζ", eta: "η", theta: "θ",
  vartheta: "ϑ", iota: "ι", kappa: "κ", lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ",
  upsilon: "υ", phi: "φ", varphi: "φ", chi: "χ", psi: "ψ", omega: "ω", Gamma: "Γ", Delta: "Δ", Theta: "Θ", Lambda: "Λ",
  Xi: "Ξ", Pi: "Π", Sigma: "Σ", Phi: "Φ", Psi: "Ψ", Omega: "Ω", infty: "∞", partial: "∂", nabla: "∇", sum: "∑",
  prod: "∏", int: "∫", oint: "∮", cdot: "·", times: "×", div: "÷", pm: "±", mp: "∓", le: "≤", leq: "≤", ge: "≥", geq: "≥",
  ne: "≠", neq: "≠", approx: "≈", equiv: "≡", sim: "∼", propto: "∝", to: "→", rightarrow: "→", leftarrow: "←",
  Rightarrow: "⇒", Leftarrow: "⇐", leftrightarrow: "↔", Leftrightarrow: "⇔", iff: "⇔", implies: "⇒", mapsto: "↦",
  in: "∈", notin: "∉", ni: "∋", subset: "⊂", subseteq: "⊆", supset: "⊃", supseteq: "⊇", cup: "∪", cap: "∩",
  emptyset: "∅", varnothing: "∅", forall: "∀", exists: "∃", neg: "¬", lnot: "¬", land: "∧", wedge: "∧", lor: "∨", vee: "∨",
  oplus: "⊕", otimes: "⊗", perp: "⊥", parallel: "∥", angle: "∠", degree: "°", circ: "∘", bullet: "•", star: "⋆",
  ldots: "…", dots: "…", cdots: "⋯", vdots: "⋮", hbar: "ℏ", ell: "ℓ", Re: "ℜ", Im: "ℑ", aleph: "ℵ", prime: "′",
  langle: "⟨", rangle: "⟩", lfloor: "⌊", rfloor: "⌋", lceil: "⌈", rceil: "⌉", ll: "≪", gg: "≫", mid: "|", setminus: "∖",
  quad: "  ", qquad: "    ", lbrace: "{", rbrace: "}", backslash: "\\", top: "⊤", bot: "⊥", vdash: "⊢", models: "⊨",
};
const WORDS = new Set("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln exp lim max min sup inf det dim ker gcd deg arg mod Pr".split(" "));
const ACCENTS = { hat: "\u0302", bar: "\u0304", vec: "\u20d7", dot: "\u0307", ddot: "\u0308", tilde: "\u0303", overline: "\u0305", underline: "\u0332" };
const BLACKBOARD = { C: "ℂ", H: "ℍ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ", E: "𝔼", F: "𝔽" };
const PLAIN = new Set(["text", "mathrm", "mathbf", "mathit", "mathsf", "mathcal", "operatorname", "textbf", "textit", "mbox", "boldsymbol"]);
const up = "0⁰1¹2²3³4⁴5⁵6⁶7⁷8⁸9⁹+⁺-⁻=⁼(⁽)⁾aᵃbᵇcᶜdᵈeᵉfᶠgᵍhʰiⁱjʲkᵏlˡmᵐnⁿoᵒpᵖrʳsˢtᵗuᵘvᵛwʷxˣyʸzᶻ";
const down = "0₀1₁2₂3₃4₄5₅6₆7₇8₈9₉+₊-₋=₌(₍)₎aₐeₑhₕiᵢjⱼkₖlₗmₘnₙoₒpₚrᵣsₛtₜuᵤvᵥxₓ";
const tableOf = (text) => new Map(Array.from({ length: [...text].length / 2 }, (_, i) => [[...text][i * 2], [...text][i * 2 + 1]]));
let scripts;

function script(text, mark) {
  scripts ??= { "^": tableOf(up), _: tableOf(down) };
  const out = [...text].map((char) => scripts[mark].get(char));
  if (out.every((char) => char !== undefined)) return out.join("");
  return [...text].length === 1 || mark === "_" ? mark + text : `${mark}(${text})`;
}

class Unknown extends Error {}

class Reader {
  constructor(source) {
    this.source = source;
    this.at = 0;
    this.depth = 0;
  }

  all(until) {
    let out = "";
    if (++this.depth > 60) throw new Unknown();
    while (this.at < this.source.length && this.source[this.at] !== until) out += this.item();
    this.depth -= 1;
    return out;
  }

  group() {
    while (this.source[this.at] === " ") this.at += 1;
    if (this.source[this.at] !== "{") return this.item();
    this.at += 1;
    const inner = this.all("}");
    if (this.source[this.at] !== "}") throw new Unknown();
    this.at += 1;
    return inner;
  }

  item() {
    const char = this.source[this.at];
    if (char === undefined) throw new Unknown();
    if (char === "{") return this.group();
    if (char === "}" || char === "&") throw new Unknown();
    this.at += 1;
    if (char === "\\") return this.command();
    if (char === "^" || char === "_") return script(this.group(), char);
    return char === "~" ? " " : char;
  }

  command() {
    const name = /^[a-zA-Z]+/.exec(this.source.slice(this.at))?.[0];
    if (!name) {
      const char = this.source[this.at++];
      if (char === undefined || char === "\\") throw new Unknown();
      return ",;: ".includes(char) ? " " : char === "!" ? "" : char;
    }
    this.at += name.length;
    if (Object.hasOwn(SYMBOLS, name)) return SYMBOLS[name];
    if (WORDS.has(name)) return name;
    if (PLAIN.has(name)) return this.raw();
    if (name === "mathbb") return [...this.group()].map((char) => BLACKBOARD[char] ?? char).join("");
    if (Object.hasOwn(ACCENTS, name)) return [...this.group()].map((char) => char + ACCENTS[name]).join("");
    if (name === "left" || name === "right") return this.source[this.at] === "." ? ((this.at += 1), "") : this.item();
    if (name === "frac" || name === "dfrac" || name === "tfrac") return `${paren(this.group())}/${paren(this.group())}`;
    if (name === "sqrt") return this.root();
    throw new Unknown();
  }

  raw() {
    const text = this.source.slice(this.at);
    const match = /^\s*\{([^{}\\]*)\}/.exec(text);
    if (!match) return this.group();
    this.at += match[0].length;
    return match[1];
  }

  root() {
    const degree = /^\[(\d)\]/.exec(this.source.slice(this.at));
    if (degree) this.at += degree[0].length;
    const sign = { 2: "√", 3: "∛", 4: "∜" }[degree?.[1] ?? 2];
    if (!sign) throw new Unknown();
    return sign + paren(this.group());
  }
}

const paren = (text) => ([...text].length === 1 || /^[\p{L}\p{N}.]+$/u.test(text) ? text : `(${text})`);

/** One-line Unicode for LaTeX, or undefined when it cannot be written that way. */
export function renderLatex(source, _options) {
  try {
    const reader = new Reader(source.trim());
    const out = reader.all();
    return reader.at < reader.source.length ? undefined : out;
  } catch (error) {
    if (error instanceof Unknown) return undefined;
    throw error;
  }
}

/** Replaces the formulas of a Markdown text that can be written in Unicode; code stays. */
export function replaceLatex(markdown) {
  if (!/[$]|\\[([]/.test(markdown)) return markdown;
  const formula = /(```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]*`)|\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\]|\\\((.+?)\\\)|(?<![\\$\w])\$(?![\s$])((?:\\.|[^$\n\\])+?)(?<!\s)\$(?![\d$\w])/g;
  return markdown.replace(formula, (whole, code, ...parts) => {
    if (code !== undefined) return whole;
    const source = parts.slice(0, 4).find((part) => part !== undefined);
    const text = source === undefined ? undefined : renderLatex(source);
    // What would read as Markdown again is shielded.
    return text === undefined ? whole : text.replace(/([*_`[\]])/g, "\\$1");
  });
}
