//! Operations from the root's descriptor. No step follows a link, so a path that was resolved before the decision either
//! still names the same place or nothing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use jackfield_protocol::{CallError, ErrorCode};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Entry, Kind, Root, refused};
use crate::{Stop, errno};

impl Root {
    /// Where the way to a resolved path begins, and the way.
    fn way<'p>(&self, path: &'p Path) -> (&Path, &'p Path) {
        match path.strip_prefix("/") {
            Ok(rest) if rest.as_os_str().is_empty() => (Path::new("/"), Path::new(".")),
            Ok(rest) => (Path::new("/"), rest),
            Err(_) => (&self.path, path),
        }
    }

    /// Opens `path` without following a link anywhere in it.
    pub(super) fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        let (root, path) = self.way(path);
        let root = rustix::fs::open(root, folder_flags(), Mode::empty())?;
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
    pub(super) fn holder<'p>(&self, path: &'p Path) -> Result<Option<(OwnedFd, &'p OsStr)>, Errno> {
        let Some(name) = path.file_name() else { return Ok(None) };
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Ok(Some((self.open(parent, folder_flags())?, name)))
    }

    /// Whether a folder is there.
    pub(crate) fn is_folder(&self, path: &Path) -> Result<(), CallError> {
        self.open(path, folder_flags()).map(drop).map_err(|error| refused("enter", path, error))
    }

    /// The content of a regular file of at most `max` bytes.
    pub(crate) fn read(&self, path: &Path, max: usize) -> Result<Vec<u8>, CallError> {
        self.read_range(path, 0, None, max).map(|(bytes, _)| bytes)
    }

    /// Up to `length` bytes of a regular file from `offset` on, at most `max`, and the size of the whole.
    pub(crate) fn read_range(
        &self,
        path: &Path,
        offset: u64,
        length: Option<u64>,
        max: usize,
    ) -> Result<(Vec<u8>, u64), CallError> {
        // Non-blocking, because a pipe would otherwise wait for a writer that may never come.
        let fd = self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(|error| match error {
            Errno::NXIO => irregular("read", path),
            error => refused("read", path, error),
        })?;
        let stat = rustix::fs::fstat(&fd).map_err(|error| refused("read", path, error))?;
        match kind(&stat) {
            Kind::File => {}
            Kind::Folder => return Err(refused("read", path, Errno::ISDIR)),
            Kind::Link | Kind::Other => return Err(irregular("read", path)),
        }
        let rest = size(&stat).saturating_sub(offset);
        let wanted = length.unwrap_or(u64::MAX);
        if rest.min(wanted) > max as u64 {
            return Err(too_big("read", path, rest.min(wanted), max));
        }
        let failed = |error: std::io::Error| errno::failure(&format!("read {path:?}"), &error);
        let mut file = File::from(fd);
        if offset > 0 {
            file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        }
        let mut bytes = Vec::new();
        // One more than allowed, because the file may grow while it is read and some say that they are empty.
        file.take(wanted.min((max as u64).saturating_add(1))).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() > max {
            return Err(too_big("read", path, bytes.len() as u64, max));
        }
        let seen = if bytes.is_empty() { 0 } else { offset.saturating_add(bytes.len() as u64) };
        Ok((bytes, size(&stat).max(seen)))
    }

    /// Puts a file of this content in place of what is there, at once or not at all. A new one gets the permission bits
    /// `mode`.
    pub(crate) fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        mode: Option<u32>,
        max: usize,
        stop: &Stop,
    ) -> Result<(), CallError> {
        if bytes.len() > max {
            return Err(too_big("write", path, bytes.len() as u64, max));
        }
        let fail = |error| refused("write", path, error);
        let Some((folder, name)) = self.holder(path).map_err(fail)? else { return Err(fail(Errno::ISDIR)) };
        let kept = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match kind(&stat) {
                Kind::File => Some(Mode::from_raw_mode(stat.st_mode & 0o777)),
                Kind::Link => return Err(fail(Errno::LOOP)),
                Kind::Folder => return Err(fail(Errno::ISDIR)),
                Kind::Other => return Err(irregular("write", path)),
            },
            Err(Errno::NOENT) => None,
            Err(error) => return Err(fail(error)),
        };
        let temporary = match Temporary::create(&folder, mode.unwrap_or(0o666)) {
            // A file that may be written in a folder that may not.
            Err(Errno::ACCESS | Errno::PERM) if kept.is_some() => return self.overwrite(path, bytes, stop),
            other => other.map_err(fail)?,
        };
        let failed = |error: std::io::Error| errno::failure(&format!("write {path:?}"), &error);
        let mut file = File::from(temporary.file.try_clone().map_err(failed)?);
        file.write_all(bytes).map_err(failed)?;
        if let Some(kept) = kept {
            rustix::fs::fchmod(&temporary.file, kept).map_err(fail)?;
        }
        stop.check()?;
        temporary.rename_to(name).map_err(fail)
    }

    /// The entries of a folder by name, and whether there were more than `max`.
    pub(crate) fn list(&self, path: &Path, max: usize, stop: &Stop) -> Result<(Vec<Entry>, bool), CallError> {
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

    /// What the system knows of a file; of a link where there is one.
    pub(super) fn stat(&self, path: &Path) -> Result<Stat, Errno> {
        match self.holder(path)? {
            Some((folder, name)) => rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW),
            None => rustix::fs::stat(self.way(path).0),
        }
    }

    /// Makes a folder and its parents; false where it was there already.
    pub(crate) fn mkdir(&self, path: &Path, mode: Option<u32>, stop: &Stop) -> Result<bool, CallError> {
        let fail = |error| refused("mkdir", path, error);
        let mode = Mode::from_raw_mode(mode.unwrap_or(0o777) & 0o7777);
        let (root, path) = self.way(path);
        let mut at = rustix::fs::open(root, folder_flags(), Mode::empty()).map_err(fail)?;
        let mut created = false;
        for step in names(path) {
            stop.check()?;
            let next = match open_folder(&at, step) {
                Err(Errno::NOENT) => {
                    created = match rustix::fs::mkdirat(&at, step, mode) {
                        Ok(()) => true,
                        // Somebody else was faster.
                        Err(Errno::EXIST) => false,
                        Err(error) => return Err(fail(error)),
                    };
                    open_folder(&at, step)
                }
                there => {
                    created = false;
                    there
                }
            };
            at = next.map_err(|error| match error {
                // Node and the like call it so when the last step is a file.
                Errno::NOTDIR if path.file_name() == Some(step) => fail(Errno::EXIST),
                error => fail(error),
            })?;
        }
        Ok(created)
    }

    /// Removes a file, a link or an empty folder; never the root.
    pub(crate) fn remove(&self, path: &Path, stop: &Stop) -> Result<(), CallError> {
        let fail = |error| refused("remove", path, error);
        let Some((folder, name)) = self.holder(path).map_err(fail)? else {
            return Err(CallError::new(
                ErrorCode::Denied,
                format!("remove {path:?}: the project itself is not removed"),
            ));
        };
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
        let flags = if kind(&stat) == Kind::Folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        stop.check()?;
        rustix::fs::unlinkat(&folder, name, flags).map_err(fail)
    }
}

