//! Where the extension is kept: a private folder, one file per content.

use jackfield_files::{WriteOptions, write_atomic};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jackfield_protocol::{CallError, ErrorCode};
use sha2::{Digest, Sha256};

/// Names the file that was last found good.
const LAST_GOOD: &str = "last-good";
const FILE_PREFIX: &str = "jackfield-";
const FILE_SUFFIX: &str = ".ts";
/// A file that nobody asked for in so long, and that nobody holds, is removed.
const UNUSED_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// An extension for pi that is on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The path of the bridge's file.
    pub path: PathBuf,
    /// Of its content; a part of it is in the name.
    pub hash: String,
    /// Why it is not the one of the tools as they are now, but the last good one.
    pub stale: Option<String>,
}

/// Keeps a file from being removed, as long as this lives.
#[derive(Debug)]
pub struct BridgeLock(#[expect(dead_code, reason = "held for its lock")] File);

impl Written {
    /// Keeps the file for a pi that is about to load it.
    ///
    /// # Errors
    /// The file is gone or cannot be locked.
    pub fn hold(&self) -> Result<BridgeLock, CallError> {
        let fail = |error: io::Error| failed("hold", &self.path, &error);
        let file = File::open(&self.path).map_err(fail)?;
        file.lock_shared().map_err(fail)?;
        Ok(BridgeLock(file))
    }
}

/// Makes the folder, for its owner alone.
pub(super) fn private_folder(folder: &Path) -> Result<(), CallError> {
    let fail = |error: io::Error| failed("use", folder, &error);
    let is_new = !folder.exists();
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail)?;
    let about = fs::symlink_metadata(folder).map_err(fail)?;
    if !about.is_dir() {
        return Err(failed("use", folder, &io::Error::other("it is not a directory of its own but a link")));
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(failed("use", folder, &io::Error::other("it belongs to somebody else")));
    }
    // Others may not put files where pi loads them from.
    let mode = about.mode() & 0o777;
    let wanted = if is_new { 0o700 } else { mode & 0o700 };
    if mode != wanted {
        fs::set_permissions(folder, fs::Permissions::from_mode(wanted)).map_err(fail)?;
    }
    Ok(())
}

/// Writes the text under the name of its hash, and remembers it as the last good one.
pub(super) fn keep(folder: &Path, text: &str) -> Result<Written, CallError> {
    let written = put(folder, text)?;
    let name = file_name(&written.hash);
    let mark = folder.join(LAST_GOOD);
    write_atomic(&mark, name.as_bytes(), WriteOptions::PRIVATE_DURABLE)
        .map_err(|error| failed("write", &mark, &error))?;
    sweep(folder, &name);
    Ok(written)
}

/// Writes the text under the name of its hash, unless it is there. A folder that is missing is made.
pub(super) fn put(folder: &Path, text: &str) -> Result<Written, CallError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| failed("make", folder, &error))?;
    let hash = hash(text.as_bytes());
    let path = folder.join(file_name(&hash));
    // A file that somebody changed is not the one that its name says.
    if is_good(&path, &hash) {
        let now = File::options().write(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        now.map_err(|error| failed("touch", &path, &error))?;
    } else {
        write_atomic(&path, text.as_bytes(), WriteOptions::PRIVATE_DURABLE)
            .map_err(|error| failed("write", &path, &error))?;
    }
    Ok(Written { path, hash, stale: None })
}

/// The file that was last found good, if it still is what it was.
pub(super) fn last_good(folder: &Path, why: &str) -> Option<Written> {
    let name = fs::read_to_string(folder.join(LAST_GOOD)).ok()?;
    if name.contains('/') {
        return None;
    }
    let path = folder.join(&name);
    let hash = hash(&fs::read(&path).ok()?);
    (file_name(&hash) == name).then(|| Written { path, hash, stale: Some(why.to_owned()) })
}

fn is_good(path: &Path, wanted: &str) -> bool {
    let is_private = fs::symlink_metadata(path).is_ok_and(|about| about.is_file() && about.mode() & 0o077 == 0);
    is_private && fs::read(path).is_ok_and(|bytes| hash(&bytes) == wanted)
}

fn file_name(hash: &str) -> String {
    format!("{FILE_PREFIX}{}{FILE_SUFFIX}", hash.get(..16).unwrap_or(hash))
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Removes files that nobody has used for long. One that cannot be removed does no harm.
fn sweep(folder: &Path, current: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_ours = name.starts_with(FILE_PREFIX) && name.ends_with(FILE_SUFFIX) && name != current;
        let is_old = || entry.metadata().and_then(|about| about.modified()).is_ok_and(is_past);
        if is_ours && is_old() {
            // Whoever started a pi with it holds it.
            let is_free = File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
            if is_free {
                fs::remove_file(entry.path()).ok();
            }
        }
    }
}

fn is_past(when: SystemTime) -> bool {
    SystemTime::now().duration_since(when).is_ok_and(|age| age > UNUSED_LIFETIME)
}

fn failed(what: &str, path: &Path, error: &io::Error) -> CallError {
    CallError::new(ErrorCode::Io, format!("cannot {what} {} for the bridge: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::super::write;
    use super::*;

    fn good(_: &str) -> Result<(), String> {
        Ok(())
    }

    fn bad(_: &str) -> Result<(), String> {
        Err("line 3".to_owned())
    }

    #[test]
    fn one_file_per_content_and_the_last_good_stays() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("home/bridge");
        let first = write(&folder, "one", &good).unwrap();
        assert_eq!(write(&folder, "one", &good).unwrap(), first, "the same text is the same file");
        let second = write(&folder, "two", &good).unwrap();
        assert!(first.path.exists() && second.path != first.path);
        let third = write(&folder, "three", &bad).unwrap();
        assert_eq!((third.path, third.stale.as_deref()), (second.path.clone(), Some("line 3")));
        for (path, mode) in [(&folder, 0o700), (&first.path, 0o600)] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, mode, "{}", path.display());
        }
        fs::write(&second.path, "changed").unwrap();
        let error = write(&folder, "three", &bad).unwrap_err();
        assert!(error.message.contains("not valid TypeScript (line 3)"), "{error}");
        assert_eq!(write(&folder, "two", &good).unwrap(), second);
        assert_eq!(fs::read_to_string(&second.path).unwrap(), "two", "what was changed is put right");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "nothing half-written is left");
    }

    #[test]
    fn old_files_go_unless_somebody_holds_them() {
        let dir = tempfile::tempdir().unwrap();
        let (held, free) = (write(dir.path(), "held", &good).unwrap(), write(dir.path(), "free", &good).unwrap());
        let hold = held.hold().unwrap();
        for written in [&held, &free] {
            let file = File::options().write(true).open(&written.path).unwrap();
            file.set_modified(SystemTime::now() - UNUSED_LIFETIME - Duration::from_secs(60)).unwrap();
        }
        write(dir.path(), "new", &good).unwrap();
        assert!(held.path.exists() && !free.path.exists());
        drop(hold);
        write(dir.path(), "newer", &good).unwrap();
        assert!(!held.path.exists());
    }

    #[test]
    fn a_folder_of_others_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        let error = write(&link, "text", &good).unwrap_err();
        assert!(error.message.contains("a link"), "{error}");
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        write(&open, "text", &good).unwrap();
        assert_eq!(fs::metadata(&open).unwrap().mode() & 0o777, 0o700);
    }
}
