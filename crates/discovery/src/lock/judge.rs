//! Whether what is installed is what is recorded.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jackfield_files::Home;
use jackfield_files::real_path;
use jackfield_protocol::Capability;

use super::{Entries, LockFile, Locked};
use crate::Found;
use crate::catalog::Catalog;
use crate::fingerprint;

/// How many files a message names.
const MAX_SHOWN_FILES: usize = 3;

/// How an installed extension differs from its record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Files that differ, are new or are gone, each with what happened to it; empty when too many to record.
    pub files: Vec<String>,
    /// Whether the content differs at all.
    pub content: bool,
    /// What it asks for beyond what was accepted.
    pub wider: Vec<String>,
}

impl Change {
    /// Whether it is what is recorded.
    pub fn is_none(&self) -> bool {
        !self.content && self.wider.is_empty()
    }

    /// For a person.
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        if self.content {
            let more = self.files.len().saturating_sub(MAX_SHOWN_FILES);
            let mut named = self.files.iter().take(MAX_SHOWN_FILES).cloned().collect::<Vec<_>>().join(", ");
            if more > 0 {
                named.push_str(&format!(" and {more} more"));
            }
            let which = if named.is_empty() { String::new() } else { format!(" ({named})") };
            parts.push(format!("its files are not those that were accepted{which}"));
        }
        if !self.wider.is_empty() {
            parts.push(format!("it asks for more than was accepted: {}", self.wider.join(", ")));
        }
        parts.join("; ")
    }
}

/// The record and the place that it is about.
pub struct Judge {
    file: PathBuf,
    place: Option<PathBuf>,
    entries: Result<Entries, String>,
    catalog: Catalog,
    /// The hashes of directories that were judged already: several extensions of one package share a directory.
    hashes: Mutex<HashMap<PathBuf, Result<String, String>>>,
}

impl Judge {
    /// For what is installed in `home`.
    pub fn of(home: &Home, catalog: &Catalog) -> Self {
        let lock = LockFile::of(home);
        let entries = lock.read().map_err(|error| error.to_string());
        // Where nothing is recorded, nothing is looked up.
        let is_empty = entries.as_ref().is_ok_and(Entries::is_empty);
        let place = if is_empty { None } else { real_path(&home.extensions()).ok() };
        Self { file: lock.path().to_owned(), place, entries, catalog: catalog.clone(), hashes: Mutex::default() }
    }

    /// What is recorded of an extension.
    pub fn recorded(&self, found: &Found) -> Option<&Locked> {
        self.entries.as_ref().ok()?.get(&key_of(self.place.as_deref()?, &found.dir)?)
    }

    /// Why an extension must not run as it is; nothing for one that is not installed, or not recorded.
    pub fn objection(&self, found: &Found) -> Option<String> {
        let key = key_of(self.place.as_deref()?, &found.dir)?;
        let entries = match &self.entries {
            Ok(entries) => entries,
            Err(error) => return Some(error.clone()),
        };
        let locked = entries.get(&key)?;
        let accepted = locked.sha256.as_ref().is_none_or(|sha256| self.hash(&found.dir).as_ref() == Ok(sha256));
        if accepted && locked.exceeded_by(&found.manifest.capabilities).is_empty() {
            return None;
        }
        // What exactly differs is found by reading all of it.
        let change = locked.differs(found);
        (!change.is_none()).then(|| self.objection_to(&change, &key, found))
    }

