//! What discovery looked at, so that a later run can tell whether it would see the same.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{DiscoveryInput, fingerprint, wire};

/// A file system's clock may be this coarse: what changed less long ago may change again unseen.
const RACY_NS: i64 = 2_000_000_000;

/// The outside of a file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outside {
    Missing,
    Present { is_dir: bool, size: u64, mtime_ns: i64, ctime_ns: i64, mode: u32, inode: u64 },
}

impl Outside {
    pub(crate) fn of(path: &Path) -> Self {
        fs::metadata(path).map_or(Self::Missing, |metadata| Self::from_metadata(&metadata))
    }

    fn from_metadata(metadata: &Metadata) -> Self {
        let (mtime_ns, ctime_ns, mode) = times(metadata);
        // The size of a directory says nothing that its times do not say.
        let size = if metadata.is_dir() { 0 } else { metadata.len() };
        Self::Present { is_dir: metadata.is_dir(), size, mtime_ns, ctime_ns, mode, inode: inode(metadata) }
    }

    /// Whether it changed so shortly ago that a further change might not show.
    pub(crate) fn is_racy(&self) -> bool {
        self.newest_ns() > since_epoch_ns(SystemTime::now()).saturating_sub(RACY_NS)
    }

    fn newest_ns(&self) -> i64 {
        match self {
            Self::Missing => 0,
            Self::Present { mtime_ns, ctime_ns, .. } => (*mtime_ns).max(*ctime_ns),
        }
    }
}

/// Modification time, change time and mode. The change time cannot be set, so an edit that restores the other is seen.
pub(crate) fn times(metadata: &Metadata) -> (i64, i64, u32) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let ns = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        (ns(metadata.mtime(), metadata.mtime_nsec()), ns(metadata.ctime(), metadata.ctime_nsec()), metadata.mode())
    }
    #[cfg(not(unix))]
    {
        let mtime = metadata.modified().map_or(0, since_epoch_ns);
        (mtime, mtime, 0)
    }
}

/// Tells two things apart that look alike, such as the old and the new target of a link.
#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> u64 {
    0
}

fn since_epoch_ns(time: SystemTime) -> i64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |elapsed| i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX))
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    #[serde(with = "wire::path")]
    path: PathBuf,
    outside: Outside,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TreeStamp {
    #[serde(with = "wire::path")]
    path: PathBuf,
    stamp: String,
}

/// Everything that a report depends on.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Looked {
    /// Nobody will ask, so nothing is noted.
    #[serde(skip)]
    off: bool,
    #[serde(skip)]
    seen: BTreeMap<PathBuf, Outside>,
    stamps: Vec<Stamp>,
    trees: Vec<TreeStamp>,
    /// The newest change within `trees`.
    trees_newest_ns: i64,
    /// Variables that had to be set and not empty, and whether they were.
    variables: BTreeMap<String, bool>,
}

impl Looked {
    /// Notes nothing.
    pub(crate) fn off() -> Self {
        Self { off: true, ..Self::default() }
    }

    /// About to look at `path`: a change from here on is a difference.
    pub(crate) fn at(&mut self, path: &Path) {
        if !self.off && !self.seen.contains_key(path) {
            self.seen.insert(path.to_owned(), Outside::of(path));
        }
    }

    /// What was looked at, for those who keep it in a form of their own.
    pub(crate) fn stamps(&self) -> impl Iterator<Item = (&Path, &Outside)> {
        self.stamps.iter().map(|stamp| (stamp.path.as_path(), &stamp.outside))
    }

    /// Whole trees that were looked at, each with its quick stamp.
    pub(crate) fn trees(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.trees.iter().map(|tree| (tree.path.as_path(), tree.stamp.as_str()))
    }

    /// Variables that mattered, and whether they were set.
    pub(crate) fn variables(&self) -> &BTreeMap<String, bool> {
        &self.variables
    }

    /// About to look at all that lies below `path`.
    pub(crate) fn at_tree(&mut self, path: &Path) {
        if !self.off {
            let (stamp, newest) = fingerprint::tree_stamp(path);
            self.trees_newest_ns = self.trees_newest_ns.max(newest);
            self.trees.push(TreeStamp { path: path.to_owned(), stamp });
        }
    }

    /// Asked whether a variable is set.
    pub(crate) fn at_variable(&mut self, name: &str, is_set: bool) {
        if !self.off {
            self.variables.insert(name.to_owned(), is_set);
        }
    }

    /// Ends the noting.
    pub(crate) fn finish(mut self) -> Self {
        self.stamps =
            std::mem::take(&mut self.seen).into_iter().map(|(path, outside)| Stamp { path, outside }).collect();
        self
    }

    /// Whether something changed so shortly before `now` that a further change might not show.
    pub(crate) fn is_racy(&self, now: SystemTime) -> bool {
        let now = since_epoch_ns(now);
        let newest = self.stamps.iter().map(|stamp| stamp.outside.newest_ns()).fold(self.trees_newest_ns, i64::max);
        newest > now.saturating_sub(RACY_NS)
    }

    /// Whether all of it still looks the same.
    pub(crate) fn still_holds(&self, input: &DiscoveryInput) -> bool {
        self.variables.iter().all(|(name, was)| input.is_set(name) == *was)
            && self.stamps.iter().all(|stamp| Outside::of(&stamp.path) == stamp.outside)
            && self.trees.iter().all(|tree| fingerprint::tree_stamp(&tree.path).0 == tree.stamp)
    }
}
