// node:wasi: there is no WebAssembly.
import { refusedClass } from "jackfield:node/internal/refused";

const why = "the engine has no WebAssembly";
export const WASI = refusedClass("wasi", "WASI", why);

export default { WASI };
