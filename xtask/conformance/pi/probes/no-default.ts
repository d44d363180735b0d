export const name = "nothing";
