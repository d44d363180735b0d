// What a module has in scope besides its imports.
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { attempt, type Api, tell } from "./lib/tell.ts";

export default function (pi: Api) {
  tell(pi, {
    dirname: basename(__dirname), filename: basename(__filename), require: typeof require, module: typeof module, exports: typeof exports,
    url: import.meta.url.startsWith("file:///"), file: basename(fileURLToPath(import.meta.url)),
    metaDirname: typeof import.meta.dirname, metaFilename: typeof import.meta.filename,
    resolved: attempt(() => basename(import.meta.resolve("./lib/plain.ts"))),
    required: attempt(() => require("./lib/data.json").a.length), requiredTs: attempt(() => require("./lib/plain.ts").plain),
    strict: (function (this: unknown) { return this === undefined; })(),
    globals: typeof globalThis.process + typeof Buffer + typeof setImmediate + typeof structuredClone + typeof fetch + typeof global,
  });
}
