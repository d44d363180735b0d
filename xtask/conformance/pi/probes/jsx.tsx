// A .tsx file is TypeScript too.
import { type Api, tell } from "./lib/tell.ts";
const generic = <T extends unknown>(value: T): T => value;
export default function (pi: Api) { tell(pi, generic("tsx")); }
