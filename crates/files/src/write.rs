//! The one atomic writer: a reader sees the old content or the new, never a part of either.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How the names of unfinished files and folders begin. Discovery passes over such names.
pub const TEMPORARY_PREFIX: &str = ".tmp-";

/// What the new content survives once the write has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of this process, however it comes.
    #[default]
    Process,
    /// A loss of power too: file and folder are synced.
    Disk,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOptions {
    /// The permission bits of the new file.
    pub mode: u32,
    /// What the content survives.
    pub durability: Durability,
}

impl WriteOptions {
    /// Readable by its owner alone.
    pub const PRIVATE: Self = Self { mode: 0o600, durability: Durability::Process };

    /// Readable by its owner alone, synced to disk.
    pub const PRIVATE_DURABLE: Self = Self { mode: 0o600, durability: Durability::Disk };

    /// Synced to disk, with these permission bits.
    pub const fn durable(mode: u32) -> Self {
        Self { mode, durability: Durability::Disk }
    }
}

/// Replaces `path` with `content` in one step and returns the new file. Makes the folder if it is missing.
///
/// # Errors
/// The operating system's error. The old file is untouched then, and no temporary file is left.
pub fn write_atomic(path: &Path, content: &[u8], options: WriteOptions) -> io::Result<File> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        private_folder(folder)?;
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX);
    let mut file = builder.tempfile_in(folder)?;
    #[cfg(unix)]
    file.as_file().set_permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(options.mode))?;
    file.write_all(content)?;
    if options.durability == Durability::Disk {
        file.as_file().sync_all()?;
    }
    let file = file.persist(path).map_err(|error| error.error)?;
    if options.durability == Durability::Disk {
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

/// Makes a folder, and those above it, that only its owner may enter. A folder that is there stays as it is.
///
/// # Errors
/// The operating system's error.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A name for an unfinished file or folder that no other process uses.
pub fn temporary_name() -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |elapsed| elapsed.subsec_nanos());
    PathBuf::from(format!("{TEMPORARY_PREFIX}{}-{nanos}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_the_file_and_leaves_nothing_else() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("made/here");
        for (content, mode) in [("one", 0o600), ("two", 0o644)] {
            let options = WriteOptions { mode, durability: Durability::Disk };
            let file = write_atomic(&path, content.as_bytes(), options).expect("written");
            assert_eq!(file.metadata().expect("metadata").permissions().mode() & 0o777, mode);
            assert_eq!(std::fs::read_to_string(&path).expect("read"), content);
        }
        assert_eq!(std::fs::read_dir(path.parent().expect("a folder")).expect("listed").count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_content_and_no_temporary_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("occupied");
        std::fs::create_dir(&path).expect("a folder stands in the way");
        write_atomic(&path, b"x", WriteOptions::PRIVATE).expect_err("a folder cannot be replaced by a file");
        assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 1);
    }
}
