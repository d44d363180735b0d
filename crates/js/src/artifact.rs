//! An extension compiled ahead: the bytecode of its entry and of everything that it reaches by name, in one file.
//!
//! An artifact is native code in other clothes, so it is run only by the host that made it, in the place it was made for, and
//! only as long as manifest, engine and every file are the same: it carries the keyed hash of [`crate::code`]. Whatever does
//! not fit is passed over with a word about why, and the source is compiled as if it were not there.

mod graph;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};

use jackfield_protocol::{Manifest, canonical_json};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::code::{Code, CodeCache, hex};
use crate::transform;

pub use crate::code::ENGINE;

pub use graph::{Built, BuiltFile, build};
use jackfield_files::{WriteOptions, write_atomic};

/// The name of the compiled file.
pub const FILE: &str = "extension.artifact";
/// The name of the file that describes it.
pub const ABOUT: &str = "artifact.json";

/// How a file of this kind begins.
const MAGIC: &[u8] = b"jackfield artifact 1\n";
/// A larger one is not read.
const MAX_ARTIFACT_BYTES: u64 = 256 << 20;

/// What stands before the code.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    engine: String,
    entry: PathBuf,
    manifest: String,
    files: Vec<Packed>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Packed {
    path: String,
    sha256: String,
    /// In bytes; files follow each other in this order. Data that is not compiled takes none.
    length: usize,
}

/// An artifact whose origin is proven.
#[derive(Debug)]
pub(crate) struct Artifact {
    bytes: Vec<u8>,
    files: HashMap<String, (String, Range<usize>)>,
}

/// Where the artifact of an entry lies in the folder of compiled code.
pub fn place(cache: &Path, entry: &Path) -> PathBuf {
    let name = hex(&Sha256::digest(entry.as_os_str().as_encoded_bytes()));
    cache.join("built").join(name.get(..32).unwrap_or(&name))
}

/// Everything whose change makes bytecode useless: the engine, the transform and the host that has the library.
pub(crate) fn engine() -> String {
    format!("{} {} (transform {}, host {})", ENGINE.0, ENGINE.1, transform::VERSION, env!("CARGO_PKG_VERSION"))
}

/// The manifest's part of an artifact's hash: what it says of the extension, not what its user settled about it.
pub(crate) fn digest_of(manifest: &Manifest) -> String {
    let mut value = serde_json::to_value(manifest).unwrap_or_default();
    if let Some(value) = value.as_object_mut() {
        for settled in ["enabled", "isolation", "limits", "priority"] {
            value.remove(settled);
        }
    }
    hex(&Sha256::digest(canonical_json(&value)))
}

impl Artifact {
    /// Reads the artifact of an entry. Nothing where there is none.
    ///
    /// # Errors
    /// Why it is not used.
    pub(crate) fn open(path: &Path, cache: &CodeCache, entry: &Path, manifest: &str) -> Result<Option<Self>, String> {
        let refused = |why: &str| format!("{} is not used: {why}", path.display());
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(&error.to_string())),
        };
        let sealed = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_at_checked(32));
        let body = match sealed {
            Some((tag, body)) if cache.is_sealed(&[MAGIC, body], tag) => body,
            Some(_) => return Err(refused("this host did not make it, or it was changed since")),
            None => return Err(refused("it is no artifact")),
        };
        let header = body.split_at_checked(4).and_then(|(length, rest)| {
            let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
            serde_json::from_slice::<Header>(rest.get(..length)?).ok().map(|header| (header, length))
        });
        let Some((header, length)) = header else { return Err(refused("it cannot be read")) };
        if header.entry != entry {
            // It lies beside several extensions and belongs to another.
            return Ok(None);
        }
        if header.engine != engine() {
            return Err(refused(&format!("it was made for {}", header.engine)));
        }
        if header.manifest != manifest {
            return Err(refused("the manifest has changed since it was made"));
        }
        let mut at = MAGIC.len() + 32 + 4 + length;
        let mut files = HashMap::with_capacity(header.files.len());
        for file in header.files {
            let end = at.checked_add(file.length).filter(|end| *end <= bytes.len());
            let Some(end) = end else { return Err(refused("it is cut short")) };
            files.insert(file.path, (file.sha256, at..end));
            at = end;
        }
        Ok(Some(Self { bytes, files }))
    }

    /// The code of a file with this text. Nothing where it holds none, or where `Err` says that the file has changed.
    pub(crate) fn code(&self, path: &str, text: &str) -> Result<Option<Code>, ()> {
        let Some((sha256, range)) = self.files.get(path) else { return Ok(None) };
        if *sha256 != sha256_of(text) {
            return Err(());
        }
        Ok(self.bytes.get(range.clone()).and_then(|bytes| Code::from_bytes(bytes.to_vec())))
    }
}

/// The content of a file as artifacts name it.
pub(crate) fn sha256_of(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// Puts the compiled files into one.
///
/// # Errors
/// When there is no key to seal it with, or it would be too large.
fn pack(
    cache: &CodeCache,
    entry: &Path,
    manifest: &str,
    files: &[(String, String, Option<Code>)],
) -> Result<Vec<u8>, String> {
    let code = |code: &Option<Code>| code.as_ref().map_or(0, |code| code.as_bytes().len());
    let packed = files.iter().map(|(path, sha256, made)| Packed {
        path: path.clone(),
        sha256: sha256.clone(),
        length: code(made),
    });
    let header =
        Header { engine: engine(), entry: entry.to_owned(), manifest: manifest.to_owned(), files: packed.collect() };
    let header = serde_json::to_vec(&header).map_err(|error| error.to_string())?;
    let mut body = u32::try_from(header.len()).map_err(|error| error.to_string())?.to_le_bytes().to_vec();
    body.extend_from_slice(&header);
    for (_, _, made) in files {
        body.extend_from_slice(made.as_ref().map(Code::as_bytes).unwrap_or_default());
    }
    let tag = cache.seal(&[MAGIC, &body]).ok_or("the folder of compiled code cannot be used")?;
    Ok([MAGIC, &tag, &body].concat())
}

/// Puts an artifact and the text about it into a folder, each whole or not at all.
///
/// # Errors
/// What the disk says.
pub fn write(folder: &Path, built: &Built, about: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    write_atomic(&folder.join(FILE), &built.artifact, WriteOptions::PRIVATE)?;
    write_atomic(&folder.join(ABOUT), &[about, b"\n"].concat(), WriteOptions::PRIVATE).map(drop)
}

/// A regular file of bounded size, whoever put it there.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    if metadata.len() > MAX_ARTIFACT_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB", MAX_ARTIFACT_BYTES >> 20),
        ));
    }
    fs::read(path)
}

#[cfg(test)]
mod tests;
