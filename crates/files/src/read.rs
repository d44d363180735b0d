//! Bounded reads of regular files.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// The most that a manifest, a sidecar or a settings file may hold.
pub const MAX_TEXT: u64 = 1 << 20;

/// Why a file could not be read as text.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no file at the path.
    #[error("there is no such file")]
    Missing,
    /// The path names a folder, pipe, socket or device.
    #[error("{0} stands where a file is expected")]
    NotAFile(&'static str),
    /// The file is larger than the limit.
    #[error("it holds {size} bytes, more than the {max} that are allowed")]
    TooLarge {
        /// The file's size.
        size: u64,
        /// The limit.
        max: u64,
    },
    /// The content is not UTF-8.
    #[error("it is not UTF-8 text (first bad byte at offset {at})")]
    NotUtf8 {
        /// The offset of the first bad byte.
        at: usize,
    },
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

/// Opens a regular file for reading. It refuses a FIFO or device before opening it, and opens without blocking, so one
/// that is put there in between cannot block either.
///
/// # Errors
/// When the file is missing, not a regular file, or cannot be opened.
pub fn open_regular(path: &Path) -> Result<(File, Metadata), ReadError> {
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
///
/// # Errors
/// As [`read_bytes`], and when the content is not UTF-8.
pub fn read_text(path: &Path, max: u64) -> Result<String, ReadError> {
    let bytes = read_bytes(path, max)?;
    String::from_utf8(bytes).map_err(|error| ReadError::NotUtf8 { at: error.utf8_error().valid_up_to() })
}

/// Reads a regular file of at most `max` bytes.
///
/// # Errors
/// When the file is missing, not a regular file, too large, or cannot be read.
pub fn read_bytes(path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
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
    Ok(bytes)
}

fn kind_of(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() { "a directory" } else { "something special (a pipe, a socket or a device)" }
}
