// The inside of a readable stream: what closing, failing and cancelling do, and when a controller asks its source for
// more. A stream's state is a plain object: { state, error, reader, disturbed, control, stream }.
import { algorithm, invalidArg, quiet } from "jackfield:web/streams/shared";

export function cancelStream(c, reason) {
  c.disturbed = true;
  if (c.state === "closed") return Promise.resolve();
  if (c.state === "errored") return Promise.reject(c.error);
  closeStream(c);
  if (c.reader?.kind === "byob") for (const request of c.reader.requests.splice(0)) request.close(undefined);
  return c.control.cancel(reason).then(() => undefined);
}

export function closeStream(c) {
  if (c.state !== "readable") return;
  c.state = "closed";
  if (!c.reader) return;
  c.reader.closed.resolve();
  if (c.reader.kind === "default") for (const request of c.reader.requests.splice(0)) request.close();
}

export function errorStream(c, error) {
  if (c.state !== "readable") return;
  c.state = "errored";
  c.error = error;
  if (!c.reader) return;
  quiet(c.reader.closed.promise);
  c.reader.closed.reject(error);
  for (const request of c.reader.requests.splice(0)) request.error(error);
}

/** The part of a controller that both kinds share: when to ask the source for more. */
export class Control {
  started = false; closing = false; pulling = false; pullAgain = false; total = 0; queue = [];
  constructor(c, source, mark) {
    this.core = c;
    this.mark = mark;
    this.pullFn = algorithm(source, "pull", "source");
    this.cancelFn = algorithm(source, "cancel", "source");
  }
  begin(source) {
    const { start } = source;
    if (start !== undefined && typeof start !== "function") throw invalidArg("source.start must be a function");
    const started = start === undefined ? undefined : start.call(source, this.api);
    Promise.resolve(started).then(() => {
      this.started = true;
      this.callPull();
    }, (error) => this.fail(error));
  }
  desired() { return this.core.state === "errored" ? null : this.core.state === "closed" ? 0 : this.mark - this.total; }
  open() { return !this.closing && this.core.state === "readable"; }
  wanted() { return (this.core.reader?.requests.length ?? 0) > 0; }
  callPull() {
    if (!this.pullFn || !this.open() || !this.started || !(this.wanted() || this.desired() > 0)) return;
    if (this.pulling) {
      this.pullAgain = true;
      return;
    }
    this.pulling = true;
    this.pullFn(this.api).then(() => {
      this.pulling = false;
      if (!this.pullAgain) return;
      this.pullAgain = false;
      this.callPull();
    }, (error) => this.fail(error));
  }
  clear() {
    this.queue = [];
    this.total = 0;
  }
  fail(error) {
    if (this.core.state !== "readable") return;
    this.clear();
    this.pullFn = undefined;
    errorStream(this.core, error);
  }
  cancel(reason) {
    this.clear();
    const cancel = this.cancelFn;
    this.pullFn = this.cancelFn = undefined;
    return cancel ? cancel(reason) : Promise.resolve();
  }
}
