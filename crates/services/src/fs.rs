//! `fs`: files, each judged by what it really is.
//!
//! Two steps keep it so. Before the decision a path is resolved to the real thing it names ([`Root::resolve`]); after the
//! decision it is opened from the project's own descriptor, or from the system's root where it lies outside, with no link
//! followed at all ([`rooted`]). A link swapped in between the two makes the call fail: it cannot lead it elsewhere.

mod changes;
mod facts;
mod judged;
mod path;
mod rooted;
mod sockets;
#[cfg(test)]
mod tests;
mod tree;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jackfield_protocol::{CallError, ErrorCode, FsOp, WriteFlag};
use serde_json::{Value, json};

use self::changes::How;
pub(super) use self::judged::{readable, serve, without_denied};
pub(super) use self::path::checked;
pub(super) use self::sockets::HeldSocket;
pub(super) use self::tree::join;
use self::tree::{Below, is};
use self::watch::watch;
use super::{Stop, errno};

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

/// What the last step of an operation's path stands for.
pub(super) fn last_step(op: &FsOp) -> Last {
    match op {
        // These are about the entry itself, so a link is not followed to what it points at.
        FsOp::Remove { .. }
        | FsOp::Rename { .. }
        | FsOp::Link { .. }
        | FsOp::Readlink { .. }
        | FsOp::Mkdtemp { .. }
        | FsOp::Stat { follow: Some(false), .. }
        | FsOp::Write { flag: Some(WriteFlag::Create | WriteFlag::CreateAppend), .. } => Last::Keep,
        _ => Last::Follow,
    }
}

/// Puts the real paths into an operation.
pub(super) fn resolve(root: &Root, op: &mut FsOp) -> Result<(), CallError> {
    let claimed = match &*op {
        // What is made is what is judged.
        FsOp::Mkdtemp { path } => format!("{path}{}", unlikely()),
        op => op.path().to_owned(),
    };
    let path = root.resolve(&claimed, last_step(op))?;
    match op {
        FsOp::Rename { to, .. } => *to = root.resolve(to, Last::Keep)?,
        FsOp::Copy { to, .. } => *to = root.resolve(to, Last::Follow)?,
        FsOp::Link { target, symbolic: false, .. } => *target = root.resolve(target, Last::Keep)?,
        _ => {}
    }
    *op.path_mut() = path;
    Ok(())
}

/// Six characters that nobody has used.
fn unlikely() -> String {
    use sha2::{Digest as _, Sha256};
    use std::hash::{BuildHasher as _, RandomState};
    let random = (RandomState::new().hash_one(0), std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos());
    let digest = Sha256::digest(format!("{random:?}"));
    let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let letter = |byte: &u8| letters.get(usize::from(*byte) % letters.len()).map_or('x', |letter| char::from(*letter));
    digest.iter().take(6).map(letter).collect()
}

/// Serves one operation that is no stream and no tree; `op` has been resolved. Blocks.
pub(super) fn perform(root: &Root, op: &FsOp, max_file: usize, stop: &Stop) -> Result<Value, CallError> {
    let path = checked(op.path())?;
    match op {
        FsOp::Read { encoding, offset, length, .. } => {
            let encoding = Encoding::parse(encoding.as_deref())?;
            let (bytes, size) = root.read_range(path, offset.unwrap_or_default(), *length, max_file)?;
            let (content, encoding) = encoding.apply(bytes, path)?;
            Ok(json!({ "content": content, "encoding": encoding, "size": size }))
        }
        FsOp::Write { content, encoding, mode, flag, offset, .. } => {
            let bytes = decode(content, encoding.as_deref(), &format!("write {path:?}"))?;
            let flag = flag.unwrap_or(if offset.is_some() { WriteFlag::InPlace } else { WriteFlag::Replace });
            let offset = offset.unwrap_or_default();
            if offset > 0 && flag != WriteFlag::InPlace {
                let message = format!("write {path:?}: an offset goes with the flag \"r+\" only");
                return Err(CallError::new(ErrorCode::InvalidRequest, message));
            }
            root.write_as(path, &bytes, &How { flag, offset, mode: *mode }, max_file, stop)?;
            Ok(json!({ "size": bytes.len() }))
        }
        FsOp::Stat { follow, .. } => root.facts(path, follow.unwrap_or(true)),
        FsOp::Mkdir { recursive: Some(false), mode, .. } => {
            root.mkdir_new(path, mode.unwrap_or(0o777))?;
            Ok(json!({ "created": true }))
        }
        FsOp::Mkdir { mode, .. } => Ok(json!({ "created": root.mkdir(path, *mode, stop)? })),
        FsOp::Remove { force, .. } => match root.remove(path, stop) {
            Err(error) if *force && is(&error, "ENOENT") => Ok(json!({ "removed": false })),
            other => other.map(|()| json!({ "removed": true })),
        },
        FsOp::Rename { to, .. } => done(root.rename(path, checked(to)?, stop)),
        FsOp::Copy { to, exclusive, .. } => done(root.copy(path, checked(to)?, *exclusive, stop)),
        FsOp::Link { target, symbolic: true, .. } => done(root.symlink(path, target)),
        FsOp::Link { target, symbolic: false, .. } => done(root.hard_link(path, checked(target)?)),
        FsOp::Readlink { .. } => Ok(json!({ "target": root.readlink(path)? })),
        FsOp::Realpath { path: resolved } => {
            root.followed(path)?;
            Ok(json!({ "path": root.absolute(resolved).to_string_lossy() }))
        }
        FsOp::Chmod { mode, .. } => done(root.chmod(path, *mode)),
        FsOp::Utimes { accessed_ms, modified_ms, .. } => done(root.utimes(path, *accessed_ms, *modified_ms)),
        FsOp::Truncate { length, .. } => done(root.truncate(path, *length)),
        FsOp::Access { mode, .. } => done(root.access(path, mode)),
        FsOp::Mkdtemp { path: resolved } => {
            root.mkdir_new(path, 0o700)?;
            Ok(json!({ "path": root.absolute(resolved).to_string_lossy() }))
        }
        FsOp::List { .. } => {
            Err(CallError::new(ErrorCode::Internal, format!("list {path:?}: its entries are judged first")))
        }
        FsOp::Watch { .. } => Err(CallError::new(
            ErrorCode::InvalidRequest,
            format!("watch {path:?}: changes come as a stream, and this call takes none"),
        )),
    }
}

fn done(outcome: Result<(), CallError>) -> Result<Value, CallError> {
    outcome.map(|()| json!({}))
}

/// The bytes that stand in JSON as `encoding` says.
pub(super) fn decode(text: &str, encoding: Option<&str>, what: &str) -> Result<Vec<u8>, CallError> {
    match Encoding::parse(encoding)? {
        Encoding::Base64 => BASE64.decode(text.trim_end()).map_err(|error| {
            CallError::new(ErrorCode::InvalidRequest, format!("{what}: what was given is not base64: {error}"))
        }),
        Encoding::Utf8 | Encoding::Either => Ok(text.as_bytes().to_vec()),
    }
}

/// How bytes stand in JSON.
pub(super) enum Encoding {
    Utf8,
    Base64,
    /// Text where it is text.
    Either,
}

impl Encoding {
    pub(super) fn parse(name: Option<&str>) -> Result<Self, CallError> {
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
    match error {
        // The path had no link in it when it was judged.
        Errno::LOOP => CallError::new(
            ErrorCode::Denied,
            format!("{what} {path:?}: a link stands in the way that was not there when the call was judged"),
        ),
        other => errno::refusal(&format!("{what} {path:?}"), other),
    }
}
