//! The writing end of the chain, shared with every other process that writes to the same folder.
//!
//! Only who holds the lock of the newest segment appends to it. A segment that has reached its size is never appended to
//! again, and the next one is made only by who holds the lock of a whole segment that has; so whoever has a segment
//! open that is still growing knows that it is the newest.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jackfield_files::{LockKind, lock_within};
use sha2::{Digest, Sha256};

use super::LedgerError;
use super::line::{self, ChainLink, GENESIS, Hash};
use super::record::{Newline, Writer};
use super::segments::{self, Backwards};

/// How large a segment grows before the next one begins.
pub(super) const SEGMENT_BYTES: u64 = 64 * 1024 * 1024;

/// How long an append waits for another process.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(10);

/// How much is read at once to find the last line.
const TAIL_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct Chain {
    dir: PathBuf,
    limit: u64,
    segment: Mutex<Option<Segment>>,
}

#[derive(Debug)]
struct Segment {
    file: File,
    number: u64,
    /// Where we left it; nothing if that is not known.
    end: Option<End>,
}

/// The end of the chain.
#[derive(Debug, Clone, Copy)]
struct End {
    size: u64,
    seq: u64,
    hash: Hash,
}

/// What became of one attempt to append.
enum Attempt {
    Written,
    /// The segment is full; the next one is open.
    Full(Segment),
    /// The segment has been removed.
    Gone,
}

impl Chain {
    pub(super) fn open(dir: &Path, limit: u64) -> Result<Self, LedgerError> {
        let chain = Self { dir: dir.to_owned(), limit, segment: Mutex::new(None) };
        let newest = chain.newest()?;
        *chain.segment.lock().unwrap_or_else(PoisonError::into_inner) = Some(newest);
        Ok(chain)
    }

    /// Appends a record. The link is put at its end.
    pub(super) fn append(&self, mut body: Vec<u8>, writer: &Writer) -> Result<(), LedgerError> {
        body.pop();
        // After a panic of another thread the state is as after a failed write: its end is not known.
        let mut current = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let segment = match current.as_mut() {
                Some(segment) => segment,
                None => current.insert(self.newest()?),
            };
            match self.attempt(segment, &mut body, writer)? {
                Attempt::Written => return Ok(()),
                Attempt::Full(next) => *current = Some(next),
                Attempt::Gone => *current = None,
            }
        }
    }

    fn attempt(&self, segment: &mut Segment, body: &mut Vec<u8>, writer: &Writer) -> Result<Attempt, LedgerError> {
        let Segment { file, number, end } = segment;
        let failed = |action, error| self.failed(action, *number, error);
        let _lock = Held::take(file).map_err(|error| failed("lock", error))?;
        let facts = file.metadata().map_err(|error| failed("write to", error))?;
        if facts.nlink() == 0 {
            return Ok(Attempt::Gone);
        }
        let size = facts.size();
        // Taken, so that the end is unknown if anything fails from here on.
        let here = match end.take() {
            Some(here) if here.size == size => here,
            _ => match self.recover(file, *number, size, writer)? {
                Some(here) => here,
                None => return self.next(*number).map(Attempt::Full),
            },
        };
        if here.size >= self.limit {
            return self.next(*number).map(Attempt::Full);
        }
        let after = link(here, body);
        (&*file).write_all(body).map_err(|error| failed("write to", error))?;
        *end = Some(after);
        Ok(Attempt::Written)
    }

    /// Finds the end of the chain in a segment that is locked, and repairs a line that was cut short. Nothing if a
    /// following segment exists already.
    fn recover(&self, file: &File, number: u64, size: u64, writer: &Writer) -> Result<Option<End>, LedgerError> {
        let failed = |action, error| self.failed(action, number, error);
        if segments::path(&self.dir, number + 1).exists() {
            return Ok(None);
        }
        let tail = Tail::find(file, size).map_err(|error| failed("read", error))?;
        let (seq, hash) = match tail.link {
            Some(link) => (link.seq, link.hash),
            None => self.end_before(number)?,
        };
        let mut end = End { size, seq, hash };
        if tail.end < size {
            end = self.repair(file, tail.end, end, writer).map_err(|error| failed("repair", error))?;
        } else if tail.unterminated {
            // All of the last line is there, only its newline is not.
            (&*file).write_all(b"\n").map_err(|error| failed("repair", error))?;
            end.size += 1;
        }
        Ok(Some(end))
    }

    /// Leaves what was cut short as it is, ends it with a newline, and records what it was.
    fn repair(&self, mut file: &File, from: u64, end: End, writer: &Writer) -> io::Result<End> {
        let mut last = [0];
        file.read_exact_at(&mut last, end.size - 1)?;
        let (newline, size) = if last == *b"\n" { (Newline::Found, end.size - 1) } else { (Newline::Added, end.size) };
        let mut line = writer.repair(&hash_range(file, from, size)?, size - from, newline);
        line.pop();
        let after = link(End { size: size + 1, ..end }, &mut line);
        if newline == Newline::Added {
            // With the same write as the record, so that a kill cannot leave a newline that nothing accounts for.
            line.insert(0, b'\n');
        }
        file.write_all(&line)?;
        Ok(after)
    }

    /// The end of the chain in the segments before `number`.
    fn end_before(&self, number: u64) -> Result<(u64, Hash), LedgerError> {
        let numbers = segments::list(&self.dir).map_err(|error| self.failed("read", number, error))?;
        for earlier in numbers.into_iter().rev().filter(|earlier| *earlier < number) {
            let read = || {
                let file = File::open(segments::path(&self.dir, earlier))?;
                let size = file.metadata()?.size();
                Tail::find(&file, size)
            };
            if let Some(link) = read().map_err(|error| self.failed("read", earlier, error))?.link {
                return Ok((link.seq, link.hash));
            }
        }
        Ok((0, GENESIS))
    }

    fn newest(&self) -> Result<Segment, LedgerError> {
        let open = || {
            segments::make_dir(&self.dir)?;
            let number = segments::list(&self.dir)?.last().copied().unwrap_or(1);
            Ok(Segment { file: segments::open(&self.dir, number)?, number, end: None })
        };
        open().map_err(|source| LedgerError::Io { action: "open", file: self.dir.clone(), source })
    }

    fn next(&self, number: u64) -> Result<Segment, LedgerError> {
        let number = number + 1;
        match segments::open(&self.dir, number) {
            Ok(file) => Ok(Segment { file, number, end: None }),
            Err(error) => Err(self.failed("open", number, error)),
        }
    }

    fn failed(&self, action: &'static str, number: u64, source: io::Error) -> LedgerError {
        let file = segments::path(&self.dir, number);
        match source.kind() {
            io::ErrorKind::TimedOut if action == "lock" => LedgerError::Busy { file, seconds: LOCK_WAIT.as_secs() },
            _ => LedgerError::Io { action, file, source },
        }
    }
}

