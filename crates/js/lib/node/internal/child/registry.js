// The programs that this extension has started, by their number, so that process.kill reaches them (also as -number,
// which names the group that the host makes of each). Numbers of programs that have ended are remembered for a while.
const running = new Map();
const gone = new Set();

export function enter(pid, child) {
  gone.delete(pid);
  running.set(pid, child);
}

export function leave(pid) {
  if (!running.delete(pid)) return;
  gone.add(pid);
  if (gone.size > 1000) gone.delete(gone.values().next().value);
}

/** "sent", "gone", or undefined for a number that is not one of ours. */
export function signal(pid, name) {
  const child = running.get(Math.abs(pid));
  if (child) return child.kill(name) ? "sent" : "gone";
  return gone.has(Math.abs(pid)) ? "gone" : undefined;
}
