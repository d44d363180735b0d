//! The lock file: which extensions are installed, where they came from, in which version, with which content, and what
//! they asked for and were granted. One file for a home, made to be read and compared by people.
//!
//! What is recorded runs only as it was recorded: other files, or a wider request, are put to a person again.

mod form;
mod judge;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackfield_protocol::{Capability, ExtensionId};

use jackfield_files::{self as files, ReadError};
use jackfield_files::{Home, WriteOptions, open_locked, write_atomic};
use jackfield_policy::{Effect, Grant};

pub use self::judge::Change;
#[cfg(test)]
use self::judge::wider;
pub use self::judge::{Judge, key_of};

/// How long a change waits for another process.
const WAIT: Duration = Duration::from_secs(10);

/// More than anyone installs; what is larger is not our file.
const MAX_BYTES: u64 = 16 << 20;

/// Beyond this many files an extension is recorded by its hash alone, so that the file stays readable.
const MAX_NAMED_FILES: usize = 64;

/// What is recorded of one installed extension, or of a package with several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locked {
    /// Where it came from, without passwords.
    pub source: String,
    /// The version that its manifest names.
    pub version: Option<String>,
    /// Over all its files; nothing for one that is linked, because that is made to be edited.
    pub sha256: Option<String>,
    /// The ids of what the directory holds, where that is not its name.
    pub ids: Vec<String>,
    /// What it asked for when a person accepted it.
    pub requests: Vec<Capability>,
    /// Whether it asked when it ran, and not in its manifest.
    pub learned: bool,
    /// What it has been granted.
    pub granted: Vec<Granted>,
    /// The hash of each file, where there are few.
    pub files: BTreeMap<String, String>,
}

/// Something that an extension has been granted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Granted {
    /// What.
    pub capability: Capability,
    /// Where; everywhere if nothing.
    pub project: Option<String>,
}

/// Why the lock file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The file cannot be read or written.
    #[error("cannot {action} the lock file {}: {source}", file.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file holds something else.
    #[error(
        "the lock file {} is damaged ({message}); what is installed does not run until you repair it, or move it away \
         and say `jackfield ext accept NAME` for each extension",
        file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong, with the line.
        message: String,
    },
    /// An extension cannot be recorded.
    #[error("cannot record {} in the lock file: {reason}", dir.display())]
    Unfit {
        /// Its directory.
        dir: PathBuf,
        /// Why.
        reason: String,
    },
}

/// What is recorded, by the name of the directory among the installed ones.
pub type Entries = BTreeMap<String, Locked>;

/// The lock file of a home.
#[derive(Debug, Clone)]
pub struct LockFile {
    file: PathBuf,
}

impl LockFile {
    /// That of `home`; nothing is read yet.
    pub fn of(home: &Home) -> Self {
        Self { file: home.lock() }
    }

    pub(crate) fn at(file: &Path) -> Self {
        Self { file: file.to_owned() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// All that is recorded; nothing when there is no file.
    ///
    /// # Errors
    /// When the file cannot be read, is no lock file, or holds the marks of a merge that nobody finished.
    pub fn read(&self) -> Result<Entries, LockError> {
        let text = match files::read_text(&self.file, MAX_BYTES) {
            Ok(text) => text,
            Err(ReadError::Missing) => return Ok(Entries::new()),
            Err(ReadError::Io(source)) => return Err(self.io("read", source)),
            Err(error) => return Err(self.damaged(error.to_string())),
        };
        form::read(&text).map_err(|message| self.damaged(message))
    }

    /// Changes what is recorded as it is in the file now, so that two processes never lose each other's changes. Says
    /// nothing to the disk when nothing changes.
    ///
    /// # Errors
    /// When the file cannot be read or written; a damaged one is never overwritten.
    pub fn change<T>(&self, change: impl FnOnce(&mut Entries) -> T) -> Result<T, LockError> {
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder).map_err(|error| self.io("write", error))?;
        }
        // The lock is on a file of its own, because this one is another after each change.
        let _held = self.hold().map_err(|error| self.io("lock", error))?;
        let mut entries = self.read()?;
        let before = entries.clone();
        let result = change(&mut entries);
        if entries != before {
            let text = form::write(&entries);
            write_atomic(&self.file, text.as_bytes(), WriteOptions::PRIVATE)
                .map_err(|error| self.io("write", error))?;
        }
        Ok(result)
    }

    /// Takes over what has been granted, for the extensions that are recorded.
    pub fn note_grants(&self, grants: &[Grant]) -> Result<(), LockError> {
        if !self.file.exists() {
            return Ok(());
        }
        self.change(|entries| {
            for (key, locked) in entries.iter_mut() {
                locked.granted = granted(grants, &locked.ids_or(key));
            }
        })
    }

    fn hold(&self) -> io::Result<File> {
        open_locked(&self.file.with_extension("lock.held"), WAIT)
    }

    fn io(&self, action: &'static str, source: io::Error) -> LockError {
        LockError::Io { action, file: self.file.clone(), source }
    }

    fn damaged(&self, message: String) -> LockError {
        LockError::Damaged { file: self.file.clone(), message }
    }
}

impl Locked {
    /// The ids of what it is about.
    pub fn ids_or(&self, key: &str) -> Vec<String> {
        if self.ids.is_empty() { vec![key.to_owned()] } else { self.ids.clone() }
    }

    /// Records the content of `dir`, or for a link none.
    pub fn pin(&mut self, dir: &Path, link: bool) -> Result<(), LockError> {
        (self.sha256, self.files) = (None, BTreeMap::new());
        if link {
            return Ok(());
        }
        let unfit = |reason| LockError::Unfit { dir: dir.to_owned(), reason };
        let (sha256, files) = crate::fingerprint::pinned(dir).map_err(unfit)?;
        self.sha256 = Some(sha256);
        if files.len() <= MAX_NAMED_FILES {
            self.files = files;
        }
        Ok(())
    }
}

/// What these extensions have been granted, in an order that does not depend on when.
pub fn granted(grants: &[Grant], ids: &[String]) -> Vec<Granted> {
    let concerns = |id: &ExtensionId| ids.iter().any(|known| known == id.as_str());
    let mut granted: Vec<Granted> = grants
        .iter()
        .filter(|grant| grant.effect == Effect::Allow && concerns(&grant.extension))
        .map(|grant| Granted {
            capability: Capability { reason: None, ..grant.capability.clone() },
            project: grant.project.as_ref().map(|project| project.to_string_lossy().into_owned()),
        })
        .collect();
    granted.sort_by_key(|granted| (granted.capability.power, granted.capability.to_string(), granted.project.clone()));
    granted.dedup();
    granted
}
