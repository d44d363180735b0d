//! Operations that change files other than by replacing them. As in [`super::rooted`], no step follows a link.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use jackfield_protocol::{CallError, ErrorCode, WriteFlag};
use rustix::fd::OwnedFd;
use rustix::fs::{Access, AtFlags, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::rooted::{Temporary, irregular, kind, too_big};
use super::{Kind, Root, refused};
use crate::{Stop, errno};

/// How much is copied between two looks whether anybody still waits.
const COPY_PIECE_BYTES: u64 = 16 * 1024 * 1024;

/// How a file is written.
pub(super) struct How {
    pub(super) flag: WriteFlag,
    pub(super) offset: u64,
    /// The permission bits of one that is made.
    pub(super) mode: Option<u32>,
}

impl Root {
    /// Opens a regular file for writing; never waits for the other end of a pipe.
    fn open_to_write(&self, path: &Path, flags: OFlags, mode: u32) -> Result<OwnedFd, CallError> {
        let fail = |error| refused("write", path, error);
        let Some((folder, name)) = self.holder(path).map_err(fail)? else { return Err(fail(Errno::ISDIR)) };
        let flags = flags | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd =
            rustix::fs::openat(&folder, name, flags, Mode::from_raw_mode(mode & 0o7777)).map_err(
                |error| match error {
                    Errno::NXIO => irregular("write", path),
                    error => fail(error),
                },
            )?;
        match kind(&rustix::fs::fstat(&fd).map_err(fail)?) {
            Kind::File => Ok(fd),
            Kind::Folder | Kind::Link | Kind::Other => Err(irregular("write", path)),
        }
    }

    /// Replaces the content of a file without replacing the file.
    pub(super) fn overwrite(&self, path: &Path, bytes: &[u8], stop: &Stop) -> Result<(), CallError> {
        stop.check()?;
        let fd = self.open_to_write(path, OFlags::TRUNC, 0)?;
        File::from(fd).write_all(bytes).map_err(|error| errno::failure(&format!("write {path:?}"), &error))
    }

    /// Writes as `how` says.
    pub(super) fn write_as(
        &self,
        path: &Path,
        bytes: &[u8],
        how: &How,
        max: usize,
        stop: &Stop,
    ) -> Result<(), CallError> {
        let How { flag, offset, mode } = *how;
        let flags = match flag {
            WriteFlag::Replace => return self.write(path, bytes, mode, max, stop),
            WriteFlag::Append => OFlags::APPEND | OFlags::CREATE,
            WriteFlag::Create => OFlags::CREATE | OFlags::EXCL,
            WriteFlag::CreateAppend => OFlags::APPEND | OFlags::CREATE | OFlags::EXCL,
            WriteFlag::InPlace => OFlags::empty(),
        };
        if bytes.len() > max {
            return Err(too_big("write", path, bytes.len() as u64, max));
        }
        stop.check()?;
        let mut file = File::from(self.open_to_write(path, flags, mode.unwrap_or(0o666))?);
        let failed = |error: std::io::Error| errno::failure(&format!("write {path:?}"), &error);
        if offset > 0 {
            file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        }
        file.write_all(bytes).map_err(failed)
    }

    /// Makes one folder, which must not be there.
    pub(super) fn mkdir_new(&self, path: &Path, mode: u32) -> Result<(), CallError> {
        let fail = |error| refused("mkdir", path, error);
        let Some((folder, name)) = self.holder(path).map_err(fail)? else { return Err(fail(Errno::EXIST)) };
        rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(mode & 0o7777)).map_err(fail)
    }

    /// Gives a file another name.
    pub(super) fn rename(&self, path: &Path, to: &Path, stop: &Stop) -> Result<(), CallError> {
        let fail = |error| refused("rename", path, error);
        let (Some((from, name)), Some((into, new))) =
            (self.holder(path).map_err(fail)?, self.holder(to).map_err(fail)?)
        else {
            return Err(CallError::new(ErrorCode::Denied, format!("rename {path:?}: a root is not renamed")));
        };
        stop.check()?;
        rustix::fs::renameat(&from, name, &into, new).map_err(fail)
    }

    /// Copies one regular file with its permission bits.
    pub(super) fn copy(&self, path: &Path, to: &Path, exclusive: bool, stop: &Stop) -> Result<(), CallError> {
        let fail = |error| refused("copy", path, error);
        let failed = |error: std::io::Error| errno::failure(&format!("copy {path:?} to {to:?}"), &error);
        let source = self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(fail)?;
        let stat = rustix::fs::fstat(&source).map_err(fail)?;
        match kind(&stat) {
            Kind::File => {}
            Kind::Folder => return Err(fail(Errno::ISDIR)),
            Kind::Link | Kind::Other => return Err(irregular("copy", path)),
        }
        let fail = |error| refused("copy to", to, error);
        let Some((folder, name)) = self.holder(to).map_err(fail)? else { return Err(fail(Errno::ISDIR)) };
        match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) if exclusive => return Err(fail(Errno::EXIST)),
            Ok(there) => match kind(&there) {
                Kind::File => {}
                Kind::Folder => return Err(fail(Errno::ISDIR)),
                Kind::Link => return Err(fail(Errno::LOOP)),
                Kind::Other => return Err(irregular("copy to", to)),
            },
            Err(Errno::NOENT) => {}
            Err(error) => return Err(fail(error)),
        }
        let mode = stat.st_mode & 0o777;
        let temporary = Temporary::create(&folder, mode).map_err(fail)?;
        let mut source = File::from(source);
        let mut file = File::from(temporary.file.try_clone().map_err(failed)?);
        while std::io::copy(&mut (&mut source).take(COPY_PIECE_BYTES), &mut file).map_err(failed)? > 0 {
            stop.check()?;
        }
        rustix::fs::fchmod(&temporary.file, Mode::from_raw_mode(mode)).map_err(fail)?;
        if exclusive { temporary.link_to(name).map_err(fail) } else { temporary.rename_to(name).map_err(fail) }
    }

    /// Makes a link that says `target`.
    pub(super) fn symlink(&self, path: &Path, target: &str) -> Result<(), CallError> {
        let fail = |error| refused("link", path, error);
        let Some((folder, name)) = self.holder(path).map_err(fail)? else { return Err(fail(Errno::EXIST)) };
        rustix::fs::symlinkat(target, &folder, name).map_err(fail)
    }

    /// Gives a file a second name.
    pub(super) fn hard_link(&self, path: &Path, target: &Path) -> Result<(), CallError> {
        let fail = |error| refused("link", path, error);
        let missing = |error| refused("link to", target, error);
        let Some((folder, name)) = self.holder(path).map_err(fail)? else { return Err(fail(Errno::EXIST)) };
        let Some((from, old)) = self.holder(target).map_err(missing)? else { return Err(missing(Errno::PERM)) };
        rustix::fs::linkat(&from, old, &folder, name, AtFlags::empty()).map_err(fail)
    }

    /// What a link says.
    pub(super) fn readlink(&self, path: &Path) -> Result<String, CallError> {
        let fail = |error| refused("readlink", path, error);
        let Some((folder, name)) = self.holder(path).map_err(fail)? else { return Err(fail(Errno::INVAL)) };
        let target = rustix::fs::readlinkat(&folder, name, Vec::new()).map_err(fail)?;
        target.into_string().map_err(|_| {
            CallError::new(ErrorCode::InvalidRequest, format!("readlink {path:?}: what the link says is not UTF-8"))
        })
    }

    /// Sets permission bits.
    pub(super) fn chmod(&self, path: &Path, mode: u32) -> Result<(), CallError> {
        let fail = |error| refused("chmod", path, error);
        let mode = Mode::from_raw_mode(mode & 0o7777);
        if kind(&self.stat(path).map_err(fail)?) == Kind::Other {
            return Err(irregular("chmod", path));
        }
        match self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY) {
            Ok(fd) => rustix::fs::fchmod(&fd, mode).map_err(fail),
            // One that may not be read may still be changed by its owner.
            #[cfg(target_os = "linux")]
            Err(Errno::ACCESS) => {
                use rustix::fd::AsRawFd as _;
                let fd = self.open(path, OFlags::PATH | OFlags::NOFOLLOW).map_err(fail)?;
                rustix::fs::chmod(format!("/proc/self/fd/{}", fd.as_raw_fd()), mode).map_err(fail)
            }
            Err(error) => Err(fail(error)),
        }
    }

    /// Sets the times of access and change, in milliseconds since 1970.
    pub(super) fn utimes(&self, path: &Path, accessed_ms: f64, modified_ms: f64) -> Result<(), CallError> {
        let fail = |error| refused("utimes", path, error);
        let (Some(last_access), Some(last_modification)) = (timespec(accessed_ms), timespec(modified_ms)) else {
            let message = format!("utimes {path:?}: {accessed_ms} and {modified_ms} are not both times");
            return Err(CallError::new(ErrorCode::InvalidRequest, message));
        };
        let times = Timestamps { last_access, last_modification };
        match self.holder(path).map_err(fail)? {
            Some((folder, name)) => rustix::fs::utimensat(&folder, name, &times, AtFlags::SYMLINK_NOFOLLOW),
            None => self.open(path, OFlags::RDONLY).and_then(|fd| rustix::fs::futimens(&fd, &times)),
        }
        .map_err(fail)
    }

    /// Cuts or extends a file.
    pub(super) fn truncate(&self, path: &Path, length: u64) -> Result<(), CallError> {
        let fd = self.open_to_write(path, OFlags::empty(), 0)?;
        rustix::fs::ftruncate(&fd, length).map_err(|error| refused("truncate", path, error))
    }

    /// Whether a file is there and may be used so.
    pub(super) fn access(&self, path: &Path, mode: &str) -> Result<(), CallError> {
        let fail = |error| refused("access", path, error);
        let mut wanted = Access::EXISTS;
        for letter in mode.chars() {
            wanted |= match letter {
                'r' => Access::READ_OK,
                'w' => Access::WRITE_OK,
                'x' => Access::EXEC_OK,
                other => {
                    let message = format!("access {path:?}: {other:?} is none of r, w and x");
                    return Err(CallError::new(ErrorCode::InvalidRequest, message));
                }
            };
        }
        if kind(&self.stat(path).map_err(fail)?) == Kind::Link {
            return Err(fail(Errno::LOOP));
        }
        match self.holder(path).map_err(fail)? {
            Some((folder, name)) => rustix::fs::accessat(&folder, name, wanted, AtFlags::empty()).map_err(fail),
            None => rustix::fs::access(self.absolute(&path.to_string_lossy()), wanted).map_err(fail),
        }
    }
}

fn timespec(ms: f64) -> Option<Timespec> {
    // What a 64 bit count of nanoseconds can hold, which is more than three hundred years.
    let nanos = ms * 1e6;
    if !nanos.is_finite() || nanos.abs() > 9.2e18 {
        return None;
    }
    let nanos = nanos as i64;
    Some(Timespec { tv_sec: nanos.div_euclid(1_000_000_000), tv_nsec: nanos.rem_euclid(1_000_000_000) as _ })
}
