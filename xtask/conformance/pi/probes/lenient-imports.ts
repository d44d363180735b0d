// Names that a module does not have are undefined, whatever the module.
import { Text, NoSuchThing } from "@earendil-works/pi-tui";
import { noSuchThing } from "node:fs";
import { alsoMissing } from "./lib/plain.js";
import type { OnlyAType } from "./lib/plain.js";
import { tell, type Api } from "./lib/tell.ts";

export default function (pi: Api) {
  const nothing: OnlyAType | undefined = undefined;
  tell(pi, { text: typeof Text, tui: typeof NoSuchThing, fs: typeof noSuchThing, own: typeof alsoMissing, nothing: typeof nothing });
}
