// Tools written for pi before 0.51 take (id, params, onUpdate, ctx, signal). They are told by the names of their parameters,
// so the engine has to keep the source of an extension's functions.
import assert from "node:assert";
import { start, tool } from "jackfield:pi/runtime";
import { seesTwo } from "jackfield:pi/runtime/tools";

const kinds = (signal, onUpdate, ctx) => [typeof signal?.aborted, typeof onUpdate, typeof ctx?.executeTool].join();
await start({
  importModule: async () => ({
    default(pi) {
      const add = (name, execute) => pi.registerTool({ name, parameters: { type: "object" }, execute });
      add("arrow", (id, params, onUpdate, ctx, signal) => kinds(signal, onUpdate, ctx));
      add("method", { async execute(_toolCallId, { a = "x,(" }, _onUpdate, _ctx, _signal) { return kinds(_signal, _onUpdate, _ctx); } }.execute);
      add("four", async function (_id, _params, onUpdate, ctx) { return kinds({ aborted: false }, onUpdate, ctx); });
      add("now", (id, params, signal, onUpdate, ctx) => kinds(signal, onUpdate, ctx));
      add("unclear", (id, params, update, x, y) => kinds(update, x, y));
      add("commented", (id /* a, b */, params, signal = undefined, onUpdate = () => {}, ctx) => kinds(signal, onUpdate, ctx));
      add("rest", (...args) => kinds(args[2], args[3], args[4]));
      add("defaults", (id, params, signal = undefined, onUpdate = undefined, ctx = undefined) => kinds(signal, onUpdate, ctx));
      add("arguments", function (id, params) { return kinds(arguments[2], arguments[3], arguments[4]); });
      add("bound", function (...args) { return kinds(args[2], args[3], args[4]); }.bind(null));
      add("wrapped", new Proxy((id, params, signal, onUpdate, ctx) => kinds(signal, onUpdate, ctx), {}));
      add("evaluated", function (id, params) { return eval("kinds(arguments[2], arguments[3], arguments[4])"); });
    },
  }),
});
for (const name of ["arrow", "method", "four", "now", "unclear", "commented", "rest", "defaults", "arguments", "bound", "wrapped", "evaluated"]) {
  const { content } = await new Promise((done) => tool(name, name, {}, (_, ok, value) => done(value)));
  assert.deepStrictEqual(content, [{ type: "text", text: "boolean,function,function" }], name);
}

// Whoever names two, and has no other way to the rest, is given two.
for (const execute of [() => {}, (id) => id, (id, { a, b }) => a, async (id, params) => params, { execute(id, params) {} }.execute]) {
  assert.ok(seesTwo(execute), String(execute));
}
