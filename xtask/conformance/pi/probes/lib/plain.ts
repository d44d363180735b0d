export interface OnlyAType { x: number }
export const plain = 1;
export default "the default";
export let counter = 0;
export function count() { return ++counter; }
