//! Many small entries in one file: to make a file costs more than most of what is kept, and a host that meets a hundred
//! extensions would make hundreds.
//!
//! Entries are appended and never changed; of those with the same key the last one counts. Appending takes a lock on the
//! file, reading does not: an entry that is not whole yet is not there yet. Whoever appends cuts off what a process left that
//! died while it wrote. A pack vouches for nothing that is in it: who reads an entry looks at its tag. A pack that cannot be
//! read or written costs time, nothing else. Beside it lies a list of its entries, so that not every process reads the heads of
//! all of them; a list that is not right is found out by the entry that is not where it says.

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

mod list;

/// What an entry is found by.
pub type PackKey = [u8; 32];

/// Begins every entry.
const MARK: [u8; 8] = *b"jfpack1\n";
/// The mark, the key, the tag and the length of the content.
const HEAD: usize = 80;
/// Up to this many bytes nobody minds entries that do not count any more.
const SMALL: u64 = 1 << 20;
/// For how long nothing is appended after somebody has kept the lock for too long: it takes microseconds, so that process
/// does not run, and nobody is to wait for it again and again.
const PAUSE: Duration = Duration::from_secs(5);

/// A file of entries, shared by any number of processes.
#[derive(Debug)]
pub struct Pack {
    path: PathBuf,
    most: u64,
    patience: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<Arc<File>>,
    /// Whether it can be written to.
    is_open: bool,
    /// Before that nothing is appended.
    pause: Option<Instant>,
    /// Which file it is, so that one that was put in its place is noticed.
    identity: (u64, u64),
    /// Where entries begin and how long they are.
    index: HashMap<PackKey, (u64, u64)>,
    /// Bytes of the entries that count.
    live: u64,
    /// Bytes that were looked at.
    seen: u64,
    /// Entries that the list beside the file does not have.
    unlisted: usize,
}

/// An entry as it was found. Whether it is what was once kept shows in its tag.
#[derive(Debug)]
pub struct Packed {
    /// What was given with the content.
    pub tag: [u8; 32],
    /// The content.
    pub content: Vec<u8>,
}

struct Head {
    key: PackKey,
    tag: [u8; 32],
    length: u64,
}

impl Head {
    fn to_bytes(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        let parts = [&MARK[..], &self.key, &self.tag, &self.length.to_le_bytes()].concat();
        bytes.copy_from_slice(&parts);
        bytes
    }

    fn write(&self, out: &mut impl io::Write, content: &[u8]) -> io::Result<()> {
        out.write_all(&self.to_bytes())?;
        out.write_all(content)
    }

    /// The head at `at`; nothing where the file ends, an error where something else stands.
    fn read(file: &File, at: u64, end: u64) -> io::Result<Option<Self>> {
        if end.saturating_sub(at) < HEAD as u64 {
            return Ok(None);
        }
        let mut bytes = [0; HEAD];
        file.read_exact_at(&mut bytes, at)?;
        let mut rest = bytes.as_slice();
        let (mark, key, tag, length) = (taken(&mut rest), taken(&mut rest), taken(&mut rest), taken(&mut rest));
        if mark != MARK {
            return Err(io::Error::other("not an entry"));
        }
        Ok(Some(Self { key, tag, length: u64::from_le_bytes(length) }))
    }
}

/// The entry whose head stands at `at`, of `most` bytes at most.
fn entry(file: &File, at: u64, end: u64, most: u64) -> Option<(Head, Packed)> {
    let head = Head::read(file, at, end).ok()??;
    if head.length > most {
        return None;
    }
    let begin = at + HEAD as u64;
    begin.checked_add(head.length).filter(|after| *after <= end)?;
    let mut content = vec![0; usize::try_from(head.length).ok()?];
    file.read_exact_at(&mut content, begin).ok()?;
    let tag = head.tag;
    Some((head, Packed { tag, content }))
}

/// The next bytes of a head, which is long enough.
fn taken<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let Some((first, others)) = rest.split_first_chunk::<N>() else { return [0; N] };
    *rest = others;
    *first
}

