//! Looking at the files of all extensions.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::stamps::{Root, packed};

/// How many files are looked at before others may run: about as long as a message takes.
const PORTION: usize = 256;

/// What any process saw so lately is not looked at again. The price of looking at all of a thousand extensions at every call
/// is a fifth of the call; the price of this is that an edit may count this much later.
const FRESH: Duration = Duration::from_secs(1);

/// Notes on a file of stamps when the look at them began.
pub(super) fn note_look(stamps: &Path, began: SystemTime) -> std::io::Result<()> {
    File::open(stamps)?.set_modified(began)
}

/// The extensions that a call does not concern, with the files that they had when the lookup was written.
///
/// They are looked at by the thread that waits for the tool's owner to start, and by no other: a second one that is busy
/// while processes fork keeps them waiting for its core, which costs more than looking does.
pub(crate) struct Others {
    stamps: PathBuf,
    /// Names the lookup that the stamps belong to.
    head: String,
}

impl Others {
    pub(super) fn new(stamps: PathBuf, head: String) -> Self {
        Self { stamps, head }
    }

    /// Whether none of them has changed, as far as is known at `now`. Takes a millisecond for a thousand extensions, unless
    /// somebody has looked a moment ago; lets others run meanwhile.
    pub(crate) async fn still_hold(&self, now: SystemTime) -> bool {
        self.look(now).await.unwrap_or(false)
    }

    async fn look(&self, now: SystemTime) -> Option<bool> {
        let mut file = File::open(&self.stamps).ok()?;
        let mut bytes = vec![0; self.head.len() + 1];
        file.read_exact(&mut bytes).ok()?;
        if bytes.strip_suffix(b"\n")? != self.head.as_bytes() {
            return Some(false);
        }
        // When the file was last touched is when somebody last began to look. A time to come is a clock that was set back.
        if now.duration_since(file.metadata().ok()?.modified().ok()?).is_ok_and(|age| age < FRESH) {
            return Some(true);
        }
        file.read_to_end(&mut bytes).ok()?;
        let (root, mut at) = self.begin(&bytes)?;
        let mut left = PORTION;
        while at < bytes.len() {
            let (stamp, next) = packed(&bytes, at)?;
            if !root.holds(stamp) {
                return Some(false);
            }
            at = next;
            left -= 1;
            if left == 0 {
                left = PORTION;
                tokio::task::yield_now().await;
            }
        }
        // If it cannot be noted, the next call looks again.
        file.set_modified(now).ok();
        Some(true)
    }

    /// The directory that all stamps are below, and where the stamps begin.
    fn begin(&self, bytes: &[u8]) -> Option<(Root, usize)> {
        let rest = bytes.strip_prefix(self.head.as_bytes())?.strip_prefix(b"\n")?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let root = Root::open(Path::new(std::str::from_utf8(rest.get(..end)?).ok()?))?;
        Some((root, bytes.len() - rest.len() + end + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::stamps::push;
    use super::*;
    use crate::discovery::Outside;

    /// A directory with that many files, and their stamps in a file beside it.
    fn made(count: usize) -> (tempfile::TempDir, Others) {
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
        let others = Others::new(dir.path().join("stamps"), "the head".to_owned());
        (dir, others)
    }

    /// Long after anybody has looked.
    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(3600)
    }

    #[tokio::test]
    async fn every_single_change_is_seen() {
        for count in [0, 1, 2, PORTION, PORTION + 1, PORTION * 2] {
            let (dir, others) = made(count);
            assert!(others.still_hold(later()).await, "{count}");
            std::fs::remove_dir_all(dir.path().join("files")).expect("removed");
            assert!(!others.still_hold(later() + FRESH).await, "there is no root");
            // The first, those around the end of a portion, and the last, each with all others as they were.
            for changed in [0, PORTION - 1, PORTION, count.saturating_sub(1)] {
                if changed >= count {
                    continue;
                }
                let (dir, others) = made(count);
                let file = dir.path().join("files").join(changed.to_string());
                std::fs::write(&file, "yy").expect("written");
                assert!(!others.still_hold(later()).await, "{changed} of {count} has changed");
                std::fs::remove_file(&file).expect("removed");
                assert!(!others.still_hold(later()).await, "{changed} of {count} is gone");
            }
        }
    }

    #[tokio::test]
    async fn what_somebody_saw_within_a_second_is_not_looked_at_again() {
        let (dir, others) = made(3);
        let moment = later();
        assert!(others.still_hold(moment).await);
        std::fs::write(dir.path().join("files/1"), "yy").expect("written");
        let ms = Duration::from_millis;
        assert!(others.still_hold(moment).await);
        assert!(others.still_hold(moment + ms(999)).await);
        // What is trusted is not seen: it does not make the time longer.
        assert!(!others.still_hold(moment + ms(1_000)).await);
        assert!(!others.still_hold(moment - ms(1)).await, "the clock was set back");
        assert!(others.still_hold(moment + ms(999)).await, "a look that found a change is not noted");
        assert!(!Others::new(others.stamps.clone(), "another".to_owned()).still_hold(moment).await);
    }

    #[tokio::test]
    async fn stamps_of_another_lookup_and_damaged_ones_do_not_hold() {
        let (dir, others) = made(3);
        let file = dir.path().join("stamps");
        let whole = std::fs::read(&file).expect("read");
        for another in ["the head of another", "the hea", ""] {
            assert!(!Others::new(file.clone(), another.to_owned()).still_hold(later()).await, "{another:?}");
        }
        let (first, next) = packed(&whole, others.begin(&whole).expect("a root").1).expect("a stamp");
        assert_eq!(first.1, c"0");
        for length in [0, 3, 8, 9, 12, next - 1] {
            std::fs::write(&file, &whole[..length]).expect("written");
            assert!(!others.still_hold(later()).await, "{length}");
        }
        std::fs::remove_file(&file).expect("removed");
        assert!(!others.still_hold(later()).await, "there are none");
    }
}
