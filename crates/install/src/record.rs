//! What the installer writes into the lock file, and how what is installed is compared with it.

use std::path::{Path, PathBuf};

use jackfield_discovery::catalog::Catalog;
use jackfield_discovery::fingerprint::TreeKind;
use jackfield_discovery::grants::Grants;
use jackfield_discovery::lock::{self, Change, LockFile, Locked};
use jackfield_discovery::{self as discovery, Found};

use super::{InstallError, Installer};

/// An installed extension beside its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The name of its directory.
    pub name: String,
    /// Where it is, or should be.
    pub dir: PathBuf,
    /// What is recorded; nothing for what somebody put there by hand.
    pub locked: Option<Locked>,
    /// How it differs from that.
    pub change: Change,
    /// Whether it is not there any more.
    pub missing: bool,
    /// Whether other things are granted than the record says.
    pub grants_differ: bool,
}

impl Checked {
    /// One word for how it stands.
    pub fn state(&self) -> &'static str {
        match &self.locked {
            _ if self.missing => "missing",
            None => "unrecorded",
            Some(_) if !self.change.is_none() => "changed",
            Some(_) if self.grants_differ => "grants_differ",
            Some(locked) if locked.sha256.is_none() => "linked",
            Some(_) => "fine",
        }
    }

    /// Whether nobody needs to look at it.
    pub fn is_fine(&self) -> bool {
        matches!(self.state(), "fine" | "linked" | "unrecorded")
    }
}

/// Where something that is put among the installed ones comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Provenance<'a> {
    pub(super) source: &'a str,
    pub(super) link: bool,
    pub(super) update: bool,
    pub(super) accept: bool,
}

/// What a new record takes over from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// What it asked for when it ran.
    Learned,
    /// Nothing: a person accepts whatever it is.
    Nothing,
}

