//! Tells what changes in a file or folder. The folder that was judged is what is watched: it is held open, and watched
//! through the open descriptor where the system can do that.

use std::path::{Path, PathBuf};

use jackfield_protocol::{CallError, ErrorCode};
use notify::event::{EventKind, ModifyKind};
use notify::{Config, RecommendedWatcher, RecursiveMode, Watcher as _};
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Kind, Root, refused};
use crate::Until;

/// Changes that may wait for an extension that is slow; what is more is dropped, as the system itself does.
const MAX_QUEUED_CHANGES: usize = 1024;

/// Serves until the call is given up or its caller takes no more changes. Leaves out changes of denied files.
pub(crate) async fn watch(
    root: &Root,
    path: &str,
    recursive: bool,
    chunks: &mpsc::Sender<Value>,
    until: &Until,
    is_denied: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Value, CallError> {
    let (changes, mut changed) = mpsc::channel(MAX_QUEUED_CHANGES);
    let held = Held::open(root, Path::new(path))?;
    let failed = |error: notify::Error| CallError::new(ErrorCode::Io, format!("watch {path:?}: {error}"));
    let (at, file) = (held.at.clone(), held.file.clone());
    let tell = move |event: Result<notify::Event, notify::Error>| {
        let Ok(event) = event else { return };
        let Some(what) = word(&event.kind) else { return };
        for changed in &event.paths {
            let name = match changed.strip_prefix(&at) {
                Ok(rest) if !rest.as_os_str().is_empty() => rest.to_string_lossy().into_owned(),
                _ => file.clone(),
            };
            // A full queue loses changes, never the host's memory.
            let _ = changes.try_send(json!({ "event": what, "name": name }));
        }
    };
    let config = Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(tell, config).map_err(failed)?;
    let mode = if recursive && held.is_folder { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
    watcher.watch(&held.at, mode).map_err(failed)?;
    let is_folder = held.is_folder;
    loop {
        tokio::select! {
            biased;
            _ = until.over() => return Ok(json!({})),
            () = chunks.closed() => return Ok(json!({})),
            change = changed.recv() => match change {
                Some(change) => {
                    let name = change.get("name").and_then(Value::as_str).unwrap_or_default();
                    if is_folder && is_denied(name) {
                        continue;
                    }
                    if until.run("watch", chunks.send(change)).await.is_err() {
                        return Ok(json!({}));
                    }
                }
                None => return Ok(json!({})),
            },
        }
    }
}

/// What a change is called.
fn word(kind: &EventKind) -> Option<&'static str> {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => Some("rename"),
        EventKind::Modify(_) => Some("change"),
        EventKind::Access(_) | EventKind::Any | EventKind::Other => None,
    }
}

/// What is watched, held open.
struct Held {
    _fd: OwnedFd,
    at: PathBuf,
    /// What a file that is watched itself is called.
    file: String,
    is_folder: bool,
}

impl Held {
    fn open(root: &Root, path: &Path) -> Result<Self, CallError> {
        let is_folder = root.kind_of(path)? == Kind::Folder;
        #[cfg(target_os = "linux")]
        let flags = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let fd = root.open(path, flags).map_err(|error| refused("watch", path, error))?;
        #[cfg(target_os = "linux")]
        let at = {
            use rustix::fd::AsRawFd as _;
            PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
        };
        #[cfg(not(target_os = "linux"))]
        let at = root.absolute(&path.to_string_lossy());
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { _fd: fd, at, file, is_folder })
    }
}
