//! Operations from the root's descriptor. No step follows a link, so a path that was resolved before the decision either
//! still names the same place or nothing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use jackfield_protocol::{CallError, ErrorCode};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Entry, Kind, Root, refused};
use crate::services::Stop;

/// What is known of a file without opening it.
pub(in crate::services) struct Facts {
    pub(in crate::services) kind: Kind,
    pub(in crate::services) size: u64,
    pub(in crate::services) modified_ms: i64,
}

impl Root {
    /// Opens `path` without following a link anywhere in it.
    fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        let root = rustix::fs::open(&self.path, folder_flags(), Mode::empty())?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::fs::ResolveFlags;
            let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match rustix::fs::openat2(&root, path, flags, Mode::empty(), beneath) {
                // An old kernel does not know the call, and an old sandbox forbids what it does not know.
                Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
                other => return other,
            }
        }
        open_stepwise(root, path, flags)
    }

    /// The folder that holds `path`, and the last name in it; `None` for the root, which nothing here holds.
    fn holder<'p>(&self, path: &'p Path) -> Result<Option<(OwnedFd, &'p OsStr)>, Errno> {
        let Some(name) = path.file_name() else { return Ok(None) };
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Ok(Some((self.open(parent, folder_flags())?, name)))
    }

    /// Whether a folder is there.
    pub(in crate::services) fn is_folder(&self, path: &Path) -> Result<(), CallError> {
        self.open(path, folder_flags()).map(drop).map_err(|error| refused("enter", path, error))
    }

    /// The content of a regular file of at most `max` bytes.
    pub(in crate::services) fn read(&self, path: &Path, max: usize) -> Result<Vec<u8>, CallError> {
        // Non-blocking, because a pipe would otherwise wait for a writer that may never come.
        let fd = self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(|error| match error {
            Errno::NXIO => irregular("read", path),
            error => refused("read", path, error),
        })?;
        let stat = rustix::fs::fstat(&fd).map_err(|error| refused("read", path, error))?;
        if kind(&stat) != Kind::File {
            return Err(irregular("read", path));
        }
        let mut bytes = Vec::new();
        let limit = max as u64;
        if size(&stat) <= limit {
            // One more than allowed, because the file may grow while it is read and some say that they are empty.
            File::from(fd)
                .take(limit.saturating_add(1))
                .read_to_end(&mut bytes)
                .map_err(|error| CallError::new(ErrorCode::Io, format!("read {path:?}: {error}")))?;
        }
        if size(&stat) > limit || bytes.len() > max {
            let size = size(&stat).max(bytes.len() as u64);
            return Err(too_big("read", path, size, max));
        }
        Ok(bytes)
    }

    /// Puts a file of this content in place of what is there, at once or not at all.
    pub(in crate::services) fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        max: usize,
        stop: &Stop,
    ) -> Result<(), CallError> {
        if bytes.len() > max {
            return Err(too_big("write", path, bytes.len() as u64, max));
        }
        let fail = |error| refused("write", path, error);
        let Some((folder, name)) = self.holder(path).map_err(fail)? else { return Err(irregular("write", path)) };
        let mode = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if kind(&stat) == Kind::File => Some(Mode::from_raw_mode(stat.st_mode & 0o777)),
            Ok(stat) if kind(&stat) == Kind::Link => return Err(fail(Errno::LOOP)),
            Ok(_) => return Err(irregular("write", path)),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(fail(error)),
        };
        let temporary = Temporary::create(&folder).map_err(fail)?;
        let mut file = File::from(
            temporary
                .file
                .try_clone()
                .map_err(|error| CallError::new(ErrorCode::Io, format!("write {path:?}: {error}")))?,
        );
        file.write_all(bytes).map_err(|error| CallError::new(ErrorCode::Io, format!("write {path:?}: {error}")))?;
        if let Some(mode) = mode {
            rustix::fs::fchmod(&temporary.file, mode).map_err(fail)?;
        }
        stop.check()?;
        temporary.rename_to(name).map_err(fail)
    }

    /// The entries of a folder by name, and whether there were more than `max`.
    pub(in crate::services) fn list(
        &self,
        path: &Path,
        max: usize,
        stop: &Stop,
    ) -> Result<(Vec<Entry>, bool), CallError> {
        let fail = |error| refused("list", path, error);
        let folder = self.open(path, OFlags::RDONLY | OFlags::DIRECTORY).map_err(fail)?;
        let mut entries = Vec::new();
        let mut truncated = false;
        for entry in Dir::read_from(&folder).map_err(fail)? {
            stop.check()?;
            let entry = entry.map_err(fail)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() == max {
                truncated = true;
                break;
            }
            // What goes away while the folder is read was not there.
            let Ok(stat) = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            entries.push(Entry { name: name.to_owned(), kind: kind(&stat), size: size(&stat) });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((entries, truncated))
    }

    /// Kind, size and time of change.
    pub(in crate::services) fn stat(&self, path: &Path) -> Result<Facts, CallError> {
        let fail = |error| refused("stat", path, error);
        let stat = match self.holder(path).map_err(fail)? {
            Some((folder, name)) => rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?,
            None => rustix::fs::stat(&self.path).map_err(fail)?,
        };
        if kind(&stat) == Kind::Link {
            return Err(fail(Errno::LOOP));
        }
        let modified_ms =
            stat.st_mtime.saturating_mul(1000) + i64::try_from(stat.st_mtime_nsec).unwrap_or_default() / 1_000_000;
        Ok(Facts { kind: kind(&stat), size: size(&stat), modified_ms })
    }

    /// Makes a folder and its parents; false where it was there already.
    pub(in crate::services) fn mkdir(&self, path: &Path, stop: &Stop) -> Result<bool, CallError> {
        let fail = |error| refused("mkdir", path, error);
        let mut at = rustix::fs::open(&self.path, folder_flags(), Mode::empty()).map_err(fail)?;
        let mut created = false;
        for step in names(path) {
            stop.check()?;
            created = match rustix::fs::mkdirat(&at, step, Mode::from_raw_mode(0o777)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(error) => return Err(fail(error)),
            };
            at = open_folder(&at, step).map_err(fail)?;
        }
        Ok(created)
    }

    /// Removes a file, a link or an empty folder; never the root.
    pub(in crate::services) fn remove(&self, path: &Path, stop: &Stop) -> Result<(), CallError> {
        let fail = |error| refused("remove", path, error);
        let Some((folder, name)) = self.holder(path).map_err(fail)? else {
            return Err(CallError::new(ErrorCode::Denied, "remove \".\": the project itself is not removed"));
        };
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
        let flags = if kind(&stat) == Kind::Folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        stop.check()?;
        rustix::fs::unlinkat(&folder, name, flags).map_err(fail)
    }
}

