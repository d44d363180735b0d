//! The watcher: notices that files of extensions have changed and reloads what is really different.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{EventKind, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use crate::discovery::Extent;
use crate::host::Host;
use crate::reload::Which;

/// Keeps watching for as long as it lives.
pub struct Watching {
    task: tokio::task::JoinHandle<()>,
    _watcher: notify::RecommendedWatcher,
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

impl Host {
    /// Watches every place where extensions are. Changes are collected until nothing has happened for `debounce`, then
    /// compared by content hash: a file that was only touched reloads nothing.
    ///
    /// # Errors
    /// The operating system refuses to watch any of them. A single place that it refuses is left out, see
    /// [`Watching::unwatched`].
    pub fn watch(&self, debounce: Duration) -> Result<Watching, notify::Error> {
        let (touched, mut touches) = mpsc::channel::<()>(1);
        let look = move |event: notify::Result<notify::Event>| {
            let matters = match event {
                Ok(event) => !matches!(event.kind, EventKind::Access(_)) && !event.paths.iter().all(|p| is_noise(p)),
                // What was missed is unknown, so look.
                Err(_) => true,
            };
            if matters {
                // Full means that a look is due already.
                touched.try_send(()).ok();
            }
        };
        // A link out of an extension may lead to the whole disk.
        let config = notify::Config::default().with_follow_symlinks(false);
        let mut watcher = notify::RecommendedWatcher::new(look, config)?;
        let tried = self.watched_places().into_iter().map(|(path, mode)| (watcher.watch(&path, mode), path)).collect();
        let unwatched = unwatched(tried)?;
        let host = self.clone();
        let task = tokio::spawn(async move {
            while touches.recv().await.is_some() {
                // A steady trickle of writes does not put the reload off for ever.
                let latest = tokio::time::Instant::now() + debounce * 10;
                loop {
                    let quiet = tokio::time::Instant::now() + debounce;
                    match tokio::time::timeout_at(quiet.min(latest), touches.recv()).await {
                        Ok(Some(())) => {}
                        Ok(None) => return,
                        Err(_) => break,
                    }
                }
                host.reload(Which::Changed).await;
            }
        });
        Ok(Watching { task, _watcher: watcher, unwatched })
    }

    /// The roots that exist, and the directory of every extension that is not below one of them.
    fn watched_places(&self) -> Vec<(PathBuf, RecursiveMode)> {
        let report = self.report();
        let mut places: Vec<PathBuf> = report.settings.roots.iter().filter(|root| root.is_dir()).cloned().collect();
        // A loose script's directory may be the whole disk; only the directories of its own files count.
        let mut shallow = BTreeSet::new();
        for found in &report.extensions {
            if found.extent == Extent::Entry {
                let files = found.places().unwrap_or_default();
                shallow.extend(files.iter().filter_map(|file| file.parent()).map(Path::to_owned));
            } else if !places.iter().any(|place| found.dir.starts_with(place)) && found.dir.is_dir() {
                places.push(found.dir.clone());
            }
        }
        shallow.retain(|dir| !places.iter().any(|place| dir.starts_with(place)));
        let whole = places.into_iter().map(|place| (place, RecursiveMode::Recursive));
        whole.chain(shallow.into_iter().map(|place| (place, RecursiveMode::NonRecursive))).collect()
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
            || part.ends_with(".pyc")
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
