//! How a file looked, as text on a line, and whether it still does. Written for speed: there may be thousands.

use std::ffi::CStr;
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

/// How many bytes a packed stamp has: kind, size, times, inode and mode.
const PACKED: usize = 1 + 8 + 8 + 8 + 4 + 8;

/// A stamp as bytes of a fixed number, so that thousands are compared without being read as numbers.
fn pack(outside: &Outside) -> [u8; PACKED] {
    let (kind, size, mtime, ctime, mode, inode) = match outside {
        Outside::Missing => (b'-', 0, 0, 0, 0, 0),
        Outside::Present { is_dir, size, mtime_ns, ctime_ns, mode, inode } => {
            (if *is_dir { b'd' } else { b'f' }, *size, *mtime_ns, *ctime_ns, *mode, *inode)
        }
    };
    let [a, b, c, d] = [size, mtime.cast_unsigned(), ctime.cast_unsigned(), inode].map(u64::to_le_bytes);
    let mut packed = [0; PACKED];
    let mut rest = packed.as_mut_slice();
    for field in [&[kind][..], &a, &b, &c, &d, &mode.to_le_bytes()] {
        let Some((slot, after)) = std::mem::take(&mut rest).split_at_mut_checked(field.len()) else { break };
        slot.copy_from_slice(field);
        rest = after;
    }
    packed
}

/// Appends a packed stamp and the path that it is of, below the root of all of them.
pub(super) fn push(packed: &mut Vec<u8>, outside: &Outside, below: &str) {
    packed.extend(pack(outside));
    packed.extend(below.as_bytes());
    packed.push(0);
}

/// A packed stamp and the path that it is of.
pub(super) type Packed<'a> = (&'a [u8], &'a CStr);

/// Reads what [`push`] wrote at `start`, and where the next begins; `None` if that is not whole.
pub(super) fn packed(bytes: &[u8], start: usize) -> Option<(Packed<'_>, usize)> {
    let (stamp, rest) = bytes.get(start..)?.split_at_checked(PACKED)?;
    let path = CStr::from_bytes_until_nul(rest).ok()?;
    Some(((stamp, path), start + PACKED + path.count_bytes() + 1))
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

    /// Whether what lies below this directory still looks like that.
    pub(super) fn holds(&self, (stamp, path): Packed<'_>) -> bool {
        use rustix::fs::{AtFlags, FileType, StatxFlags};
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
        pack(&found) == stamp
    }
}

#[cfg(not(target_os = "linux"))]
impl Root {
    pub(super) fn open(path: &Path) -> Option<Self> {
        Some(Self { dir: path.to_path_buf() })
    }

    /// Whether what lies below this directory still looks like that.
    pub(super) fn holds(&self, (stamp, path): Packed<'_>) -> bool {
        path.to_str().is_ok_and(|path| pack(&Outside::of(&self.dir.join(path))) == stamp)
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
        let mut bytes = Vec::new();
        push(&mut bytes, &Outside::of(&file), "a file");
        push(&mut bytes, &Outside::of(dir.path()), "");
        push(&mut bytes, &Outside::Missing, "nothing");
        push(&mut bytes, &Outside::Missing, "a file");
        let hold = || {
            let (mut at, mut hold) = (0, Vec::new());
            while at < bytes.len() {
                let (stamp, next) = packed(&bytes, at).expect("whole");
                hold.push(root.holds(stamp));
                at = next;
            }
            hold
        };
        let whole = format!("{} {}", text(&Outside::of(&file)), file.display());
        // An empty path names nothing to the system.
        assert_eq!((hold(), holds(&whole)), (vec![true, false, true, false], Some(true)));
        std::fs::write(&file, "three").expect("written");
        assert_eq!((hold(), holds(&whole)), (vec![false, false, true, false], Some(false)));
        std::fs::remove_file(&file).expect("removed");
        assert_eq!((hold(), holds(&whole)), (vec![false, false, true, true], Some(false)));
    }

    #[test]
    fn damaged_stamps_are_none() {
        let mut bytes = Vec::new();
        push(&mut bytes, &Outside::Missing, "nothing");
        assert_eq!(packed(&bytes, 0).map(|(_, next)| next), Some(bytes.len()));
        for length in 0..bytes.len() {
            assert_eq!(packed(&bytes[..length], 0), None, "{length}");
        }
        assert_eq!((packed(&bytes, 1), packed(&bytes, 1_000)), (packed(&bytes[1..], 0).map(|(p, n)| (p, n + 1)), None));
        assert_eq!(packed(&[b'x'; 500], 0), None);
        assert_eq!(holds("nonsense"), None);
    }
}