/// A file beside the one to be written, gone again unless it was renamed.
struct Temporary<'f> {
    folder: &'f OwnedFd,
    name: OsString,
    file: OwnedFd,
    renamed: bool,
}

impl<'f> Temporary<'f> {
    fn create(folder: &'f OwnedFd) -> Result<Self, Errno> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut tries = 0;
        loop {
            let name = format!(".jackfield-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            match rustix::fs::openat(folder, name.as_str(), flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok(Self { folder, name: name.into(), file, renamed: false }),
                // Left behind by a host that was killed and had the same number.
                Err(Errno::EXIST) if tries < 100 => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn rename_to(mut self, name: &OsStr) -> Result<(), Errno> {
        rustix::fs::renameat(self.folder, &self.name, self.folder, name)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // Nothing more can be done where this fails, and the caller hears of the failure that led here.
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// What `openat2` does, one step at a time, for systems without it.
fn open_stepwise(root: OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut at = root;
    let mut steps = names(path).peekable();
    if steps.peek().is_none() {
        return rustix::fs::openat(&at, ".", flags, Mode::empty());
    }
    while let Some(step) = steps.next() {
        if steps.peek().is_none() {
            return match rustix::fs::openat(&at, step, flags | OFlags::NOFOLLOW, Mode::empty()) {
                Err(Errno::NOTDIR) => Err(link_or(&at, step, Errno::NOTDIR)),
                other => other,
            };
        }
        at = open_folder(&at, step)?;
    }
    Ok(at)
}

fn open_folder(at: &OwnedFd, step: &OsStr) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(at, step, folder_flags() | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOTDIR) => Err(link_or(at, step, Errno::NOTDIR)),
        other => other,
    }
}

/// A link opened as a folder says only that it is none.
fn link_or(at: &OwnedFd, step: &OsStr, error: Errno) -> Errno {
    match rustix::fs::statat(at, step, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if kind(&stat) == Kind::Link => Errno::LOOP,
        _ => error,
    }
}

fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        // `checked` has let no other through.
        _ => None,
    })
}

fn folder_flags() -> OFlags {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let access = OFlags::PATH;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let access = OFlags::RDONLY;
    access | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn kind(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

fn irregular(what: &str, path: &Path) -> CallError {
    CallError::new(ErrorCode::Io, format!("{what} {path:?}: it is not a regular file"))
}

fn too_big(what: &str, path: &Path, size: u64, max: usize) -> CallError {
    CallError::new(ErrorCode::Io, format!("{what} {path:?}: {size} bytes are more than the limit of {max} bytes"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The way without `openat2` refuses what the other one refuses.
    #[test]
    fn stepwise_opening_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        std::fs::write(dir.path().join("a/b/file"), "x").unwrap();
        symlink("b", dir.path().join("a/link")).unwrap();
        symlink("b/file", dir.path().join("a/file-link")).unwrap();
        let open = |path: &str, flags| {
            let root = rustix::fs::open(dir.path(), folder_flags(), Mode::empty()).unwrap();
            open_stepwise(root, Path::new(path), flags).map(drop)
        };
        assert_eq!(open("a/b/file", OFlags::RDONLY), Ok(()));
        assert_eq!(open(".", folder_flags()), Ok(()));
        assert_eq!(open("a/b", folder_flags()), Ok(()));
        assert_eq!(open("a/link/file", OFlags::RDONLY), Err(Errno::LOOP));
        assert_eq!(open("a/link", folder_flags()), Err(Errno::LOOP));
        assert_eq!(open("a/file-link", OFlags::RDONLY), Err(Errno::LOOP));
        assert_eq!(open("a/none", OFlags::RDONLY), Err(Errno::NOENT));
    }
}
