// `cp`: a file, a link or a whole tree, with filter, force, errorOnExist, dereference, verbatimSymlinks and
// preserveTimestamps. `mode` (the clone flags) is accepted and has no effect.
import { ask, place, toPath, waitFor } from "jackfield:node/internal/fs/core";
import { errnoOf, invalidArgType, nodeError, systemError } from "jackfield:node/internal/io_errors";
import { dirname, join, resolve } from "node:path";

const TEXT = {
  ERR_FS_CP_EINVAL: ["Invalid src or dest", "EINVAL"],
  ERR_FS_CP_DIR_TO_NON_DIR: ["Cannot overwrite non-directory with directory", "EISDIR"],
  ERR_FS_CP_NON_DIR_TO_DIR: ["Cannot overwrite directory with non-directory", "ENOTDIR"],
  ERR_FS_CP_EEXIST: ["Target already exists", "EEXIST"],
  ERR_FS_EISDIR: ["Path is a directory", "EISDIR"],
  ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY: ["Cannot overwrite symlink in subdirectory of self", "EINVAL"],
};

function problem(code, message, path) {
  const [title, errno] = TEXT[code];
  const error = nodeError(Error, code, `${title}: cp returned ${errno} (${message}) ${path}`);
  Object.defineProperty(error, "name", { value: "SystemError", enumerable: false, writable: true, configurable: true });
  // Node gives the number of EINVAL for a directory that was not asked for.
  const number = -errnoOf(code === "ERR_FS_EISDIR" ? "EINVAL" : errno);
  error.info = { message, path, syscall: "cp", errno: number, code: errno };
  return Object.assign(error, { errno: number, syscall: "cp", path });
}

function* kind(path, label, follow) {
  try {
    return yield ask({ op: "stat", path, follow }, follow ? "stat" : "lstat", label);
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function* wanted(options, from, to) {
  if (!options.filter) return true;
  const answer = options.filter(from, to);
  return typeof answer?.then === "function" ? yield waitFor(answer) : answer;
}

export function* cp(source, destination, options) {
  source = toPath(source, "src");
  destination = toPath(destination, "dest");
  if (options != null && typeof options !== "object") throw invalidArgType("options", "of type object", options);
  const settings = { force: true, recursive: false, ...options };
  if (settings.filter !== undefined && typeof settings.filter !== "function") throw invalidArgType("options.filter", "of type function", settings.filter);
  if (!(yield* wanted(settings, source, destination))) return;
  const from = yield* kind(place(source), source, !!settings.dereference);
  if (!from) throw systemError("ENOENT", settings.dereference ? "stat" : "lstat", source);
  const to = yield* kind(place(destination), destination, !!settings.dereference);
  if (to && to.ino && to.ino === from.ino && to.dev === from.dev) throw problem("ERR_FS_CP_EINVAL", "src and dest cannot be the same", destination);
  if (from.kind === "dir" && settings.recursive && `${resolve(place(destination))}/`.startsWith(`${resolve(place(source))}/`)) {
    throw problem("ERR_FS_CP_EINVAL", `cannot copy ${source} to a subdirectory of self ${destination}`, destination);
  }
  const parent = dirname(place(destination));
  if (!(yield* kind(parent, parent, true))) yield ask({ op: "mkdir", path: parent, recursive: true }, "mkdir", parent);
  yield* copy(source, destination, from, to, settings);
}

function* copy(source, destination, from, to, options) {
  if (from.kind === "dir" && to && to.kind !== "dir") throw problem("ERR_FS_CP_DIR_TO_NON_DIR", `cannot overwrite non-directory ${destination} with directory ${source}`, destination);
  if (from.kind !== "dir" && to?.kind === "dir") throw problem("ERR_FS_CP_NON_DIR_TO_DIR", `cannot overwrite directory ${destination} with non-directory ${source}`, destination);
  if (from.kind === "dir") {
    if (!options.recursive) throw problem("ERR_FS_EISDIR", `${source} is a directory (not copied)`, source);
    yield* tree(source, destination, from, to, options);
  } else if (from.kind === "link") {
    yield* copyLink(source, destination, to, options);
  } else if (from.kind === "file") {
    yield* file(source, destination, from, to, options);
  } else {
    throw problem("ERR_FS_CP_EINVAL", `cannot copy an unknown file type: ${destination}`, destination);
  }
}

function* file(source, destination, from, to, options) {
  if (to) {
    if (!options.force) {
      if (options.errorOnExist) throw problem("ERR_FS_CP_EEXIST", `${destination} already exists`, destination);
      return;
    }
    yield ask({ op: "remove", path: place(destination), force: true }, "unlink", destination);
  }
  yield ask({ op: "copy", path: place(source), to: place(destination), exclusive: false }, "copyfile", source, destination);
  if (options.preserveTimestamps) {
    yield ask({ op: "utimes", path: place(destination), accessed_ms: from.accessed_ms ?? from.modified_ms, modified_ms: from.modified_ms }, "utime", destination);
  }
}

function* copyLink(source, destination, to, options) {
  let { target } = yield ask({ op: "readlink", path: place(source) }, "readlink", source);
  if (!options.verbatimSymlinks && !target.startsWith("/")) target = resolve(dirname(place(source)), target);
  if (to) {
    if (!options.force && options.errorOnExist) throw problem("ERR_FS_CP_EEXIST", `${destination} already exists`, destination);
    yield ask({ op: "remove", path: place(destination), force: true }, "unlink", destination);
  }
  yield ask({ op: "link", path: place(destination), target, symbolic: true }, "symlink", target, destination);
}

function* tree(source, destination, from, to, options) {
  if (!to) yield ask({ op: "mkdir", path: place(destination), recursive: true }, "mkdir", destination);
  const { entries, truncated } = yield ask({ op: "list", path: place(source) }, "opendir", source);
  if (truncated) throw systemError("EOVERFLOW", "opendir", source, undefined, "the directory has more entries than the host lists");
  for (const { name } of entries) {
    const a = join(source, name);
    const b = join(destination, name);
    if (!(yield* wanted(options, a, b))) continue;
    const found = yield* kind(place(a), a, !!options.dereference);
    if (found) yield* copy(a, b, found, yield* kind(place(b), b, !!options.dereference), options);
  }
  if (!to && from.mode !== undefined) yield ask({ op: "chmod", path: place(destination), mode: from.mode & 0o7777 }, "chmod", destination);
}
