//! Stamps: what `stat` says about a file. The host reads a file again only when its stamp has changed.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// A file system's clock may be this coarse: a file that changed more recently may change again without a new stamp.
const RACY_NS: i64 = 2_000_000_000;

/// What `stat` says about a path. Links are followed by [`Stamp::of`].
///
/// The change time cannot be set by a program, so an edit that restores size and modification time still shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// There is nothing.
    Missing,
    /// There is a file, a directory or something special; `mode` says which.
    Present { dev: u64, inode: u64, size: u64, mtime_ns: i64, ctime_ns: i64, mode: u32 },
}

impl Stamp {
    /// The stamp of what `path` leads to.
    pub(crate) fn of(path: &Path) -> Self {
        fs::metadata(path).map_or(Self::Missing, |metadata| Self::from_metadata(&metadata))
    }

    /// The stamp in `metadata`.
    #[cfg(unix)]
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let ns = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self::Present {
            dev: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            mtime_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            mode: metadata.mode(),
        }
    }

    /// The stamp in `metadata`.
    #[cfg(not(unix))]
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        let mtime_ns = metadata.modified().map_or(0, since_epoch_ns);
        Self::Present { dev: 0, inode: 0, size: metadata.len(), mtime_ns, ctime_ns: mtime_ns, mode: 0 }
    }

    /// Whether it changed so recently that a further change might not show.
    pub(crate) fn is_racy(&self) -> bool {
        is_racy(self.newest_ns(), SystemTime::now())
    }

    /// The last change, in nanoseconds since 1970.
    pub(crate) fn newest_ns(&self) -> i64 {
        match self {
            Self::Missing => 0,
            Self::Present { mtime_ns, ctime_ns, .. } => (*mtime_ns).max(*ctime_ns),
        }
    }

    /// Adds all fields to a digest.
    pub(crate) fn digest_into(&self, hasher: &mut Sha256) {
        let (dev, inode, size, mtime_ns, ctime_ns, mode) = match self {
            Self::Missing => (0, 0, 0, 0, 0, 0),
            Self::Present { dev, inode, size, mtime_ns, ctime_ns, mode } => {
                (*dev, *inode, *size, *mtime_ns, *ctime_ns, *mode)
            }
        };
        for field in [dev, inode, size, mtime_ns.cast_unsigned(), ctime_ns.cast_unsigned(), mode.into()] {
            hasher.update(field.to_le_bytes());
        }
    }
}

/// Whether a change at `newest_ns` is so recent at `now` that a further change might not show.
pub(crate) fn is_racy(newest_ns: i64, now: SystemTime) -> bool {
    newest_ns > since_epoch_ns(now).saturating_sub(RACY_NS)
}

fn since_epoch_ns(time: SystemTime) -> i64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |elapsed| i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX))
}
