// Names the exports of a core module as components name them: node exports.mjs BINARYEN IN OUT
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [binaryenFile, from, to] = process.argv.slice(2);
const { default: binaryen } = await import(pathToFileURL(binaryenFile).href);
const module = binaryen.readBinary(readFileSync(from));
for (const [name, wanted] of [
  ["describe", "jackfield:extension/guest@1.0.0#describe"],
  ["callTool", "jackfield:extension/guest@1.0.0#call-tool"],
  ["realloc", "cabi_realloc"],
]) {
  const { value } = binaryen.getExportInfo(module.getExport(name));
  module.removeExport(name);
  module.addFunctionExport(value, wanted);
}
writeFileSync(to, module.emitBinary());
