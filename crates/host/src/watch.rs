//! The watcher: notices that files of extensions have changed and reloads what is really different.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jackfield_discovery::Extent;
use notify::{EventKind, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use crate::host::Host;
use crate::reload::Which;

/// Keeps watching for as long as it lives.
pub struct Watching {
    task: tokio::task::JoinHandle<()>,
    unwatched: Vec<(PathBuf, notify::Error)>,
}

impl Watching {
    /// The places that the operating system refuses to watch, and why: changes in them are not noticed.
    pub fn unwatched(&self) -> impl Iterator<Item = (&Path, String)> {
        self.unwatched.iter().map(|(path, error)| (path.as_path(), error.to_string()))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A path that the watcher watches, and how deep.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum WatchTarget {
    /// A directory with all that is below it.
    Whole(PathBuf),
    /// A directory with its direct entries.
    Shallow(PathBuf),
    /// A directory without extensions, until one of the [`AWAITED`] names appears in it.
    Awaiting(PathBuf),
}

impl WatchTarget {
    fn path(&self) -> &Path {
        match self {
            Self::Whole(path) | Self::Shallow(path) | Self::Awaiting(path) => path,
        }
    }

    fn mode(&self) -> RecursiveMode {
        match self {
            Self::Whole(_) => RecursiveMode::Recursive,
            Self::Shallow(_) | Self::Awaiting(_) => RecursiveMode::NonRecursive,
        }
    }

    /// Whether a change at `path` matters to whoever watches this.
    fn concerns(&self, path: &Path) -> bool {
        match self {
            Self::Whole(place) => path.starts_with(place),
            Self::Shallow(place) => path.parent() == Some(place) || path == place,
            Self::Awaiting(place) => {
                path.parent() == Some(place)
                    && path.file_name().is_some_and(|name| AWAITED.iter().any(|awaited| name == *awaited))
            }
        }
    }
}

/// How long it must be quiet when only Python files have changed.
const SINGLE: Duration = Duration::from_millis(50);

/// What makes a project or a home have extensions, or gives them what they lack.
const AWAITED: [&str; 7] = ["extensions", ".jackfield", ".zot", ".pi", ".mcp.json", "mcp.json", ".env"];

impl Host {
    /// Watches every place where extensions are. Changes are collected until nothing has happened for `debounce` (at most 50 ms
    /// when only Python files have changed), then compared by content hash: a file that was only touched reloads nothing. Places that come to be later are watched, too.
    ///
    /// # Errors
    /// The operating system refuses to watch any of them. A single place that it refuses is left out, see
    /// [`Watching::unwatched`].
    pub fn watch(&self, debounce: Duration) -> Result<Watching, notify::Error> {
        let (touched, mut touches) = mpsc::channel::<()>(1);
        let places: Arc<Mutex<BTreeSet<WatchTarget>>> = Arc::default();
        let watched = Arc::clone(&places);
        // Something other than a Python file has changed. Such a file is an extension by itself and written at once; others
        // come in several, and a reload between two of them would be for nothing.
        let several = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&several);
        let look = move |event: notify::Result<notify::Event>| {
            let matters = match event {
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => false,
                Ok(event) => {
                    let places = watched.lock().unwrap_or_else(PoisonError::into_inner);
                    let concerns = |path: &&PathBuf| !is_noise(path) && places.iter().any(|place| place.concerns(path));
                    let mut concerned = event.paths.iter().filter(concerns).peekable();
                    let matters = concerned.peek().is_some();
                    if concerned.any(|path| path.extension().is_none_or(|ending| ending != "py")) {
                        seen.store(true, Ordering::Release);
                    }
                    matters
                }
                // What was missed is unknown, so look.
                Err(_) => {
                    seen.store(true, Ordering::Release);
                    true
                }
            };
            if matters {
                // Full means that a look is due already.
                touched.try_send(()).ok();
            }
        };
        // A link out of an extension may lead to the whole disk.
        let config = notify::Config::default().with_follow_symlinks(false);
        let mut watcher = notify::RecommendedWatcher::new(look, config)?;
        let unwatched = unwatched(self.watch_more(&mut watcher, &places))?;
        let host = self.clone();
        let task = tokio::spawn(async move {
            while touches.recv().await.is_some() {
                // A steady trickle of writes does not put the reload off for ever.
                let latest = tokio::time::Instant::now() + debounce * 10;
                loop {
                    let wait = if several.load(Ordering::Acquire) { debounce } else { debounce.min(SINGLE) };
                    let quiet = tokio::time::Instant::now() + wait;
                    match tokio::time::timeout_at(quiet.min(latest), touches.recv()).await {
                        Ok(Some(())) => {}
                        Ok(None) => return,
                        Err(_) => break,
                    }
                }
                several.store(false, Ordering::Release);
                host.reload(Which::Changed).await;
                let more = host.watch_more(&mut watcher, &places);
                if more.iter().any(|(done, _)| done.is_ok()) {
                    // What was written there before anybody watched is looked for once.
                    host.reload(Which::Changed).await;
                }
            }
        });
        Ok(Watching { task, unwatched })
    }

    /// Watches the places that are not watched yet, and forgets those that are gone.
    fn watch_more(
        &self,
        watcher: &mut notify::RecommendedWatcher,
        places: &Mutex<BTreeSet<WatchTarget>>,
    ) -> Vec<(notify::Result<()>, PathBuf)> {
        let wanted = self.watched_places();
        let mut known = places.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut tried = Vec::new();
        for gone in known.difference(&wanted).filter(|place| !wanted.iter().any(|other| other.path() == place.path())) {
            // A directory that was deleted is not watched any more in any case.
            watcher.unwatch(gone.path()).ok();
        }
        known.retain(|place| wanted.contains(place));
        for place in &wanted {
            if !known.contains(place) {
                let done = watcher.watch(place.path(), place.mode());
                if done.is_ok() {
                    known.insert(place.clone());
                }
                tried.push((done, place.path().to_owned()));
            }
        }
        *places.lock().unwrap_or_else(PoisonError::into_inner) = known;
        tried
    }

    /// The roots that exist, the directory of every extension that is not below one of them, and the project and the home
    /// while they have none.
    fn watched_places(&self) -> BTreeSet<WatchTarget> {
        let report = self.report();
        let mut whole: Vec<PathBuf> = report.settings.roots.iter().filter(|root| root.is_dir()).cloned().collect();
        // A loose script's directory may be the whole disk; only the directories of its own files count.
        let mut shallow = BTreeSet::new();
        for found in &report.extensions {
            // Links are not followed, and what they lead to is what is edited.
            let real = |dir: &Path| dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
            if found.extent == Extent::Entry {
                let files = found.places().unwrap_or_default();
                shallow
                    .extend(files.iter().filter_map(|file| file.parent()).flat_map(|dir| [dir.to_owned(), real(dir)]));
                // A file that is a link is edited where it lies, and may be put there anew.
                shallow.insert(found.dir.clone());
                continue;
            }
            let dir = real(&found.dir);
            if !whole.iter().any(|place| dir.starts_with(place)) && dir.is_dir() {
                whole.push(dir);
            }
        }
        shallow.retain(|dir| dir.is_dir() && !whole.iter().any(|place| dir.starts_with(place)));
        let is_watched = |dir: &Path| shallow.contains(dir) || whole.iter().any(|place| dir.starts_with(place));
        let mut awaiting = vec![self.project(), self.home().root()];
        awaiting.retain(|dir| dir.is_dir() && !is_watched(dir));
        let awaiting: Vec<WatchTarget> =
            awaiting.into_iter().map(|dir| WatchTarget::Awaiting(dir.to_owned())).collect();
        whole
            .into_iter()
            .map(WatchTarget::Whole)
            .chain(shallow.into_iter().map(WatchTarget::Shallow))
            .chain(awaiting)
            .collect()
    }
}

/// The places that cannot be watched; an error when that is all of them.
fn unwatched(tried: Vec<(notify::Result<()>, PathBuf)>) -> Result<Vec<(PathBuf, notify::Error)>, notify::Error> {
    let all = tried.len();
    let mut failed: Vec<(PathBuf, notify::Error)> =
        tried.into_iter().filter_map(|(done, path)| Some((path, done.err()?))).collect();
    if failed.len() < all || failed.is_empty() {
        return Ok(failed);
    }
    failed.pop().map_or(Ok(Vec::new()), |(path, error)| Err(error.add_path(path)))
}

/// What interpreters and editors leave behind says nothing about the extension.
fn is_noise(path: &Path) -> bool {
    path.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        matches!(part.as_ref(), "__pycache__" | ".git" | "node_modules" | "target")
            || part.ends_with('~')
            || part.ends_with(".swp")
            || part.ends_with(".swx")
            || part.ends_with(".pyc")
            || part.starts_with(".#")
            || (part.starts_with('#') && part.ends_with('#'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_when_nothing_can_be_watched_is_it_an_error() {
        let tried = |failing: &[bool]| {
            let outcome = |fails: &bool| if *fails { Err(notify::Error::generic("no")) } else { Ok(()) };
            failing.iter().map(|fails| (outcome(fails), PathBuf::from("/x"))).collect::<Vec<_>>()
        };
        assert_eq!(unwatched(tried(&[false, true, false])).expect("some are watched").len(), 1);
        assert_eq!(unwatched(tried(&[])).expect("nothing to watch").len(), 0);
        assert_eq!(unwatched(tried(&[true, true])).expect_err("none is watched").paths, [PathBuf::from("/x")]);
    }
}
