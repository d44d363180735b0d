// Numbers and names of system errors and signals on Linux and macOS, for node:os's constants and util's
// getSystemErrorName. Each error: [number on Linux, number on macOS, text].
export const systemErrors = {
  E2BIG: [7, 7, "argument list too long"],
  EACCES: [13, 13, "permission denied"],
  EADDRINUSE: [98, 48, "address already in use"],
  EADDRNOTAVAIL: [99, 49, "address not available"],
  EAFNOSUPPORT: [97, 47, "address family not supported"],
  EAGAIN: [11, 35, "resource temporarily unavailable"],
  EAI_ADDRFAMILY: [3000, 3000, "address family not supported"],
  EAI_AGAIN: [3001, 3001, "temporary failure"],
  EAI_BADFLAGS: [3002, 3002, "bad ai_flags value"],
  EAI_BADHINTS: [3013, 3013, "invalid value for hints"],
  EAI_CANCELED: [3003, 3003, "request canceled"],
  EAI_FAIL: [3004, 3004, "permanent failure"],
  EAI_FAMILY: [3005, 3005, "ai_family not supported"],
  EAI_MEMORY: [3006, 3006, "out of memory"],
  EAI_NODATA: [3007, 3007, "no address"],
  EAI_NONAME: [3008, 3008, "unknown node or service"],
  EAI_OVERFLOW: [3009, 3009, "argument buffer overflow"],
  EAI_PROTOCOL: [3014, 3014, "resolved protocol is unknown"],
  EAI_SERVICE: [3010, 3010, "service not available for socket type"],
  EAI_SOCKTYPE: [3011, 3011, "socket type not supported"],
  EALREADY: [114, 37, "connection already in progress"],
  EBADF: [9, 9, "bad file descriptor"],
  EBUSY: [16, 16, "resource busy or locked"],
  ECANCELED: [125, 89, "operation canceled"],
  ECHARSET: [4080, 4080, "invalid Unicode character"],
  ECONNABORTED: [103, 53, "software caused connection abort"],
  ECONNREFUSED: [111, 61, "connection refused"],
  ECONNRESET: [104, 54, "connection reset by peer"],
  EDESTADDRREQ: [89, 39, "destination address required"],
  EEXIST: [17, 17, "file already exists"],
  EFAULT: [14, 14, "bad address in system call argument"],
  EFBIG: [27, 27, "file too large"],
  EHOSTUNREACH: [113, 65, "host is unreachable"],
  EINTR: [4, 4, "interrupted system call"],
  EINVAL: [22, 22, "invalid argument"],
  EIO: [5, 5, "i/o error"],
  EISCONN: [106, 56, "socket is already connected"],
  EISDIR: [21, 21, "illegal operation on a directory"],
  ELOOP: [40, 62, "too many symbolic links encountered"],
  EMFILE: [24, 24, "too many open files"],
  EMSGSIZE: [90, 40, "message too long"],
  ENAMETOOLONG: [36, 63, "name too long"],
  ENETDOWN: [100, 50, "network is down"],
  ENETUNREACH: [101, 51, "network is unreachable"],
  ENFILE: [23, 23, "file table overflow"],
  ENOBUFS: [105, 55, "no buffer space available"],
  ENODEV: [19, 19, "no such device"],
  ENOENT: [2, 2, "no such file or directory"],
  ENOMEM: [12, 12, "not enough memory"],
  ENONET: [64, 64, "machine is not on the network"],
  ENOPROTOOPT: [92, 42, "protocol not available"],
  ENOSPC: [28, 28, "no space left on device"],
  ENOSYS: [38, 78, "function not implemented"],
  ENOTCONN: [107, 57, "socket is not connected"],
  ENOTDIR: [20, 20, "not a directory"],
  ENOTEMPTY: [39, 66, "directory not empty"],
  ENOTSOCK: [88, 38, "socket operation on non-socket"],
  ENOTSUP: [95, 45, "operation not supported on socket"],
  EOVERFLOW: [75, 84, "value too large for defined data type"],
  EPERM: [1, 1, "operation not permitted"],
  EPIPE: [32, 32, "broken pipe"],
  EPROTO: [71, 100, "protocol error"],
  EPROTONOSUPPORT: [93, 43, "protocol not supported"],
  EPROTOTYPE: [91, 41, "protocol wrong type for socket"],
  ERANGE: [34, 34, "result too large"],
  EROFS: [30, 30, "read-only file system"],
  ESHUTDOWN: [108, 58, "cannot send after transport endpoint shutdown"],
  ESPIPE: [29, 29, "invalid seek"],
  ESRCH: [3, 3, "no such process"],
  ETIMEDOUT: [110, 60, "connection timed out"],
  ETXTBSY: [26, 26, "text file is busy"],
  EXDEV: [18, 18, "cross-device link not permitted"],
  UNKNOWN: [4094, 4094, "unknown error"],
  EOF: [4095, 4095, "end of file"],
  ENXIO: [6, 6, "no such device or address"],
  EMLINK: [31, 31, "too many links"],
  EHOSTDOWN: [112, 64, "host is down"],
  EREMOTEIO: [121, 121, "remote I/O error"],
  ENOTTY: [25, 25, "inappropriate ioctl for device"],
  EFTYPE: [4028, 79, "inappropriate file type or format"],
  EILSEQ: [84, 92, "illegal byte sequence"],
  ESOCKTNOSUPPORT: [94, 44, "socket type not supported"],
  ENODATA: [61, 96, "no data available"],
  EUNATCH: [49, 49, "protocol driver not attached"],
};

