//! Compiled code, kept in memory for all engines of a process and on disk for the next one.
//!
//! Bytecode is as powerful as native code, so only what this host wrote is ever run: an entry lies in a folder that belongs
//! to the user alone and carries a keyed hash over everything in it, and its key is made of the engine, the transform, the
//! file's path and its text. The host compiles anew whatever does not fit. Each module is one file of the folder.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

pub(crate) use jackfield_protocol::hex;
use jackfield_runtime::{Sealed, SealedFolder, SealedKey};
use serde::{Deserialize, Serialize};

use crate::transform::{self, Kind};

/// The engine's name and version; bytecode of another one is never used.
pub const ENGINE: (&str, &str) = ("quickjs-ng", "rquickjs-0.14.0");

/// What is known of a file without running it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) is_async: bool,
    pub(crate) deps: Vec<String>,
}

/// A compiled file: its facts and its bytecode, which stays as it was read.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) facts: Facts,
    bytes: Vec<u8>,
    code_at: usize,
}

impl Code {
    /// Puts a compiled file together.
    pub(crate) fn new(facts: Facts, bytecode: &[u8]) -> io::Result<Self> {
        let told = serde_json::to_vec(&facts)?;
        let length = u32::try_from(told.len()).map_err(io::Error::other)?;
        let bytes = [&length.to_le_bytes(), told.as_slice(), bytecode].concat();
        Ok(Self { facts, bytes, code_at: 4 + told.len() })
    }

    /// Reads what [`Self::as_bytes`] gave. Only for bytes that were authenticated.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let facts = serde_json::from_slice(rest.get(..length)?).ok()?;
        Some(Self { facts, bytes, code_at: 4 + length })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn bytecode(&self) -> &[u8] {
        self.bytes.get(self.code_at..).unwrap_or_default()
    }
}

/// A module that somebody compiles, or has.
type Slot = Arc<Mutex<Option<Arc<Code>>>>;

/// Bytes that the cache keeps on disk at most; the code of a hundred extensions is a hundredth of that.
const MAX_CACHE_BYTES: u64 = 512 << 20;

/// Removes the oldest entries of a cache that has grown beyond `most` bytes.
fn prune(folder: &Path, most: u64) -> io::Result<()> {
    let is_entry = |name: &str| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_name().to_str().is_some_and(is_entry) {
            let about = entry.metadata()?;
            entries.push((about.modified()?, about.len(), entry.path()));
        }
    }
    let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
    entries.sort();
    for (_, size, path) in entries {
        if total <= most {
            break;
        }
        fs::remove_file(path)?;
        total = total.saturating_sub(size);
    }
    Ok(())
}

/// Compiled code by what it was made of.
#[derive(Debug, Default)]
pub struct CodeCache {
    disk: Option<SealedFolder>,
    /// The library's, which every engine of this process needs. Whoever comes first compiles a module, the others wait.
    library: Mutex<HashMap<String, Slot>>,
}

impl CodeCache {
    /// A cache that also keeps its entries in `folder`. A folder that cannot be used is done without.
    pub fn at(folder: &Path) -> Self {
        Self { disk: SealedFolder::open(folder).ok(), library: Mutex::default() }
    }

