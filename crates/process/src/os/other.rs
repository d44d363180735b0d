//! Systems without groups and signals: a child is killed alone, through its handle.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::process::ExitStatus;

pub(crate) fn unread(_input: &tokio::process::ChildStdin) -> Option<u64> {
    None
}

pub(crate) fn in_pipe(_input: &tokio::process::ChildStdin) -> Option<u64> {
    None
}

pub(crate) fn own_group(_command: &mut tokio::process::Command) {}

pub(crate) fn terminate_group(_leader: u32) {}

pub(crate) fn kill_group(_leader: u32) {}

pub(crate) fn kill_keeper(_keeper: u32) {}

pub(crate) fn kill_orphans(_leader: u32) {}

pub(crate) fn kill_tree(_root: u32) {}

pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

pub(crate) fn status_text(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit status {code}"))
}

pub(crate) fn start_time(_pid: u32) -> Option<u64> {
    None
}

pub(crate) fn alive(_pid: u32, _start_time: u64) -> bool {
    false
}

pub(crate) fn session_of(_pid: u32) -> Option<i32> {
    None
}

pub(crate) fn leftover_group(_leader: u32, _start_time: u64, _session: Option<i32>) -> Vec<u32> {
    Vec::new()
}

pub(crate) fn boot_id() -> Option<String> {
    None
}
