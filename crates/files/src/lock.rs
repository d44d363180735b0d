//! Advisory file locks with a time limit.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Whether others may hold the lock too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// One writer.
    Exclusive,
    /// Any number of readers.
    Shared,
}

/// Locks `file` and waits at most `limit`, because the holder of a lock may have been stopped.
///
/// The lock ends when `file` is closed.
///
/// # Errors
/// `TimedOut` when another process keeps the lock, or the operating system's error.
pub fn lock_within(file: &File, kind: LockKind, limit: Duration) -> io::Result<()> {
    let began = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        let result = match kind {
            LockKind::Exclusive => file.try_lock(),
            LockKind::Shared => file.try_lock_shared(),
        };
        match result {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {}
        }
        if began.elapsed() > limit {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the file is locked by another process"));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}

/// Opens the lock file at `path`, makes it if it is missing, and locks it exclusively.
///
/// A file that is replaced at each change cannot carry its own lock, so it has a lock file beside it. The lock ends
/// when the returned file is dropped.
///
/// # Errors
/// As [`lock_within`], and when the lock file cannot be made.
pub fn open_locked(path: &Path, limit: Duration) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    lock_within(&file, LockKind::Exclusive, limit)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_another_holds_times_out_and_is_free_after_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        let held = open_locked(&path, Duration::ZERO).expect("the lock is free");
        let error = open_locked(&path, Duration::from_millis(20)).expect_err("the lock is held");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(held);
        open_locked(&path, Duration::from_millis(20)).expect("the lock is free again");
    }
}
