//! The catalogue: what each extension contributed when it last ran, so that listings need not start anything. All of it is in
//! one file, to which every change is appended.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jackfield_files::Home;
use jackfield_protocol::Contributions;
use jackfield_runtime::{Pack, PackKey, Packed};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::discovery::Found;
use crate::pins::Pins;

/// What is known of an extension's contributions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Known {
    /// The content hash of the version that contributed it.
    pub(crate) hash: String,
    /// How its files looked before that version started. What they look like later says nothing about it.
    pub(crate) stamp: String,
    pub(crate) contributions: Contributions,
}

/// A start that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    /// Seconds since 1970.
    at: u64,
}

impl Failure {
    pub(crate) fn now(reason: &str) -> Self {
        Self { reason: reason.to_owned(), at: seconds() }
    }

    /// A listing does not start what failed a moment ago: a silent extension would delay every listing.
    pub(crate) fn is_recent(&self) -> bool {
        seconds().saturating_sub(self.at) < 600
    }
}

fn seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What is remembered of an extension.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Memory {
    /// What the files as they are now contributed.
    pub(crate) known: Option<Known>,
    /// What an earlier version contributed, when the files have changed since.
    pub(crate) previous: Option<Known>,
    /// How the last start of these files failed.
    pub(crate) failure: Option<Failure>,
}

/// One remembered extension. Valid only for the very files it was learnt from, and for this version of the host.
#[derive(Serialize, Deserialize)]
struct Remembered {
    host: String,
    dir: PathBuf,
    /// As discovery found it then.
    found: Found,
    stamp: String,
    known: Option<Known>,
    failure: Option<Failure>,
}

/// Bytes of the file at most; ten thousand extensions are half of that.
const MOST: u64 = 64 << 20;
/// How long to wait for another process that writes. What is not remembered may be a hook that nobody asks.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file of remembered extensions.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    pack: Arc<Pack>,
    pins: Pins,
}

impl Catalog {
    pub(crate) fn of(home: &Home) -> Self {
        Self { pack: Arc::new(Pack::at(home.catalog().join("known.pack"), MOST, PATIENCE)), pins: Pins::of(home) }
    }

    /// What tools were when they were first used.
    pub(crate) fn pins(&self) -> &Pins {
        &self.pins
    }

    /// A name for an extension that no other has: its id, and a hash of where it lies.
    pub(crate) fn name_of(found: &Found) -> String {
        let digest = Sha256::digest(found.dir.as_os_str().as_encoded_bytes());
        let short: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{short}.json", found.manifest.id)
    }

    fn key_of(found: &Found) -> PackKey {
        Sha256::digest(Self::name_of(found)).into()
    }

    /// Where an extension stands in the file, for as long as nothing is remembered anew.
    pub(crate) fn place_of(&self, found: &Found) -> Option<u64> {
        self.pack.place(&Self::key_of(found))
    }

    /// An extension that contributed, as it was found then, if its files have not changed since. `place` is what
    /// [`Self::place_of`] said of the one with this name; by now another one may stand there.
    pub(crate) fn found_at(&self, place: u64, name: &str) -> Option<Found> {
        let remembered = parsed(&self.pack.read_at(place)?)?;
        let same = Self::name_of(&remembered.found) == name
            && remembered.host == env!("CARGO_PKG_VERSION")
            && remembered.failure.is_none()
            && remembered.known.is_some()
            && remembered.stamp == remembered.found.quick_stamp();
        same.then_some(remembered.found)
    }

    fn read(&self, found: &Found) -> Option<Remembered> {
        let remembered = parsed(&self.pack.read(&Self::key_of(found))?)?;
        (remembered.host == env!("CARGO_PKG_VERSION") && remembered.dir == found.dir).then_some(remembered)
    }

    /// What is remembered of the extension. A catalogue that cannot be read is no catalogue: the extension is asked again.
    pub(crate) fn load(&self, found: &Found) -> Memory {
        let Some(remembered) = self.read(found) else { return Memory::default() };
        if remembered.stamp != found.quick_stamp() {
            return Memory { previous: remembered.known, ..Memory::default() };
        }
        match remembered.failure {
            // The version that failed is not the one that contributed.
            Some(failure) => Memory { known: None, previous: remembered.known, failure: Some(failure) },
            None => Memory { known: remembered.known, ..Memory::default() },
        }
    }

    /// Remembers what it contributes. A catalogue that cannot be written costs a start the next time and nothing else.
    pub(crate) fn save(&self, found: &Found, known: &Known) {
        self.write(found, known.stamp.clone(), Some(known.clone()), None);
    }

    /// Remembers that it did not start.
    pub(crate) fn save_failure(&self, found: &Found, failure: Failure) {
        let known = self.read(found).and_then(|remembered| remembered.known);
        self.write(found, found.quick_stamp(), known, Some(failure));
    }

    /// A file that changes whenever anything is remembered anew; whoever keeps what follows from the catalogue looks at it.
    pub(crate) fn generation(&self) -> &Path {
        self.pack.path()
    }

    fn write(&self, found: &Found, stamp: String, known: Option<Known>, failure: Option<Failure>) {
        let remembered = Remembered {
            host: env!("CARGO_PKG_VERSION").to_owned(),
            dir: found.dir.clone(),
            found: found.clone(),
            stamp,
            known,
            failure,
        };
        if let Ok(text) = serde_json::to_vec(&remembered) {
            self.pack.append(&Self::key_of(found), &Sha256::digest(&text).into(), &text).ok();
        }
    }
}

/// What stands in an entry, if it is what was once kept.
fn parsed(entry: &Packed) -> Option<Remembered> {
    if *Sha256::digest(&entry.content) != entry.tag {
        return None;
    }
    serde_json::from_slice(&entry.content).ok()
}
