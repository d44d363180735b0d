//! What a person keeps for extensions and channels: one private file per secret in the home, and what `.env` files hold
//! besides. The host's environment comes first; whoever may have a variable of the environment may have the secret of that
//! name, and nobody else.

mod dotenv;
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_protocol::{CallError, ErrorCode, Manifest};
use jackfield_runtime::Secrets;

use jackfield_discovery::{Diagnostic, known_secrets};

use jackfield_files::{Home, WriteOptions, write_atomic};
pub use places::SecretPlaces;

/// The most that a secret may hold: keys and certificates are the longest.
pub const LONGEST_SECRET: usize = 64 * 1024;
const LONGEST_NAME: usize = 128;

/// Names that decide what runs and where, so that a value for them would be more than a secret.
const REFUSED: [&str; 9] = ["PATH", "HOME", "SHELL", "ENV", "BASH_ENV", "IFS", "TMPDIR", "NODE_OPTIONS", "MCP"];
const DECIDES: &str = "a variable of that name decides what runs, or where";
const REFUSED_BEGINNINGS: [&str; 4] = ["LD_", "DYLD_", "PYTHON", "JACKFIELD"];

/// Why a secret was not read or written. Never holds a value.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// It cannot be called so.
    #[error("{name:?} cannot be the name of a secret: {reason}")]
    Name {
        /// The refused name.
        name: String,
        /// What is wrong with the name.
        reason: &'static str,
    },
    /// It cannot be the value.
    #[error("the value for {name} cannot be kept: {reason}")]
    Value {
        /// The name of the secret.
        name: String,
        /// What is wrong with the value.
        reason: String,
    },
    /// What stands in its place is not safe, or is no secret.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// What stands there.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What the host tried to do, for instance `read`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

/// The secrets of a home. Made anew whenever it is needed: nothing is kept in memory.
#[derive(Debug, Clone)]
pub struct SecretStore {
    dir: PathBuf,
}

impl SecretStore {
    /// Those of this home.
    pub fn of(home: &Home) -> Self {
        Self { dir: home.secrets() }
    }

    /// Whether a secret can be called so.
    ///
    /// # Errors
    /// It says why not.
    pub fn check_name(name: &str) -> Result<(), SecretError> {
        check_name(name)
    }

    /// The names, sorted. What stands beside them and is no secret is passed over; what looks like one and is not safe is
    /// named, and refused when its value is wanted.
    ///
    /// # Errors
    /// The directory cannot be listed, or is a link.
    pub fn names(&self) -> Result<Vec<String>, SecretError> {
        if !self.is_there()? {
            return Ok(Vec::new());
        }
        let listing = fs::read_dir(&self.dir).map_err(|source| failed("list", &self.dir, source))?;
        let is_dir = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let names = listing.flatten().filter(|entry| !is_dir(entry)).filter_map(|e| e.file_name().into_string().ok());
        let names: BTreeSet<String> = names.filter(|name| check_name(name).is_ok()).collect();
        Ok(names.into_iter().collect())
    }

    /// The value, or nothing where there is no such secret.
    ///
    /// # Errors
    /// Something stands there that is not safe: a link, or a file that others can read.
    pub fn get(&self, name: &str) -> Result<Option<String>, SecretError> {
        // What cannot be a secret is none, whoever asks.
        if check_name(name).is_err() || !self.is_there()? {
            return Ok(None);
        }
        let path = self.dir.join(name);
        let Some(bytes) = private_file(&path, LONGEST_SECRET + 2)? else { return Ok(None) };
        let text = String::from_utf8(bytes).map_err(|_| refused(&path, "it is not text"))?;
        let value = without_end(&text);
        check_value(name, value).map_err(|error| refused(&path, error.to_string()))?;
        Ok(Some(value.to_owned()))
    }

    /// Keeps a value, in place of the one that was there. True where there was one. A line end at its end is not part of it.
    ///
    /// # Errors
    /// The name or the value cannot be used, or what stands there is not ours to replace.
    pub fn set(&self, name: &str, value: &str) -> Result<bool, SecretError> {
        check_name(name)?;
        let value = without_end(value);
        check_value(name, value)?;
        if !self.is_there()? {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
            made.map_err(|source| failed("make", &self.dir, source))?;
        }
        let path = self.dir.join(name);
        let replaced = match path.symlink_metadata() {
            Ok(facts) if facts.is_symlink() => return Err(is_link(&path)),
            Ok(facts) if !facts.is_file() => return Err(refused(&path, "it is not a file")),
            Ok(_) => true,
            Err(_) => false,
        };
        write_atomic(&path, value.as_bytes(), WriteOptions::PRIVATE)
            .map_err(|source| failed("write", &path, source))?;
        Ok(replaced)
    }

    /// Forgets a secret; of a link only the link. False where there is none of that name.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, name: &str) -> Result<bool, SecretError> {
        check_name(name)?;
        if !self.is_there()? {
            return Ok(false);
        }
        let path = self.dir.join(name);
        match path.symlink_metadata() {
            Ok(facts) if facts.is_dir() => Err(refused(&path, "it is not a file")),
            Ok(_) => fs::remove_file(&path).map(|()| true).map_err(|source| failed("remove", &path, source)),
            Err(_) => Ok(false),
        }
    }

    /// Whether there is a directory, and not a way out of the home.
    fn is_there(&self) -> Result<bool, SecretError> {
        match self.dir.symlink_metadata() {
            Ok(facts) if facts.is_dir() => Ok(true),
            Ok(facts) if facts.is_symlink() => Err(is_link(&self.dir)),
            Ok(_) => Err(refused(&self.dir, "it is not a directory")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(failed("look at", &self.dir, source)),
        }
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> SecretError {
    SecretError::Io { action, path: path.to_owned(), source }
}

/// The beginning of a file that is its owner's alone, at most one byte more than `most`; nothing where there is none.
fn private_file(path: &Path, most: usize) -> Result<Option<Vec<u8>>, SecretError> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) if path.is_symlink() => return Err(is_link(path)),
        Err(error) => return Err(failed("read", path, error)),
    };
    let facts = file.metadata().map_err(|source| failed("read", path, source))?;
    if !facts.is_file() {
        return Err(refused(path, "it is not a file"));
    }
    if facts.permissions().mode() & 0o077 != 0 {
        let place = path.display();
        let reason = format!("it can be read by others; run `chmod 600 {place}`, and get a new one from its issuer");
        return Err(refused(path, reason));
    }
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|source| failed("read", path, source))?;
    Ok(Some(bytes))
}