/// Links a record, given without its closing brace, to the end of the chain; returns the end after it.
fn link(end: End, open_body: &mut Vec<u8>) -> End {
    let hash = line::hash_of(&end.hash, open_body);
    // The number before comes from the file, where anything may stand.
    let seq = end.seq.wrapping_add(1);
    line::seal(open_body, &ChainLink { seq, prev: end.hash, hash });
    End { size: end.size + open_body.len() as u64, seq, hash }
}

/// The lock on a segment, released when dropped.
struct Held<'a>(&'a File);

impl<'a> Held<'a> {
    fn take(file: &'a File) -> io::Result<Self> {
        lock_within(file, LockKind::Exclusive, LOCK_WAIT)?;
        Ok(Self(file))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // The lock goes with the file at the latest.
        let _ = self.0.unlock();
    }
}

/// The last whole line of a segment.
struct Tail {
    link: Option<ChainLink>,
    /// The offset after it.
    end: u64,
    /// Whether only its newline is missing.
    unterminated: bool,
}

impl Tail {
    fn find(file: &File, size: u64) -> io::Result<Self> {
        let mut lines = Backwards::new(file, size, TAIL_BYTES);
        while let Some(found) = lines.previous()? {
            if let Some((body, link)) = line::split(&found.bytes) {
                // A line that lacks its newline may have been cut anywhere; its hash tells that it was not.
                if found.terminated || line::hash_of(&link.prev, body) == link.hash {
                    return Ok(Self { link: Some(link), end: found.end, unterminated: !found.terminated });
                }
            }
        }
        Ok(Self { link: None, end: 0, unterminated: false })
    }
}

/// The SHA-256 of a part of a file.
fn hash_range(file: &File, from: u64, to: u64) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut chunk = vec![0; 64 * 1024];
    let mut at = from;
    while at < to {
        let wanted = usize::try_from(to - at).unwrap_or(usize::MAX).min(chunk.len());
        let part = chunk.get_mut(..wanted).unwrap_or_default();
        file.read_exact_at(part, at)?;
        hash.update(&*part);
        at += wanted as u64;
    }
    Ok(line::hex_text(hash.finalize().as_slice()))
}
