export default function () { throw new TypeError("on purpose"); }
