//! Working out of sight and then stepping in at once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jackfield_files::{TEMPORARY_PREFIX, temporary_name};

use super::InstallError;

/// What a killed installation left behind is removed after this long; a running one takes less.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// A directory beside the extensions that goes, with all in it, when the work ends, however it ends.
#[derive(Debug)]
pub(super) struct Staging {
    path: PathBuf,
}

impl Staging {
    pub(super) fn new(extensions: &Path) -> Result<Self, InstallError> {
        let path = extensions.join(temporary_name());
        fs::create_dir(&path).map_err(InstallError::io("create", &path))?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Nobody is left to tell; the next installation tries again.
        let _ = remove_tree(&self.path);
    }
}

/// Removes a tree, also one with directories that nobody may write to. Links are removed, not followed.
pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path);
            fs::remove_dir_all(path)
        }
        other => other,
    }
}

fn make_writable(path: &Path) {
    let mut pending = vec![path.to_owned()];
    while let Some(dir) = pending.pop() {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // What cannot be changed shows when it is removed.
            let _ = fs::set_permissions(&dir, fs::Permissions::from_mode(0o700));
        }
        let Ok(listing) = fs::read_dir(&dir) else { continue };
        pending.extend(
            listing
                .flatten()
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}

/// Removes what earlier installations left behind when they were killed.
pub(super) fn remove_stale(extensions: &Path) {
    let Ok(listing) = fs::read_dir(extensions) else { return };
    for entry in listing.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(TEMPORARY_PREFIX));
        let age = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .ok()
            .and_then(|modified| SystemTime::now().duration_since(modified).ok());
        if is_ours && age.is_some_and(|age| age > ABANDONED_AFTER) && entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            let _ = remove_tree(&entry.path());
        }
    }
}

/// Puts `staged` in the place of `dir`; the old one ends up in `staging`. On failure the old one stays.
pub(super) fn replace(staged: &Path, dir: &Path, staging: &Staging) -> Result<(), InstallError> {
    if exchange(staged, dir).is_ok() {
        return Ok(());
    }
    let old = staging.path().join("old");
    fs::rename(dir, &old).map_err(InstallError::io("move the old extension out of", dir))?;
    fs::rename(staged, dir).map_err(|error| {
        // If this fails as well, both errors have the same cause, and the first one names it.
        let _ = fs::rename(&old, dir);
        InstallError::io("move the new extension to", dir)(error)
    })
}

/// Both names change places in one step, where the system can do that.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_a: &Path, _b: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
