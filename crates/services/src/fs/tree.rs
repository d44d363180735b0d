//! Folders with all that is in them. What is below a folder is listed first, so that each entry can be judged; then
//! exactly those entries are touched, each on a way of its own that follows no link.

use std::path::Path;

use jackfield_protocol::CallError;
use rustix::io::Errno;

use super::{Kind, Root, refused};
use crate::{Stop, errno};

/// The most entries of a tree that is removed or copied.
const MAX_TREE: usize = 100_000;

/// Something below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Below {
    /// Relative to the folder.
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

impl Root {
    /// Everything below a folder, a folder always before what is in it; nothing for what is no folder.
    pub(crate) fn below(&self, path: &str, stop: &Stop) -> Result<Vec<Below>, CallError> {
        let mut all = Vec::new();
        let top = self.stat(Path::new(path)).map_err(|error| refused("list", Path::new(path), error))?;
        let mut todo = if super::rooted::kind(&top) == Kind::Folder { vec![String::new()] } else { Vec::new() };
        while let Some(folder) = todo.pop() {
            let (entries, truncated) = self.list(Path::new(&join(path, &folder)), MAX_TREE, stop)?;
            if truncated || all.len() + entries.len() > MAX_TREE {
                let message = format!("{path:?} holds more than {MAX_TREE} files; take its parts one by one");
                return Err(errno::as_errno("EFBIG", message));
            }
            for entry in entries {
                let Some(name) = entry.name.to_str() else {
                    let message = format!("{:?} below {path:?} is not UTF-8", entry.name);
                    return Err(errno::as_errno("EILSEQ", message));
                };
                let name = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                if entry.kind == Kind::Folder {
                    todo.push(name.clone());
                }
                all.push(Below { name, kind: entry.kind });
            }
        }
        Ok(all)
    }

    /// Removes a folder and exactly these entries below it.
    pub(crate) fn remove_all(&self, path: &str, below: &[Below], stop: &Stop) -> Result<(), CallError> {
        for entry in below.iter().rev() {
            let entry = join(path, &entry.name);
            match self.remove(Path::new(&entry), stop) {
                Err(error) if is(&error, "ENOENT") => {}
                other => other?,
            }
        }
        self.remove(Path::new(path), stop)
    }

    /// Copies a folder and exactly these entries below it. Links are copied as they are.
    pub(crate) fn copy_all(
        &self,
        path: &str,
        to: &str,
        below: &[Below],
        exclusive: bool,
        stop: &Stop,
    ) -> Result<(), CallError> {
        if self.kind_of(Path::new(path))? != Kind::Folder {
            return self.copy(Path::new(path), Path::new(to), exclusive, stop);
        }
        self.mkdir(Path::new(to), None, stop)?;
        for entry in below {
            let (from, into) = (join(path, &entry.name), join(to, &entry.name));
            let (from, into) = (Path::new(&from), Path::new(&into));
            match entry.kind {
                Kind::Folder => {
                    self.mkdir(into, None, stop)?;
                }
                Kind::File => self.copy(from, into, exclusive, stop)?,
                Kind::Link => match self.symlink(into, &self.readlink(from)?) {
                    Err(error) if is(&error, "EEXIST") && !exclusive => {
                        self.remove(into, stop)?;
                        self.symlink(into, &self.readlink(from)?)?;
                    }
                    other => other?,
                },
                Kind::Other => return Err(refused("copy", from, Errno::INVAL)),
            }
        }
        Ok(())
    }
}

/// `name` below the resolved path `folder`.
pub(crate) fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        (folder, "") => folder.to_owned(),
        (".", name) => name.to_owned(),
        ("/", name) => format!("/{name}"),
        (folder, name) => format!("{folder}/{name}"),
    }
}

pub(crate) fn is(error: &CallError, errno: &str) -> bool {
    error.details.as_ref().and_then(|details| details.get("errno")).is_some_and(|said| said == errno)
}
