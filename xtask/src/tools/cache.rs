//! The cache of third-party tools, shared by all clones of one user.
//!
//! A tool has a folder of its own per version: `CACHE/NAME/VERSION`. The installation writes the file `.installed` last, so
//! a folder without it is begun anew. A lock per tool keeps two installations apart.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::target;

/// The variable that names another folder for the cache.
pub(crate) const VARIABLE: &str = "JACKFIELD_TOOLS";

/// The file that says that a folder is complete.
const MARK: &str = ".installed";

/// The longest version that is a folder's name as it stands. Longer ones are hashed.
const LONGEST: usize = 40;

/// Where tools are installed: `$JACKFIELD_TOOLS`, else `jackfield-tools` in the user's cache folder.
pub(crate) fn root() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let place = set(VARIABLE)
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("jackfield-tools")))
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache/jackfield-tools")));
    place.with_context(|| format!("no folder for tools: set {VARIABLE} to an absolute path"))
}

/// The folder of the tool `name` in the version `wanted`, filled by `install` unless an earlier run filled it.
/// `target/tools/NAME` links to it.
pub(crate) fn once(
    name: &str,
    wanted: &str,
    install: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<PathBuf> {
    let dir = cached(&root()?, name, wanted, install)?;
    link(&dir, &target().join("tools").join(name))?;
    Ok(dir)
}

fn cached(
    root: &Path,
    name: &str,
    wanted: &str,
    install: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<PathBuf> {
    let dir = root.join(name).join(folder_name(wanted));
    let is_complete = || fs::read_to_string(dir.join(MARK)).is_ok_and(|installed| installed == wanted);
    if is_complete() {
        return Ok(dir);
    }
    let _lock = lock(&root.join(name))?;
    // Another process may have installed it meanwhile.
    if is_complete() {
        return Ok(dir);
    }
    if dir.exists() {
        fs::remove_dir_all(&dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    eprintln!("+ installing {name} into {}", dir.display());
    install(&dir).with_context(|| format!("cannot install {name} ({wanted})"))?;
    fs::write(dir.join(MARK), wanted)?;
    Ok(dir)
}

/// Holds the lock of a folder until the file is dropped.
pub(crate) fn lock(folder: &Path) -> anyhow::Result<File> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join(".lock");
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => eprintln!("+ waiting for another installation in {}", folder.display()),
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
    }
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

fn folder_name(wanted: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | '+');
    let is_name = wanted.len() <= LONGEST && wanted.starts_with(|first: char| first.is_ascii_alphanumeric());
    if is_name && wanted.chars().all(is_plain) {
        return wanted.to_owned();
    }
    Sha256::digest(wanted).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Makes `place` a link to `dir`. A folder that stands there is of an older layout and goes.
pub(crate) fn link(dir: &Path, place: &Path) -> anyhow::Result<()> {
    if fs::read_link(place).is_ok_and(|to| to == dir) {
        return Ok(());
    }
    let cannot = || format!("cannot link {} to {}", place.display(), dir.display());
    match fs::symlink_metadata(place) {
        Ok(there) if there.is_dir() => fs::remove_dir_all(place).with_context(cannot)?,
        Ok(_) => fs::remove_file(place).with_context(cannot)?,
        Err(_) => {}
    }
    fs::create_dir_all(place.parent().unwrap_or(place)).with_context(cannot)?;
    std::os::unix::fs::symlink(dir, place).with_context(cannot)
}

#[cfg(test)]
mod tests;
