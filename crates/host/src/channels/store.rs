//! Files of a channel: for their owner alone, and replaced whole.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes a folder that only its owner may enter.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// What a file is to survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    /// The end of the host, however it comes.
    Handed,
    /// A loss of power too.
    OnDisk,
}

/// Puts `content` in place of the file. A reader sees the old content or the new, never a part.
pub(super) fn replace(file: &Path, content: &[u8], durable: Durable) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let folder = file.parent().unwrap_or_else(|| Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let unique = NEXT.fetch_add(1, Ordering::Relaxed);
    let next = folder.join(format!(".{name}.{}.{unique:x}", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next).and_then(|mut out| {
        out.write_all(content)?;
        if durable == Durable::OnDisk { out.sync_all() } else { Ok(()) }
    });
    let renamed = written.and_then(|()| fs::rename(&next, file)).and_then(|()| match durable {
        Durable::OnDisk => File::open(folder)?.sync_all(),
        Durable::Handed => Ok(()),
    });
    if renamed.is_err() {
        // Ours and useless now; the first error says what is wrong.
        fs::remove_file(&next).ok();
    }
    renamed
}

/// Reads a file of at most `most` bytes; nothing where there is none.
pub(super) fn read(file: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut content = Vec::new();
    opened.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it is larger than {most} bytes")));
    }
    Ok(Some(content))
}

/// Random bytes from the operating system.
pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Now, for people and files.
pub(super) fn now() -> String {
    format!("{:.0}", jiff::Timestamp::now())
}
