// Which file an import means: without an extension, with .js for a .ts file, a folder, JSON, and each file is there once.
import fallback, { count, plain } from "./lib/plain";
import * as byJs from "./lib/plain.js";
import * as byTs from "./lib/plain.ts";
import { inFolder } from "./lib/folder";
import data from "./lib/data.json";
import { type Api, tell } from "./lib/tell";

export default async function (pi: Api) {
  count();
  const late = await import("./lib/plain.js");
  const later = await import("./lib/plain");
  tell(pi, {
    plain, fallback, inFolder, data, live: [byJs.counter, byTs.counter, late.counter],
    same: [byJs.count === byTs.count, late.count === byJs.count, later.count === byJs.count],
  });
}
