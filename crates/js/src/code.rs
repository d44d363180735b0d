//! Compiled code, kept in memory for all engines of a process and on disk for the next one.
//!
//! Bytecode is as powerful as native code, so only what this host wrote is ever run: an entry lies in a folder that belongs
//! to the user alone and carries a keyed hash over everything in it, and its name is made of the engine, the transform, the
//! file's path and its text. Whatever does not fit is compiled anew.

use std::collections::HashMap;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::transform::{self, Kind};

/// Names the engine in cache keys; bytecode of another one is never used.
const ENGINE: &str = "quickjs-ng/rquickjs-0.14.0";

/// A compiled file.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) facts: Facts,
    pub(crate) bytecode: Vec<u8>,
}

/// What is known of a file without running it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) is_async: bool,
    pub(crate) deps: Vec<String>,
    /// From the compiled lines back to the file's.
    pub(crate) map: Option<String>,
}

/// Compiled code by what it was made of.
#[derive(Debug, Default)]
pub struct CodeCache {
    disk: Option<Disk>,
    memory: Mutex<HashMap<Key, Arc<Code>>>,
}

type Key = [u8; 32];

#[derive(Debug)]
struct Disk {
    folder: PathBuf,
    secret: Vec<u8>,
}

impl CodeCache {
    /// A cache that also keeps its entries in `folder`. A folder that cannot be used is done without.
    pub fn at(folder: &Path) -> Self {
        Self { disk: Disk::open(folder).ok(), memory: Mutex::default() }
    }

    /// The code of a file, from the cache or made now.
    ///
    /// # Errors
    /// What `compile` says.
    pub(crate) fn get<E>(
        &self,
        name: &str,
        source: &str,
        compile: impl FnOnce() -> Result<Code, E>,
    ) -> Result<Arc<Code>, E> {
        let key = key(name, source);
        if let Some(code) = self.memory.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(code));
        }
        let code = match self.disk.as_ref().and_then(|disk| disk.read(&key)) {
            Some(code) => code,
            None => {
                let code = compile()?;
                if let Some(disk) = &self.disk {
                    // A cache that cannot be written costs time, nothing else.
                    disk.write(&key, &code).ok();
                }
                code
            }
        };
        let code = Arc::new(code);
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&code));
        Ok(code)
    }
}

fn key(name: &str, source: &str) -> Key {
    let mut hash = Sha256::new();
    for part in [ENGINE, env!("CARGO_PKG_VERSION"), transform::VERSION, name, source] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

impl Disk {
    fn open(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let path = folder.join("key");
        let secret = match fs::read(&path) {
            Ok(secret) if secret.len() == 32 => secret,
            _ => {
                let mut secret = vec![0; 32];
                getrandom::fill(&mut secret).map_err(io::Error::other)?;
                let new = tempfile_beside(&path);
                fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?.write_all(&secret)?;
                // Two hosts may start at once; the one whose link comes first wins for both.
                let linked = fs::hard_link(&new, &path);
                fs::remove_file(&new)?;
                match linked {
                    Ok(()) => secret,
                    Err(_) => fs::read(&path)?,
                }
            }
        };
        Ok(Self { folder: folder.to_path_buf(), secret })
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name)
    }

    fn read(&self, key: &Key) -> Option<Code> {
        let bytes = fs::read(self.path(key)).ok()?;
        let (tag, rest) = bytes.split_at_checked(32)?;
        self.mac(key, rest)?.verify_slice(tag).ok()?;
        let (length, rest) = rest.split_at_checked(4)?;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let (facts, bytecode) = rest.split_at_checked(length)?;
        Some(Code { facts: serde_json::from_slice(facts).ok()?, bytecode: bytecode.to_vec() })
    }

    fn write(&self, key: &Key, code: &Code) -> io::Result<()> {
        let facts = serde_json::to_vec(&code.facts)?;
        let mut rest = u32::try_from(facts.len()).map_err(io::Error::other)?.to_le_bytes().to_vec();
        rest.extend_from_slice(&facts);
        rest.extend_from_slice(&code.bytecode);
        let tag = self.mac(key, &rest).ok_or_else(|| io::Error::other("no key"))?.finalize().into_bytes();
        let path = self.path(key);
        let new = tempfile_beside(&path);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(&tag)?;
        file.write_all(&rest)?;
        fs::rename(&new, &path)
    }

    fn mac(&self, key: &Key, rest: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).ok()?;
        mac.update(key);
        mac.update(rest);
        Some(mac)
    }
}

fn tempfile_beside(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{count}.new", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Code {
        let facts = Facts { kind: Kind::Esm, is_async: false, deps: vec!["a".to_owned()], map: None };
        Code { facts, bytecode: text.as_bytes().to_vec() }
    }

    fn never() -> Result<Code, String> {
        Err("compiled although it is cached".to_owned())
    }

    #[test]
    fn what_was_compiled_once_is_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = CodeCache::at(folder.path());
        first.get("a.ts", "x", || Ok::<_, String>(code("one"))).expect("compiled");
        let second = CodeCache::at(folder.path());
        assert_eq!(second.get("a.ts", "x", never).expect("cached").bytecode, b"one");
        second.get("b.ts", "x", never).expect_err("another path");
        second.get("a.ts", "y", never).expect_err("another text");
    }

    #[test]
    fn what_somebody_else_wrote_is_not_run() {
        let folder = tempfile::tempdir().expect("a folder");
        CodeCache::at(folder.path()).get("a.ts", "x", || Ok::<_, String>(code("one"))).expect("compiled");
        let entry = folder.path().join(key("a.ts", "x").iter().map(|b| format!("{b:02x}")).collect::<String>());
        let good = fs::read(&entry).expect("there");
        for at in [0, 33, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&entry, &bad).expect("written");
            CodeCache::at(folder.path()).get("a.ts", "x", never).expect_err("refused");
        }
        fs::write(&entry, b"short").expect("written");
        CodeCache::at(folder.path()).get("a.ts", "x", never).expect_err("refused");
        // An entry under the name of another file.
        fs::write(folder.path().join(key("b.ts", "x").iter().map(|b| format!("{b:02x}")).collect::<String>()), &good)
            .expect("written");
        CodeCache::at(folder.path()).get("b.ts", "x", never).expect_err("refused");
    }
}
