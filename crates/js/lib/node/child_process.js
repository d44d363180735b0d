// node:child_process over the host's `exec`. Covered: spawn, exec, execFile and their sync forms. Not covered: fork
// and channels between programs, other users, pipes beyond descriptor 2 (see internal/child).
import { ChildProcess, spawn } from "jackfield:node/internal/child/process";
import { exec, execFile } from "jackfield:node/internal/child/exec";
import { execFileSync, execSync, spawnSync } from "jackfield:node/internal/child/sync";
import { unsupported } from "jackfield:node/internal/io_errors";

function fork(modulePath) {
  throw unsupported("child_process.fork", `${modulePath} would need a Node program; start one with spawn("node", …) if it is installed`);
}

export { ChildProcess, exec, execFile, execFileSync, execSync, fork, spawn, spawnSync };

// Members are looked up when asked for, and can be replaced.
const all = {};
for (const [name, get] of Object.entries({
  ChildProcess: () => ChildProcess, exec: () => exec, execFile: () => execFile, execFileSync: () => execFileSync, execSync: () => execSync,
  fork: () => fork, spawn: () => spawn, spawnSync: () => spawnSync,
})) {
  Object.defineProperty(all, name, {
    get, enumerable: true, configurable: true,
    set(value) { Object.defineProperty(all, name, { value, writable: true, enumerable: true, configurable: true }); },
  });
}
export default all;
