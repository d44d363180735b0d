// Response of fetch, with `json`, `redirect` and `error`. `networkResponse` makes the one that fetch answers with.
import { Body, bodies, extractBody } from "jackfield:web/body";
import { Headers, freezeHeaders } from "jackfield:web/headers";
import { URL } from "jackfield:web/url";

const EMPTY = new Set([101, 103, 204, 205, 304]);
let fromNetwork;

export class Response extends Body {
  #status; #statusText; #headers; #url = ""; #type = "default"; #redirected = false;
  constructor(body = null, init = undefined) {
    super();
    if (init !== undefined && init !== null && typeof init !== "object") throw new TypeError("Response constructor: the second argument can not be converted to a dictionary.");
    const options = init ?? {};
    const status = options.status === undefined ? 200 : Number(options.status);
    if (!Number.isInteger(status) || status < 200 || status > 599) {
      throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
    }
    const text = options.statusText === undefined ? "" : `${options.statusText}`;
    if (/[^\t\x20-\x7e\x80-\xff]/.test(text)) throw new TypeError("Invalid statusText");
    this.#status = status;
    this.#statusText = text;
    this.#headers = new Headers(options.headers);
    if (body === null || body === undefined) return;
    if (EMPTY.has(status)) throw new TypeError(`Response constructor: Invalid response status code ${status}`);
    const held = extractBody(body);
    bodies.hold(this, held);
    if (held.type && !this.#headers.has("content-type")) this.#headers.append("content-type", held.type);
  }
  static error() { return fromNetwork({ status: 0, statusText: "", headers: new Headers(), type: "error" }, null); }
  static json(data, init = undefined) {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError("Value is not JSON serializable");
    const headers = new Headers(init?.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(text, { ...init, headers });
  }
  static redirect(url, status = 302) {
    let parsed;
    try {
      parsed = new URL(`${url}`);
    } catch (cause) {
      throw new TypeError(`Failed to parse URL from ${url}`, { cause });
    }
    if (![301, 302, 303, 307, 308].includes(Number(status))) throw new RangeError(`Invalid status code ${status}`);
    const headers = freezeHeaders(new Headers({ location: parsed.href }));
    return fromNetwork({ status: Number(status), statusText: "", headers, type: "default" }, null);
  }
  get status() { return this.#status; }
  get statusText() { return this.#statusText; }
  get ok() { return this.#status >= 200 && this.#status < 300; }
  get headers() { return this.#headers; }
  get url() { return this.#url; }
  get type() { return this.#type; }
  get redirected() { return this.#redirected; }
  clone() {
    if (bodies.unusable(this)) throw new TypeError("Response.clone: Body has already been consumed.");
    const held = bodies.split(this);
    return fromNetwork({ status: this.#status, statusText: this.#statusText, headers: new Headers(this.#headers), url: this.#url, type: this.#type, redirected: this.#redirected }, held);
  }
  get [Symbol.toStringTag]() { return "Response"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    const { status, statusText, headers, body, bodyUsed, ok, redirected, type, url } = this;
    return typeof inspect === "function" ? `Response ${inspect({ status, statusText, headers, body, bodyUsed, ok, redirected, type, url }, options)}` : "Response";
  }
  static {
    fromNetwork = (head, held) => {
      const response = new Response();
      response.#status = head.status;
      response.#statusText = head.statusText;
      response.#headers = head.headers;
      response.#url = head.url ?? "";
      response.#type = head.type;
      response.#redirected = head.redirected ?? false;
      bodies.hold(response, held);
      return response;
    };
  }
}

/** A response from the network: `{ status, statusText, headers, url, type, redirected }` and a body as `extractBody` gives it. */
export const networkResponse = (head, held) => fromNetwork(head, held);
/** Whether a status never has a body. */
export const hasNoBody = (status) => EMPTY.has(status);
