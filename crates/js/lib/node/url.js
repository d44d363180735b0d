// node:url: the WHATWG classes, file URLs, and the functions around them. The old parser (parse, format of its objects,
// resolve) is in a part of its own.
import { info, native } from "jackfield:host";
import { invalidArgType, nodeError, validateString } from "jackfield:node/internal/errors";
import { Url, formatLegacy, parse, resolve, resolveObject } from "jackfield:node/internal/url_legacy";
import { URL, URLSearchParams } from "jackfield:web/url";
import { resolve as resolvePath } from "node:path";
import { toUnicode } from "node:punycode";

const typeErrorOf = (code, message) => nodeError(TypeError, code, message);
const isUrl = (value) => Boolean(value?.href && value.protocol && value.auth === undefined && value.path === undefined);

export function fileURLToPath(input, options) {
  let url = input;
  if (typeof url === "string") url = new URL(url);
  else if (!isUrl(url)) throw invalidArgType("path", ["string", "URL"], url);
  if (url.protocol !== "file:") throw typeErrorOf("ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
  if (options?.windows) return windowsPath(url);
  if (url.hostname !== "") throw typeErrorOf("ERR_INVALID_FILE_URL_HOST", `File URL host must be "localhost" or empty on ${info.platform}`);
  if (/%2f/i.test(url.pathname)) throw typeErrorOf("ERR_INVALID_FILE_URL_PATH", "File URL path must not include encoded / characters");
  return decodeURIComponent(url.pathname);
}

function windowsPath(url) {
  if (/%2f|%5c/i.test(url.pathname)) throw typeErrorOf("ERR_INVALID_FILE_URL_PATH", "File URL path must not include encoded \\ or / characters");
  const path = decodeURIComponent(url.pathname.replaceAll("/", "\\"));
  if (url.hostname !== "") return `\\\\${domainToUnicode(url.hostname)}${path}`;
  if (!/^\\[a-zA-Z]:/.test(path)) throw typeErrorOf("ERR_INVALID_FILE_URL_PATH", "File URL path must be absolute");
  return path.slice(1);
}

const ESCAPED = { "%": "%25", "\\": "%5C", "\n": "%0A", "\r": "%0D", "\t": "%09", "?": "%3F", "#": "%23" };

export function pathToFileURL(path) {
  validateString(path, "path");
  let full = resolvePath(path);
  // The slash at the end says that it is a directory, and resolving takes it away.
  if (path.endsWith("/") && !full.endsWith("/")) full += "/";
  return new URL(`file://${full.replace(/[%\\\n\r\t?#]/g, (c) => ESCAPED[c])}`);
}

export function urlToHttpOptions(url) {
  const { hostname, pathname, port, username, password, search } = url;
  const options = {
    __proto__: null,
    ...url,
    protocol: url.protocol,
    hostname: hostname?.startsWith("[") ? hostname.slice(1, -1) : hostname,
    hash: url.hash,
    search,
    pathname,
    path: `${pathname || ""}${search || ""}`,
    href: url.href,
  };
  if (port !== "") options.port = Number(port);
  if (username || password) options.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return options;
}

export const domainToASCII = (domain) => native("domain_to_ascii", `${domain}`) ?? "";
export const domainToUnicode = (domain) => {
  const ascii = domainToASCII(domain);
  return ascii === "" ? "" : toUnicode(ascii);
};

export function format(value, options) {
  if (typeof value === "string") return formatLegacy(parse(value));
  if (value === null || typeof value !== "object") throw invalidArgType("urlObject", ["Object", "string"], value);
  if (!(value instanceof URL)) return formatLegacy(value);
  const { auth = true, fragment = true, search = true, unicode = false } = options ?? {};
  let text = value.protocol;
  const host = unicode ? value.host.replace(value.hostname, domainToUnicode(value.hostname)) : value.host;
  if (value.host !== "" || value.href.startsWith(`${value.protocol}//`)) text += "//";
  if (auth && (value.username || value.password)) text += `${value.username}${value.password ? `:${value.password}` : ""}@`;
  return `${text}${host}${value.pathname}${search ? value.search : ""}${fragment ? value.hash : ""}`;
}

export { URL, URLSearchParams, Url, parse, resolve, resolveObject };
export default {
  fileURLToPath, pathToFileURL, urlToHttpOptions, domainToASCII, domainToUnicode, format,
  get URL() { return URL; },
  get URLSearchParams() { return URLSearchParams; },
  get Url() { return Url; },
  get parse() { return parse; },
  get resolve() { return resolve; },
  get resolveObject() { return resolveObject; },
};
