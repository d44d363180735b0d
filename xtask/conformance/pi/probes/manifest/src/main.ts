import { sibling } from "#src/sibling";
import { type Api, tell } from "../../lib/tell.ts";
export default function (pi: Api) { tell(pi, sibling); }
