//! Run notes: which children this host has started, on disk, so that the next host can end those that a dying host and its
//! keepers left behind.

use jackfield_files::{WriteOptions, write_atomic};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::os;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Note {
    pid: u32,
    start_time: u64,
    session: Option<i32>,
    host_pid: u32,
    host_start_time: u64,
    boot_id: Option<String>,
    program: String,
}

/// A note on disk; goes with its child.
#[derive(Debug)]
pub(crate) struct RunNote {
    path: PathBuf,
}

impl RunNote {
    /// Notes that `pid` was started. `None` on systems that cannot tell one process from a later one of the same number.
    ///
    /// A keeper begins a session of its own as soon as it runs, which may be a moment after this.
    ///
    /// # Errors
    /// The note cannot be written.
    pub(crate) fn write(run_dir: &Path, pid: u32, is_keeper: bool, program: &str) -> io::Result<Option<Self>> {
        let host_pid = std::process::id();
        let (Some(start_time), Some(host_start_time)) = (os::start_time(pid), os::start_time(host_pid)) else {
            return Ok(None);
        };
        let session = if is_keeper { i32::try_from(pid).ok() } else { os::session_of(pid) };
        let program = program.to_owned();
        let note = Note { pid, start_time, session, host_pid, host_start_time, boot_id: os::boot_id(), program };
        let path = run_dir.join(format!("child-{pid}.json"));
        write_atomic(&path, &serde_json::to_vec(&note)?, WriteOptions::PRIVATE)?;
        Ok(Some(Self { path }))
    }

    /// The child has gone.
    pub(crate) fn remove(self) {
        // A note that stays is found to be about nobody and removed by the next host.
        std::fs::remove_file(self.path).ok();
    }
}

/// Ends the children that dead hosts noted in `run_dir` and left behind, and removes their notes. Returns how many trees it
/// ended. Notes of living hosts are left alone. Call it once when a host starts.
pub fn reap_leftovers(run_dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(run_dir) else { return 0 };
    let mut reaped = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_note = name.to_str().is_some_and(|name| name.starts_with("child-") && name.ends_with(".json"));
        if !is_note {
            continue;
        }
        let note = std::fs::read(entry.path()).ok().and_then(|text| serde_json::from_slice::<Note>(&text).ok());
        if let Some(note) = note {
            let this_run = note.boot_id == os::boot_id();
            if this_run && os::alive(note.host_pid, note.host_start_time) {
                continue;
            }
            if this_run && reap(&note) {
                reaped += 1;
            }
        }
        // If it cannot be removed, it is about nobody and the next host tries again.
        std::fs::remove_file(entry.path()).ok();
    }
    reaped
}

fn reap(note: &Note) -> bool {
    if os::alive(note.pid, note.start_time) {
        os::kill_tree(note.pid);
        return true;
    }
    // The keeper was killed together with its host: what it kept is still in its group.
    let left = os::leftover_group(note.pid, note.start_time, note.session);
    for pid in &left {
        os::kill_tree(*pid);
    }
    if !left.is_empty() {
        os::kill_group(note.pid);
    }
    !left.is_empty()
}
