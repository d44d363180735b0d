// STATUS_CODES, METHODS and the checks of header names and values.
import { invalidArgType, nodeError } from "jackfield:node/internal/io_errors";

export const STATUS_CODES = {
  100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints", 200: "OK", 201: "Created", 202: "Accepted",
  203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported",
  226: "IM Used", 300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 305: "Use Proxy",
  307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden",
  404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict",
  410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Payload Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
  416: "Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a Teapot", 421: "Misdirected Request", 422: "Unprocessable Entity", 423: "Locked",
  424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
  431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 501: "Not Implemented",
  502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
  507: "Insufficient Storage", 508: "Loop Detected", 509: "Bandwidth Limit Exceeded", 510: "Not Extended", 511: "Network Authentication Required",
};

export const METHODS = [
  "ACL", "BIND", "CHECKOUT", "CONNECT", "COPY", "DELETE", "GET", "HEAD", "LINK", "LOCK", "M-SEARCH", "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL",
  "MOVE", "NOTIFY", "OPTIONS", "PATCH", "POST", "PROPFIND", "PROPPATCH", "PURGE", "PUT", "QUERY", "REBIND", "REPORT", "SEARCH", "SOURCE", "SUBSCRIBE",
  "TRACE", "UNBIND", "UNLINK", "UNLOCK", "UNSUBSCRIBE",
];

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

export const isToken = (text) => typeof text === "string" && TOKEN.test(text);
export const hasBadValue = (text) => BAD_VALUE.test(text);

export function validateHeaderName(name, label = "Header name") {
  if (!isToken(name)) throw nodeError(TypeError, "ERR_INVALID_HTTP_TOKEN", `${label} must be a valid HTTP token ["${name}"]`);
}

export function validateHeaderValue(name, value) {
  if (value === undefined) throw nodeError(TypeError, "ERR_HTTP_INVALID_HEADER_VALUE", `Invalid value "${value}" for header "${name}"`);
  if (hasBadValue(`${value}`)) throw nodeError(TypeError, "ERR_INVALID_CHAR", `Invalid character in header content ["${name}"]`);
}

/** Headers as a caller may give them (object, pairs, flat list) as pairs; a list value stands for several headers. */
export function toPairs(headers) {
  if (headers == null) return [];
  if (Array.isArray(headers)) {
    if (headers.length > 0 && Array.isArray(headers[0])) return headers.map(([name, value]) => [name, value]);
    if (headers.length % 2 !== 0) throw nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'headers' is invalid. Received an odd number of items`);
    const pairs = [];
    for (let i = 0; i < headers.length; i += 2) pairs.push([headers[i], headers[i + 1]]);
    return pairs;
  }
  if (typeof headers !== "object") throw invalidArgType("headers", "of type object", headers);
  return Object.entries(headers);
}

// Of these only the first counts; the others of one name are joined.
const SINGLE = new Set([
  "age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host", "if-modified-since", "if-unmodified-since",
  "last-modified", "location", "max-forwards", "proxy-authorization", "referer", "retry-after", "server", "user-agent",
]);

/** Headers by lower case name, as IncomingMessage shows them. */
export function collect(raw, joinDuplicate) {
  const headers = {};
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    const value = raw[i + 1];
    if (name === "set-cookie") {
      if (Object.hasOwn(headers, name)) headers[name].push(value);
      else put(headers, name, [value]);
    } else if (!Object.hasOwn(headers, name)) {
      put(headers, name, value);
    } else if (name === "cookie") {
      headers[name] += `; ${value}`;
    } else if (joinDuplicate || !SINGLE.has(name)) {
      headers[name] += `, ${value}`;
    }
  }
  return headers;
}

// `__proto__` is a name like any other.
function put(target, name, value) {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
}

export function collectDistinct(raw) {
  const headers = {};
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    if (Object.hasOwn(headers, name)) headers[name].push(raw[i + 1]);
    else put(headers, name, [raw[i + 1]]);
  }
  return headers;
}
