//! Trust: a project's extensions run only when a person has said so, and only as they were then.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use jackfield_files::Home;
use jackfield_files::{self as files, ReadError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::catalog::Catalog;
use crate::fingerprint;
use crate::{Diagnostic, ProjectScan};

/// The largest record that is believed.
const MAX_RECORD: u64 = 16 << 20;

/// How a project stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrustState {
    /// Its extensions may run; also the state of a project that has none.
    Trusted,
    /// Nobody has vouched for it.
    Untrusted,
    /// Someone has, but its extensions are not what they were then.
    Changed,
}

impl TrustState {
    /// What to tell the person.
    pub fn advice(self, project: &Path) -> String {
        let command = format!("run 'jackfield trust {}'", project.display());
        match self {
            Self::Trusted => format!("project extensions of {} run", project.display()),
            Self::Untrusted => format!("project extensions do not run until you trust this project: {command}"),
            Self::Changed => format!(
                "project extensions changed since you trusted them and do not run until you trust this project again: {command}"
            ),
        }
    }
}

/// Why trust could not be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The project is not there.
    #[error("cannot find the project {}: {source}", .project.display())]
    NoProject {
        /// The project.
        project: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The project's path cannot be written down.
    #[error("cannot record trust in {}: its path is not UTF-8; rename it", .0.display())]
    NotText(PathBuf),
    /// There is more than anyone can vouch for.
    #[error("cannot record trust in {}: its extension folders hold too much, or something unreadable; tidy them up", .0.display())]
    TooMuch(PathBuf),
    /// The record could not be written.
    #[error("cannot write {}: {source}", .file.display())]
    Write {
        /// The record.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Record {
    version: u32,
    projects: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    hash: String,
}

const VERSION: u32 = 1;

/// Which projects are trusted.
#[derive(Debug, Clone)]
pub struct Trust {
    home: Home,
    catalog: Catalog,
    record: Record,
    diagnostic: Option<Diagnostic>,
}

impl Trust {
    /// Reads the record. One that cannot be read trusts nothing, and [`Self::diagnostic`] says so.
    pub fn load(home: &Home) -> Self {
        Self::load_with(home, &Catalog::of(home))
    }

    /// As [`Self::load`], with an open catalogue.
    pub fn load_with(home: &Home, catalog: &Catalog) -> Self {
        let file = home.trust();
        let (record, diagnostic) = match read(&file) {
            Ok(record) => (record, None),
            Err(error) => {
                let message = format!(
                    "cannot read {}: {error}; no project is trusted until you trust it again with 'jackfield trust'",
                    file.display()
                );
                (Record::default(), Some(Diagnostic::error(&file, message)))
            }
        };
        Self { home: home.clone(), catalog: catalog.clone(), record, diagnostic }
    }

    /// What was wrong with the record.
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        self.diagnostic.as_ref()
    }

    /// The trusted projects, by path.
    pub fn projects(&self) -> impl Iterator<Item = &Path> {
        self.record.projects.keys().map(Path::new)
    }

    /// Vouches for the extensions of `project` as they are now.
    pub fn trust(&mut self, project: &Path) -> Result<(), TrustError> {
        let key = key(project)?;
        let scan = scan(project, &self.home);
        let hash = hash(project, &scan, &self.catalog).ok_or_else(|| TrustError::TooMuch(project.to_owned()))?;
        self.change(|record| {
            record.projects.insert(key, Entry { hash });
        })
    }

    /// Vouches no longer. False if nobody had.
    pub fn revoke(&mut self, project: &Path) -> Result<bool, TrustError> {
        // A project that is gone can still be revoked by the path it had.
        let key = key(project).or_else(|error| project.to_str().map(str::to_owned).ok_or(error))?;
        let mut was_there = false;
        self.change(|record| was_there = record.projects.remove(&key).is_some())?;
        Ok(was_there)
    }

    /// How `project` stands now.
    pub fn state(&self, project: &Path) -> TrustState {
        self.state_of(project, &scan(project, &self.home))
    }

    /// Whether somebody vouched for `project` and it still is what it was then. Unlike with [`Self::state`], having no
    /// extensions is not enough.
    pub fn vouches_for(&self, project: &Path) -> bool {
        key(project).is_ok_and(|key| self.record.projects.contains_key(&key))
            && self.state(project) == TrustState::Trusted
    }

    /// As [`Self::state`], for whoever has searched the project already.
    pub fn state_of(&self, project: &Path, scan: &ProjectScan) -> TrustState {
        if scan.vouched_for().is_empty() {
            return TrustState::Trusted;
        }
        let Some(entry) = key(project).ok().and_then(|key| self.record.projects.get(&key)) else {
            return TrustState::Untrusted;
        };
        match hash(project, scan, &self.catalog) {
            Some(hash) if hash == entry.hash => TrustState::Trusted,
            _ => TrustState::Changed,
        }
    }

    /// Changes the record as it is on disk now, so that two hosts do not undo each other's changes.
    fn change(&mut self, change: impl FnOnce(&mut Record)) -> Result<(), TrustError> {
        let file = self.home.trust();
        let failed = |source| TrustError::Write { file: file.clone(), source };
        fs::create_dir_all(self.home.root()).map_err(failed)?;
        // Held until the new record is in place; goes with the file handle.
        let _lock = lock(&file.with_extension("lock")).map_err(failed)?;
        let mut record = read(&file).unwrap_or_default();
        change(&mut record);
        record.version = VERSION;
        let mut bytes = serde_json::to_vec_pretty(&record).map_err(|error| failed(error.into()))?;
        bytes.push(b'\n');
        files::write_atomic(&file, &bytes, files::WriteOptions::PRIVATE_DURABLE).map_err(failed)?;
        self.record = record;
        self.diagnostic = None;
        Ok(())
    }
}

fn lock(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.lock()?;
    Ok(file)
}

fn read(file: &Path) -> Result<Record, String> {
    let text = match files::read_text(file, MAX_RECORD) {
        Ok(text) => text,
        Err(ReadError::Missing) => return Ok(Record { version: VERSION, ..Record::default() }),
        Err(error) => return Err(error.to_string()),
    };
    let record: Record = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if record.version != VERSION {
        return Err(format!("it has version {}, this host knows {VERSION}", record.version));
    }
    Ok(record)
}

fn key(project: &Path) -> Result<String, TrustError> {
    let real =
        fs::canonicalize(project).map_err(|source| TrustError::NoProject { project: project.to_owned(), source })?;
    real.to_str().map(str::to_owned).ok_or(TrustError::NotText(real))
}

fn scan(project: &Path, home: &Home) -> ProjectScan {
    ProjectScan::of_unnoted(project, home)
}

/// Over all that is vouched for, whole: a directory that a build tool fills can hold the program that runs. `None` when
/// not all of it can be seen.
fn hash(project: &Path, scan: &ProjectScan, catalog: &Catalog) -> Option<String> {
    let real = fs::canonicalize(project).ok()?;
    let mut hasher = Sha256::new();
    for path in scan.vouched_for() {
        let hash = fingerprint::vouched_hash(&path, catalog)?;
        // Relative where possible, so that the hash speaks of the content and not of the place.
        let name = path.strip_prefix(&real).unwrap_or(&path).as_os_str().as_encoded_bytes();
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name);
        hasher.update(hash.as_bytes());
    }
    Some(fingerprint::hex(&hasher.finalize()))
}

#[cfg(test)]
mod tests;
