//! The watcher: notices that files of extensions have changed and reloads what is really different.

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{EventKind, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use crate::host::Host;
use crate::reload::Which;

/// Keeps watching for as long as it lives.
pub struct Watching {
    task: tokio::task::JoinHandle<()>,
    _watcher: notify::RecommendedWatcher,
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
    /// The operating system refuses to watch.
    pub fn watch(&self, debounce: Duration) -> Result<Watching, notify::Error> {
        let (touched, mut touches) = mpsc::channel::<()>(1);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let matters = match event {
                Ok(event) => !matches!(event.kind, EventKind::Access(_)) && !event.paths.iter().all(|p| is_noise(p)),
                // What was missed is unknown, so look.
                Err(_) => true,
            };
            if matters {
                // Full means that a look is due already.
                touched.try_send(()).ok();
            }
        })?;
        for (path, mode) in self.watched_places() {
            watcher.watch(&path, mode)?;
        }
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
        Ok(Watching { task, _watcher: watcher })
    }

    /// The roots that exist, and the directory of every extension that is not below one of them.
    fn watched_places(&self) -> Vec<(PathBuf, RecursiveMode)> {
        let report = self.report();
        let mut places: Vec<PathBuf> = report.settings.roots.iter().filter(|root| root.is_dir()).cloned().collect();
        for found in &report.extensions {
            if !places.iter().any(|place| found.dir.starts_with(place)) && found.dir.is_dir() {
                places.push(found.dir.clone());
            }
        }
        places.into_iter().map(|place| (place, RecursiveMode::Recursive)).collect()
    }
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
