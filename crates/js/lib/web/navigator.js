// navigator as far as Node has it: what programs look at to choose a platform.
import { info } from "jackfield:host";

export class Navigator {
  get userAgent() { return `Node.js/20`; }
  get language() { return "en-US"; }
  get languages() { return Object.freeze(["en-US"]); }
  get hardwareConcurrency() { return 1; }
  get onLine() { return true; }
  get platform() {
    if (info.platform === "darwin") return "MacIntel";
    return `Linux ${info.arch === "arm64" ? "aarch64" : "x86_64"}`;
  }
  get [Symbol.toStringTag]() { return "Navigator"; }
}
export const navigator = new Navigator();
