//! The catalogue: what the host knows about extensions from earlier runs. A listing need not start anything, and a start
//! need not read files that have not changed.
//!
//! Everything in it can be found out again. A catalogue that is damaged, of another form or locked for too long is thrown
//! away, and losing it costs time and nothing else. `docs/decisions/001-catalogue.md` has the reasons.

mod store;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use jackfield_files::Home;
use jackfield_protocol::Contributions;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::Store;

use crate::Found;
use crate::fingerprint::{TreeKind, TreeStamp};
use crate::stamp::is_racy;

/// What an extension contributed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The content hash of the version that contributed it, taken before that version started.
    pub hash: String,
    /// Its tools, commands, hooks and channels.
    pub contributions: Contributions,
}

/// A start that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The error, as the runtime said it.
    pub reason: String,
    /// Seconds since 1970.
    at: u64,
}

impl Failure {
    /// A failure at this moment.
    pub fn now(reason: &str) -> Self {
        Self { reason: reason.to_owned(), at: seconds() }
    }

    /// A listing does not start an extension that failed recently: a silent extension would delay every listing.
    pub fn is_recent(&self) -> bool {
        seconds().saturating_sub(self.at) < 600
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What the catalogue says about an extension.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// The contributions of the files as they are now.
    pub known: Option<Known>,
    /// The contributions of an earlier version, when the files have changed since.
    pub previous: Option<Known>,
    /// How the last start of these files failed.
    pub failure: Option<Failure>,
}

/// The row of one extension.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Row {
    known: Option<Known>,
    /// The content hash of the version that did not start, and why.
    failure: Option<(String, Failure)>,
}

/// A handle on the catalogue of a home. Clones share one connection, which the first use opens.
#[derive(Debug, Clone)]
pub struct Catalog {
    store: Arc<Store>,
}

impl Catalog {
    /// The catalogue of `home`; nothing is opened yet.
    pub fn of(home: &Home) -> Self {
        Self { store: Arc::new(Store::at(home.catalog().join("index"))) }
    }

    /// A name for an extension that no other has: its id, and a hash of where it lies.
    pub fn name_of(found: &Found) -> String {
        let digest = Sha256::digest(found.dir.as_os_str().as_encoded_bytes());
        let short: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{short}.json", found.manifest.id)
    }

    fn read(&self, found: &Found) -> Option<Row> {
        serde_json::from_str(&self.store.extension(&Self::name_of(found))?).ok()
    }

    /// What the catalogue says about the extension. The content hash decides whether that still holds.
    pub fn load(&self, found: &Found) -> Memory {
        let Some(Row { known, failure }) = self.read(found) else { return Memory::default() };
        let now = found.content_hash(self);
        match (known, failure) {
            (known, Some((hash, failure))) if hash == now => {
                Memory { known: None, previous: known, failure: Some(failure) }
            }
            (Some(known), _) if known.hash == now => Memory { known: Some(known), ..Memory::default() },
            (previous, _) => Memory { previous, ..Memory::default() },
        }
    }

    /// Writes down what the extension contributes, unless the catalogue says so already.
    pub fn save(&self, found: &Found, known: &Known) {
        let row = Row { known: Some(known.clone()), failure: None };
        if self.read(found).as_ref() != Some(&row) {
            self.write(found, &row);
        }
    }

    /// Writes down that the version with this content hash did not start.
    pub fn save_failure(&self, found: &Found, hash: &str, failure: Failure) {
        let known = self.read(found).and_then(|row| row.known);
        self.write(found, &Row { known, failure: Some((hash.to_owned(), failure)) });
    }

    fn write(&self, found: &Found, row: &Row) {
        if let Ok(text) = serde_json::to_string(row) {
            self.store.put_extension(&Self::name_of(found), &text);
        }
    }

    /// The hash of the tree at `place`: the one in the catalogue if that was taken with the same stamp, else that of `read`.
    ///
    /// The catalogue keeps no hash of a tree in which a file changed so recently that a further change might not show. No
    /// error is kept either.
    pub fn tree_hash<E>(
        &self,
        kind: TreeKind,
        place: &Path,
        stamp: &TreeStamp,
        read: impl FnOnce() -> Result<String, E>,
    ) -> Result<String, E> {
        let place = tree_key(kind, place);
        if let Some(hash) = self.store.tree(&place, &stamp.digest) {
            return Ok(hash);
        }
        // Before the files are read: what changes from here on is newer than this.
        let racy = is_racy(stamp.newest_ns, SystemTime::now());
        let hash = read()?;
        if !racy {
            self.store.put_tree(&place, &stamp.digest, &hash);
        }
        Ok(hash)
    }

    /// Drops the hash of a tree that turned out to be wrong.
    pub fn forget_tree(&self, kind: TreeKind, place: &Path) {
        self.store.remove_tree(&tree_key(kind, place));
    }
}

/// The key of a tree's row.
fn tree_key(kind: TreeKind, place: &Path) -> Vec<u8> {
    let kind = match kind {
        TreeKind::Own => b'o',
        TreeKind::Pinned => b'p',
        TreeKind::Vouched => b'v',
    };
    let mut key = vec![kind];
    key.extend(place.as_os_str().as_encoded_bytes());
    key
}
