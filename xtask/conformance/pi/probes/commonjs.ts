// CommonJS files, imported and required.
import { createRequire } from "node:module";
import compiled, { other } from "./lib/compiled.cjs";
import common, { named } from "./lib/common.cjs";
import answer from "./lib/function.cjs";
import { attempt, type Api, tell } from "./lib/tell.ts";

export default function (pi: Api) {
  const own = createRequire(import.meta.url);
  tell(pi, {
    compiled, other, named, common, answer: answer(), extra: answer.extra,
    own: own("./lib/function.cjs")(), json: own("./lib/data.json"), resolved: own.resolve("./lib/common.cjs").split("/").slice(-2),
    missing: attempt(() => own("./lib/nothing.cjs")),
    missingPackage: attempt(() => own("no-such-package-anywhere")),
    path: own("path") === own("node:path"),
  });
}