fn refused(path: &Path, reason: impl Into<String>) -> SecretError {
    SecretError::Refused { path: path.to_owned(), reason: reason.into() }
}

fn is_link(path: &Path) -> SecretError {
    refused(path, "it is a link, and secrets stay in the home; remove the link and set the secret again")
}

fn check_name(name: &str) -> Result<(), SecretError> {
    let wrong = |reason| Err(SecretError::Name { name: name.chars().take(LONGEST_NAME).collect(), reason });
    let upper = name.to_ascii_uppercase();
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return wrong("letters, digits and _ are allowed, as in the name of a variable");
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return wrong("it must not begin with a digit");
    }
    if name.len() > LONGEST_NAME {
        return wrong("it is longer than 128 letters");
    }
    if REFUSED.contains(&upper.as_str()) || REFUSED_BEGINNINGS.iter().any(|beginning| upper.starts_with(beginning)) {
        return wrong(DECIDES);
    }
    Ok(())
}

fn check_value(name: &str, value: &str) -> Result<(), SecretError> {
    let wrong = |reason: String| Err(SecretError::Value { name: name.to_owned(), reason });
    if value.is_empty() {
        return wrong("it is empty".to_owned());
    }
    if value.len() > LONGEST_SECRET {
        return wrong(format!("it has more than {LONGEST_SECRET} bytes"));
    }
    if value.contains('\0') {
        return wrong("it holds a zero byte".to_owned());
    }
    Ok(())
}

/// Without the line end that editors and `echo` put there.
fn without_end(text: &str) -> &str {
    text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

/// What a host has of it: the environment first, then what is kept; and whatever was read is shown nowhere from then on.
#[derive(Debug, Clone)]
pub(crate) struct SecretSource {
    places: SecretPlaces,
    env: Arc<BTreeMap<String, String>>,
    known: Secrets,
}

impl SecretSource {
    pub(crate) fn new(home: &Home, project: &Path, env: Arc<BTreeMap<String, String>>) -> Self {
        let known = Secrets::of(known_secrets(&env));
        let kept = Self { places: SecretPlaces::of(home, Some(project)), env, known };
        kept.learn();
        kept
    }

    /// All values that must not be shown.
    pub(crate) fn known(&self) -> &Secrets {
        &self.known
    }

    /// The names of what is kept.
    ///
    /// # Errors
    /// The store cannot be listed.
    pub(crate) fn listed(&self) -> Result<Vec<String>, SecretError> {
        Ok(self.places.names()?.into_keys().collect())
    }

    /// The same. A store that cannot be listed holds none: whoever asks for a value is told why.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.listed().unwrap_or_default().into_iter().collect()
    }

    /// Whether a person has trusted the project.
    pub(crate) fn trusts_project(&self) -> bool {
        self.places.trusts_project()
    }

    /// What is wrong with `.env` files that count.
    pub(crate) fn problems(&self) -> Vec<Diagnostic> {
        self.places.problems()
    }

    /// Learns what is kept now. What cannot be read is given to nobody, so that nobody can show it.
    pub(crate) fn learn(&self) {
        self.known.learn(self.places.values().iter().map(String::as_str));
    }

    /// The variable of the environment, else what is kept.
    pub(crate) fn value(&self, name: &str) -> Result<Option<String>, SecretError> {
        let set = self.env.get(name);
        if let Some(value) = set.filter(|value| !is_blank(value)) {
            return Ok(Some(value.clone()));
        }
        let value = self.places.get(name)?;
        self.known.learn(value.as_deref());
        Ok(value.or_else(|| set.cloned()))
    }

    /// Keeps a value that a person gave, and shows it nowhere from before on.
    pub(crate) fn keep(&self, name: &str, value: &str) -> Result<bool, SecretError> {
        check_value(name, without_end(value))?;
        self.known.learn([without_end(value)]);
        self.places.store().set(name, value)
    }

    /// Adds the secrets that its manifest names to the environment of a child.
    pub(crate) fn give(&self, manifest: &Manifest, child: &mut Vec<(String, String)>) -> Result<(), SecretError> {
        // All of them: an MCP server may be given any.
        self.learn();
        let is_unset = |name: &&String| self.env.get(*name).is_none_or(|value| is_blank(value));
        for name in manifest.requires.env.iter().filter(is_unset) {
            if let Some(value) = self.places.get(name)? {
                child.retain(|(known, _)| known != name);
                child.push((name.clone(), value));
            }
        }
        Ok(())
    }
}

fn is_blank(value: &str) -> bool {
    value.trim().is_empty()
}

impl jackfield_services::Variables for SecretSource {
    fn value(&self, name: &str) -> Result<Option<String>, CallError> {
        SecretSource::value(self, name).map_err(|error| {
            jackfield_protocol::CallError::new(ErrorCode::InvalidConfig, format!("env {name}: {error}"))
        })
    }
}

#[cfg(test)]
mod tests;