    fn hash(&self, dir: &Path) -> Result<String, String> {
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hash) = hashes.get(dir) {
            return hash.clone();
        }
        let hash = fingerprint::pinned_hash(dir, &self.catalog);
        hashes.insert(dir.to_owned(), hash.clone());
        hash
    }

    fn objection_to(&self, change: &Change, key: &str, found: &Found) -> String {
        format!(
            "{} (recorded in {}); look at {}, then run `jackfield ext accept {key}` to accept it as it is",
            change.describe(),
            self.file.display(),
            found.dir.display(),
        )
    }

    /// Why an extension that started must not go on: it asks, now that it runs, for more than was accepted. What it asks
    /// for the first time is recorded.
    pub fn objection_to_requests(&self, found: &Found, asked: &[Capability]) -> Option<String> {
        let key = key_of(self.place.as_deref()?, &found.dir)?;
        let locked = self.entries.as_ref().ok()?.get(&key)?;
        // Several extensions of one package share a record, so theirs says nothing about one of them.
        if !found.manifest.capabilities.is_empty() || locked.ids.len() > 1 {
            return None;
        }
        if locked.learned {
            let change = Change { wider: wider(&locked.requests, asked), ..Change::default() };
            return (!change.is_none()).then(|| self.objection_to(&change, &key, found));
        }
        if asked.is_empty() {
            return None;
        }
        let mut asked = asked.to_vec();
        asked.iter_mut().for_each(|capability| capability.reason = None);
        let recorded = LockFile::at(&self.file).change(|entries| {
            if let Some(locked) = entries.get_mut(&key).filter(|locked| !locked.learned) {
                (locked.requests, locked.learned) = (asked, true);
            }
        });
        recorded.err().map(|error| error.to_string())
    }
}

impl Locked {
    /// What a manifest asks for beyond what is recorded.
    pub fn exceeded_by(&self, asked: &[Capability]) -> Vec<String> {
        // Who asks when it runs is compared when it runs.
        if self.learned && asked.is_empty() { Vec::new() } else { wider(&self.requests, asked) }
    }

    /// How `found` differs from what is recorded. Reads every file.
    pub fn differs(&self, found: &Found) -> Change {
        let mut change = Change { wider: self.exceeded_by(&found.manifest.capabilities), ..Change::default() };
        let Some(sha256) = &self.sha256 else { return change };
        match fingerprint::pinned(&found.dir) {
            Ok((now, _)) if now == *sha256 => {}
            Ok((_, files)) => {
                change.content = true;
                if !self.files.is_empty() {
                    change.files = compare(&self.files, &files);
                }
            }
            Err(reason) => {
                change.content = true;
                change.files = vec![reason];
            }
        }
        change
    }
}

fn compare(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let mut changes = Vec::new();
    for (file, hash) in now {
        match before.get(file) {
            None => changes.push(format!("{file} is new")),
            Some(known) if known != hash => changes.push(format!("{file} changed")),
            Some(_) => {}
        }
    }
    changes.extend(before.keys().filter(|file| !now.contains_key(*file)).map(|file| format!("{file} is gone")));
    changes
}

/// The name of the directory among the installed ones that `dir` is or lies in.
pub fn key_of(place: &Path, dir: &Path) -> Option<String> {
    let below = dir.strip_prefix(place).ok()?;
    below.components().next()?.as_os_str().to_str().map(str::to_owned)
}

/// What `new` asks for that `old` does not cover, for a person. To stop saying what it needs is to ask for anything.
pub(super) fn wider(old: &[Capability], new: &[Capability]) -> Vec<String> {
    if old.is_empty() {
        return Vec::new();
    }
    if new.is_empty() {
        return vec!["anything, because it no longer says what it needs".to_owned()];
    }
    new.iter().filter(|asked| !old.iter().any(|known| is_within(asked, known))).map(ToString::to_string).collect()
}

/// Whether `known` covers all of `asked`. Patterns are compared as they are written: to ask once too often is better than
/// to guess what a pattern means.
fn is_within(asked: &Capability, known: &Capability) -> bool {
    let part = |asked: &[String], known: &[String]| {
        let listed = asked.iter().all(|item| known.contains(item));
        known.is_empty() || (!asked.is_empty() && listed)
    };
    // Without a scope nothing outside the project is covered, so a path that names something there is more.
    let outside = |path: &&String| path.starts_with('/') || path.starts_with('~');
    let (a, k) = (&asked.scope, &known.scope);
    let paths = part(&a.paths, &k.paths) && a.paths.iter().filter(outside).all(|path| k.paths.contains(path));
    asked.power == known.power
        && part(&asked.methods, &known.methods)
        && paths
        && part(&a.hosts, &k.hosts)
        && part(&a.env, &k.env)
        && part(&a.tools, &k.tools)
        && part(&a.programs, &k.programs)
}
