//! Sockets in the file system, reached as files are: without following a link.

use std::path::{Path, PathBuf};

use jackfield_protocol::CallError;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;

use super::{Root, refused};

/// A socket, or the place for one, held open so that nobody can put something else there.
pub(crate) struct HeldSocket {
    folder: OwnedFd,
    name: Option<std::ffi::OsString>,
    /// The path under which the system finds it.
    pub(crate) at: PathBuf,
}

impl HeldSocket {
    /// Removes a socket that was made here.
    pub(crate) fn remove(&self) {
        if let Some(name) = &self.name {
            // Gone already is what is wanted.
            let _ = rustix::fs::unlinkat(&self.folder, name, AtFlags::empty());
        }
    }
}

impl Root {
    /// A socket that is there.
    pub(crate) fn hold_socket(&self, path: &Path) -> Result<HeldSocket, CallError> {
        let fail = |error| refused("connect to", path, error);
        self.followed(path)?;
        #[cfg(target_os = "linux")]
        {
            use rustix::fd::AsRawFd as _;
            let fd = self.open(path, OFlags::PATH | OFlags::NOFOLLOW).map_err(fail)?;
            let at = PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()));
            Ok(HeldSocket { folder: fd, name: None, at })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let Some((folder, _)) = self.holder(path).map_err(fail)? else { return Err(fail(Errno::ISDIR)) };
            Ok(HeldSocket { folder, name: None, at: self.absolute(&path.to_string_lossy()) })
        }
    }

    /// The place for a socket that is to be made.
    pub(crate) fn hold_place(&self, path: &Path) -> Result<HeldSocket, CallError> {
        let fail = |error| refused("listen at", path, error);
        let Some((folder, name)) = self.holder(path).map_err(fail)? else { return Err(fail(Errno::ISDIR)) };
        #[cfg(target_os = "linux")]
        let at = {
            use rustix::fd::AsRawFd as _;
            PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name)
        };
        #[cfg(not(target_os = "linux"))]
        let at = self.absolute(&path.to_string_lossy());
        Ok(HeldSocket { name: Some(name.to_owned()), folder, at })
    }
}
