//! Hashes of what extensions consist of. The catalogue caches them by the stamps of the files.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::report::{Extent, Found};
use super::settings::IGNORED_DIRS;
use super::stamp::Stamp;
use super::{js, mcp, python, wasm};
use crate::catalog::Catalog;

/// Beyond these, files count by size and time instead of content.
const MAX_HASHED_FILES: usize = 5_000;
const MAX_HASHED_BYTES: u64 = 64 << 20;

/// Beyond this, an extension is not read whole to see whether it is what was accepted.
const MAX_PINNED_BYTES: u64 = 1 << 30;

/// Beyond this, a tree is not an extension.
const MAX_ENTRIES: usize = 200_000;

/// Caches that running an extension leaves behind.
const CACHES: [&str; 1] = ["__pycache__"];

/// Which directories a walk passes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// Those that build tools fill.
    BuildDirs,
    /// Those that hold other people's packages. What an extension in JavaScript consists of may well lie in `dist`.
    Packages,
    /// Only caches: all that is installed is held to its record.
    Caches,
    /// None: whoever vouches for a tree vouches for all of it.
    Nothing,
}

impl Skip {
    fn passes_over(self, name: &str) -> bool {
        match self {
            Self::BuildDirs => IGNORED_DIRS.contains(&name) || CACHES.contains(&name),
            Self::Packages => PACKAGE_DIRS.contains(&name) || CACHES.contains(&name),
            Self::Caches => CACHES.contains(&name),
            Self::Nothing => false,
        }
    }
}

struct Entry {
    relative: PathBuf,
    path: PathBuf,
    metadata: Metadata,
}

struct Tree {
    entries: Vec<Entry>,
    /// Relative, the root as an empty path.
    dirs: Vec<PathBuf>,
    complete: bool,
}

/// Directories that hold nothing of an extension's own.
const PACKAGE_DIRS: [&str; 3] = ["node_modules", ".git", "target"];

impl Found {
    /// SHA-256 (hex) over the paths and contents of all files that are the extension's own. The catalogue has it already
    /// while no stamp of these files changes.
    pub fn content_hash(&self, catalog: &Catalog) -> String {
        if let Some(identity) = mcp::identity(self) {
            return hex(&Sha256::digest(identity));
        }
        let tree = self.tree();
        let read = || Ok::<_, Infallible>(hash_of(&tree).0);
        let Ok(hash) = catalog.tree_hash(TreeKind::Own, &self.place(), &tree.stamp(), read);
        hash
    }

    /// As [`Self::content_hash`]; reads every file.
    pub fn read_hash(&self) -> String {
        match mcp::identity(self) {
            Some(identity) => hex(&Sha256::digest(identity)),
            None => hash_of(&self.tree()).0,
        }
    }

    /// Every file and directory of its own, or nothing when there are too many to name.
    pub fn places(&self) -> Option<Vec<PathBuf>> {
        let tree = self.tree();
        let dirs = tree.dirs.iter().map(|relative| self.dir.join(relative));
        tree.complete.then(|| dirs.chain(tree.entries.into_iter().map(|entry| entry.path)).collect())
    }

    fn tree(&self) -> Tree {
        if mcp::entry_of(self).is_some() {
            let none = Tree { entries: Vec::new(), dirs: Vec::new(), complete: true };
            return self.of_files([self.manifest_path.clone()], none);
        }
        if let Some(entry) = python::entry_of(self) {
            return self
                .of_files(python::reached(&entry), Tree { entries: Vec::new(), dirs: Vec::new(), complete: true });
        }
        let entry = js::entry_of(self);
        let tree = match self.extent {
            Extent::Directory if entry.is_some() => walk(&self.dir, Skip::Packages),
            Extent::Directory => walk(&self.dir, Skip::BuildDirs),
            Extent::Entry => Tree { entries: Vec::new(), dirs: Vec::new(), complete: true },
        };
        let entry = entry.filter(|entry| self.extent == Extent::Entry || !entry.starts_with(&self.dir));
        // A component counts wherever it lies, also where build tools put it.
        let mut own: Vec<PathBuf> = wasm::component_of(self).into_iter().collect();
        own.extend(entry.iter().flat_map(|entry| js::reached(entry)));
        if own.is_empty() {
            return tree;
        }
        own.push(self.manifest_path.clone());
        self.of_files(own, tree)
    }

    /// Adds single files to a tree.
    fn of_files(&self, paths: impl IntoIterator<Item = PathBuf>, mut tree: Tree) -> Tree {
        for path in paths {
            if !tree.entries.iter().any(|known| known.path == path)
                && let Ok(metadata) = fs::metadata(&path)
            {
                // Relative, so that the hash speaks of the content and not of the place.
                let relative = path.strip_prefix(&self.dir).unwrap_or(&path).to_owned();
                // A single file that is a link counts by what it leads to, and files are opened without following links.
                let path = fs::canonicalize(&path).unwrap_or(path);
                tree.entries.push(Entry { relative, path, metadata });
            }
        }
        tree.entries.sort_by(|a, b| a.relative.cmp(&b.relative));
        tree
    }
}

