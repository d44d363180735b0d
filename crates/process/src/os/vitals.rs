//! Whether a process is over, although the system has not yet let go of it. Read from `/proc`; where there is none, or none of
//! this kind, nobody is ever known to be over.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use rustix::io::Errno;

/// The bit of SIGKILL in a set of signals.
const KILL: u64 = 1 << 8;

/// A process whose signs of life can be read again and again. The open file stands for this very process: one that is
/// given its number later is not mistaken for it.
#[derive(Debug)]
pub(crate) struct Vitals {
    status: File,
}

impl Vitals {
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let status = File::open(format!("/proc/{pid}/status")).ok()?;
        Some(Self { status })
    }

    /// The process that a keeper keeps: its first child. Those that it adopts come later.
    pub(crate) fn of_kept(keeper: u32) -> Option<Self> {
        let children = std::fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children")).ok()?;
        Self::of(children.split_ascii_whitespace().next()?.parse().ok()?)
    }

    /// Whether it is certain that no code of the process runs any more: it has ended, or was sent SIGKILL. A killed process
    /// may still be inside a read and take away what it was waiting for, but it never gets to see it.
    pub(crate) fn is_over(&self) -> bool {
        let mut text = [0; 4096];
        match self.status.read_at(&mut text, 0) {
            Ok(length) => text.get(..length).and_then(|text| std::str::from_utf8(text).ok()).is_some_and(is_over),
            Err(error) => Errno::from_io_error(&error) == Some(Errno::SRCH),
        }
    }
}

fn is_over(status: &str) -> bool {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map_or("", str::trim)
    };
    // Sent to the process, not to one of its threads: threads are killed too when one of them starts another program.
    let killed = u64::from_str_radix(field("ShdPnd"), 16).is_ok_and(|pending| pending & KILL != 0);
    // The first thread may end before the others do.
    let ended = field("State").starts_with(['Z', 'X']) && matches!(field("Threads"), "0" | "1");
    killed || ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        let cases = [
            ("State:\tS (sleeping)\nThreads:\t1\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n", false),
            ("State:\tS (sleeping)\nThreads:\t1\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n", true),
            ("State:\tR (running)\nThreads:\t9\nShdPnd:\t0000000000004100\n", true),
            ("State:\tR (running)\nThreads:\t9\nShdPnd:\t0000000000004000\n", false),
            ("State:\tZ (zombie)\nThreads:\t1\nShdPnd:\t0000000000000000\n", true),
            ("State:\tZ (zombie)\nThreads:\t2\nShdPnd:\t0000000000000000\n", false),
            ("Name:\tState:\tZ\nState:\tS (sleeping)\nThreads:\t1\n", false),
            ("nonsense", false),
            ("", false),
        ];
        for (status, expected) in cases {
            assert_eq!(is_over(status), expected, "{status:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_killed_process_is_over_at_once() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep");
        let vitals = Vitals::of(child.id()).expect("a process");
        assert!(!vitals.is_over());
        child.kill().expect("killed");
        assert!(vitals.is_over(), "whether or not it is dead yet");
        child.wait().expect("reaped");
        assert!(vitals.is_over());
        assert!(Vitals::of(child.id()).is_none());
    }
}
