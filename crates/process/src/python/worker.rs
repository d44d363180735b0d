//! The worker's files: part of this program, put where an interpreter can read them.

use jackfield_files::{WriteOptions, write_atomic};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../python/", $name)))),*]
    };
}

/// Every file of the worker and its text.
const FILES: [(&str, &str); 15] = files![
    "main.py",
    "jackfield.py",
    "jackfield_worker/__init__.py",
    "jackfield_worker/api.py",
    "jackfield_worker/channel.py",
    "jackfield_worker/describe.py",
    "jackfield_worker/docs.py",
    "jackfield_worker/hints.py",
    "jackfield_worker/load.py",
    "jackfield_worker/models.py",
    "jackfield_worker/parameters.py",
    "jackfield_worker/results.py",
    "jackfield_worker/scalars.py",
    "jackfield_worker/wire.py",
    "jackfield_worker/work.py",
];

/// Makes sure that the worker's files stand below `code`, with exactly the text that this program has, in a directory that
/// only its owner can write. Named after the content, so that hosts of different versions do not disturb each other.
///
/// # Errors
/// They cannot be written.
pub(super) fn place(code: &Path) -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    let dir = code.join(format!("python-{}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish()));
    fs::create_dir_all(dir.join("jackfield_worker"))?;
    private(&dir)?;
    for (name, text) in FILES {
        let file = dir.join(name);
        if fs::read(&file).is_ok_and(|there| there == text.as_bytes()) {
            continue;
        }
        // In one step: another host may be reading it.
        write_atomic(&file, text.as_bytes(), WriteOptions::PRIVATE)?;
    }
    Ok(dir)
}

#[cfg(unix)]
fn private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn private(_dir: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_put_right() {
        let code = tempfile::tempdir().expect("a directory");
        let dir = place(code.path()).expect("placed");
        let file = dir.join("jackfield_worker/work.py");
        fs::write(&file, "import os\n").expect("written");
        fs::remove_file(dir.join("main.py")).expect("removed");
        assert_eq!(place(code.path()).expect("placed again"), dir);
        for (name, text) in FILES {
            assert_eq!(fs::read_to_string(dir.join(name)).expect("a file"), text, "{name}");
        }
        let left: Vec<_> = fs::read_dir(&dir).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }

    #[test]
    fn every_file_is_embedded() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
        for folder in ["", "jackfield_worker"] {
            for entry in fs::read_dir(source.join(folder)).expect("the sources").flatten() {
                let name = Path::new(folder).join(entry.file_name());
                if name.extension().is_some_and(|ending| ending == "py") {
                    assert!(FILES.iter().any(|(known, _)| Path::new(known) == name), "{} is missing", name.display());
                }
            }
        }
    }
}
