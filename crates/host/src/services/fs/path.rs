//! From the path that a call names to the file it would touch.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use jackfield_protocol::{CallError, ErrorCode};

use super::{Last, Root};

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;
/// No system takes longer paths, and resolving is work.
const MAX_PATH: usize = 4096;

impl Root {
    /// The real path behind `claimed`, relative to the root; `.` for the root itself. What does not exist yet keeps its
    /// name below what does.
    ///
    /// # Errors
    /// `denied` when it leads out of the root, whether or not anything is there.
    pub(in crate::services) fn resolve(&self, claimed: &str, last: Last) -> Result<String, CallError> {
        let real = self.real(Path::new(claimed), &self.path, last)?;
        self.inside(&real).ok_or_else(|| self.outside(claimed))?
    }

    /// `real` relative to the root, or `None` when it is elsewhere.
    pub(in crate::services) fn inside(&self, real: &Path) -> Option<Result<String, CallError>> {
        let relative = real.strip_prefix(&self.path).ok()?;
        if relative.as_os_str().is_empty() {
            return Some(Ok(".".to_owned()));
        }
        Some(relative.to_str().map(str::to_owned).ok_or_else(|| {
            CallError::new(ErrorCode::InvalidRequest, format!("the real name of {relative:?} is not UTF-8"))
        }))
    }

    fn outside(&self, claimed: &str) -> CallError {
        CallError::new(
            ErrorCode::Denied,
            format!("{claimed:?} leads out of the project: the file system is rooted at {}", self.path.display()),
        )
    }

    /// The absolute path behind `claimed`, which is relative to `from`, with every link followed.
    pub(in crate::services) fn real(&self, claimed: &Path, from: &Path, last: Last) -> Result<PathBuf, CallError> {
        let invalid = |why: &str| Err(CallError::new(ErrorCode::InvalidRequest, format!("path {claimed:?}: {why}")));
        if claimed.as_os_str().len() > MAX_PATH {
            return invalid("longer than any system takes");
        }
        if claimed.as_os_str().as_encoded_bytes().contains(&0) {
            return invalid("holds a NUL character");
        }
        let mut at = from.to_owned();
        let mut todo: VecDeque<OsString> = steps(claimed);
        let mut links = 0;
        while let Some(step) = todo.pop_front() {
            if step == ".." {
                at.pop();
                continue;
            }
            if step == "/" {
                at = PathBuf::from("/");
                continue;
            }
            at.push(&step);
            if todo.is_empty() && last == Last::Keep {
                break;
            }
            match at.read_link() {
                Ok(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return invalid("too many links");
                    }
                    at.pop();
                    for step in steps(&target).into_iter().rev() {
                        todo.push_front(step);
                    }
                }
                // Not a link, or not there: the name stands for itself. Opening it tells what is the matter.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::InvalidInput | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) => {}
                // Outside the root nothing is told but that it is outside.
                Err(_) if at.strip_prefix(&self.path).is_err() => break,
                Err(error) => {
                    return Err(CallError::new(ErrorCode::Io, format!("path {claimed:?} cannot be resolved: {error}")));
                }
            }
        }
        Ok(at)
    }
}

fn steps(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::CurDir => None,
            Component::Prefix(prefix) => Some(prefix.as_os_str().to_owned()),
            Component::RootDir | Component::ParentDir | Component::Normal(_) => Some(component.as_os_str().to_owned()),
        })
        .collect()
}

/// A path as [`Root::resolve`] gives it. Anything else was not judged in the form in which it would be opened.
pub(in crate::services) fn checked(path: &str) -> Result<&Path, CallError> {
    let plain = !path.is_empty() && !path.contains('\0') && path.split('/').all(|s| !matches!(s, "" | "." | ".."));
    if path == "." || plain {
        return Ok(Path::new(path));
    }
    Err(CallError::new(
        ErrorCode::Denied,
        format!("{path:?} is not a resolved path below the project; it must be resolved before it is judged"),
    ))
}
