export const sibling = "through imports of package.json";
