// util.MIMEType and util.MIMEParams: parsing and writing of media types.
import { typeError } from "jackfield:node/internal/errors";

const TOKEN = /^[!#$%&'*+\-.^_`|~A-Za-z0-9]+$/;
const QUOTED = /^[\t\x20-\x7e\x80-\xff]*$/;
const bad = (what, text) => typeError("ERR_INVALID_MIME_SYNTAX", `The MIME syntax for a ${what} in ${JSON.stringify(text)} is invalid`);

export class MIMEParams {
  #map = new Map();
  static _parse(text) {
    const params = new MIMEParams();
    let rest = text;
    while (rest !== "") {
      rest = rest.replace(/^[\t\n\r ;]+/, "");
      const match = /^([^;=]*)(=?)/.exec(rest);
      const name = match[1].trim().toLowerCase();
      rest = rest.slice(match[0].length);
      let value = null;
      if (match[2] === "=") {
        const quoted = /^"((?:[^"\\]|\\[\s\S])*)(?:"|$)[^;]*/.exec(rest);
        const plain = /^[^;]*/.exec(rest);
        value = quoted ? quoted[1].replace(/\\([\s\S])/g, "$1") : plain[0].replace(/[\t\n\r ]+$/, "");
        rest = rest.slice((quoted ?? plain)[0].length);
        if (!quoted && value === "") continue;
      }
      if (value !== null && TOKEN.test(name) && QUOTED.test(value) && !params.#map.has(name)) params.#map.set(name, value);
    }
    return params;
  }
  delete(name) { this.#map.delete(`${name}`); }
  get(name) { return this.#map.get(`${name}`) ?? null; }
  has(name) { return this.#map.has(`${name}`); }
  set(name, value) {
    const key = `${name}`;
    const text = `${value}`;
    if (!TOKEN.test(key)) throw bad("parameter name", key);
    if (!QUOTED.test(text)) throw bad("parameter value", text);
    this.#map.set(key, text);
  }
  *entries() { yield* this.#map.entries(); }
  *keys() { yield* this.#map.keys(); }
  *values() { yield* this.#map.values(); }
  [Symbol.iterator]() { return this.entries(); }
  toString() {
    return [...this.#map].map(([k, v]) => `${k}=${TOKEN.test(v) ? v : `"${v.replace(/["\\]/g, "\\$&")}"`}`).join(";");
  }
  toJSON() { return this.toString(); }
}

export class MIMEType {
  #type;
  #subtype;
  #params;
  constructor(input) {
    const text = `${input}`.trim();
    const [, type, subtype, rest] = /^([^/]*)\/([^;]*)(.*)$/s.exec(text) ?? ["", "", "", ""];
    if (!TOKEN.test(type)) throw bad("type", text);
    const sub = subtype.replace(/[\t\n\r ]+$/, "");
    if (!TOKEN.test(sub)) throw bad("subtype", text);
    this.#type = type.toLowerCase();
    this.#subtype = sub.toLowerCase();
    this.#params = MIMEParams._parse(rest);
  }
  get type() { return this.#type; }
  set type(value) {
    if (!TOKEN.test(`${value}`)) throw bad("type", `${value}`);
    this.#type = `${value}`.toLowerCase();
  }
  get subtype() { return this.#subtype; }
  set subtype(value) {
    if (!TOKEN.test(`${value}`)) throw bad("subtype", `${value}`);
    this.#subtype = `${value}`.toLowerCase();
  }
  get essence() { return `${this.#type}/${this.#subtype}`; }
  get params() { return this.#params; }
  toString() {
    const params = this.#params.toString();
    return params === "" ? this.essence : `${this.essence};${params}`;
  }
  toJSON() { return this.toString(); }
}
