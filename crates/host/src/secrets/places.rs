//! All places in which secrets are kept, the first that has one first: the store, the `.env` of the project, that of the
//! home. A project's counts only where a person has trusted the project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jackfield_discovery::Diagnostic;
use jackfield_discovery::trust::Trust;
use jackfield_files::Home;
use jackfield_services::project_file;

use super::dotenv::{LONGEST_FILE, parse};
use super::{SecretError, SecretStore, private_file};

/// How the files are called.
pub(crate) const ENV_FILE: &str = ".env";
/// How long what was found out about trust holds while its record stays: it takes reading all of the project's extensions.
const TRUST_CACHE_TIME: Duration = Duration::from_secs(1);
/// How many bad lines of a file are named.
const MOST_PROBLEMS: usize = 10;

/// Where secrets are looked for. Whatever is in files is read anew each time; nothing is kept in memory.
#[derive(Debug, Clone)]
pub struct SecretPlaces {
    store: SecretStore,
    home: Home,
    project: Option<PathBuf>,
    trusted: Arc<Mutex<Option<Known>>>,
}

/// What was found out about trust.
#[derive(Debug, Clone, Copy)]
struct Known {
    since: Instant,
    /// When the record was written, and its size.
    record: Option<(SystemTime, u64)>,
    trusted: bool,
}

/// One file as it is now.
struct EnvFile {
    path: PathBuf,
    values: BTreeMap<String, String>,
    problems: Vec<String>,
}

impl SecretPlaces {
    /// Those of this home, and of this project.
    pub fn of(home: &Home, project: Option<&Path>) -> Self {
        let project = project.map(Path::to_owned);
        Self { store: SecretStore::of(home), home: home.clone(), project, trusted: Arc::default() }
    }

    /// Where values are written.
    pub fn store(&self) -> &SecretStore {
        &self.store
    }

    /// The names, sorted, each with the file that holds it; nothing stands for the store.
    ///
    /// # Errors
    /// The store cannot be listed.
    pub fn names(&self) -> Result<BTreeMap<String, Option<PathBuf>>, SecretError> {
        let mut names: BTreeMap<String, Option<PathBuf>> =
            self.store.names()?.into_iter().map(|name| (name, None)).collect();
        for file in self.files() {
            for name in file.values.into_keys() {
                names.entry(name).or_insert_with(|| Some(file.path.clone()));
            }
        }
        Ok(names)
    }

    /// The value, or nothing if no place holds one.
    ///
    /// # Errors
    /// What stands in its place in the store is not safe.
    pub fn get(&self, name: &str) -> Result<Option<String>, SecretError> {
        match self.store.get(name)? {
            Some(value) => Ok(Some(value)),
            None => Ok(self.files().into_iter().find_map(|mut file| file.values.remove(name))),
        }
    }

    /// What is wrong with files that count: which, in which line, and why. Never holds a value.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let said = |file: EnvFile| {
            file.problems.into_iter().map(move |why| Diagnostic::warn(&file.path, why)).collect::<Vec<_>>()
        };
        self.files().into_iter().flat_map(said).collect()
    }

    /// The project's file, if it is there and does not count because no person has trusted the project.
    pub fn waiting(&self) -> Option<PathBuf> {
        let project = self.project.as_deref()?;
        let path = project.join(ENV_FILE);
        (path.symlink_metadata().is_ok() && !self.is_trusted(project)).then_some(path)
    }

    /// Every value there is.
    pub(crate) fn values(&self) -> Vec<String> {
        let names = self.store.names().unwrap_or_default();
        let stored = names.iter().filter_map(|name| self.store.get(name).ok().flatten());
        stored.chain(self.files().into_iter().flat_map(|file| file.values.into_values())).collect()
    }

    /// The files that count, the first of them first.
    fn files(&self) -> Vec<EnvFile> {
        let project = self.project.as_deref().and_then(|project| {
            let path = project.join(ENV_FILE);
            if path.symlink_metadata().is_err() || !self.is_trusted(project) {
                return None;
            }
            // A project's file is often one that others can read, as all of the project. It must not lead out of it.
            let read = project_file(project, ENV_FILE, LONGEST_FILE).map_err(|error| error.message);
            EnvFile::of(path, read)
        });
        let path = self.home.root().join(ENV_FILE);
        let read = match private_file(&path, LONGEST_FILE) {
            Ok(bytes) => Ok(bytes.map(|bytes| {
                let size = bytes.len() as u64;
                (bytes, size)
            })),
            Err(SecretError::Refused { reason, .. }) => Err(reason),
            Err(other) => Err(other.to_string()),
        };
        let of_home = EnvFile::of(path, read);
        project.into_iter().chain(of_home).collect()
    }

    /// Whether a person has trusted the project, as it is now or was a second ago.
    pub(crate) fn trusts_project(&self) -> bool {
        self.project.as_deref().is_some_and(|project| self.is_trusted(project))
    }

    fn is_trusted(&self, project: &Path) -> bool {
        let mut known = self.trusted.lock().unwrap_or_else(PoisonError::into_inner);
        let facts = std::fs::metadata(self.home.trust());
        let record = facts.ok().and_then(|facts| Some((facts.modified().ok()?, facts.len())));
        if let Some(known) = known.filter(|known| known.record == record && known.since.elapsed() < TRUST_CACHE_TIME) {
            return known.trusted;
        }
        let trusted = Trust::load(&self.home).vouches_for(project);
        *known = Some(Known { since: Instant::now(), record, trusted });
        trusted
    }
}

impl EnvFile {
    /// A file from what was read of it and how much there is.
    fn of(path: PathBuf, read: Result<Option<(Vec<u8>, u64)>, String>) -> Option<Self> {
        let refused = |why: String| Some(Self { path: path.clone(), values: BTreeMap::new(), problems: vec![why] });
        let bytes = match read {
            Ok(None) => return None,
            Ok(Some((_, size))) if size > LONGEST_FILE as u64 => {
                return refused(format!("it is not read: it holds more than {LONGEST_FILE} bytes"));
            }
            Ok(Some((bytes, _))) => bytes,
            Err(why) => return refused(format!("it is not read: {why}")),
        };
        let parsed = parse(&bytes);
        let more = parsed.problems.len().saturating_sub(MOST_PROBLEMS);
        let mut problems: Vec<String> = parsed
            .problems
            .into_iter()
            .take(MOST_PROBLEMS)
            .map(|(line, why)| format!("{ENV_FILE}:{line}: {why}"))
            .collect();
        if more > 0 {
            problems.push(format!("{more} more lines cannot be read"));
        }
        Some(Self { path, values: parsed.values, problems })
    }
}
