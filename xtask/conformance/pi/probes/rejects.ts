export default async function () { await null; throw "a string"; }
