//! The catalogue: what each extension contributed when it last ran, so that listings need not start anything.

use std::fs;
use std::path::PathBuf;

use jackfield_protocol::Contributions;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::discovery::{Found, quick_stamp};
use crate::home::{Home, write_atomically};

/// What is known of an extension's contributions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Known {
    /// The content hash of the version that contributed it.
    pub(crate) hash: String,
    pub(crate) contributions: Contributions,
}

/// One remembered extension. Valid only for the very files it was learnt from, and for this version of the host.
#[derive(Serialize, Deserialize)]
struct Remembered {
    host: String,
    dir: PathBuf,
    stamp: String,
    known: Known,
}

/// The folder of remembered extensions.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    dir: PathBuf,
}

impl Catalog {
    pub(crate) fn of(home: &Home) -> Self {
        Self { dir: home.catalog() }
    }

    fn file(&self, found: &Found) -> PathBuf {
        let digest = Sha256::digest(found.dir.as_os_str().as_encoded_bytes());
        let short: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        self.dir.join(format!("{}-{short}.json", found.manifest.id))
    }

    /// What is remembered of the extension as it is now; nothing when its files have changed since. A catalogue that
    /// cannot be read is no catalogue: the extension is asked again.
    pub(crate) fn load(&self, found: &Found) -> Option<Known> {
        let text = fs::read(self.file(found)).ok()?;
        let remembered: Remembered = serde_json::from_slice(&text).ok()?;
        let same = remembered.host == env!("CARGO_PKG_VERSION")
            && remembered.dir == found.dir
            && remembered.stamp == quick_stamp(&found.dir);
        same.then_some(remembered.known)
    }

    /// Remembers it. A catalogue that cannot be written costs a start the next time and nothing else.
    pub(crate) fn save(&self, found: &Found, known: &Known) {
        let remembered = Remembered {
            host: env!("CARGO_PKG_VERSION").to_owned(),
            dir: found.dir.clone(),
            stamp: quick_stamp(&found.dir),
            known: known.clone(),
        };
        if let Ok(text) = serde_json::to_vec(&remembered) {
            write_atomically(&self.file(found), &text).ok();
        }
    }
}
