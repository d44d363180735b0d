//! Looking at the files of all extensions, with the help of a second thread.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use super::stamps::{Packed, Root, packed};

/// From here on, a second thread is worth its start.
const MANY: usize = 200;
/// How many stamps a thread takes at a time.
const PORTION: usize = 32;

/// A look at many files that is under way.
///
/// It ends before anything is started: a thread that is busy when a process forks may keep the new process waiting for its
/// core, and that costs more than looking does.
pub(crate) struct Looking {
    shared: Arc<Shared>,
    second: Option<JoinHandle<()>>,
}

struct Shared {
    bytes: Vec<u8>,
    head: Range<usize>,
    root: Root,
    /// Where each stamp begins.
    starts: Vec<usize>,
    /// The first stamp that nobody has taken yet.
    next: AtomicUsize,
    differs: AtomicBool,
}

impl Looking {
    pub(super) fn begin(file: &Path) -> Option<Self> {
        let bytes = std::fs::read(file).ok()?;
        let head = line(&bytes, 0)?;
        let root = line(&bytes, head.end + 1)?;
        let mut at = root.end + 1;
        let root = Root::open(Path::new(std::str::from_utf8(bytes.get(root)?).ok()?))?;
        let mut starts = Vec::with_capacity(bytes.len() / 48);
        while at < bytes.len() {
            starts.push(at);
            at = packed(&bytes, at)?.1;
        }
        let many = starts.len() >= MANY;
        let (next, differs) = (AtomicUsize::new(0), AtomicBool::new(false));
        let shared = Arc::new(Shared { bytes, head, root, starts, next, differs });
        let second = many.then(|| {
            let shared = Arc::clone(&shared);
            // Without a second thread it only takes longer.
            std::thread::Builder::new().name("lookup".to_owned()).spawn(move || shared.look()).ok()
        });
        Some(Self { shared, second: second.flatten() })
    }

    /// Names the lookup that the stamps belong to.
    pub(super) fn head(&self) -> &str {
        let head = self.shared.bytes.get(self.shared.head.clone()).unwrap_or_default();
        std::str::from_utf8(head).unwrap_or_default()
    }

    /// Looks at what is left. Whether nothing has changed.
    pub(super) fn all_hold(mut self) -> bool {
        self.shared.look();
        let looked = self.second.take().is_none_or(|second| second.join().is_ok());
        looked && !self.shared.differs.load(Ordering::Acquire)
    }
}

impl Drop for Looking {
    /// Nobody wants to know any more.
    fn drop(&mut self) {
        self.shared.differs.store(true, Ordering::Release);
    }
}

impl Shared {
    /// Looks at one portion after another until all are taken or something differs.
    fn look(&self) {
        while !self.differs.load(Ordering::Acquire) {
            let first = self.next.fetch_add(PORTION, Ordering::Relaxed);
            let Some(rest) = self.starts.get(first..).filter(|rest| !rest.is_empty()) else { return };
            let stamp = |start: &usize| -> Option<Packed<'_>> { Some(packed(&self.bytes, *start)?.0) };
            if !rest.iter().take(PORTION).all(|start| stamp(start).is_some_and(|stamp| self.root.holds(stamp))) {
                self.differs.store(true, Ordering::Release);
            }
        }
    }
}

/// The line that begins at `start`.
fn line(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let length = bytes.get(start..)?.iter().position(|byte| *byte == b'\n')?;
    Some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::super::stamps::push;
    use super::*;
    use crate::discovery::Outside;

    /// A directory with that many files, and their stamps in a file beside it.
    fn made(count: usize) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        let files = dir.path().join("files");
        std::fs::create_dir(&files).expect("a directory");
        let mut bytes = format!("the head\n{}\n", files.display()).into_bytes();
        for number in 0..count {
            let path = files.join(number.to_string());
            std::fs::write(&path, "x").expect("written");
            push(&mut bytes, &Outside::of(&path), &number.to_string());
        }
        std::fs::write(dir.path().join("stamps"), bytes).expect("written");
        dir
    }

    #[test]
    fn every_single_change_is_seen() {
        for count in [0, 1, PORTION, PORTION + 1, MANY, MANY + PORTION + 1, 1_000] {
            let dir = made(count);
            let hold = || {
                let looking = Looking::begin(&dir.path().join("stamps")).expect("stamps");
                assert_eq!(looking.head(), "the head");
                looking.all_hold()
            };
            assert!(hold(), "{count}");
            // The first, one in the middle and the last, each with all others as they were.
            for changed in [0, count / 2, count.saturating_sub(1)].into_iter().filter(|changed| *changed < count) {
                let dir = made(count);
                let begin = || Looking::begin(&dir.path().join("stamps")).expect("stamps");
                let file = dir.path().join("files").join(changed.to_string());
                std::fs::write(&file, "yy").expect("written");
                assert!(!begin().all_hold(), "{changed} of {count} has changed");
                std::fs::remove_file(&file).expect("removed");
                assert!(!begin().all_hold(), "{changed} of {count} is gone");
            }
            std::fs::remove_dir_all(dir.path().join("files")).expect("removed");
            assert!(Looking::begin(&dir.path().join("stamps")).is_none(), "there is no root");
        }
    }

    #[test]
    fn damaged_files_are_none() {
        let dir = made(3);
        let file = dir.path().join("stamps");
        let whole = std::fs::read(&file).expect("read");
        for length in 0..whole.len() {
            std::fs::write(&file, &whole[..length]).expect("written");
            // One that is cut between two stamps is shorter, but whole.
            if let Some(looking) = Looking::begin(&file) {
                assert!(looking.shared.starts.len() < 3, "{length}");
            }
        }
        assert!(Looking::begin(&dir.path().join("nothing")).is_none());
    }
}