impl State {
    /// Reads the heads of entries that are new since the last look, up to `end`. Whether all up to there are whole.
    fn look(&mut self, file: &File, end: u64) -> bool {
        if end < self.seen {
            self.forget();
        }
        while self.seen < end {
            let Ok(Some(head)) = Head::read(file, self.seen, end) else { return false };
            let size = head.length.checked_add(HEAD as u64);
            let after = size.and_then(|size| self.seen.checked_add(size)).filter(|after| *after <= end);
            let Some(after) = after else { return false };
            self.insert(head.key, self.seen, after - self.seen);
            self.seen = after;
        }
        true
    }

    fn insert(&mut self, key: PackKey, at: u64, size: u64) {
        self.unlisted += 1;
        let before = self.index.insert(key, (at, size)).map_or(0, |(_, size)| size);
        self.live = self.live + size - before;
    }

    fn forget(&mut self) {
        (self.seen, self.live, self.unlisted) = (0, 0, 0);
        self.index.clear();
    }
}

impl Pack {
    /// A pack in this file, which is made with the first entry, of `most` bytes at most. Another process that appends is
    /// waited for no longer than `patience`.
    pub fn at(path: PathBuf, most: u64, patience: Duration) -> Self {
        Self { path, most, patience, state: Mutex::default() }
    }

    /// The file; it looks different after every entry.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last entry under this key.
    pub fn read(&self, key: &PackKey) -> Option<Packed> {
        let (file, end, at) = self.find(key)?;
        let entry = entry(&file, at, end, self.most).filter(|(head, _)| head.key == *key);
        if entry.is_none() {
            // Somebody has spoilt the file; what was known of it is not true any more.
            self.lock().forget();
        }
        entry.map(|(_, packed)| packed)
    }

    /// Where the last entry under this key stands, for as long as the file does not look different.
    pub fn place(&self, key: &PackKey) -> Option<u64> {
        self.find(key).map(|(_, _, at)| at)
    }

    /// The entry that stands there, without looking at the others.
    pub fn read_at(&self, place: u64) -> Option<Packed> {
        let (file, end) = self.current(&mut self.lock(), false).ok()?;
        entry(&file, place, end, self.most).map(|(_, packed)| packed)
    }

    fn find(&self, key: &PackKey) -> Option<(Arc<File>, u64, u64)> {
        let mut state = self.lock();
        let (file, end) = self.current(&mut state, false).ok()?;
        state.look(&file, end);
        let (at, _) = *state.index.get(key)?;
        Some((file, end, at))
    }

