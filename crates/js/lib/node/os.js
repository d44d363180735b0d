// node:os. The runtime gives an extension few facts about the machine: platform, architecture, home, temporary
// directory. Everything else (host name, processors, memory, network) has a fixed sensible answer, unless the minimal
// environment says more, since what Node would tell here is nothing an extension was granted to see.
import { info, shared } from "jackfield:host";
import { errorNumbers, signalNumbers } from "jackfield:node/internal/errno";
import { nodeError, validateInteger } from "jackfield:node/internal/errors";
import { Buffer } from "node:buffer";
import process from "node:process";

export const EOL = "\n";
export const devNull = "/dev/null";
export const constants = Object.freeze({
  UV_UDP_REUSEADDR: 4,
  dlopen: Object.freeze({ RTLD_LAZY: 1, RTLD_NOW: 2, RTLD_GLOBAL: info.platform === "darwin" ? 8 : 256, RTLD_LOCAL: info.platform === "darwin" ? 4 : 0 }),
  errno: Object.freeze(errorNumbers(info.platform)),
  signals: Object.freeze(signalNumbers(info.platform)),
  priority: Object.freeze({
    PRIORITY_LOW: 19, PRIORITY_BELOW_NORMAL: 10, PRIORITY_NORMAL: 0, PRIORITY_ABOVE_NORMAL: -7, PRIORITY_HIGH: -14, PRIORITY_HIGHEST: -20,
  }),
});

const GIB = 2 ** 30;
export const arch = () => info.arch;
export const platform = () => info.platform;
// Where nobody has looked at the environment yet, what the host says of it is what it says.
export const homedir = () => shared.env?.("HOME") || info.home;
export const tmpdir = () => ((shared.env ? shared.env("TMPDIR") : info.envTmpdir) || info.tmpdir || "/tmp").replace(/(.)\/$/, "$1");
export const hostname = () => info.hostname ?? process.env.HOSTNAME ?? "localhost";
export const type = () => (info.platform === "darwin" ? "Darwin" : "Linux");
export const release = () => info.release ?? (info.platform === "darwin" ? "23.0.0" : "6.1.0");
export const version = () => info.osVersion ?? `${type()} ${release()}`;
export const machine = () => (info.arch === "x64" ? "x86_64" : info.platform === "darwin" ? "arm64" : "aarch64");
export const endianness = () => "LE";
export const availableParallelism = () => info.cpus ?? 1;
export const cpus = () => Array.from({ length: availableParallelism() }, () => ({
  model: "unknown", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 },
}));
export const totalmem = () => info.totalmem ?? 8 * GIB;
export const freemem = () => info.freemem ?? 4 * GIB;
export const loadavg = () => [0, 0, 0];
export const uptime = () => Math.floor(process.uptime());
export const networkInterfaces = () => ({
  lo: [{ address: "127.0.0.1", netmask: "255.0.0.0", family: "IPv4", mac: "00:00:00:00:00:00", internal: true, cidr: "127.0.0.1/8" }],
});

export function userInfo(options = {}) {
  const text = (value) => (options?.encoding === "buffer" ? Buffer.from(value) : value);
  const name = process.env.USER || process.env.LOGNAME || homedir().split("/").pop() || "user";
  return { uid: process.getuid(), gid: process.getgid(), username: text(name), homedir: text(homedir()), shell: text(process.env.SHELL || "/bin/sh") };
}

export function getPriority(pid = 0) {
  validateInteger(pid, "pid");
  return 0;
}

export function setPriority(pid, priority) {
  validateInteger(priority ?? pid, "priority", -20, 19);
  const error = nodeError(Error, "ERR_SYSTEM_ERROR", "A system error occurred: uv_os_setpriority returned EACCES (permission denied): an extension has no process of its own");
  throw Object.assign(error, { errno: -13, syscall: "uv_os_setpriority" });
}

for (const get of [arch, platform, homedir, tmpdir, hostname, type, release, version, machine, endianness]) {
  get[Symbol.toPrimitive] = () => get();
}

export default {
  EOL, devNull, constants, arch, platform, homedir, tmpdir, hostname, type, release, version, machine, endianness,
  availableParallelism, cpus, totalmem, freemem, loadavg, uptime, networkInterfaces, userInfo, getPriority, setPriority,
};
