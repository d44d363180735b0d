// Request of fetch. Modes, credentials, cache and referrer are kept and shown but mean nothing outside a browser.
import { Body, bodies, extractBody } from "jackfield:web/body";
import { Headers } from "jackfield:web/headers";
import { URL } from "jackfield:web/url";
import { AbortController, AbortSignal } from "jackfield:web/abort";

const UPPER = new Set(["delete", "get", "head", "options", "post", "put"]);

export class Request extends Body {
  #url; #method; #headers; #redirect; #signal; #rest;
  constructor(input, init = undefined) {
    super();
    if (arguments.length === 0) throw new TypeError("Request constructor: 1 argument required, but only 0 present.");
    const from = input !== null && typeof input === "object" && #url in input ? input : null;
    const options = init ?? {};
    this.#url = from ? from.#url : urlOf(input);
    const method = options.method === undefined ? (from?.method ?? "GET") : `${options.method}`;
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(method)) throw new TypeError(`'${method}' is not a valid HTTP method.`);
    if (/^(connect|trace|track)$/i.test(method)) throw new TypeError(`'${method}' HTTP method is unsupported.`);
    this.#method = UPPER.has(method.toLowerCase()) ? method.toUpperCase() : method;
    this.#headers = new Headers(options.headers ?? from?.headers);
    this.#redirect = options.redirect ?? from?.redirect ?? "follow";
    if (!["follow", "manual", "error"].includes(this.#redirect)) throw new TypeError(`Request constructor: ${this.#redirect} is not an accepted type. Expected one of follow, error, manual.`);
    if (options.signal !== undefined && options.signal !== null && !(typeof options.signal === "object" && "aborted" in options.signal && typeof options.signal.addEventListener === "function")) {
      throw new TypeError("Failed to construct 'Request': member signal is not of type AbortSignal.");
    }
    const signal = options.signal === undefined ? from?.signal : options.signal;
    this.#signal = signal ?? null;
    this.#rest = {
      mode: options.mode ?? from?.mode ?? "cors",
      credentials: options.credentials ?? from?.credentials ?? "same-origin",
      cache: options.cache ?? from?.cache ?? "default",
      referrer: options.referrer ?? from?.referrer ?? "about:client",
      referrerPolicy: options.referrerPolicy ?? from?.referrerPolicy ?? "",
      integrity: options.integrity ?? from?.integrity ?? "",
      keepalive: Boolean(options.keepalive ?? from?.keepalive ?? false),
      duplex: options.duplex ?? "half",
    };
    const body = options.body;
    const none = this.#method === "GET" || this.#method === "HEAD";
    if (body !== undefined && body !== null) {
      if (none) throw new TypeError("Request with GET/HEAD method cannot have body.");
      const held = extractBody(body);
      if (held.stream && options.duplex === undefined) throw new TypeError("RequestInit: duplex option is required when sending a body.");
      bodies.hold(this, held);
      if (held.type && !this.#headers.has("content-type")) this.#headers.append("content-type", held.type);
    } else if (from && bodies.held(from) && body !== null) {
      if (none) throw new TypeError("Request with GET/HEAD method cannot have body.");
      if (bodies.unusable(from)) throw new TypeError("Cannot construct a Request with a Request object that has already been used.");
      bodies.hold(this, bodies.held(from));
      bodies.use(from);
    }
  }
  get url() { return this.#url.href; }
  get method() { return this.#method; }
  get headers() { return this.#headers; }
  get redirect() { return this.#redirect; }
  // A request always has a signal; one that nobody can abort is made only when it is looked at.
  get signal() { return (this.#signal ??= new AbortController().signal); }
  get mode() { return this.#rest.mode; }
  get credentials() { return this.#rest.credentials; }
  get cache() { return this.#rest.cache; }
  get referrer() { return this.#rest.referrer; }
  get referrerPolicy() { return this.#rest.referrerPolicy; }
  get integrity() { return this.#rest.integrity; }
  get keepalive() { return this.#rest.keepalive; }
  get destination() { return ""; }
  get duplex() { return this.#rest.duplex; }
  get isReloadNavigation() { return false; }
  get isHistoryNavigation() { return false; }
  clone() {
    if (bodies.unusable(this)) throw new TypeError("unusable");
    const copy = new Request(this.#url.href, {
      ...this.#rest, method: this.#method, headers: this.#headers, redirect: this.#redirect,
      signal: this.#signal ? AbortSignal.any([this.#signal]) : undefined,
    });
    bodies.hold(copy, bodies.split(this));
    return copy;
  }
  get [Symbol.toStringTag]() { return "Request"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    const { method, url, headers, redirect, bodyUsed } = this;
    return typeof inspect === "function" ? `Request ${inspect({ method, url, headers, redirect, bodyUsed }, options)}` : "Request";
  }
}

function urlOf(input) {
  let url;
  try {
    url = new URL(`${input}`);
  } catch (cause) {
    throw new TypeError(`Failed to parse URL from ${input}`, { cause });
  }
  if (url.username !== "" || url.password !== "") throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${input}`);
  return url;
}
