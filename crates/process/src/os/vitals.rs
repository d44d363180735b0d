//! Whether a process has ended or is about to. A pidfd says whether it has ended; `/proc/PID/status` says whether it was sent
//! SIGKILL. Both stand for one process and never for a later one with the same number.
//!
//! A killed process may be inside a read and take away what is written to it before it dies. That looks as if it had read a
//! call, and then the call cannot be sent again. Therefore the end alone is not enough.
//!
//! Only Linux 5.3 and later has pidfds. Elsewhere no process is ever known to have ended; the accounting in `outbox` then
//! decides alone whether a call may be sent again.

#[cfg(target_os = "linux")]
use std::{fs::File, os::fd::OwnedFd};

/// A process whose end can be seen.
#[derive(Debug)]
pub(crate) struct Vitals {
    #[cfg(target_os = "linux")]
    pidfd: OwnedFd,
    #[cfg(target_os = "linux")]
    status: Option<File>,
}

#[cfg(target_os = "linux")]
impl Vitals {
    /// Watches a child of this process. `None` if the kernel has no pidfds or the process is gone.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let number = Pid::from_raw(i32::try_from(pid).ok()?)?;
        let pidfd = pidfd_open(number, PidfdFlags::empty()).ok()?;
        Some(Self { pidfd, status: File::open(format!("/proc/{pid}/status")).ok() })
    }

    /// Watches the process that a keeper keeps: its first child. Children that the keeper adopts come later.
    pub(crate) fn of_kept(keeper: u32) -> Option<Self> {
        let first = || -> Option<u32> {
            let children = std::fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children")).ok()?;
            children.split_ascii_whitespace().next()?.parse().ok()
        };
        let pid = first()?;
        let vitals = Self::of(pid)?;
        // Another process may have the number if the child ended before its pidfd was opened.
        (first() == Some(pid)).then_some(vitals)
    }

    /// Whether it is certain that no code of the process runs any more: all its threads have ended, or it was sent SIGKILL.
    pub(crate) fn is_over(&self) -> bool {
        self.has_ended() || self.is_killed()
    }

    fn has_ended(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut ends = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut ends, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    fn is_killed(&self) -> bool {
        use std::os::unix::fs::FileExt as _;
        let mut text = [0; 4096];
        let length = self.status.as_ref().and_then(|status| status.read_at(&mut text, 0).ok()).unwrap_or(0);
        // The name of a program may be no text; the field that is looked for always is.
        has_sigkill_pending(&String::from_utf8_lossy(text.get(..length).unwrap_or_default()))
    }
}

/// Whether SIGKILL was sent to the process. One that was sent to a single thread does not count: the kernel kills the other
/// threads of a process that starts another program.
#[cfg(target_os = "linux")]
fn has_sigkill_pending(status: &str) -> bool {
    const SIGKILL: u64 = 1 << 8;
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    pending.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_some_and(|set| set & SIGKILL != 0)
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
    fn statuses() {
        let cases = [
            ("State:\tS (sleeping)\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n", false),
            ("State:\tS (sleeping)\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n", true),
            ("State:\tR (running)\nShdPnd:\t0000000000004100\n", true),
            ("State:\tR (running)\nShdPnd:\t0000000000004000\n", false),
            ("Name:\tShdPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n", false),
            ("nonsense", false),
            ("", false),
        ];
        for (status, expected) in cases {
            assert_eq!(has_sigkill_pending(status), expected, "{status:?}");
        }
    }

    #[test]
    fn a_killed_process_is_over_at_once_and_for_good() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep");
        let vitals = Vitals::of(child.id()).expect("a process");
        assert!(!vitals.is_over());
        child.kill().expect("killed");
        assert!(vitals.is_over(), "whether or not it is dead yet");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("it has ended");
        assert!(vitals.has_ended(), "a zombie");
        child.wait().expect("reaped");
        assert!(vitals.is_over());
        assert!(Vitals::of(child.id()).is_none());
    }
}