    /// Keeps an entry.
    ///
    /// # Errors
    /// The file cannot be written, or another process has been at it for too long.
    pub fn append(&self, key: &PackKey, tag: &[u8; 32], content: &[u8]) -> io::Result<()> {
        let head = Head { key: *key, tag: *tag, length: content.len() as u64 };
        let size = HEAD as u64 + head.length;
        if size > self.most / 2 {
            return Err(io::Error::other("larger than a pack may be"));
        }
        let mut state = self.lock();
        let (file, mut end) = match self.locked(&mut state) {
            // Somebody else's, or nobody may write to it: the folder is ours, and so is the next file.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return self.put(&mut state, &crate::sealed::beside(&self.path), |out| head.write(out, content));
            }
            locked => locked?,
        };
        let appended = (|| {
            if !state.look(&file, end) {
                // What was known of the file may not be true any more.
                state.forget();
                if !state.look(&file, end) {
                    // All who write hold the lock, so the rest is nobody's who still does.
                    end = state.seen;
                    file.set_len(end)?;
                }
            }
            let is_stale = end > SMALL && end / 4 > state.live;
            if is_stale || end + size > self.most {
                return self.rewrite(&mut state, &file, &head, content);
            }
            let bytes = head.to_bytes();
            let mut parts = [io::IoSlice::new(&bytes), io::IoSlice::new(content)];
            if let Err(error) = write_all(&file, &mut parts) {
                file.set_len(end).ok();
                return Err(error);
            }
            state.insert(head.key, end, size);
            state.seen = end + size;
            if state.unlisted >= list::LAG {
                list::write(&self.path, &mut state);
            }
            Ok(())
        })();
        file.unlock().ok();
        appended
    }

    /// Puts a new file in the place of this one, with the newest of the entries that count and one more.
    fn rewrite(&self, state: &mut State, file: &File, head: &Head, content: &[u8]) -> io::Result<()> {
        let mut kept: Vec<(u64, u64)> =
            state.index.iter().filter(|(key, _)| **key != head.key).map(|(_, place)| *place).collect();
        kept.sort_unstable();
        let mut room = self.most / 2;
        let keep_from = kept.iter().rposition(|(_, size)| {
            let fits = room.checked_sub(*size);
            room = fits.unwrap_or_default();
            fits.is_none()
        });
        let kept = kept.iter().skip(keep_from.map_or(0, |at| at + 1));
        // Who writes it holds the lock, so what lies there is a dead process's.
        let new = self.path.with_extension("new");
        fs::remove_file(&new).ok();
        self.put(state, &new, |out| {
            for (at, size) in kept {
                // What was spoilt meanwhile is left behind.
                if let Some((old, packed)) = entry(file, *at, at.saturating_add(*size), self.most) {
                    old.write(out, &packed.content)?;
                }
            }
            head.write(out, content)
        })
    }

    /// Puts a file with what `write` writes in the place of this one.
    fn put(
        &self,
        state: &mut State,
        new: &Path,
        write: impl FnOnce(&mut io::BufWriter<File>) -> io::Result<()>,
    ) -> io::Result<()> {
        let written = (|| {
            let mut out = io::BufWriter::new(File::options().write(true).create_new(true).mode(0o600).open(new)?);
            write(&mut out)?;
            out.flush()?;
            fs::rename(new, &self.path)
        })();
        if written.is_err() {
            fs::remove_file(new).ok();
        }
        // The next look opens the new one.
        state.file = None;
        state.forget();
        written
    }

    /// The file that lies there now, under a lock, and its length.
    fn locked(&self, state: &mut State) -> io::Result<(Arc<File>, u64)> {
        let began = Instant::now();
        if state.pause.is_some_and(|end| began < end) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        while began.elapsed() < self.patience {
            let (file, _) = self.current(state, true)?;
            match file.try_lock() {
                Ok(()) => {
                    // Somebody may have put a new file in its place meanwhile.
                    let (now, end) = self.current(state, true)?;
                    if Arc::ptr_eq(&now, &file) {
                        return Ok((file, end));
                    }
                    file.unlock()?;
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(200)),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        state.pause = Some(Instant::now() + PAUSE);
        Err(io::ErrorKind::TimedOut.into())
    }

    /// The file that lies there now, and its length.
    fn current(&self, state: &mut State, make: bool) -> io::Result<(Arc<File>, u64)> {
        let identity = |about: &fs::Metadata| (about.dev(), about.ino());
        if let Some(file) = &state.file
            && (state.is_open || !make)
            && let Ok(about) = fs::metadata(&self.path)
            && identity(&about) == state.identity
        {
            return Ok((Arc::clone(file), about.len()));
        }
        state.file = None;
        state.forget();
        let open = |write: bool| {
            let mut options = fs::OpenOptions::new();
            options.read(true).append(write).create(write && make).mode(0o600).open(&self.path)
        };
        state.is_open = true;
        let file = match (open(true), self.path.parent()) {
            (Err(error), Some(folder)) if make && error.kind() == io::ErrorKind::NotFound => {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                open(true)?
            }
            // Where nothing can be written, what is there can still be read.
            (Err(_), _) if !make => {
                state.is_open = false;
                open(false)?
            }
            (opened, _) => opened?,
        };
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("not a file"));
        }
        let file = Arc::new(file);
        (state.file, state.identity) = (Some(Arc::clone(&file)), identity(&about));
        list::read(&self.path, state, about.len());
        Ok((file, about.len()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_all(mut file: &File, mut parts: &mut [io::IoSlice<'_>]) -> io::Result<()> {
    while parts.iter().any(|part| !part.is_empty()) {
        match file.write_vectored(parts) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => io::IoSlice::advance_slices(&mut parts, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
