// Two files that import each other.
import { first } from "./lib/circular-a.ts";
import { type Api, tell } from "./lib/tell.ts";
export default function (pi: Api) { tell(pi, first()); }
