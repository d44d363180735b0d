//! `fork`, which the standard library does not offer.
//!
//! A forked child has only the thread that forked. Locks that other threads held stay locked in the child for ever, and
//! what they were changing stays half changed. So only a process with one thread may fork here, and [`fork`] checks that it
//! is one. In such a process every lock is free and every value whole at the call, and the child may do all that its parent
//! might do.
#![allow(unsafe_code, reason = "the kernel's `fork` has no safe interface; see above")]

use std::io;
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// How long a thread that was joined may take to leave the kernel's list.
const THREAD_EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// On which side of the fork this process is.
#[derive(Debug)]
pub(crate) enum Side {
    /// The process that called, and the child's number.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Makes a copy of this process.
///
/// # Errors
/// This process has more than one thread, or the system has no room for another process.
pub(crate) fn fork() -> io::Result<Side> {
    let began = Instant::now();
    while let Some(count) = threads().filter(|count| *count != 1) {
        if began.elapsed() > THREAD_EXIT_TIMEOUT {
            return Err(io::Error::other(format!("a process with {count} threads cannot fork")));
        }
        std::thread::yield_now();
    }
    // SAFETY: this is the only thread of the process, so no lock is held and no value is half changed elsewhere. The C
    // library's `fork` also runs its own handlers, which keep its allocator and its streams usable in the child.
    match unsafe { libc::fork() } {
        0 => Ok(Side::Child),
        pid => match Pid::from_raw(pid).filter(|_| pid > 0) {
            Some(pid) => Ok(Side::Parent(pid)),
            None => Err(io::Error::last_os_error()),
        },
    }
}

/// The number of threads of this process, where the system tells it.
pub(crate) fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}