/// SHA-256 (hex) over the sorted paths and contents below `dir`. Directories that build tools fill are passed over,
/// symbolic links count by their target's text; beyond 5,000 files or 64 MiB, files count by size and time.
#[cfg(any(test, feature = "testing"))]
pub fn content_hash(dir: &Path) -> String {
    tree_hash(dir, Skip::BuildDirs).0
}

/// Which hash of a tree it is: each covers other files or other facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeKind {
    /// Over the files of one extension, see [`Found::content_hash`].
    Own,
    /// Over all that is installed in a directory, see [`pinned`].
    Pinned,
    /// Over all that a person vouches for, see [`vouched_hash`].
    Vouched,
}

/// What `stat` says about all files of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeStamp {
    /// SHA-256 over the names and stamps.
    pub digest: [u8; 32],
    /// The last change of any of the files, in nanoseconds since 1970.
    pub newest_ns: i64,
}

/// The stamp of all files below `dir`. Reads no file. It is much quicker than [`walk`], because it keeps no list.
fn tree_stamp(dir: &Path, skip: Skip) -> TreeStamp {
    let mut digest = StampDigest::default();
    if let Ok(metadata) = fs::metadata(dir)
        && !metadata.is_dir()
    {
        digest.add(b"", &metadata, dir);
        return digest.finish(true);
    }
    let (mut pending, mut entries, mut complete) = (vec![dir.to_owned()], 0, true);
    while let Some(below) = pending.pop() {
        let Ok(listing) = fs::read_dir(&below) else {
            complete = false;
            continue;
        };
        // Directories are told apart by their names, in an order that does not depend on the file system.
        field(&mut digest.hasher, below.as_os_str().as_encoded_bytes());
        let mut listed: Vec<_> =
            listing.flatten().filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?))).collect();
        listed.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        entries += listed.len();
        if entries > MAX_ENTRIES {
            complete = false;
            break;
        }
        for (name, metadata) in listed {
            if !metadata.is_dir() {
                let path = if metadata.is_symlink() { below.join(&name) } else { PathBuf::new() };
                digest.add(name.as_encoded_bytes(), &metadata, &path);
            } else if !name.to_str().is_some_and(|name| skip.passes_over(name)) {
                pending.push(below.join(&name));
            }
        }
    }
    digest.finish(complete)
}

/// Collects the stamps of files.
#[derive(Default)]
struct StampDigest {
    hasher: Sha256,
    newest_ns: i64,
}

impl StampDigest {
    /// `path` leads to the file; only that of a link matters, because a link counts by its target's text.
    fn add(&mut self, name: &[u8], metadata: &Metadata, path: &Path) {
        field(&mut self.hasher, name);
        let stamp = Stamp::from_metadata(metadata);
        stamp.digest_into(&mut self.hasher);
        self.newest_ns = self.newest_ns.max(stamp.newest_ns());
        if metadata.is_symlink() {
            field(&mut self.hasher, fs::read_link(path).unwrap_or_default().as_os_str().as_encoded_bytes());
        }
    }

    fn finish(mut self, complete: bool) -> TreeStamp {
        self.hasher.update([u8::from(complete)]);
        TreeStamp { digest: self.hasher.finalize().into(), newest_ns: self.newest_ns }
    }
}

impl Tree {
    fn stamp(&self) -> TreeStamp {
        let mut digest = StampDigest::default();
        for entry in &self.entries {
            field(&mut digest.hasher, entry.path.as_os_str().as_encoded_bytes());
            digest.add(entry.relative.as_os_str().as_encoded_bytes(), &entry.metadata, &entry.path);
        }
        digest.finish(self.complete)
    }
}

/// The hash of [`pinned`], from the catalogue while no stamp changes.
pub fn pinned_hash(dir: &Path, catalog: &Catalog) -> Result<String, String> {
    let read = || pinned(dir).map(|(hash, _)| hash);
    catalog.tree_hash(TreeKind::Pinned, dir, &tree_stamp(dir, Skip::Caches), read)
}

/// The hash over everything below `path`, from the catalogue while no stamp changes. `None` when there is too much.
pub fn vouched_hash(path: &Path, catalog: &Catalog) -> Option<String> {
    let read = || match tree_hash(path, Skip::Nothing) {
        (hash, true) => Ok(hash),
        (_, false) => Err(()),
    };
    catalog.tree_hash(TreeKind::Vouched, path, &tree_stamp(path, Skip::Nothing), read).ok()
}

/// A content hash, and whether the tree was small enough to be seen whole.
fn tree_hash(dir: &Path, skip: Skip) -> (String, bool) {
    hash_of(&walk(dir, skip))
}

