//! How a configuration was before, so that `--undo` can give it back byte for byte.

use jackfield_files::{WriteOptions, write_atomic};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What was done to one file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The agent's file.
    pub(crate) file: PathBuf,
    /// Whether it was there before.
    pub(crate) existed: bool,
    /// The folders that were made for it, innermost first.
    pub(crate) made: Vec<PathBuf>,
}

/// The record, the file as it was and the file as we left it, all in the home.
pub(crate) struct Backup {
    folder: PathBuf,
}

impl Backup {
    /// Of one file of one agent.
    pub(crate) fn of(home: &Path, agent: &str, file: &Path) -> Self {
        let name: String = file
            .to_string_lossy()
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => char::from(byte).to_string(),
                _ => "_".to_owned(),
            })
            .collect();
        // Long paths may be cut: what follows tells them apart.
        let tail = name.get(name.len().saturating_sub(100)..).unwrap_or(&name).to_owned();
        let sum = file
            .as_os_str()
            .as_encoded_bytes()
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        Self { folder: home.join(format!("{agent}-{sum:016x}{tail}")) }
    }

    /// Where the file as it was is kept.
    pub(crate) fn backup(&self) -> PathBuf {
        self.folder.join("before")
    }

    /// What was done, if anything was.
    pub(crate) fn record(&self) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.folder.join("record.json")).ok()?).ok()
    }

    /// The file as it was.
    pub(crate) fn before(&self) -> io::Result<Vec<u8>> {
        fs::read(self.backup())
    }

    /// The file as we left it.
    pub(crate) fn after(&self) -> io::Result<Vec<u8>> {
        fs::read(self.folder.join("after"))
    }

    /// Keeps how it was and how it will be. A second change keeps how it was before the first, if nobody else changed the
    /// file in between.
    pub(crate) fn keep(&self, record: &Record, before: &[u8], after: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700))?;
        let goes_on = self.record().is_some() && self.after().is_ok_and(|left| left == before);
        if !goes_on {
            write(&self.backup(), before, 0o600)?;
            write(&self.folder.join("record.json"), &serde_json::to_vec_pretty(record)?, 0o600)?;
        }
        write(&self.folder.join("after"), after, 0o600)
    }

    /// It is undone.
    pub(crate) fn forget(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.folder)
    }
}

/// Puts a file in place at once, with these permissions.
pub(crate) fn write(file: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    write_atomic(file, bytes, WriteOptions::durable(mode)).map(drop)
}
