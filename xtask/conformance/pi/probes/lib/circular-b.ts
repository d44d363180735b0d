import { name } from "./circular-a.ts"; export function second() { return `b sees ${name}`; }
