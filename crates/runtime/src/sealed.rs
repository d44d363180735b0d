//! A folder of files that only this user's hosts wrote: compiled code is as powerful as native code, so whatever does not
//! carry the right keyed hash is not used.

use jackfield_files::{WriteOptions, write_atomic};
use std::io::Write as _;
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Names an entry: a hash of all that it was made of.
pub type SealedKey = [u8; 32];

/// Bytes of the keyed hash before an entry's content.
const TAG: usize = 32;

/// A folder that belongs to the user alone, with entries that carry a keyed hash over their key and content. Any number of
/// hosts may share one.
#[derive(Debug)]
pub struct SealedFolder {
    folder: PathBuf,
    secret: [u8; 32],
}

/// The content of an entry, authenticated.
#[derive(Debug)]
pub struct Sealed(Vec<u8>);

impl Deref for Sealed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.get(TAG..).unwrap_or_default()
    }
}

impl Sealed {
    /// The content by itself.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.0.drain(..TAG.min(self.0.len()));
        self.0
    }
}

impl SealedFolder {
    /// Opens a folder; makes it, and its key, if they are not there.
    ///
    /// # Errors
    /// The folder cannot be used, or its key is damaged.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let path = folder.join("key");
        let secret = match fs::read(&path) {
            Ok(secret) if secret.len() == 32 => secret,
            _ => {
                let mut secret = vec![0; 32];
                getrandom::fill(&mut secret).map_err(io::Error::other)?;
                let new = beside(&path);
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
        let secret = secret.try_into().map_err(|_| io::Error::other("the key is damaged"))?;
        Ok(Self { folder: folder.to_path_buf(), secret })
    }

    /// The key of what is made of these parts.
    pub fn key(parts: &[&[u8]]) -> SealedKey {
        let mut hash = blake3::Hasher::new();
        for part in parts {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }

    /// Where an entry lies.
    pub fn path(&self, key: &SealedKey) -> PathBuf {
        self.folder.join(jackfield_protocol::hex(key))
    }

    /// An entry that one of this user's hosts wrote under this key; nothing for whatever else lies there.
    pub fn read(&self, key: &SealedKey) -> Option<Sealed> {
        let bytes = fs::read(self.path(key)).ok()?;
        let (tag, rest) = bytes.split_at_checked(TAG)?;
        self.is_sealed(&[key, rest], tag).then_some(())?;
        Some(Sealed(bytes))
    }

    /// Keeps an entry. Nobody ever sees a part of it.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, key: &SealedKey, content: &[u8]) -> io::Result<()> {
        let sealed = [self.seal(&[key, content]).as_slice(), content].concat();
        write_atomic(&self.path(key), &sealed, WriteOptions::PRIVATE).map(drop)
    }

    /// A keyed hash that only this user's hosts can make.
    pub fn seal(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.mac(parts).into()
    }

    /// Whether one of this user's hosts made that hash.
    pub fn is_sealed(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        // Compared in a time that does not depend on where they differ.
        self.mac(parts) == *tag
    }

    fn mac(&self, parts: &[&[u8]]) -> blake3::Hash {
        let mut mac = blake3::Hasher::new_keyed(&self.secret);
        for part in parts {
            mac.update(part);
        }
        mac.finalize()
    }
}

/// A name for what will take the place of this file.
pub(crate) fn beside(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{count}.new", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_wrote_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let sealed = SealedFolder::open(folder.path()).expect("opened");
        let (key, other) = (SealedFolder::key(&[b"a", b"bc"]), SealedFolder::key(&[b"ab", b"c"]));
        assert_ne!(key, other);
        sealed.write(&key, b"content").expect("written");
        let again = SealedFolder::open(folder.path()).expect("the same key");
        assert_eq!(again.read(&key).map(Sealed::into_vec).as_deref(), Some(&b"content"[..]));
        assert!(again.read(&other).is_none());
        let good = fs::read(sealed.path(&key)).expect("there");
        for at in [0, TAG, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(sealed.path(&key), &bad).expect("written");
            assert!(again.read(&key).is_none(), "changed at {at}");
        }
        fs::write(sealed.path(&key), b"short").expect("written");
        assert!(again.read(&key).is_none());
        // An entry under the name of another one.
        fs::write(sealed.path(&other), &good).expect("written");
        assert!(again.read(&other).is_none());
    }

    #[test]
    fn hosts_that_start_at_once_share_one_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let tags: Vec<_> = std::thread::scope(|scope| {
            let open = || SealedFolder::open(folder.path()).ok().map(|sealed| sealed.seal(&[b"x"]));
            let all: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            all.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        assert!(tags.iter().all(|tag| tag.is_some() && *tag == tags[0]));
    }
}
