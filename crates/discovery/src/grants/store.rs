//! The file of the grants: replaced whole, under a lock, so that several processes never lose each other's changes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackfield_files::{WriteOptions, open_locked, private_folder, write_atomic};
use jackfield_protocol::{ExtensionId, Power, Scope};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Grant, NewGrant};

const VERSION: u32 = 1;

/// How long a change waits for another process.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// More than a person ever grants; what is larger is not our file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Why grants cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum GrantsError {
    /// The file cannot be read or written.
    #[error("cannot {action} the grants in {}: {source}", file.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file that holds the grants.
        file: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file holds something else.
    #[error(
        "the grants in {} are damaged ({message}); nothing counts as granted until you repair the file, \
         or move it away and grant again",
        file.display()
    )]
    Damaged {
        /// The file that holds the grants.
        file: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// What changes when a file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self { inode: metadata.ino(), size: metadata.size(), modified: (metadata.mtime(), metadata.mtime_nsec()) }
    }
}

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    grants: Vec<Grant>,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Debug)]
pub(super) struct Store {
    file: PathBuf,
}

impl Store {
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file }
    }

    pub(super) fn stamp(&self) -> Option<Stamp> {
        fs::metadata(&self.file).ok().map(|metadata| Stamp::of(&metadata))
    }

    /// The grants and the stamp of exactly the file they were read from.
    pub(super) fn read(&self) -> Result<(Vec<Grant>, Option<Stamp>), GrantsError> {
        let mut file = match File::open(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), None)),
            Err(error) => return Err(self.io("read", error)),
        };
        let metadata = file.metadata().map_err(|error| self.io("read", error))?;
        if !metadata.is_file() {
            return Err(self.damaged("it is not a file"));
        }
        let mut text = Vec::new();
        let read = (&mut file).take(MAX_BYTES + 1).read_to_end(&mut text);
        read.map_err(|error| self.io("read", error))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(self.damaged(format!("it is larger than {MAX_BYTES} bytes")));
        }
        // The version first: a later one may hold what this one cannot read.
        let Version { version } = serde_json::from_slice(&text).map_err(|error| self.damaged(error))?;
        if version != VERSION {
            return Err(self.damaged(format!("its version is {version}, this jackfield knows version {VERSION}")));
        }
        let document: Document = serde_json::from_slice(&text).map_err(|error| self.damaged(error))?;
        Ok((document.grants, Some(Stamp::of(&metadata))))
    }

    /// Changes the grants as they are in the file now. `change` says whether it changed anything.
    pub(super) fn update<T>(
        &self,
        change: impl Fn(&mut Vec<Grant>) -> (T, bool),
    ) -> Result<(T, Vec<Grant>, Option<Stamp>), GrantsError> {
        if let Some(folder) = self.file.parent() {
            private_folder(folder).map_err(|error| self.io("store", error))?;
        }
        let lock = self.lock().map_err(|error| self.io("lock", error))?;
        let (mut grants, mut stamp) = self.read()?;
        let (result, changed) = change(&mut grants);
        if changed {
            stamp = Some(self.replace(&grants).map_err(|error| self.io("store", error))?);
        }
        drop(lock);
        Ok((result, grants, stamp))
    }

    /// The lock is on a file of its own, because the file of the grants is another one after each change.
    fn lock(&self) -> io::Result<File> {
        open_locked(&self.file.with_extension("lock"), LOCK_WAIT)
    }

    fn replace(&self, grants: &[Grant]) -> io::Result<Stamp> {
        let mut text = serde_json::to_vec_pretty(&Document { version: VERSION, grants: grants.to_vec() })?;
        text.push(b'\n');
        let file = write_atomic(&self.file, &text, WriteOptions::PRIVATE_DURABLE)?;
        Ok(Stamp::of(&file.metadata()?))
    }

    fn io(&self, action: &'static str, source: io::Error) -> GrantsError {
        GrantsError::Io { action, file: self.file.clone(), source }
    }

    fn damaged(&self, message: impl ToString) -> GrantsError {
        GrantsError::Damaged { file: self.file.clone(), message: message.to_string() }
    }
}

/// The same for the same extension, capability and project, whatever the order of lists, the effect and the reason.
pub(super) fn id_of(new: &NewGrant) -> String {
    #[derive(Serialize)]
    struct Identity<'a> {
        extension: &'a ExtensionId,
        power: Power,
        methods: Vec<String>,
        scope: Scope,
        project: Option<&'a Path>,
    }
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list.dedup();
        list
    };
    let scope = &new.capability.scope;
    let identity = Identity {
        extension: &new.extension,
        power: new.capability.power,
        methods: sorted(&new.capability.methods),
        scope: Scope {
            paths: sorted(&scope.paths),
            hosts: sorted(&scope.hosts),
            env: sorted(&scope.env),
            tools: sorted(&scope.tools),
            programs: sorted(&scope.programs),
        },
        project: new.project.as_deref(),
    };
    // A project whose path is not UTF-8 has no JSON; its debug form is as good an identity.
    let text = serde_json::to_string(&identity).unwrap_or_else(|_| format!("{new:?}"));
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn now() -> String {
    format!("{:.0}", jiff::Timestamp::now())
}