/// The hash over all that is installed in `dir`, and that of each file. The error says why it cannot be vouched for.
pub fn pinned(dir: &Path) -> Result<(String, BTreeMap<String, String>), String> {
    let tree = walk(dir, Skip::Caches);
    let bytes: u64 = tree.entries.iter().map(|entry| entry.metadata.len()).sum();
    if !tree.complete || bytes > MAX_PINNED_BYTES {
        return Err(format!("{} holds too much, or something unreadable", dir.display()));
    }
    let mut whole = Sha256::new();
    let mut files = BTreeMap::new();
    for entry in &tree.entries {
        let name = entry.relative.to_string_lossy().into_owned();
        let mut hasher = Sha256::new();
        if entry.metadata.is_symlink() {
            field(&mut hasher, b"link");
            let target = fs::read_link(&entry.path).unwrap_or_default();
            field(&mut hasher, target.as_os_str().as_encoded_bytes());
        } else if entry.metadata.is_file() {
            field(&mut hasher, if is_executable(&entry.metadata) { b"program" } else { b"file" });
            hash_file(&mut hasher, entry).map_err(|error| format!("cannot read {name}: {error}"))?;
        } else {
            return Err(format!("{name} is neither a file nor a link"));
        }
        let hash = hex(&hasher.finalize());
        field(&mut whole, entry.relative.as_os_str().as_encoded_bytes());
        field(&mut whole, hash.as_bytes());
        files.insert(name, hash);
    }
    Ok((hex(&whole.finalize()), files))
}

fn hash_of(tree: &Tree) -> (String, bool) {
    let mut hasher = Sha256::new();
    let mut files = 0;
    let mut bytes = 0;
    for entry in &tree.entries {
        let metadata = &entry.metadata;
        field(&mut hasher, entry.relative.as_os_str().as_encoded_bytes());
        if metadata.is_symlink() {
            field(&mut hasher, b"link");
            let target = fs::read_link(&entry.path).unwrap_or_default();
            field(&mut hasher, target.as_os_str().as_encoded_bytes());
        } else if metadata.is_file() {
            field(&mut hasher, if is_executable(metadata) { b"program" } else { b"file" });
            files += 1;
            bytes += metadata.len();
            if files > MAX_HASHED_FILES || bytes > MAX_HASHED_BYTES {
                outside(&mut hasher, metadata);
            } else if let Err(error) = hash_file(&mut hasher, entry) {
                field(&mut hasher, format!("unreadable: {}", error.kind()).as_bytes());
            }
        } else {
            field(&mut hasher, b"special");
        }
    }
    hasher.update([u8::from(tree.complete)]);
    (hex(&hasher.finalize()), tree.complete)
}

/// The length goes first, so that no two trees write the same bytes.
fn field(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// What counts of a file that is not read.
fn outside(hasher: &mut Sha256, metadata: &Metadata) {
    if let Stamp::Present { size, mtime_ns, ctime_ns, mode, .. } = Stamp::from_metadata(metadata) {
        hasher.update(size.to_le_bytes());
        hasher.update(mtime_ns.to_le_bytes());
        hasher.update(ctime_ns.to_le_bytes());
        hasher.update(mode.to_le_bytes());
    }
}

fn hash_file(hasher: &mut Sha256, entry: &Entry) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // A link or a fifo that is put in the file's place in this moment must neither lead elsewhere nor block.
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32);
    }
    let size = entry.metadata.len();
    let mut file = options.open(&entry.path)?.take(size);
    hasher.update(size.to_le_bytes());
    // One byte more than the file has: the read that finds its end needs room, too.
    let mut buffer = vec![0; usize::try_from(size.saturating_add(1)).unwrap_or(usize::MAX).min(64 * 1024)];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        hasher.update(buffer.get(..read).unwrap_or_default());
    }
}

fn is_executable(metadata: &Metadata) -> bool {
    matches!(Stamp::from_metadata(metadata), Stamp::Present { mode, .. } if mode & 0o111 != 0)
}

/// All files and links below `dir` in the order of their paths. A root that is a link is followed, others are not.
fn walk(dir: &Path, skip: Skip) -> Tree {
    let mut tree = Tree { entries: Vec::new(), dirs: Vec::new(), complete: true };
    match fs::metadata(dir) {
        Ok(metadata) if !metadata.is_dir() => {
            tree.entries.push(Entry { relative: PathBuf::new(), path: dir.to_owned(), metadata });
            return tree;
        }
        _ => {}
    }
    // A list instead of recursion: how deep a stranger's tree is must not matter to our stack.
    let mut pending = vec![PathBuf::new()];
    let mut seen = 0;
    while let Some(relative) = pending.pop() {
        let Ok(listing) = fs::read_dir(dir.join(&relative)) else {
            tree.complete &= relative.as_os_str().is_empty();
            continue;
        };
        tree.dirs.push(relative.clone());
        for entry in listing.flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                tree.complete = false;
                pending.clear();
                break;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            let name = entry.file_name();
            let below = relative.join(&name);
            if !metadata.is_dir() {
                tree.entries.push(Entry { relative: below, path: entry.path(), metadata });
            } else if !name.to_str().is_some_and(|name| skip.passes_over(name)) {
                pending.push(below);
            }
        }
    }
    tree.entries.sort_by(|a, b| a.relative.cmp(&b.relative));
    tree
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    jackfield_protocol::hex(bytes)
}

#[cfg(test)]
mod tests;
