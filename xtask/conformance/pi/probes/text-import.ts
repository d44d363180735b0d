import text from "./lib/text.md"; export default function () { return text; }
