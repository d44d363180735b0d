// atob and btoa: text whose characters are bytes. `atob` is strict as the Infra standard says (whitespace is
// dropped, padding must be right), so the lenient native decoder only sees what was checked.
import { native } from "jackfield:host";
import { DOMException } from "jackfield:web/domexception";

export function btoa(data) {
  if (arguments.length === 0) throw missing("data");
  const text = `${data}`;
  if (/[^\0-\xff]/.test(text)) throw new DOMException("Invalid character", "InvalidCharacterError");
  return native("base64_encode", native("latin1_encode", text));
}

export function atob(data) {
  if (arguments.length === 0) throw missing("data");
  let text = `${data}`.replace(/[\t\n\f\r ]+/g, "");
  if (text.length % 4 === 0) text = text.replace(/==?$/, "");
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) {
    throw new DOMException("The string to be decoded is not correctly encoded.", "InvalidCharacterError");
  }
  return native("latin1_decode", native("base64_decode", text));
}

function missing(name) {
  const error = new TypeError(`The "${name}" argument must be specified`);
  error.code = "ERR_MISSING_ARGS";
  return error;
}
