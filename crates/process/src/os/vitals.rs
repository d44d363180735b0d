//! Whether a process is over, although the system has not yet let go of it. Read from `/proc`; where there is none, or none of
//! this kind, nobody is ever known to be over.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use memchr::memrchr;
use rustix::io::Errno;

/// The bit of SIGKILL in a set of signals.
const KILL: u64 = 1 << 8;

/// A process whose signs of life can be read again and again. The open file stands for this very process: one that is
/// given its number later is not mistaken for it.
#[derive(Debug)]
pub(crate) struct Vitals {
    /// Read each time: it costs half of what `status` does.
    stat: File,
    /// Says for certain what `stat` only suspects.
    status: File,
}

impl Vitals {
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let open = |name: &str| File::open(format!("/proc/{pid}/{name}")).ok();
        Some(Self { stat: open("stat")?, status: open("status")? })
    }

    /// The process that a keeper keeps: its first child. Those that it adopts come later.
    pub(crate) fn of_kept(keeper: u32) -> Option<Self> {
        let children = std::fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children")).ok()?;
        Self::of(children.split_ascii_whitespace().next()?.parse().ok()?)
    }

    /// Whether it is certain that no code of the process runs any more: it has ended, or was sent SIGKILL. A killed process
    /// may still be inside a read and take away what it was waiting for, but it never gets to see it.
    pub(crate) fn is_over(&self) -> bool {
        reads::<1024>(&self.stat, may_be_over)
            // The name of a program may be no text; what is looked for always is.
            && reads::<4096>(&self.status, |status| is_over(&String::from_utf8_lossy(status)))
    }
}

/// What `judge` says of a file's text; yes where the process has gone from the list.
fn reads<const MOST: usize>(file: &File, judge: impl Fn(&[u8]) -> bool) -> bool {
    let mut text = [0; MOST];
    match file.read_at(&mut text, 0) {
        Ok(length) => judge(text.get(..length).unwrap_or_default()),
        Err(error) => Errno::from_io_error(&error) == Some(Errno::SRCH),
    }
}

/// Whether the first thread has ended or is to be killed. The fields are counted from the end of the program's name, which may
/// hold anything.
fn may_be_over(stat: &[u8]) -> bool {
    let Some(fields) = memrchr(b')', stat).and_then(|at| stat.get(at + 1..)) else { return true };
    // One space stands before each.
    let mut fields = fields.get(1..).unwrap_or_default().split(|byte| *byte == b' ');
    let ended = fields.next().is_none_or(|state| matches!(state, b"Z" | b"X"));
    // Pending signals are 28 fields after the state.
    let pending = fields.nth(27).and_then(|pending| std::str::from_utf8(pending).ok()?.parse::<u64>().ok());
    ended || pending.is_none_or(|pending| pending & KILL != 0)
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

    #[test]
    fn stats() {
        let stat = |name: &str, state: &str, pending: &str| {
            format!("7 ({name}) {state} {} {pending} 0 4096 0 0\n", "1 ".repeat(26) + "1")
        };
        assert!(
            !may_be_over(stat("sleep", "S", "0").as_bytes()) && !may_be_over(stat("sleep", "R", "16384").as_bytes())
        );
        assert!(may_be_over(stat("sleep", "S", "256").as_bytes()) && may_be_over(stat("sleep", "Z", "0").as_bytes()));
        assert!(!may_be_over(stat("a) Z 256 (b", "S", "0").as_bytes()), "a name is not read");
        assert!(may_be_over(b"nonsense") && may_be_over(b""), "then the other file is asked");
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
