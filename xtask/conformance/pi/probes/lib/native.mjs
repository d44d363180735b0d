import called, * as space from "./compiled-function.cjs";
import held from "./compiled-object.cjs";
const late = await import("./compiled-function.cjs");
export const seen = [typeof called, typeof called.default, typeof space.default, space.other, Object.keys(held), typeof late.default];
