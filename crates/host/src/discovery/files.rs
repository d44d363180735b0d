//! Reading what strangers wrote without being held up by it, and writing so that nobody ever sees half of it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The most that a manifest, a sidecar or a settings file may hold.
pub(crate) const MAX_TEXT: u64 = 1 << 20;

/// Why a file could not be read as text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// Nothing is there.
    #[error("there is no such file")]
    Missing,
    /// Something is there that is not a file.
    #[error("{0} stands where a file is expected")]
    NotAFile(&'static str),
    /// It holds more than anyone writes by hand.
    #[error("it holds {size} bytes, more than the {max} that are allowed")]
    TooLarge { size: u64, max: u64 },
    /// It is not text.
    #[error("it is not UTF-8 text (first bad byte at offset {at})")]
    NotUtf8 { at: usize },
    /// The operating system refused.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Io(error),
        }
    }
}

/// Opens a regular file for reading. A fifo or a device is refused before it is opened, and one that is put there in the
/// moment between cannot block either.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), ReadError> {
    let seen = fs::metadata(path)?;
    if !seen.is_file() {
        return Err(ReadError::NotAFile(kind_of(&seen)));
    }
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.open(path)?;
    let opened = file.metadata()?;
    if !opened.is_file() {
        return Err(ReadError::NotAFile(kind_of(&opened)));
    }
    Ok((file, opened))
}

/// Reads a regular file of at most `max` bytes as UTF-8.
pub(crate) fn read_text(path: &Path, max: u64) -> Result<String, ReadError> {
    let (file, metadata) = open_regular(path)?;
    if metadata.len() > max {
        return Err(ReadError::TooLarge { size: metadata.len(), max });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // The file may grow while it is read.
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(ReadError::TooLarge { size: bytes.len() as u64, max });
    }
    String::from_utf8(bytes).map_err(|error| ReadError::NotUtf8 { at: error.utf8_error().valid_up_to() })
}

fn kind_of(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() { "a directory" } else { "something special (a pipe, a socket or a device)" }
}

/// Replaces `path` in one step; readers see the old content or the new, whatever happens. `mode` is that of the new file.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = parent.join(temporary_name());
    let written = write_new(&temporary, bytes, mode).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report; a leftover is only untidy.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(mode);
    }
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A name that discovery passes over and that no other process uses.
pub(crate) fn temporary_name() -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |elapsed| elapsed.subsec_nanos());
    PathBuf::from(format!("{TEMPORARY_PREFIX}{}-{nanos}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// How the names of unfinished things begin.
pub(crate) const TEMPORARY_PREFIX: &str = ".tmp-";
