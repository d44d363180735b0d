//! Signals, groups and files of Unix systems.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::table;

/// How long one killing may chase processes that fork.
const KILL_TREE_TIMEOUT: Duration = Duration::from_secs(2);

fn pid(raw: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(raw).ok()?)
}

/// Signals whoever is still there. That it has gone meanwhile is what every caller wants, so errors say nothing new.
fn signal(raw: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(raw) {
        kill_process(pid, signal).ok();
    }
}

/// How many bytes stand in a child's standard input that nobody will ever read; `None` as long as somebody holds the other
/// end, the child or whoever has inherited it, because they may still be read then.
pub(crate) fn unread(input: &tokio::process::ChildStdin) -> Option<u64> {
    let mut ends = [PollFd::new(input, PollFlags::empty())];
    poll(&mut ends, Some(&Timespec::default())).ok()?;
    let nobody_reads = ends.iter().all(|end| end.revents().intersects(PollFlags::ERR | PollFlags::HUP));
    // Elsewhere the count may be that of another direction, and a wrong one would run a call twice.
    if nobody_reads && cfg!(target_os = "linux") { ioctl_fionread(input).ok() } else { None }
}

/// How many bytes stand in a child's standard input; `None` where that cannot be known.
pub(crate) fn in_pipe(input: &tokio::process::ChildStdin) -> Option<u64> {
    if cfg!(target_os = "linux") { ioctl_fionread(input).ok() } else { None }
}

/// Makes the child the leader of a new group.
pub(crate) fn own_group(command: &mut tokio::process::Command) {
    command.process_group(0);
}

/// Asks a whole group to end.
pub(crate) fn terminate_group(leader: u32) {
    if let Some(leader) = pid(leader) {
        // Fails only when the group has no members left.
        kill_process_group(leader, Signal::TERM).ok();
    }
}

/// Ends a whole group.
pub(crate) fn kill_group(leader: u32) {
    if let Some(leader) = pid(leader) {
        // Fails only when the group has no members left.
        kill_process_group(leader, Signal::KILL).ok();
    }
}

/// Ends what is left of the group of a leader that has gone, and all that descends from it.
pub(crate) fn kill_orphans(leader: u32) {
    // Usually there is nobody, and the table need not be read.
    if pid(leader).is_some_and(|leader| rustix::process::test_kill_process_group(leader).is_ok()) {
        for member in table::group(leader) {
            kill_tree(member);
        }
        kill_group(leader);
    }
}

/// Tells a keeper to end all that it keeps, and wakes it in case someone stopped it.
pub(crate) fn kill_keeper(keeper: u32) {
    if let Ok(keeper) = i32::try_from(keeper) {
        signal(keeper, Signal::USR1);
        signal(keeper, Signal::CONT);
    }
}

/// Ends `root`, its group and all its descendants.
pub(crate) fn kill_tree(root: u32) {
    if let Ok(raw) = i32::try_from(root) {
        sweep(raw, SweepScope::Root, || {});
    }
    kill_group(root);
}

/// Whether a sweep takes the root too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SweepScope {
    /// Only what descends from it.
    Below,
    /// The root as well.
    Root,
}

/// Ends the descendants of `root`: stops them all first, each before it asks for its children, so that none can fork away
/// while the others die; then kills them, and again until none are left. `reap` runs between the rounds. Returns whether
/// none are left.
pub(crate) fn sweep(root: i32, scope: SweepScope, mut reap: impl FnMut()) -> bool {
    let deadline = Instant::now() + KILL_TREE_TIMEOUT;
    loop {
        if scope == SweepScope::Root {
            signal(root, Signal::STOP);
        }
        let mut stopped = HashSet::new();
        while stop_below(root, &mut stopped) && Instant::now() < deadline {}
        for pid in &stopped {
            signal(*pid, Signal::KILL);
        }
        if scope == SweepScope::Root {
            signal(root, Signal::KILL);
        }
        reap();
        if stopped.is_empty() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Stops whatever descends from `root` and was not stopped before; false when there was nothing new.
fn stop_below(root: i32, stopped: &mut HashSet<i32>) -> bool {
    let mut news = false;
    let mut seen = HashSet::from([root]);
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for child in table::children(parent) {
            if !seen.insert(child) {
                continue;
            }
            parents.push(child);
            if !stopped.contains(&child) {
                signal(child, Signal::STOP);
                if table::runs(child) {
                    stopped.insert(child);
                    news = true;
                }
            }
        }
    }
    news
}

/// Opens a file for appending that nobody else may read.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Whether this user may run the file.
pub(crate) fn is_executable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// How a process ended, for people.
pub(crate) fn status_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => match signal_hook::low_level::signal_name(signal) {
            Some(name) => format!("signal {signal} ({name})"),
            None => format!("signal {signal}"),
        },
        (None, None) => status.to_string(),
    }
}