impl Installer<'_> {
    /// Compares everything that is installed, or what is called `name`, with the lock file. Reads every file.
    ///
    /// # Errors
    /// When the lock file cannot be read, or there is nothing of that name.
    pub fn verify(&self, name: Option<&str>) -> Result<Vec<Checked>, InstallError> {
        let mut entries = LockFile::of(self.home).read()?;
        let installed = discovery::installed(self.home);
        // What is granted cannot differ from the record where it cannot be read; whoever needs it says so.
        let grants = Grants::open_or_none(self.home).list();
        let catalog = Catalog::of(self.home);
        let mut all: Vec<Checked> = Vec::new();
        for found in &installed {
            let Some(key) = self.key(&found.dir) else { continue };
            if all.iter().any(|checked| checked.name == key) {
                continue;
            }
            let locked = entries.remove(&key);
            let change = locked.as_ref().map(|locked| locked.differs(found)).unwrap_or_default();
            if change.content {
                // A start must find out by itself, whatever it read earlier.
                catalog.forget_tree(TreeKind::Pinned, &found.dir);
            }
            let differ = |locked: &Locked| locked.granted != lock::granted(&grants, &locked.ids_or(&key));
            let grants_differ = locked.as_ref().is_some_and(differ);
            all.push(Checked { name: key, dir: found.dir.clone(), locked, change, missing: false, grants_differ });
        }
        all.extend(entries.into_iter().map(|(key, locked)| {
            let dir = self.home.extensions().join(&key);
            let (change, missing) = (Change::default(), true);
            Checked { name: key, dir, locked: Some(locked), change, missing, grants_differ: false }
        }));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(name) = name {
            let key = match all.iter().any(|checked| checked.name == name) {
                true => name.to_owned(),
                false => self.find(name).map(|(found, _)| self.key(&found.dir).unwrap_or_default())?,
            };
            all.retain(|checked| checked.name == key);
        }
        Ok(all)
    }

    /// Records an installed extension as it is now, whatever was recorded before. Of what is gone, the record goes.
    ///
    /// # Errors
    /// When there is nothing of that name, or the lock file cannot be read or written.
    pub fn accept(&self, name: &str) -> Result<Checked, InstallError> {
        let checked = self.verify(Some(name))?.into_iter().next();
        let not_found = || InstallError::NotFound { name: name.to_owned(), place: self.home.extensions() };
        let checked = checked.ok_or_else(not_found)?;
        if checked.missing {
            self.forget(&checked.dir)?;
            return Ok(checked);
        }
        let (found, _) = self.find(&checked.name)?;
        let source = checked.locked.as_ref().map(|locked| locked.source.clone());
        let source = source.unwrap_or_else(|| found.dir.display().to_string());
        self.record(&found, &checked.dir, &source, is_link(&checked.dir), Keep::Nothing)?;
        let [now] = <[Checked; 1]>::try_from(self.verify(Some(&checked.name))?).map_err(|_| not_found())?;
        Ok(now)
    }

    /// Refuses what asks for more than the version that it replaces, unless a person has said that it may.
    pub(super) fn refuse_wider(&self, found: &Found, dir: &Path, from: Provenance<'_>) -> Result<(), InstallError> {
        let entries = LockFile::of(self.home).read()?;
        let key = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let more = entries.get(key).map(|locked| locked.exceeded_by(&found.manifest.capabilities));
        match more {
            Some(more) if !more.is_empty() && !from.accept => {
                Err(InstallError::Wider { id: found.manifest.id.clone(), more })
            }
            _ => Ok(()),
        }
    }

    /// Records what now lies in `dir`.
    pub(super) fn record(
        &self,
        found: &Found,
        dir: &Path,
        source: &str,
        link: bool,
        keep: Keep,
    ) -> Result<(), InstallError> {
        let key = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let holds = |other: &Found| other.dir.file_name() == dir.file_name();
        let mut ids: Vec<String> = discovery::installed(self.home)
            .iter()
            .filter(|other| holds(other))
            .map(|other| other.manifest.id.as_str().to_owned())
            .collect();
        ids.sort();
        ids.dedup();
        if ids == [key.clone()] {
            ids.clear();
        }
        let mut locked =
            Locked { source: source.to_owned(), version: found.manifest.version.clone(), ..Locked::default() };
        locked.requests = found.manifest.capabilities.clone();
        locked.requests.iter_mut().for_each(|capability| capability.reason = None);
        locked.ids = ids;
        locked.pin(dir, link)?;
        locked.granted = lock::granted(&Grants::open_or_none(self.home).list(), &locked.ids_or(&key));
        LockFile::of(self.home).change(|entries| {
            // What it asks for when it runs is compared with what the version before it asked for.
            let before = entries.get(&key).filter(|before| before.learned && locked.requests.is_empty());
            if let Some(before) = before.filter(|_| keep == Keep::Learned) {
                (locked.requests, locked.learned) = (before.requests.clone(), true);
            }
            entries.insert(key, locked);
        })?;
        Ok(())
    }

    /// What lay in `dir` is gone.
    pub(super) fn forget(&self, dir: &Path) -> Result<(), InstallError> {
        let key = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        LockFile::of(self.home).change(|entries| entries.remove(&key))?;
        Ok(())
    }

    /// Does `edit` to a file of `found`, and records the result where the record was true before.
    pub(super) fn keeping_record(
        &self,
        found: &Found,
        edit: impl FnOnce() -> Result<(), InstallError>,
    ) -> Result<(), InstallError> {
        let key = self.key(&found.dir).unwrap_or_default();
        let locked = LockFile::of(self.home).read()?.remove(&key);
        let locked = locked.filter(|locked| locked.sha256.is_some() && locked.differs(found).is_none());
        edit()?;
        if let Some(locked) = locked {
            self.record(found, &found.dir, &locked.source, false, Keep::Learned)?;
        }
        Ok(())
    }

    fn key(&self, dir: &Path) -> Option<String> {
        lock::key_of(&std::fs::canonicalize(self.home.extensions()).ok()?, dir)
    }
}

fn is_link(dir: &Path) -> bool {
    dir.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
}