// Errors that os.constants lists and libuv has no text for: [number on Linux, number on macOS].
const OTHERS = {
  EBADMSG: [74, 94], ECHILD: [10, 10], EDEADLK: [35, 11], EDOM: [33, 33], EDQUOT: [122, 69], EIDRM: [43, 90],
  EINPROGRESS: [115, 36], EMULTIHOP: [72, 95], ENETRESET: [102, 52], ENOEXEC: [8, 8], ENOLCK: [37, 77],
  ENOLINK: [67, 97], ENOMSG: [42, 91], ENOSR: [63, 98], ENOSTR: [60, 99], EOPNOTSUPP: [95, 102], ESTALE: [116, 70],
  ETIME: [62, 101], EWOULDBLOCK: [11, 35],
};

const at = (platform) => (platform === "darwin" ? 1 : 0);

// Negative number → [name, text], as util.getSystemErrorMap gives it.
export function errorNames(platform) {
  const map = new Map();
  for (const [name, error] of Object.entries(systemErrors)) map.set(-error[at(platform)], [name, error[2]]);
  return map;
}

// Name → positive number, as os.constants.errno has it.
export function errorNumbers(platform) {
  const out = {};
  for (const [name, error] of Object.entries({ ...systemErrors, ...OTHERS })) {
    if (error[at(platform)] < 3000 && error[at(platform)] > 0 && name !== "EOF" && !name.startsWith("EAI_")) out[name] = error[at(platform)];
  }
  return Object.fromEntries(Object.entries(out).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const LINUX = {
  SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGIOT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9,
  SIGUSR1: 10, SIGSEGV: 11, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCHLD: 17, SIGSTKFLT: 16, SIGCONT: 18,
  SIGSTOP: 19, SIGTSTP: 20, SIGTTIN: 21, SIGTTOU: 22, SIGURG: 23, SIGXCPU: 24, SIGXFSZ: 25, SIGVTALRM: 26, SIGPROF: 27,
  SIGWINCH: 28, SIGIO: 29, SIGPOLL: 29, SIGPWR: 30, SIGSYS: 31,
};
const DARWIN = {
  SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGIOT: 6, SIGBUS: 10, SIGFPE: 8, SIGKILL: 9,
  SIGUSR1: 30, SIGSEGV: 11, SIGUSR2: 31, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCHLD: 20, SIGCONT: 19, SIGSTOP: 17,
  SIGTSTP: 18, SIGTTIN: 21, SIGTTOU: 22, SIGURG: 16, SIGXCPU: 24, SIGXFSZ: 25, SIGVTALRM: 26, SIGPROF: 27, SIGWINCH: 28,
  SIGIO: 23, SIGINFO: 29, SIGSYS: 12,
};
export const signalNumbers = (platform) => ({ ...(platform === "darwin" ? DARWIN : LINUX) });