    /// The code of an embedded module of the library, and whether it had to be compiled.
    ///
    /// # Errors
    /// What `compile` says.
    #[allow(clippy::ptr_arg, reason = "whether the text is part of the binary is what counts")]
    pub(crate) fn library<E>(
        &self,
        name: &str,
        text: &Cow<'static, str>,
        compile: impl FnOnce() -> Result<Code, E>,
    ) -> Result<(Arc<Code>, bool), E> {
        // Only what is part of the binary is sure to have one text as long as the process lives.
        let Cow::Borrowed(text) = text else { return self.get(name, text, compile) };
        let slot = {
            let mut library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
            match library.get(name) {
                Some(slot) => Arc::clone(slot),
                None => Arc::clone(library.entry(name.to_owned()).or_default()),
            }
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = &*slot {
            return Ok((Arc::clone(code), false));
        }
        let (code, compiled) = self.get(name, text, compile)?;
        *slot = Some(Arc::clone(&code));
        Ok((code, compiled))
    }

    /// The code of a file, from the cache or made now, and whether it had to be compiled.
    ///
    /// # Errors
    /// What `compile` says.
    pub(crate) fn get<E>(
        &self,
        name: &str,
        source: &str,
        compile: impl FnOnce() -> Result<Code, E>,
    ) -> Result<(Arc<Code>, bool), E> {
        let Some(disk) = &self.disk else { return Ok((Arc::new(compile()?), true)) };
        let key = key(name, source);
        if let Some(code) = disk.read(&key).map(Sealed::into_vec).and_then(Code::from_bytes) {
            return Ok((Arc::new(code), false));
        }
        let code = compile()?;
        // A cache that cannot be written costs time, nothing else.
        disk.write(&key, code.as_bytes()).ok();
        // Keys are hashes, so about one write in 256 looks at the size of the folder.
        if let ([0, ..], Some(folder)) = (key, disk.path(&key).parent()) {
            prune(folder, MAX_CACHE_BYTES).ok();
        }
        Ok((Arc::new(code), true))
    }

    /// A keyed hash that only this host can make; nothing without a place to keep the key.
    pub(crate) fn seal(&self, parts: &[&[u8]]) -> Option<[u8; 32]> {
        Some(self.disk.as_ref()?.seal(parts))
    }

    /// Whether this host made that hash.
    pub(crate) fn is_sealed(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.disk.as_ref().is_some_and(|disk| disk.is_sealed(parts, tag))
    }
}

/// Names a file as it is, compiled by this engine.
pub(crate) fn key(name: &str, source: &str) -> SealedKey {
    let parts = [ENGINE.0, ENGINE.1, env!("CARGO_PKG_VERSION"), transform::VERSION, name, source];
    SealedFolder::key(&parts.map(str::as_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Code {
        let facts = Facts { kind: Kind::Esm, is_async: false, deps: vec!["a".to_owned()] };
        Code::new(facts, text.as_bytes()).expect("small")
    }

    fn never() -> Result<Code, String> {
        Err("compiled although it is cached".to_owned())
    }

    #[test]
    fn what_was_compiled_once_is_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = CodeCache::at(folder.path());
        let (_, compiled) = first.get("a.ts", "x", || Ok::<_, String>(code("one"))).expect("compiled");
        assert!(compiled);
        let second = CodeCache::at(folder.path());
        let (read, compiled) = second.get("a.ts", "x", never).expect("cached");
        assert_eq!((read.bytecode(), compiled), (&b"one"[..], false));
        assert_eq!(read.facts.deps, ["a"]);
        second.get("b.ts", "x", never).expect_err("another path");
        second.get("a.ts", "y", never).expect_err("another text");
    }

    #[test]
    fn what_somebody_else_wrote_is_not_run() {
        let folder = tempfile::tempdir().expect("a folder");
        CodeCache::at(folder.path()).get("a.ts", "x", || Ok::<_, String>(code("one"))).expect("compiled");
        let sealed = SealedFolder::open(folder.path()).expect("opened");
        let file = sealed.path(&key("a.ts", "x"));
        let good = fs::read(&file).expect("there");
        // In the tag, and the first and the last byte of the content.
        for at in [0, 31, 32, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&file, &bad).expect("written");
            let mut compiled = false;
            let compile = || {
                compiled = true;
                Err::<Code, _>("refused")
            };
            CodeCache::at(folder.path()).get("a.ts", "x", compile).expect_err("refused");
            assert!(compiled, "changed at {at}");
        }
        fs::write(&file, b"short").expect("written");
        CodeCache::at(folder.path()).get("a.ts", "x", never).expect_err("refused");
        // The entry of one file under the name of another.
        fs::write(sealed.path(&key("b.ts", "x")), &good).expect("written");
        CodeCache::at(folder.path()).get("b.ts", "x", never).expect_err("refused");
        fs::write(&file, &good).expect("written");
        CodeCache::at(folder.path()).get("a.ts", "x", never).expect("its own");
    }

    #[test]
    fn a_cache_that_grew_too_large_loses_its_oldest_entries() {
        let folder = tempfile::tempdir().expect("a folder");
        let sealed = SealedFolder::open(folder.path()).expect("opened");
        let keys = ["one", "two", "three"].map(|text| key("a.ts", text));
        for (age, key) in keys.iter().enumerate() {
            sealed.write(key, &[0; 1000]).expect("written");
            let file = fs::File::options().append(true).open(sealed.path(key)).expect("there");
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000 + age as u64);
            file.set_modified(time).expect("a time");
        }
        prune(folder.path(), 1500).expect("pruned");
        assert_eq!(keys.map(|key| sealed.read(&key).is_some()), [false, false, true]);
        assert!(folder.path().join("key").exists());
    }

    #[test]
    fn another_key_makes_everything_foreign() {
        let (one, two) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let (one, two) = (CodeCache::at(one.path()), CodeCache::at(two.path()));
        let tag = one.seal(&[b"pack", b"text"]).expect("a key");
        assert!(one.is_sealed(&[b"pack", b"text"], &tag));
        assert!(!two.is_sealed(&[b"pack", b"text"], &tag));
        assert!(!CodeCache::default().is_sealed(&[b"pack", b"text"], &tag));
    }
}
