// Changes of one file happen one after the other, however many tools ask at once.
import { realpathSync } from "node:fs";
import { resolve } from "node:path";

const queues = new Map();

function keyOf(path) {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch {
    return absolute;
  }
}

/** Runs `task` when every earlier change of the same file is done. */
export async function withFileMutationQueue(filePath, task) {
  const key = keyOf(filePath);
  const before = queues.get(key) ?? Promise.resolve();
  let release;
  const mine = new Promise((done) => { release = done; });
  const tail = before.then(() => mine);
  queues.set(key, tail);
  await before;
  try {
    return await task();
  } finally {
    release();
    if (queues.get(key) === tail) queues.delete(key);
  }
}
