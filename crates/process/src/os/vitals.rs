//! Whether a process has ended, also one that its parent has not reaped yet. Asks a pidfd, which stands for one process and
//! never for a later one with the same number.
//!
//! Only Linux 5.3 and later has pidfds. Elsewhere no process is ever known to have ended; the accounting in `outbox` then
//! decides alone whether a call may be sent again.

#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;

/// A process whose end can be seen.
#[derive(Debug)]
pub(crate) struct Vitals {
    #[cfg(target_os = "linux")]
    pidfd: OwnedFd,
}

#[cfg(target_os = "linux")]
impl Vitals {
    /// Watches a child of this process. `None` if the kernel has no pidfds or the process is gone.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        Some(Self { pidfd: pidfd_open(pid, PidfdFlags::empty()).ok()? })
    }

    /// Watches the process that a keeper keeps: its first child. Children that the keeper adopts come later.
    pub(crate) fn of_kept(keeper: u32) -> Option<Self> {
        let first = || -> Option<u32> {
            let children = std::fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children")).ok()?;
            children.split_ascii_whitespace().next()?.parse().ok()
        };
        let pid = first()?;
        let vitals = Self::of(pid)?;
        // Another process has the number if the child ended before its pidfd was opened.
        (first() == Some(pid)).then_some(vitals)
    }

    /// Whether all threads of the process have ended.
    pub(crate) fn is_over(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut ends = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut ends, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

#[cfg(not(target_os = "linux"))]
impl Vitals {
    pub(crate) fn of(_pid: u32) -> Option<Self> {
        None
    }

    pub(crate) fn of_kept(_keeper: u32) -> Option<Self> {
        None
    }

    pub(crate) fn is_over(&self) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use super::*;

    #[test]
    fn a_process_is_over_when_it_is_dead_and_before_it_is_reaped() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep");
        let vitals = Vitals::of(child.id()).expect("a process");
        assert!(!vitals.is_over());
        child.kill().expect("killed");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("it has ended");
        assert!(vitals.is_over(), "a zombie");
        child.wait().expect("reaped");
        assert!(vitals.is_over());
        assert!(Vitals::of(child.id()).is_none());
    }
}
