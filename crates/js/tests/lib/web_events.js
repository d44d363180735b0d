// Event, EventTarget, CustomEvent, AbortController, AbortSignal, DOMException, MessageChannel. Expected values are Node's unless said otherwise.

let checked = 0;
const failures = [];
const plain = (v) => {
  if (v === undefined) return "undefined";
  if (typeof v === "number" && !Number.isFinite(v)) return String(v);
  if (typeof v === "bigint") return `${v}n`;
  if (v instanceof Uint8Array) return `bytes ${Array.from(v).map((b) => b.toString(16).padStart(2, "0")).join("")}`;
  if (v instanceof ArrayBuffer) return `buffer ${plain(new Uint8Array(v)).slice(6)}`;
  if (v instanceof Error) return `${v.name} ${v.code ?? ""}`.trim();
  if (Array.isArray(v)) return v.map(plain);
  if (v !== null && typeof v === "object") return Object.fromEntries(Object.keys(v).sort().map((k) => [k, plain(v[k])]));
  return v;
};
async function check(label, act, expected) {
  checked++;
  let got;
  try {
    got = plain(await act());
  } catch (error) {
    got = `throws ${error?.name} ${error?.code ?? ""}`.trim();
  }
  if (JSON.stringify(got) !== JSON.stringify(expected)) failures.push(`${label}: got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
}
function finish() {
  if (checked === 0) throw new Error("nothing was checked");
  if (failures.length > 0) throw new Error(`${failures.length} of ${checked} checks failed:\n${failures.join("\n")}`);
}

const tick = (ms = 1) => new Promise((done) => setTimeout(done, ms));
await check("listeners", () => { const t = new EventTarget(), log = []; const f = (e) => log.push([e.type, e.target === t, e.currentTarget === t, e.eventPhase, e.composedPath().length]); t.addEventListener("x", f); t.addEventListener("x", f); t.addEventListener("x", { handleEvent(e) { log.push("obj"); e.preventDefault(); } }, { once: true }); t.addEventListener("x", (e) => { log.push("stop"); e.stopImmediatePropagation(); }); t.addEventListener("x", () => log.push("never")); const e = new Event("x", { cancelable: true }); const r = t.dispatchEvent(e); const r2 = t.dispatchEvent(new Event("x")); t.removeEventListener("x", f); t.dispatchEvent(new Event("x", { cancelable: true })); return [log, r, r2, e.defaultPrevented, e.currentTarget, e.cancelable, e.bubbles, Object.prototype.toString.call(e)]; }, [[["x",true,true,2,1],"obj","stop",["x",true,true,2,1],"stop","stop"],false,true,true,null,true,false,"[object Event]"]);
await check("a listener with a signal", () => { const t = new EventTarget(), log = [], ac = new AbortController(); t.addEventListener("y", () => log.push("y"), { signal: ac.signal }); t.dispatchEvent(new Event("y")); ac.abort(); t.dispatchEvent(new Event("y")); return log; }, ["y"]);
await check("a passive listener cannot prevent (the DOM standard)", () => { const t = new EventTarget(); t.addEventListener("x", (e) => e.preventDefault(), { passive: true }); return t.dispatchEvent(new Event("x", { cancelable: true })); }, true);
await check("dispatching what is no event", () => new EventTarget().dispatchEvent({}), "throws TypeError ERR_INVALID_ARG_TYPE");
await check("an event without a type", () => new Event(), "throws TypeError ERR_MISSING_ARGS");
await check("custom events", () => { const e = new CustomEvent("c", { detail: { a: 1 } }); return [e.type, e.detail, e instanceof Event, new CustomEvent("d").detail]; }, ["c",{"a":1},true,null]);
await check("message events", () => { const e = new MessageEvent("m", { data: 5, origin: "o" }); return [e.data, e.origin, e.ports.length, e.lastEventId]; }, [5,"o",0,""]);
await check("constants", () => [Event.NONE, Event.AT_TARGET, Event.BUBBLING_PHASE], [0,2,3]);
await check("subclasses", () => { class T extends EventTarget { #n = 1; get n() { return this.#n; } } const t = new T(); let seen = 0; t.addEventListener("a", function () { seen = this.n; }); t.dispatchEvent(new Event("a")); return seen; }, 1);
await check("time goes on", async () => { const a = new Event("a").timeStamp; const s = performance.now(); await tick(5); const e = performance.now(); return [typeof a, e > s, performance.timeOrigin > 1e12]; }, ["number",true,true]);
await check("abort", () => { const c = new AbortController(); const log = []; c.signal.onabort = (e) => log.push(e.type); c.signal.addEventListener("abort", () => log.push("l")); c.abort(); c.abort("again"); let thrown; try { c.signal.throwIfAborted(); } catch (e) { thrown = [e.name, e.message, e.code]; } return [log, c.signal.aborted, c.signal.reason.name, thrown, c.signal.reason instanceof Error]; }, [["abort","l"],true,"AbortError",["AbortError","This operation was aborted",20],true]);
await check("reasons", () => { const c = new AbortController(); c.abort(5); return [c.signal.reason, AbortSignal.abort("q").reason, new AbortController().signal.reason]; }, [5,"q","undefined"]);
await check("a signal is not made by hand", () => new AbortSignal(), "throws TypeError ERR_ILLEGAL_CONSTRUCTOR");
await check("any", () => { const a = new AbortController(), b = new AbortController(); const s = AbortSignal.any([a.signal, b.signal]); const s2 = AbortSignal.any([s]); const log = []; s.addEventListener("abort", () => log.push("s")); s2.onabort = () => log.push("s2"); b.abort("why"); a.abort(); return [log, s.reason, s2.aborted, AbortSignal.any([a.signal]).aborted, AbortSignal.any([]).aborted]; }, [["s","s2"],"why",true,true,false]);
await check("timeout", () => new Promise((r) => { const s = AbortSignal.timeout(5); const k = setTimeout(() => {}, 2000); s.onabort = () => { clearTimeout(k); r([s.reason.name, s.reason.message, s.reason.code]); }; }), ["TimeoutError","The operation was aborted due to timeout",23]);
await check("a bad timeout", () => AbortSignal.timeout(-1), "throws RangeError ERR_OUT_OF_RANGE");
await check("DOMException", () => { const e = new DOMException("m", "AbortError"); return [e.name, e.message, e.code, String(e), e instanceof Error, DOMException.ABORT_ERR, e.DATA_CLONE_ERR, new DOMException().name, new DOMException("x", { name: "Foo", cause: 3 }).cause, Object.prototype.toString.call(e), new DOMException("z", "Nope").code]; }, ["AbortError","m",20,"AbortError: m",true,20,25,"Error",3,"[object DOMException]",0]);
await check("channel", () => new Promise((r) => { const { port1, port2 } = new MessageChannel(); const got = []; port2.onmessage = (e) => { got.push(e.data); if (got.length === 2) { port1.close(); r(got); } }; port1.postMessage({ a: [1] }); port1.postMessage("b"); }), [{"a":[1]},"b"]);
await check("channel moves ports", () => new Promise((r) => { const c = new MessageChannel(), d = new MessageChannel(); c.port2.onmessage = (e) => { const p = e.data.p; p.onmessage = (m) => { r([m.data, e.ports.length]); c.port1.close(); d.port2.close(); }; d.port2.postMessage("hi"); }; c.port1.postMessage({ p: d.port1 }, [d.port1]); }), ["hi",1]);
await check("channel in Node's way", () => new Promise((r) => { const { port1, port2 } = new MessageChannel(); port2.once("message", (m) => { port1.close(); r(m); }); port1.postMessage(7); }), 7);
await check("channel refuses functions", () => { const { port1 } = new MessageChannel(); try { port1.postMessage(() => {}); } finally { port1.close(); } }, "throws DataCloneError 25");
await check("broadcast", () => new Promise((r) => { const a = new BroadcastChannel("n"), b = new BroadcastChannel("n"); b.onmessage = (e) => { a.close(); b.close(); r([e.data, b.name]); }; a.postMessage({ x: 1 }); }), [{"x":1},"n"]);
await check("marks and measures", () => { performance.mark("a"); performance.mark("b"); const m = performance.measure("m", "a", "b"); const n = performance.getEntriesByName("m").length; performance.clearMarks(); performance.clearMeasures(); return [m.entryType, m.duration >= 0, n, performance.getEntries().length]; }, ["measure",true,1,0]);
finish();
