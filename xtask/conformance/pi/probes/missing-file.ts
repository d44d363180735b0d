import "./lib/no-such-file.ts"; export default function () {}
