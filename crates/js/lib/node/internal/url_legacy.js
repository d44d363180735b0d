// The old URL functions of node:url: parse into plain fields, format, resolve. They take what the WHATWG parser refuses
// (relative references, odd schemes), and keep the text nearly as it was.
import { native } from "jackfield:host";
import { nodeError, validateString } from "jackfield:node/internal/errors";
import querystring from "node:querystring";

const SLASHED = new Set(["http:", "https:", "ftp:", "gopher:", "file:", "ws:", "wss:"]);
const HOSTLESS = new Set(["javascript:"]);
const FIELDS = ["protocol", "slashes", "auth", "host", "port", "hostname", "hash", "search", "query", "pathname", "path", "href"];

export function Url() {
  for (const field of FIELDS) this[field] = null;
}

// Characters that are escaped wherever they stand after the host.
const ESCAPES = /[\t\n\r "'<>\\^`{|}]/g;
const escapeRest = (text) => text.replace(ESCAPES, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);

function splitAuthority(rest) {
  let end = rest.search(/[/?#]/);
  if (end === -1) end = rest.length;
  const at = rest.lastIndexOf("@", end);
  const auth = at === -1 || at > end ? null : rest.slice(0, at);
  let host = auth === null ? rest.slice(0, end) : rest.slice(at + 1, end);
  let path = rest.slice(end);
  // A character that no host can have ends it.
  const bad = host.search(/[\t\n\r "'<>\\^`{|}%;]/);
  if (bad !== -1) {
    path = host.slice(bad) + path;
    host = host.slice(0, bad);
  }
  return { auth, host, path };
}

function invalidUrl(input) {
  return Object.assign(nodeError(TypeError, "ERR_INVALID_URL", "Invalid URL"), { input });
}

export function parse(input, withQuery = false, slashesDenoteHost = false) {
  if (input instanceof Url) return input;
  validateString(input, "url");
  const out = new Url();
  // Backslashes before the query are slashes.
  const cut = input.search(/[?#]/);
  let rest = (cut === -1 ? input : input.slice(0, cut)).replaceAll("\\", "/") + (cut === -1 ? "" : input.slice(cut));
  rest = rest.trim();
  const scheme = /^[a-z0-9.+-]+:/i.exec(rest);
  let protocol = "";
  if (scheme) {
    protocol = scheme[0].toLowerCase();
    out.protocol = protocol;
    rest = rest.slice(scheme[0].length);
  }
  let slashes = false;
  if (slashesDenoteHost || scheme || /^\/\/[^@/]+@[^@/]+/.test(rest)) {
    slashes = rest.startsWith("//") && !HOSTLESS.has(protocol);
    if (slashes) {
      rest = rest.slice(2);
      out.slashes = true;
    }
  }
  if (!HOSTLESS.has(protocol) && (slashes || (protocol !== "" && !SLASHED.has(protocol)))) {
    const { auth, host, path } = splitAuthority(rest);
    rest = path;
    if (auth !== null) out.auth = decodeURIComponent(auth);
    const port = /:(\d*)$/.exec(host);
    let hostname = port ? host.slice(0, -port[0].length) : host;
    if (port && port[1] !== "") out.port = port[1];
    const bracketed = hostname.startsWith("[") && hostname.endsWith("]");
    hostname = hostname.toLowerCase();
    const colon = bracketed ? -1 : hostname.indexOf(":");
    if (colon !== -1) {
      rest = `/${hostname.slice(colon)}${rest}`;
      hostname = hostname.slice(0, colon);
    }
    if (!bracketed && hostname !== "" && /[^\x20-\x7e]/.test(hostname)) {
      hostname = native("domain_to_ascii", hostname);
      if (!hostname) throw invalidUrl(input);
    }
    if (!bracketed && /[\0\t\n\r #%/:<>?@[\\\]^|]/.test(hostname)) throw invalidUrl(input);
    out.host = hostname + (out.port ? `:${out.port}` : "");
    out.hostname = bracketed ? hostname.slice(1, -1) : hostname;
    if (rest !== "" && rest[0] !== "/" && !/^[?#]/.test(rest)) rest = `/${rest}`;
  }
  if (!HOSTLESS.has(protocol)) rest = escapeRest(rest);
  const hash = rest.indexOf("#");
  if (hash !== -1) {
    out.hash = rest.slice(hash);
    rest = rest.slice(0, hash);
  }
  const query = rest.indexOf("?");
  if (query !== -1) {
    out.search = rest.slice(query);
    out.query = rest.slice(query + 1);
    if (withQuery) out.query = querystring.parse(out.query);
    rest = rest.slice(0, query);
  } else if (withQuery) {
    out.search = null;
    out.query = Object.create(null);
  }
  if (rest !== "") out.pathname = rest;
  else if (SLASHED.has(protocol) && out.hostname) out.pathname = "/";
  if (out.pathname || out.search) out.path = (out.pathname ?? "") + (out.search ?? "");
  out.href = formatLegacy(out);
  return out;
}

export function formatLegacy(value) {
  let { protocol = "", pathname = "", hash = "", search = "" } = value;
  protocol ??= "";
  pathname ??= "";
  hash ??= "";
  search ??= "";
  const auth = value.auth ? `${encodeURIComponent(value.auth).replace(/%3A/i, ":")}@` : "";
  let host = "";
  if (value.host) host = auth + value.host;
  else if (value.hostname) {
    const bare = value.hostname.includes(":") && !value.hostname.startsWith("[") ? `[${value.hostname}]` : value.hostname;
    host = auth + bare + (value.port ? `:${value.port}` : "");
  }
  const query = value.query !== null && typeof value.query === "object" ? querystring.stringify(value.query) : "";
  if (search === "" && query !== "") search = `?${query}`;
  if (protocol && !protocol.endsWith(":")) protocol += ":";
  pathname = pathname.replace(/[?#]/g, (c) => (c === "?" ? "%3F" : "%23"));
  if (value.slashes || SLASHED.has(protocol)) {
    if (value.slashes || host !== "") {
      if (pathname && !pathname.startsWith("/")) pathname = `/${pathname}`;
      host = `//${host}`;
    } else if (protocol === "file:") host = "//";
  }
  if (hash && !hash.startsWith("#")) hash = `#${hash}`;
  if (search && !search.startsWith("?")) search = `?${search}`;
  return protocol + host + pathname + search.replaceAll("#", "%23") + hash;
}
Url.prototype.format = function () { return formatLegacy(this); };
Url.prototype.parse = function (url, withQuery, slashes) { return Object.assign(this, parse(url, withQuery, slashes)); };
Url.prototype.resolve = function (relative) { return resolveObject(this, relative).href; };
Url.prototype.resolveObject = function (relative) { return resolveObject(this, relative); };

function mergePaths(base, relative, hasHost) {
  let path;
  if (relative.startsWith("/")) path = relative;
  else {
    const directory = base.slice(0, base.lastIndexOf("/") + 1);
    path = (hasHost && directory === "" ? "/" : directory) + relative;
  }
  const rooted = path.startsWith("/");
  const out = [];
  const parts = path.split("/");
  parts.forEach((part, i) => {
    const isLast = i === parts.length - 1;
    if (part === "..") {
      if (out.length > (rooted ? 1 : 0) && out[out.length - 1] !== "..") out.pop();
      else if (!rooted && !hasHost) out.push("..");
      if (isLast) out.push("");
    } else if (part === ".") {
      if (isLast) out.push("");
    } else out.push(part);
  });
  return out.join("/");
}

export function resolveObject(from, to) {
  const base = typeof from === "string" ? parse(from, false, true) : from;
  const relative = typeof to === "string" ? parse(to, false, true) : to;
  const out = new Url();
  Object.assign(out, base, { hash: relative.hash });
  if (relative.href === "") {
    out.href = formatLegacy(out);
    return out;
  }
  const finish = () => {
    out.path = out.pathname || out.search ? (out.pathname ?? "") + (out.search ?? "") : null;
    out.href = formatLegacy(out);
    return out;
  };
  if (relative.protocol && relative.protocol !== base.protocol) {
    Object.assign(out, relative);
    return finish();
  }
  if (relative.slashes && relative.host !== null) {
    Object.assign(out, relative, { protocol: base.protocol, slashes: true });
    if (out.pathname) out.pathname = mergePaths("", out.pathname, true);
    return finish();
  }
  if (!relative.pathname) {
    if (relative.search !== null) Object.assign(out, { search: relative.search, query: relative.query });
    return finish();
  }
  Object.assign(out, {
    pathname: mergePaths(base.pathname ?? "", relative.pathname, Boolean(base.host) || (base.slashes && SLASHED.has(base.protocol))),
    search: relative.search,
    query: relative.query,
  });
  return finish();
}

export const resolve = (from, to) => resolveObject(from, to).href;
