//! From the path that a call names to the file it would touch.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use jackfield_protocol::{CallError, ErrorCode};

use super::{Last, Root};
use crate::errno;

/// As many links as Linux follows.
const MAX_LINKS: usize = 40;
/// No system takes longer paths, and resolving is work.
const MAX_PATH: usize = 4096;

impl Root {
    /// The real path behind `claimed`: relative to the root, `.` for the root itself, absolute where it is elsewhere. What
    /// does not exist yet keeps its name below what does.
    ///
    /// # Errors
    /// `invalid_request` or `io` for a path that can be none.
    pub(crate) fn resolve(&self, claimed: &str, last: Last) -> Result<String, CallError> {
        self.resolve_from(claimed, &self.path, last)
    }

    /// The same for a path that is relative to the folder `from`.
    pub(crate) fn resolve_from(&self, claimed: &str, from: &Path, last: Last) -> Result<String, CallError> {
        let real = self.real(Path::new(claimed), from, last)?;
        match self.inside(&real) {
            Some(relative) => relative,
            None => text_of(&real),
        }
    }

    /// The same, for what only takes files of the project.
    ///
    /// # Errors
    /// `denied` when it leads out of the root, whether or not anything is there.
    pub(crate) fn resolve_inside(&self, claimed: &str, last: Last) -> Result<String, CallError> {
        let real = self.real(Path::new(claimed), &self.path, last)?;
        self.inside(&real).ok_or_else(|| self.outside(claimed))?
    }

    /// Where a resolved path is.
    pub(crate) fn absolute(&self, resolved: &str) -> PathBuf {
        if resolved == "." { self.path.clone() } else { self.path.join(resolved) }
    }

    /// `real` relative to the root, or `None` when it is elsewhere.
    pub(crate) fn inside(&self, real: &Path) -> Option<Result<String, CallError>> {
        let relative = real.strip_prefix(&self.path).ok()?;
        if relative.as_os_str().is_empty() {
            return Some(Ok(".".to_owned()));
        }
        Some(text_of(relative))
    }

    fn outside(&self, claimed: &str) -> CallError {
        CallError::new(
            ErrorCode::Denied,
            format!("{claimed:?} leads out of the project: the file system is rooted at {}", self.path.display()),
        )
    }

    /// The absolute path behind `claimed`, which is relative to `from`, with every link followed.
    pub(crate) fn real(&self, claimed: &Path, from: &Path, last: Last) -> Result<PathBuf, CallError> {
        let invalid = |why: &str| Err(CallError::new(ErrorCode::InvalidRequest, format!("path {claimed:?}: {why}")));
        let impossible = |errno, why: &str| Err(errno::as_errno(errno, format!("path {claimed:?}: {why}")));
        if claimed.as_os_str().len() > MAX_PATH {
            return impossible("ENAMETOOLONG", "longer than any system takes");
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
            // What is not a link, not there, or not ours to see stands for itself: opening it follows no link, and tells
            // what is the matter.
            let Ok(target) = at.read_link() else { continue };
            links += 1;
            if links > MAX_LINKS {
                return impossible("ELOOP", "too many links");
            }
            at.pop();
            for step in steps(&target).into_iter().rev() {
                todo.push_front(step);
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

fn text_of(path: &Path) -> Result<String, CallError> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| CallError::new(ErrorCode::InvalidRequest, format!("the real name of {path:?} is not UTF-8")))
}

/// A path as [`Root::resolve`] gives it. Anything else was not judged in the form in which it would be opened.
pub(crate) fn checked(path: &str) -> Result<&Path, CallError> {
    let names = path.strip_prefix('/').unwrap_or(path);
    let plain = !names.is_empty() && !names.contains('\0') && names.split('/').all(|s| !matches!(s, "" | "." | ".."));
    if path == "." || path == "/" || plain {
        return Ok(Path::new(path));
    }
    Err(CallError::new(
        ErrorCode::Denied,
        format!("{path:?} is not a resolved path; it must be resolved before it is judged"),
    ))
}
