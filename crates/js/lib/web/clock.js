// The clock of this extension: milliseconds on a clock that never goes back, from near zero, and when zero was.
import { native } from "jackfield:host";

const [zeroSeconds, zeroNanos] = native("hrtime");
export const timeOrigin = native("now_ms");
export function now() {
  const [seconds, nanos] = native("hrtime");
  return (seconds - zeroSeconds) * 1000 + (nanos - zeroNanos) / 1e6;
}
