//! `fs`: files below the project and nothing else.
//!
//! Two steps keep it so. Before the decision a path is resolved to the real thing it names ([`Root::resolve`]); after the
//! decision it is opened from the project's own descriptor with no link followed at all ([`rooted`]). A link swapped in
//! between the two makes the call fail: it cannot lead it elsewhere.

mod path;
mod rooted;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jackfield_protocol::{CallError, ErrorCode, FsOp};
use serde_json::{Value, json};

pub(super) use self::path::checked;
use super::Stop;

/// The most entries of a listing.
const MAX_ENTRIES: usize = 10_000;

/// The project as the root of a file system.
#[derive(Debug, Clone)]
pub(super) struct Root {
    /// Absolute, links resolved.
    path: PathBuf,
}

/// What becomes of a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// The path stands for what the link points at.
    Follow,
    /// The path stands for the link itself.
    Keep,
}

/// What stands in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: OsString,
    pub(super) kind: Kind,
    pub(super) size: u64,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "dir",
            Self::Link => "link",
            Self::Other => "other",
        }
    }
}

impl Root {
    pub(super) fn new(project: PathBuf) -> Self {
        // A project that does not exist has no real path; every call then fails with the name that was given.
        let path = project.canonicalize().or_else(|_| std::path::absolute(&project)).unwrap_or(project);
        Self { path }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Serves one operation; `op` has been resolved. Blocks.
pub(super) fn perform(root: &Root, op: &FsOp, max_file: usize, stop: &Stop) -> Result<Value, CallError> {
    let path = checked(op.path())?;
    match op {
        FsOp::Read { encoding, .. } => {
            let encoding = Encoding::parse(encoding.as_deref())?;
            let bytes = root.read(path, max_file)?;
            let size = bytes.len();
            let (content, encoding) = encoding.apply(bytes, path)?;
            Ok(json!({ "content": content, "encoding": encoding, "size": size }))
        }
        FsOp::Write { content, encoding, .. } => {
            let bytes = match Encoding::parse(encoding.as_deref())? {
                Encoding::Base64 => BASE64.decode(content.trim_end()).map_err(|error| {
                    CallError::new(ErrorCode::InvalidRequest, format!("write {path:?}: content is not base64: {error}"))
                })?,
                Encoding::Utf8 | Encoding::Either => content.clone().into_bytes(),
            };
            root.write(path, &bytes, max_file, stop)?;
            Ok(json!({ "size": bytes.len() }))
        }
        FsOp::List { .. } => {
            let (entries, truncated) = root.list(path, MAX_ENTRIES, stop)?;
            let entries: Vec<Value> = entries
                .iter()
                .map(|e| json!({ "name": e.name.to_string_lossy(), "kind": e.kind.as_str(), "size": e.size }))
                .collect();
            Ok(json!({ "entries": entries, "truncated": truncated }))
        }
        FsOp::Stat { .. } => {
            let stat = root.stat(path)?;
            Ok(json!({ "kind": stat.kind.as_str(), "size": stat.size, "modified_ms": stat.modified_ms }))
        }
        FsOp::Mkdir { .. } => Ok(json!({ "created": root.mkdir(path, stop)? })),
        FsOp::Remove { .. } => {
            root.remove(path, stop)?;
            Ok(json!({ "removed": true }))
        }
    }
}

/// How bytes stand in JSON.
enum Encoding {
    Utf8,
    Base64,
    /// Text where it is text.
    Either,
}

impl Encoding {
    fn parse(name: Option<&str>) -> Result<Self, CallError> {
        match name {
            None => Ok(Self::Either),
            Some("utf8" | "utf-8") => Ok(Self::Utf8),
            Some("base64") => Ok(Self::Base64),
            Some(other) => Err(CallError::new(
                ErrorCode::InvalidRequest,
                format!("unknown encoding {other:?}; use \"utf8\" or \"base64\""),
            )),
        }
    }

    fn apply(self, bytes: Vec<u8>, path: &Path) -> Result<(String, &'static str), CallError> {
        match (self, String::from_utf8(bytes)) {
            (Self::Utf8 | Self::Either, Ok(text)) => Ok((text, "utf8")),
            (Self::Base64, Ok(text)) => Ok((BASE64.encode(text), "base64")),
            (Self::Base64 | Self::Either, Err(error)) => Ok((BASE64.encode(error.as_bytes()), "base64")),
            (Self::Utf8, Err(_)) => Err(CallError::new(
                ErrorCode::InvalidRequest,
                format!("read {path:?}: the file is not UTF-8; ask for encoding \"base64\""),
            )),
        }
    }
}

/// Bytes as text where they are text, as base64 otherwise, and which of the two.
pub(super) fn text_or_base64(bytes: Vec<u8>) -> (String, &'static str) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, "utf8"),
        Err(error) => (BASE64.encode(error.as_bytes()), "base64"),
    }
}

/// The error of an operation that the operating system refused.
fn refused(what: &str, path: &Path, error: rustix::io::Errno) -> CallError {
    use rustix::io::Errno;
    let (code, why) = match error {
        Errno::NOENT => (ErrorCode::NotFound, "it does not exist".to_owned()),
        // The path had no link in it when it was judged.
        Errno::LOOP | Errno::XDEV => {
            (ErrorCode::Denied, "a link stands in the way that was not there when the call was judged".to_owned())
        }
        other => (ErrorCode::Io, std::io::Error::from(other).to_string()),
    };
    CallError::new(code, format!("{what} {path:?}: {why}"))
}
