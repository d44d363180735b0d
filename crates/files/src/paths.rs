//! Files by their names, with one or two system calls where the standard library needs one for every folder on the way.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The path without links, `.` and `..`, as [`std::fs::canonicalize`] gives it.
///
/// # Errors
/// As there.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    if let Some(real) = by_handle(path) {
        return Ok(real);
    }
    std::fs::canonicalize(path)
}

/// What the system calls the file that it finds there.
#[cfg(target_os = "linux")]
fn by_handle(path: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{CWD, Mode, OFlags, openat};
    let handle = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let real = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok()?;
    // One that was removed meanwhile has a name that nothing has, and one out of our sight none at all.
    (real.is_absolute() && !real.as_os_str().as_encoded_bytes().ends_with(b" (deleted)")).then_some(real)
}

/// The content of a file to which no link leads.
///
/// # Errors
/// Where one does, or nothing is there, or something that is no file; and always where the system cannot tell.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_plain(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let size = usize::try_from(about.len()).map_err(io::Error::other)?;
    let mut bytes = vec![0; size];
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

#[cfg(target_os = "linux")]
fn open_plain(path: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?.into())
}

#[cfg(not(target_os = "linux"))]
fn open_plain(_path: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_are_those_of_the_standard_library() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path().canonicalize().expect("a path");
        fs::create_dir(root.join("deep")).expect("made");
        for name in ["file", "odd (deleted)", "deep/sp ace", "u\u{308}"] {
            fs::write(root.join(name), "x").expect("written");
        }
        symlink(root.join("file"), root.join("link")).expect("linked");
        symlink("deep", root.join("folder")).expect("linked");
        symlink("nowhere", root.join("dangling")).expect("linked");
        symlink("loop", root.join("loop")).expect("linked");
        let names =
            ["", ".", "file", "odd (deleted)", "deep/../file", "link", "folder/sp ace", "deep/./sp ace", "u\u{308}"];
        for name in names {
            let path = root.join(name);
            assert_eq!(real_path(&path).expect(name), path.canonicalize().expect(name), "{name}");
        }
        for name in ["missing", "dangling", "loop", "file/below"] {
            let path = root.join(name);
            let expected = path.canonicalize().expect_err(name).kind();
            assert_eq!(real_path(&path).expect_err(name).kind(), expected, "{name}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn no_link_is_followed() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path().canonicalize().expect("a path");
        fs::create_dir(root.join("deep")).expect("made");
        fs::write(root.join("deep/file"), "text").expect("written");
        fs::write(root.join("empty"), "").expect("written");
        symlink("deep", root.join("folder")).expect("linked");
        symlink("deep/file", root.join("link")).expect("linked");
        assert_eq!(read_plain(&root.join("deep/file")).expect("there"), b"text");
        assert_eq!(read_plain(&root.join("deep/../deep/file")).expect("there"), b"text");
        assert_eq!(read_plain(&root.join("empty")).expect("there"), b"");
        for name in ["folder/file", "link", "missing", "deep"] {
            read_plain(&root.join(name)).expect_err(name);
        }
        // Nobody waits for somebody to write to it.
        let fifo = root.join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
        assert!(made.success());
        read_plain(&fifo).expect_err("no file");
    }
}