/// A file beside the one to be written, gone again unless it was renamed.
pub(super) struct Temporary<'f> {
    folder: &'f OwnedFd,
    name: OsString,
    pub(super) file: OwnedFd,
    renamed: bool,
}

impl<'f> Temporary<'f> {
    pub(super) fn create(folder: &'f OwnedFd, mode: u32) -> Result<Self, Errno> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut tries = 0;
        loop {
            let name = format!(".jackfield-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            match rustix::fs::openat(folder, name.as_str(), flags, Mode::from_raw_mode(mode & 0o7777)) {
                Ok(file) => return Ok(Self { folder, name: name.into(), file, renamed: false }),
                // Left behind by a host that was killed and had the same number.
                Err(Errno::EXIST) if tries < 100 => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn rename_to(mut self, name: &OsStr) -> Result<(), Errno> {
        rustix::fs::renameat(self.folder, &self.name, self.folder, name)?;
        self.renamed = true;
        Ok(())
    }
}

impl Temporary<'_> {
    /// Gives it this name if nothing has it yet.
    pub(super) fn link_to(self, name: &OsStr) -> Result<(), Errno> {
        rustix::fs::linkat(self.folder, &self.name, self.folder, name, AtFlags::empty())
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

pub(super) fn folder_flags() -> OFlags {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let access = OFlags::PATH;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let access = OFlags::RDONLY;
    access | OFlags::DIRECTORY | OFlags::CLOEXEC
}

pub(super) fn kind(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

pub(super) fn irregular(what: &str, path: &Path) -> CallError {
    errno::as_errno("EINVAL", format!("{what} {path:?}: it is not a regular file"))
}

pub(super) fn too_big(what: &str, path: &Path, size: u64, max: usize) -> CallError {
    let message = format!("{what} {path:?}: {size} bytes are more than the limit of {max} bytes; use pieces");
    errno::as_errno("EFBIG", message)
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
