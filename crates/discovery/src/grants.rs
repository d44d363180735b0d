//! What persons have granted and denied, kept across runs and shared by every host of one home.

mod store;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jackfield_files::Home;
use jackfield_policy::{Effect, Grant, NewGrant};
use jackfield_protocol::{ExtensionId, Power};

pub use self::store::GrantsError;
use self::store::{Stamp, Store};
use crate::lock::LockFile;

/// How long what was read is believed before the file is looked at again.
const CACHE_LIFETIME: Duration = Duration::from_millis(50);

/// For how many projects the answer is kept per extension; a host has one, or a few.
const MAX_PROJECTS: usize = 16;

/// The stored grants of one home.
#[derive(Debug)]
pub struct Grants {
    store: Store,
    lock: LockFile,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    grants: Vec<Grant>,
    stamp: Option<Stamp>,
    looked: Instant,
    problem: Option<Arc<GrantsError>>,
    applying: HashMap<ExtensionId, Vec<Applying>>,
}

/// The grants of one extension in one project.
type Applying = (PathBuf, Arc<[Grant]>);

impl Grants {
    /// Reads the grants of `home`; there need be none.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged. A host that wants to go on uses [`Grants::open_or_none`].
    pub fn open(home: &Home) -> Result<Self, GrantsError> {
        let store = Store::new(home.grants());
        let (grants, stamp) = store.read()?;
        Ok(Self::with(home, store, grants, stamp))
    }

    /// Reads the grants of `home`. When that fails nothing counts as granted; [`Grants::problem`] says why, and the file
    /// is looked at again as soon as it changes.
    pub fn open_or_none(home: &Home) -> Self {
        let store = Store::new(home.grants());
        let stamp = store.stamp();
        match store.read() {
            Ok((grants, stamp)) => Self::with(home, store, grants, stamp),
            Err(error) => {
                let grants = Self::with(home, store, Vec::new(), stamp);
                grants.lock().problem = Some(Arc::new(error));
                grants
            }
        }
    }

    fn with(home: &Home, store: Store, grants: Vec<Grant>, stamp: Option<Stamp>) -> Self {
        let state = State { grants, stamp, looked: Instant::now(), problem: None, applying: HashMap::new() };
        Self { store, lock: LockFile::of(home), state: Mutex::new(state) }
    }

    /// All grants, in the order in which they were given.
    pub fn list(&self) -> Vec<Grant> {
        let mut state = self.lock();
        self.look(&mut state, Duration::ZERO);
        state.grants.clone()
    }

    /// Why the file could not be read when it was last looked at.
    pub fn problem(&self) -> Option<Arc<GrantsError>> {
        let mut state = self.lock();
        self.look(&mut state, CACHE_LIFETIME);
        state.problem.clone()
    }

    /// Stores a grant and returns it. To give the same grant twice changes nothing; to give it with the opposite effect
    /// replaces it, so that the last word of the person counts.
    ///
    /// # Errors
    /// When the file cannot be read or written; a damaged file is never overwritten.
    pub fn add(&self, new: NewGrant) -> Result<Grant, GrantsError> {
        let id = store::id_of(&new);
        self.change(|grants| {
            if let Some(same) = grants.iter_mut().find(|grant| grant.id == id) {
                let changed = same.effect != new.effect;
                if changed {
                    same.effect = new.effect;
                    same.granted_at = store::now();
                }
                return (same.clone(), changed);
            }
            let NewGrant { extension, capability, effect, project } = new.clone();
            let grant = Grant { extension, capability, effect, project, granted_at: store::now(), id: id.clone() };
            grants.push(grant.clone());
            (grant, true)
        })
    }

    /// Removes the grants with this id or of this extension, all or those of one power, and returns them. What does not
    /// exist is not removed, which is no error.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn revoke(&self, id_or_extension: &str, power: Option<Power>) -> Result<Vec<Grant>, GrantsError> {
        self.change(|grants| {
            let mut removed = Vec::new();
            grants.retain(|grant| {
                let named = grant.id == id_or_extension || grant.extension.as_str() == id_or_extension;
                let goes = named && power.is_none_or(|power| grant.capability.power == power);
                if goes {
                    removed.push(grant.clone());
                }
                !goes
            });
            let changed = !removed.is_empty();
            (removed, changed)
        })
    }

    /// The grants that concern one extension in one project. Cheap: the list is shared, and the file is looked at no more
    /// than every 50 milliseconds.
    pub fn applying(&self, extension: &ExtensionId, project: &Path) -> Arc<[Grant]> {
        let mut state = self.lock();
        self.look(&mut state, CACHE_LIFETIME);
        let known = state
            .applying
            .get(extension)
            .and_then(|known| known.iter().find(|(of, _)| of.as_os_str() == project.as_os_str()));
        if let Some((_, grants)) = known {
            return Arc::clone(grants);
        }
        let concerns = |grant: &&Grant| {
            grant.extension == *extension && grant.project.as_deref().is_none_or(|granted| granted == project)
        };
        let grants: Arc<[Grant]> = state.grants.iter().filter(concerns).cloned().collect();
        let known = state.applying.entry(extension.clone()).or_default();
        if known.len() >= MAX_PROJECTS {
            known.clear();
        }
        known.push((project.to_owned(), Arc::clone(&grants)));
        grants
    }

    /// Reads the file again if another process has changed it.
    fn look(&self, state: &mut State, fresh: Duration) {
        if state.looked.elapsed() < fresh {
            return;
        }
        state.looked = Instant::now();
        let stamp = self.store.stamp();
        if stamp == state.stamp {
            return;
        }
        state.applying.clear();
        match self.store.read() {
            Ok((grants, stamp)) => {
                state.grants = grants;
                state.stamp = stamp;
                state.problem = None;
            }
            Err(error) => {
                // What cannot be read grants nothing. Denials that are known stay, for to forget them would allow.
                state.grants.retain(|grant| grant.effect == Effect::Deny);
                state.stamp = stamp;
                state.problem = Some(Arc::new(error));
            }
        }
    }

    fn change<T>(&self, change: impl Fn(&mut Vec<Grant>) -> (T, bool)) -> Result<T, GrantsError> {
        let (result, grants, stamp) = self.store.update(change)?;
        // The grants are what counts. A lock file that cannot take them over is reported where it is used.
        self.lock.note_grants(&grants).ok();
        let mut state = self.lock();
        state.grants = grants;
        state.stamp = stamp;
        state.problem = None;
        state.looked = Instant::now();
        state.applying.clear();
        Ok(result)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing between lock and unlock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
