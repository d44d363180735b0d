// Blob, File, Headers, FormData, Request, Response and the parts of fetch that need no network. Expected values are Node's.

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

const headers = (init) => [...new Headers(init)];
await check("blob", async () => { const b = new Blob(["h\u00e9\u00e9", new Uint8Array([65, 66]), new Blob(["z\r\n"])], { type: "Text/Plain" }); const s = b.slice(1, -2, "x/y"); const all = []; for await (const c of b.stream()) all.push(...c); return [b.size, b.type, await b.text(), s.size, s.type, new Uint8Array(await s.arrayBuffer()), all, await b.slice(-3).text(), await new Blob().text(), new Blob([], { type: "\u00e9" }).type]; }, [10,"text/plain","h\u00e9\u00e9ABz\r\n",7,"x/y","bytes c3a9c3a941427a",[104,195,169,195,169,65,66,122,13,10],"z\r\n","",""]);
await check("blob of a text", () => new Blob("x"), "throws TypeError ERR_INVALID_ARG_TYPE");
await check("a blob keeps its bytes", async () => { const bytes = new Uint8Array([65]); const b = new Blob([bytes]); bytes[0] = 66; const got = new Uint8Array(await b.arrayBuffer()); got[0] = 67; return b.text(); }, "A");
await check("file", async () => { const f = new File(["a"], "n.txt", { type: "a/b", lastModified: 7 }); return [f.name, f.size, f.type, f.lastModified, await f.text(), f instanceof Blob, Object.prototype.toString.call(f)]; }, ["n.txt",1,"a/b",7,"a",true,"[object File]"]);
await check("headers", () => { const h = new Headers([["B", " 1 "], ["a", "2"], ["b", "3"], ["Set-Cookie", "x=1"], ["set-cookie", "y=2"]]); h.append("cookie", "a"); h.append("cookie", "b"); h.set("A", "9"); return [[...h], h.get("b"), h.has("B"), h.getSetCookie(), h.get("none"), h.get("cookie"), [...h.keys()], (h.delete("a"), h.has("a")), new Headers(h).get("set-cookie")]; }, [[["a","9"],["b","1, 3"],["cookie","a; b"],["set-cookie","x=1"],["set-cookie","y=2"]],"1, 3",true,["x=1","y=2"],null,"a; b",["a","b","cookie","set-cookie","set-cookie"],false,"x=1, y=2"]);
await check("headers of a record", () => headers({ a: 1, B: "2" }), [["a","1"],["b","2"]]);
await check("headers of a map", () => headers(new Map([["q", "w"]])), [["q","w"]]);
await check("headers of null", () => headers(null), "throws TypeError");
await check("headers of half a pair", () => headers([["a"]]), "throws TypeError");
await check("header name with a space", () => headers([["a b", "x"]]), "throws TypeError");
await check("header value with a line end", () => headers([["a", "x\ny"]]), "throws TypeError");
await check("header value trimmed", () => headers([["a", "\tx\n"]]), [["a","x"]]);
await check("header value in Latin-1", () => headers([["a", "\u00e9"]]), [["a","\u00e9"]]);
await check("header value beyond Latin-1", () => headers([["a", "\u65e5"]]), "throws TypeError");
await check("form", async () => { const f = new FormData(); f.append("a", 1); f.append("a", "2"); f.append("f", new Blob(["x"], { type: "t/y" }), "n.txt"); f.append("g", new Blob(["y"])); f.set("a", "3"); const e = []; for (const [k, v] of f) e.push([k, typeof v === "string" ? v : [v.name, v.type, await v.text()]]); return [e, f.get("a"), f.getAll("a"), f.has("z"), f.get("z")]; }, [[["a","3"],["f",["n.txt","t/y","x"]],["g",["blob","","y"]]],"3",["3"],false,null]);
await check("form there and back", async () => { const f = new FormData(); f.append('n"\r\nx', "v\nw"); f.append("f", new File(["\r\n--x\0\u00e9"], 'a"b.txt', { type: "text/x" })); const r = new Response(f); const type = r.headers.get("content-type"); const boundary = /boundary=(.*)/.exec(type)[1]; const text = (await r.clone().text()).replaceAll(boundary, "B").replace(/\r\n$/, ""); const out = []; for (const [k, v] of await r.formData()) out.push([k, typeof v === "string" ? v : [v.name, v.type, await v.text()]]); return [type.replace(boundary, "B"), text, out]; }, ["multipart/form-data; boundary=B","--B\r\nContent-Disposition: form-data; name=\"n%22%0D%0Ax\"\r\n\r\nv\r\nw\r\n--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a%22b.txt\"\r\nContent-Type: text/x\r\n\r\n\r\n--x\u0000\u00e9\r\n--B--",[["n\"\r\nx","v\r\nw"],["f",["a\"b.txt","text/x","\r\n--x\u0000\u00e9"]]]]);
await check("urlencoded form", async () => [...await new Response(new URLSearchParams("a=1&b=%20")).formData()], [["a","1"],["b"," "]]);
await check("no form", () => new Response("x").formData(), "throws TypeError");
await check("response", async () => { const r = new Response("h\u00e9", { status: 201, statusText: "C", headers: { a: "b" } }); const c = r.clone(); return [r.status, r.statusText, r.ok, r.type, r.url, r.redirected, [...r.headers], await r.text(), r.bodyUsed, c.bodyUsed, new Uint8Array(await c.arrayBuffer())]; }, [201,"C",true,"default","",false,[["a","b"],["content-type","text/plain;charset=UTF-8"]],"h\u00e9",true,false,"bytes 68c3a9"]);
await check("response of JSON", async () => { const r = Response.json({ a: 1 }, { status: 400 }); return [r.status, [...r.headers], await r.json()]; }, [400,[["content-type","application/json"]],{"a":1}]);
await check("response read twice", async () => { const r = new Response("x"); await r.text(); return r.text(); }, "throws TypeError");
await check("response without a body", async () => { const r = new Response(null, { status: 204 }); return [r.body, await r.text(), r.bodyUsed]; }, [null,"",false]);
await check("status 199", () => new Response(null, { status: 199 }), "throws RangeError");
await check("status 600", () => new Response(null, { status: 600 }), "throws RangeError");
await check("204 with a body", () => new Response("x", { status: 204 }), "throws TypeError");
await check("redirect", () => { const r = Response.redirect("http://x/y", 301); return [r.status, r.headers.get("location")]; }, [301,"http://x/y"]);
await check("error response", () => { const r = Response.error(); return [r.status, r.type, r.ok]; }, [0,"error",false]);
await check("response as a stream", async () => { const r = new Response("abc"); const rd = r.body.getReader(); return [await rd.read(), await rd.read(), r.bodyUsed]; }, [{"done":false,"value":"bytes 616263"},{"done":true,"value":"undefined"},true]);
await check("response of a stream", async () => { const r = new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array([97])); c.enqueue(new Uint8Array([98])); c.close(); } })); const c = r.clone(); return [await r.text(), await c.text(), r.bodyUsed]; }, ["ab","ab",true]);
await check("response of a stream of text", () => new Response(new ReadableStream({ start(c) { c.enqueue("a"); c.close(); } })).text(), "throws TypeError");
await check("response as a blob", async () => { const b = await new Response("x", { headers: { "content-type": "A/b" } }).blob(); return [b.type, b.size]; }, ["a/b",1]);
await check("broken JSON", () => new Response("{").json(), "throws SyntaxError");
await check("JSON with a byte order mark", () => new Response(new Uint8Array([0xef, 0xbb, 0xbf, 0x31])).json(), 1);
await check("bytes", async () => new Uint8Array(await new Response(new Uint8Array([1, 2])).arrayBuffer()), "bytes 0102");
await check("request", async () => { const r = new Request("http://a/b?c#d", { method: "post", headers: { x: "y" }, body: "z" }); const c = r.clone(); const d = new Request(r, { method: "PUT" }); return [r.url, r.method, [...r.headers], c.method, await c.text(), d.method, await d.text(), r.bodyUsed, r.redirect, r.mode, r.credentials, r.cache, r.keepalive, r.signal.aborted]; }, ["http://a/b?c#d","POST",[["content-type","text/plain;charset=UTF-8"],["x","y"]],"POST","z","PUT","z",true,"follow","cors","same-origin","default",false,false]);
await check("request of no URL", () => new Request("bad"), "throws TypeError");
await check("request with credentials", () => new Request("http://u:p@h/"), "throws TypeError");
await check("GET with a body", () => new Request("http://a", { body: "x" }), "throws TypeError");
await check("TRACE", () => new Request("http://a", { method: "TRACE" }), "throws TypeError");
await check("bad redirect mode", () => new Request("http://a", { redirect: "x" }), "throws TypeError");
await check("bad signal", () => new Request("http://a", { signal: 5 }), "throws TypeError");
const got = async (url) => { const r = await fetch(url); return [r.status, r.headers.get("content-type"), await r.text(), r.url]; };
await check("data with escapes", () => got("data:text/plain,hi%20there"), [200,"text/plain","hi there","data:text/plain,hi%20there"]);
await check("data in base64", () => got("data:;base64,aGk="), [200,"text/plain;charset=US-ASCII","hi","data:;base64,aGk="]);
await check("data without a type", () => got("data:,x"), [200,"text/plain;charset=US-ASCII","x","data:,x"]);
await check("data of JSON", () => got("data:application/json;base64,eyJhIjoxfQ=="), [200,"application/json","{\"a\":1}","data:application/json;base64,eyJhIjoxfQ=="]);
await check("data without a comma", () => got("data:nocomma"), "throws TypeError");
await check("data with bad base64", () => got("data:text/plain;base64,$$$"), "throws TypeError");
await check("an unknown scheme", () => got("foo:bar"), "throws TypeError");
await check("a relative URL", () => got("/rel"), "throws TypeError");
await check("a blob's URL", async () => { const u = URL.createObjectURL(new Blob(["bl"], { type: "a/b" })); const r = await fetch(u); return [r.headers.get("content-type"), await r.text()]; }, ["a/b","bl"]);
await check("aborted before", () => fetch("data:,x", { signal: AbortSignal.abort() }), "throws AbortError 20");
await check("aborted with a reason", async () => { try { await fetch("http://127.0.0.1:9/", { signal: AbortSignal.abort("why") }); } catch (e) { return e; } }, "why");
await check("a stream needs duplex", () => fetch("http://127.0.0.1:9/", { method: "POST", body: new ReadableStream() }), "throws TypeError");
finish();
