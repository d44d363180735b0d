//! Copying a stranger's tree: within limits, with nothing special in it, and with links that stay inside.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::{InstallError, symlink};

const MAX_FILES: usize = 20_000;
const MAX_BYTES: u64 = 512 << 20;
/// Deeper than any path that a system accepts when it is used whole.
const MAX_DEPTH: usize = 256;

/// The history is not part of an extension.
const SKIPPED: &str = ".git";

/// Copies `source` to `target`, which must not exist. Modes are kept, except those that would lend someone's rights.
pub(super) fn copy_tree(source: &Path, target: &Path) -> Result<(), InstallError> {
    let mut copy = Copy { files: 0, bytes: 0 };
    copy.directory(source, target, 0)
}

struct Copy {
    files: usize,
    bytes: u64,
}

impl Copy {
    fn directory(&mut self, source: &Path, target: &Path, depth: usize) -> Result<(), InstallError> {
        if depth > MAX_DEPTH {
            return Err(refused(source, format!("it lies more than {MAX_DEPTH} directories deep")));
        }
        fs::create_dir(target).map_err(InstallError::io("create", target))?;
        let listing = fs::read_dir(source).map_err(InstallError::io("read", source))?;
        for entry in listing {
            let entry = entry.map_err(InstallError::io("read", source))?;
            let name = entry.file_name();
            if name == SKIPPED {
                continue;
            }
            let (from, to) = (entry.path(), target.join(&name));
            let metadata = entry.metadata().map_err(InstallError::io("read", &from))?;
            self.count(&from)?;
            if metadata.is_symlink() {
                link(&from, &to, depth)?;
            } else if metadata.is_dir() {
                self.directory(&from, &to, depth + 1)?;
            } else if metadata.is_file() {
                self.file(&from, &to)?;
            } else {
                return Err(refused(&from, "it is a pipe, a socket or a device".to_owned()));
            }
        }
        // Last, because a directory that may not be written to cannot be filled.
        let metadata = fs::metadata(source).map_err(InstallError::io("read", source))?;
        keep_mode(target, &metadata, 0o700)
    }

    fn count(&mut self, path: &Path) -> Result<(), InstallError> {
        self.files += 1;
        if self.files > MAX_FILES {
            return Err(refused(path, format!("the extension holds more than {MAX_FILES} files")));
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<(), InstallError> {
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            use std::os::unix::fs::OpenOptionsExt;
            // Whatever is put in the file's place in this moment must neither lead elsewhere nor block.
            options.custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32);
        }
        let file = options.open(from).map_err(InstallError::io("read", from))?;
        let metadata = file.metadata().map_err(InstallError::io("read", from))?;
        if !metadata.is_file() {
            return Err(refused(from, "it is not a regular file any more".to_owned()));
        }
        let left = MAX_BYTES.saturating_sub(self.bytes);
        let mut new =
            OpenOptions::new().write(true).create_new(true).open(to).map_err(InstallError::io("create", to))?;
        let copied = io::copy(&mut file.take(left + 1), &mut new).map_err(InstallError::io("copy", from))?;
        if copied > left {
            return Err(refused(from, format!("the extension holds more than {} MiB", MAX_BYTES >> 20)));
        }
        self.bytes += copied;
        keep_mode(to, &metadata, 0o600)
    }
}

fn refused(path: &Path, reason: String) -> InstallError {
    InstallError::Refused { path: path.to_owned(), reason }
}

/// Whether a relative target, seen from a directory `depth` below the top, cannot lead out: it goes up first, not beyond
/// the top, and then only down. Every other link obeys the same rule, so it does not matter what the parts are.
fn stays_inside(target: &Path, depth: usize) -> bool {
    let mut up = 0;
    let mut going_down = false;
    for component in target.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if !going_down => up += 1,
            Component::Normal(_) => going_down = true,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    up <= depth
}

fn link(from: &Path, to: &Path, depth: usize) -> Result<(), InstallError> {
    let target: PathBuf = fs::read_link(from).map_err(InstallError::io("read the link", from))?;
    if !stays_inside(&target, depth) {
        return Err(refused(from, format!("it is a link that leads out of the extension, to {}", target.display())));
    }
    symlink(&target, to).map_err(InstallError::io("create the link", to))
}

/// `at_least` keeps what was copied usable by its owner.
fn keep_mode(path: &Path, metadata: &Metadata, at_least: u32) -> Result<(), InstallError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = (metadata.permissions().mode() & 0o777) | at_least;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(InstallError::io("set the mode of", path))
    }
    #[cfg(not(unix))]
    {
        let _ = (metadata, at_least, path);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_stay_inside() {
        let check = |target: &str, depth: usize, inside: bool| {
            assert_eq!(stays_inside(Path::new(target), depth), inside, "{target}")
        };
        check("file", 0, true);
        check("./a/b", 0, true);
        check("../sibling", 1, true);
        check("..", 1, true);
        check("../out", 0, false);
        check("../../out", 1, false);
        check("/etc/passwd", 3, false);
        check("a/../b", 3, false);
        check("../a/../../b", 3, false);
    }
}
