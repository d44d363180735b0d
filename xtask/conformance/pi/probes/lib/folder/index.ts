export const inFolder = "index of a folder";
