// What the default import of a compiled CommonJS file is, in a file that pi's loader compiles and in one that it leaves to Node.
import called, * as space from "./lib/compiled-function.cjs";
import held from "./lib/compiled-object.cjs";
import { seen } from "./lib/native.mjs";
import { type Api, tell } from "./lib/tell.ts";

export default async function (pi: Api) {
  const late = await import("./lib/compiled-object.cjs");
  tell(pi, {
    called: [typeof called, typeof called.default, typeof space.default, space.other, Object.keys(space).sort()],
    held: [Object.keys(held), typeof held.a, held.default.a, typeof late.default.a], native: seen,
  });
}
