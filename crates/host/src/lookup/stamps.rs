//! How a file looked, as text on a line, and whether it still does. Written for speed: there may be thousands.

use std::path::Path;

use crate::discovery::Outside;

/// `kind size mtime ctime mode inode`, or `-` for what was missing.
pub(super) fn text(outside: &Outside) -> String {
    match outside {
        Outside::Missing => "-".to_owned(),
        Outside::Present { is_dir, size, mtime_ns, ctime_ns, mode, inode } => {
            let kind = if *is_dir { 'd' } else { 'f' };
            format!("{kind} {size} {mtime_ns} {ctime_ns} {mode} {inode}")
        }
    }
}

/// Reads what [`text`] wrote, and what follows it.
fn parse(line: &str) -> Option<(Outside, &str)> {
    if let Some(path) = line.strip_prefix("- ") {
        return Some((Outside::Missing, path));
    }
    let mut parts = line.splitn(7, ' ');
    let is_dir = parts.next()? == "d";
    let size = parts.next()?.parse().ok()?;
    let mtime_ns = parts.next()?.parse().ok()?;
    let ctime_ns = parts.next()?.parse().ok()?;
    let mode = parts.next()?.parse().ok()?;
    let inode = parts.next()?.parse().ok()?;
    Some((Outside::Present { is_dir, size, mtime_ns, ctime_ns, mode, inode }, parts.next()?))
}

/// Whether a stamp with a whole path still holds.
pub(super) fn holds(line: &str) -> Option<bool> {
    let (outside, path) = parse(line)?;
    Some(Outside::of(Path::new(path)) == outside)
}

/// A directory below which many stamps are looked at. Opened once, so that the way to it is not walked for each of them.
pub(super) struct Root {
    #[cfg(target_os = "linux")]
    dir: rustix::fd::OwnedFd,
    #[cfg(not(target_os = "linux"))]
    dir: std::path::PathBuf,
}

#[cfg(target_os = "linux")]
impl Root {
    pub(super) fn open(path: &Path) -> Option<Self> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Some(Self { dir: rustix::fs::open(path, flags, Mode::empty()).ok()? })
    }

    /// Whether a stamp with a path below this directory still holds.
    pub(super) fn holds(&self, line: &str) -> Option<bool> {
        use rustix::fs::{AtFlags, FileType, StatxFlags};
        let (outside, path) = parse(line)?;
        let found = match rustix::fs::statx(&self.dir, path, AtFlags::empty(), StatxFlags::BASIC_STATS) {
            Err(_) => Outside::Missing,
            Ok(found) => {
                let is_dir = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory;
                let ns = |time: rustix::fs::StatxTimestamp| {
                    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.into())
                };
                Outside::Present {
                    is_dir,
                    size: if is_dir { 0 } else { found.stx_size },
                    mtime_ns: ns(found.stx_mtime),
                    ctime_ns: ns(found.stx_ctime),
                    mode: found.stx_mode.into(),
                    inode: found.stx_ino,
                }
            }
        };
        Some(found == outside)
    }
}

#[cfg(not(target_os = "linux"))]
impl Root {
    pub(super) fn open(path: &Path) -> Option<Self> {
        Some(Self { dir: path.to_path_buf() })
    }

    /// Whether a stamp with a path below this directory still holds.
    pub(super) fn holds(&self, line: &str) -> Option<bool> {
        let (outside, path) = parse(line)?;
        Some(Outside::of(&self.dir.join(path)) == outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_holds_until_the_file_changes() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("a file");
        std::fs::write(&file, "one").expect("written");
        let root = Root::open(dir.path()).expect("a root");
        let line = format!("{} a file", text(&Outside::of(&file)));
        let whole = format!("{} {}", text(&Outside::of(&file)), file.display());
        assert_eq!((root.holds(&line), holds(&whole)), (Some(true), Some(true)));
        assert_eq!(root.holds("- nothing"), Some(true));
        assert_eq!(root.holds("- a file"), Some(false));
        assert_eq!(root.holds("nonsense"), None);
        std::fs::write(&file, "three").expect("written");
        assert_eq!((root.holds(&line), holds(&whole)), (Some(false), Some(false)));
        std::fs::remove_file(&file).expect("removed");
        assert_eq!(root.holds(&line), Some(false));
    }
}
