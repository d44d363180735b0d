//! The files of the ledger, and reading them from their end.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// More segments than a disk holds.
const MAX_SEGMENT: u64 = 1_000_000_000;

/// The path of a segment.
pub(super) fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("ledger-{number:06}.jsonl"))
}

/// The numbers of all segments, in order.
pub(super) fn list(dir: &Path) -> io::Result<Vec<u64>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("ledger-")?.strip_suffix(".jsonl"));
        // Only what `path` makes counts: not `+1`, not a number with more zeros, not one that nobody reaches.
        if let Some((text, number)) = number.and_then(|text| Some((text, text.parse().ok()?)))
            && (1..=MAX_SEGMENT).contains(&number)
            && format!("{number:06}") == text
        {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Makes the folder if there is none, for its owner alone.
pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if fs::metadata(dir)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Opens a segment for appending and makes it if there is none, for its owner alone.
pub(super) fn open(dir: &Path, number: u64) -> io::Result<File> {
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path(dir, number))?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// The lines of a file from the last to the first.
pub(super) struct Backwards<'a> {
    file: &'a File,
    /// Where `buffer` begins in the file; what follows it has been given out.
    start: u64,
    buffer: Vec<u8>,
    chunk: usize,
}

/// One line of [`Backwards`].
pub(super) struct BackLine {
    pub(super) bytes: Vec<u8>,
    /// The offset just after it and its newline.
    pub(super) end: u64,
    /// Whether a newline ends it; only the last line of a file may lack one.
    pub(super) terminated: bool,
}

impl<'a> Backwards<'a> {
    /// Reads the first `size` bytes of `file`, at least `chunk` at a time.
    pub(super) fn new(file: &'a File, size: u64, chunk: usize) -> Self {
        Self { file, start: size, buffer: Vec::new(), chunk }
    }

    /// The line before, or nothing at the beginning of the file.
    pub(super) fn previous(&mut self) -> io::Result<Option<BackLine>> {
        if self.buffer.is_empty() && !self.grow()? {
            return Ok(None);
        }
        let end = self.start + self.buffer.len() as u64;
        let terminated = self.buffer.last() == Some(&b'\n');
        loop {
            let text = self.buffer.len() - usize::from(terminated);
            let newline = self.buffer.iter().take(text).rposition(|byte| *byte == b'\n');
            let from = match newline {
                Some(newline) => newline + 1,
                None if self.grow()? => continue,
                None => 0,
            };
            let mut bytes = self.buffer.split_off(from);
            if terminated {
                bytes.pop();
            }
            return Ok(Some(BackLine { bytes, end, terminated }));
        }
    }

    /// Puts the bytes before the buffer in front of it. At least doubles it, so that long lines take linear time.
    fn grow(&mut self) -> io::Result<bool> {
        let wanted = self.chunk.max(self.buffer.len());
        let more = usize::try_from(self.start).unwrap_or(usize::MAX).min(wanted);
        if more == 0 {
            return Ok(false);
        }
        let mut bytes = vec![0; more];
        self.start -= more as u64;
        self.file.read_exact_at(&mut bytes, self.start)?;
        bytes.append(&mut self.buffer);
        self.buffer = bytes;
        Ok(true)
    }
}
