// The global `process`, which node:process has as its default export.
import process from "node:process";
export { process };
