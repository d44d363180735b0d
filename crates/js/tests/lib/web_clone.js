// structuredClone: kinds of values, cycles, transfer, refusals. Expected values are Node's.

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

const kind = (v) => { const c = structuredClone(v); return [Object.prototype.toString.call(c), c?.constructor?.name, c]; };
class K { constructor() { this.a = 1; } get g() { return 1; } }
await check("number", () => kind(1), ["[object Number]","Number",1]);
await check("bigint", () => kind(5n), ["[object BigInt]","BigInt","5n"]);
await check("undefined", () => kind(undefined), ["[object Undefined]","undefined","undefined"]);
await check("null", () => kind(null), ["[object Null]","undefined",null]);
await check("date", () => { const c = structuredClone(new Date(5)); return [c instanceof Date, c.getTime()]; }, [true,5]);
await check("regexp", () => { const c = structuredClone(/a(b)/gi); return [c instanceof RegExp, String(c), c.lastIndex]; }, [true,"/a(b)/gi",0]);
await check("map and set", () => { const c = structuredClone(new Map([[{ a: 1 }, new Set([1, "2"])]])); const [[k, s]] = c; return [k, s instanceof Set, [...s]]; }, [{"a":1},true,[1,"2"]]);
await check("sparse array with more", () => { const c = structuredClone(Object.assign([1, , 3], { extra: 1 })); return [c.length, 1 in c, c.extra]; }, [3,false,1]);
await check("class instance", () => kind(new K()), ["[object Object]","Object",{"a":1}]);
await check("part of a typed array", () => { const c = structuredClone(new Uint8Array([1, 2, 3]).subarray(1)); return [c, c.buffer.byteLength, c.byteOffset]; }, ["bytes 0203",3,1]);
await check("floats", () => { const c = structuredClone(new Float64Array([1.5])); return [c.constructor.name, c[0]]; }, ["Float64Array",1.5]);
await check("buffer", () => kind(new Uint8Array([9]).buffer), ["[object ArrayBuffer]","ArrayBuffer","buffer 09"]);
await check("data view", () => { const c = structuredClone(new DataView(new ArrayBuffer(4), 1, 2)); return [c.byteLength, c.byteOffset, c.buffer.byteLength]; }, [2,1,4]);
await check("boxed", () => structuredClone([Object(1), Object("s"), Object(true)]).map((b) => [typeof b, b.valueOf()]), [["object",1],["object","s"],["object",true]]);
await check("error", () => { const e = new TypeError("m", { cause: { a: 1 } }); e.extra = 1; const c = structuredClone(e); return [c instanceof TypeError, c.name, c.message, c.cause, c.extra, c.stack === e.stack]; }, [true,"TypeError","m",{"a":1},"undefined",true]);
await check("own error class", () => { class Mine extends Error { constructor() { super("q"); this.name = "Mine"; } } const c = structuredClone(new Mine()); return [c.name, c.message, c.constructor === Error]; }, ["Error","q",true]);
await check("a member called __proto__", () => { const c = structuredClone(JSON.parse('{"__proto__": {"x":1}}')); return [Object.keys(c), c.x === undefined, Object.getPrototypeOf(c) === Object.prototype]; }, [["__proto__"],true,true]);
await check("cycles", () => { const a = { l: [1] }; a.self = a; a.l.push(a); const c = structuredClone(a); return [c !== a, c.self === c, c.l[1] === c]; }, [true,true,true]);
await check("a cycle through a map", () => { const m = new Map(); m.set("m", m); const c = structuredClone(m); return c.get("m") === c; }, true);
await check("shared buffer", () => { const b = new ArrayBuffer(4); const c = structuredClone([new Uint8Array(b), new Uint8Array(b, 2)]); return [c[0].buffer === c[1].buffer, c[1].byteOffset]; }, [true,2]);
await check("transfer", () => { const b = new Uint8Array([1, 2]).buffer; const c = structuredClone({ b, v: new Uint8Array(b, 1) }, { transfer: [b] }); return [b.byteLength, c.b, c.v.buffer === c.b]; }, [0,"buffer 0102",true]);
await check("transferred twice", () => { const b = new ArrayBuffer(1); return structuredClone(1, { transfer: [b, b] }); }, "throws DataCloneError 25");
await check("a refusal transfers nothing", () => { const b = new ArrayBuffer(3); try { structuredClone({ b, f() {} }, { transfer: [b] }); } catch (e) { return [e.name, b.byteLength]; } }, ["DataCloneError",3]);
await check("function", () => structuredClone(() => {}), "throws DataCloneError 25");
await check("function inside", () => structuredClone({ a: { b() {} } }), "throws DataCloneError 25");
await check("symbol", () => structuredClone(Symbol("x")), "throws DataCloneError 25");
await check("weak map", () => structuredClone(new WeakMap()), "throws DataCloneError 25");
await check("promise", () => structuredClone(Promise.resolve(1)), "throws DataCloneError 25");
await check("message", () => { try { structuredClone(new WeakMap()); } catch (e) { return e.message; } }, "#<WeakMap> could not be cloned.");
await check("no argument", () => structuredClone(), "throws TypeError ERR_MISSING_ARGS");
await check("blob", async () => { const c = structuredClone(new Blob(["hi"], { type: "a/b" })); return [c instanceof Blob, c.type, await c.text()]; }, [true,"a/b","hi"]);
finish();
