// EventSource over fetch: text/event-stream with ids, named events and reconnection. `init.headers` are sent too.
import { EventTarget, Event, MessageEvent, ErrorEvent, defineHandlers } from "jackfield:web/events";
import { AbortController } from "jackfield:web/abort";
import { TextDecoder } from "jackfield:web/encoding";
import { DOMException } from "jackfield:web/domexception";
import { fetch } from "jackfield:web/fetch";
import { URL } from "jackfield:web/url";

export class EventSource extends EventTarget {
  #url; #state = 0; #abort = null; #wait = 3000; #lastId = ""; #timer = null; #headers;
  constructor(url, init = {}) {
    super();
    try {
      this.#url = new URL(`${url}`);
    } catch (cause) {
      throw new DOMException(`${cause.message}: ${url}`, "SyntaxError");
    }
    this.#headers = init?.headers ?? {};
    this.withCredentials = Boolean(init?.withCredentials);
    this.#connect();
  }
  get url() { return this.#url.href; }
  get readyState() { return this.#state; }
  close() {
    this.#state = 2;
    this.#abort?.abort();
    if (this.#timer) clearTimeout(this.#timer);
  }
  async #connect() {
    this.#abort = new AbortController();
    const headers = { ...this.#headers, accept: "text/event-stream", "cache-control": "no-cache" };
    if (this.#lastId !== "") headers["last-event-id"] = this.#lastId;
    try {
      const response = await fetch(this.#url.href, { headers, signal: this.#abort.signal });
      if (response.status !== 200 || !/^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")) {
        await response.body?.cancel();
        this.#fail(`the server answered ${response.status} with the type ${response.headers.get("content-type")}`);
        return;
      }
      if (this.#state === 2) return;
      this.#state = 1;
      this.dispatchEvent(new Event("open"));
      await this.#read(response.body);
      this.#retry();
    } catch (error) {
      if (this.#state !== 2) this.#retry(error);
    }
  }
  async #read(body) {
    const decoder = new TextDecoder();
    let rest = "";
    let event = { data: [], type: "" };
    for await (const chunk of body) {
      rest += decoder.decode(chunk, { stream: true });
      // A "\r" at the very end may be the first half of "\r\n".
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) event = this.#line(line, event);
      if (this.#state === 2) return;
    }
  }
  #line(line, event) {
    if (line === "") {
      if (event.data.length > 0) {
        this.dispatchEvent(new MessageEvent(event.type || "message", { data: event.data.join("\n"), lastEventId: this.#lastId, origin: this.#url.origin }));
      }
      return { data: [], type: "" };
    }
    const at = line.indexOf(":");
    if (at === 0) return event;
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(line[at + 1] === " " ? at + 2 : at + 1);
    if (field === "data") event.data.push(value);
    else if (field === "event") event.type = value;
    else if (field === "id" && !value.includes("\0")) this.#lastId = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.#wait = Math.min(Number(value), 2147483647);
    return event;
  }
  #retry(error = undefined) {
    if (this.#state === 2) return;
    this.#state = 0;
    this.dispatchEvent(new ErrorEvent("error", { message: error?.message ?? "the stream ended", error }));
    if (this.#state !== 2) this.#timer = setTimeout(() => this.#connect(), this.#wait);
  }
  #fail(message) {
    if (this.#state === 2) return;
    this.#state = 2;
    this.dispatchEvent(new ErrorEvent("error", { message }));
  }
  get [Symbol.toStringTag]() { return "EventSource"; }
}
for (const [name, value] of [["CONNECTING", 0], ["OPEN", 1], ["CLOSED", 2]]) {
  Object.defineProperty(EventSource, name, { value, enumerable: true });
  Object.defineProperty(EventSource.prototype, name, { value, enumerable: true });
}
defineHandlers(EventSource, "open", "message", "error");
