//! What is known of a file without opening it.

use std::path::Path;

use jackfield_protocol::CallError;
use rustix::fs::Stat;
use rustix::io::Errno;
use serde_json::{Value, json};

use super::rooted::{kind, size};
use super::{Kind, Root, refused};

impl Root {
    /// What a file is.
    pub(crate) fn kind_of(&self, path: &Path) -> Result<Kind, CallError> {
        self.followed(path).map(|stat| kind(&stat))
    }

    /// A link here was put in after the path was resolved.
    pub(super) fn followed(&self, path: &Path) -> Result<Stat, CallError> {
        match self.stat(path) {
            Ok(stat) if kind(&stat) == Kind::Link => Err(refused("stat", path, Errno::LOOP)),
            other => other.map_err(|error| refused("stat", path, error)),
        }
    }

    /// The facts as an extension gets them.
    pub(super) fn facts(&self, path: &Path, follow: bool) -> Result<Value, CallError> {
        let stat = match follow {
            true => self.followed(path)?,
            false => self.stat(path).map_err(|error| refused("stat", path, error))?,
        };
        let modified = ms(stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or_default());
        let changed = ms(stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or_default());
        Ok(json!({
            "kind": kind(&stat).as_str(),
            "size": size(&stat),
            "modified_ms": modified,
            "accessed_ms": ms(stat.st_atime, i64::try_from(stat.st_atime_nsec).unwrap_or_default()),
            "changed_ms": changed,
            "created_ms": self.born(path).unwrap_or_else(|| modified.min(changed)),
            "mode": stat.st_mode,
            "uid": stat.st_uid,
            "gid": stat.st_gid,
            "ino": stat.st_ino,
            "dev": stat.st_dev,
            "nlink": stat.st_nlink,
        }))
    }

    /// When a file was made, where the file system knows.
    #[cfg(target_os = "linux")]
    fn born(&self, path: &Path) -> Option<f64> {
        use rustix::fs::{AtFlags, StatxFlags};
        let (folder, name) = self.holder(path).ok()??;
        let facts = rustix::fs::statx(&folder, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?;
        let known = facts.stx_mask & StatxFlags::BTIME.bits() != 0;
        known.then(|| ms(facts.stx_btime.tv_sec, i64::from(facts.stx_btime.tv_nsec)))
    }

    #[cfg(not(target_os = "linux"))]
    fn born(&self, _path: &Path) -> Option<f64> {
        None
    }
}

/// Milliseconds since 1970, with what a float holds of the rest.
fn ms(seconds: i64, nanos: i64) -> f64 {
    seconds as f64 * 1000.0 + nanos as f64 / 1e6
}
