import { second } from "./circular-b.ts"; export const name = "a"; export function first() { return second(); }
