//! The names of signals.

use rustix::process::Signal;

const ALL: [(&str, Signal); 25] = [
    ("SIGHUP", Signal::HUP),
    ("SIGINT", Signal::INT),
    ("SIGQUIT", Signal::QUIT),
    ("SIGILL", Signal::ILL),
    ("SIGTRAP", Signal::TRAP),
    ("SIGABRT", Signal::ABORT),
    ("SIGBUS", Signal::BUS),
    ("SIGFPE", Signal::FPE),
    ("SIGKILL", Signal::KILL),
    ("SIGUSR1", Signal::USR1),
    ("SIGSEGV", Signal::SEGV),
    ("SIGUSR2", Signal::USR2),
    ("SIGPIPE", Signal::PIPE),
    ("SIGALRM", Signal::ALARM),
    ("SIGTERM", Signal::TERM),
    ("SIGCHLD", Signal::CHILD),
    ("SIGCONT", Signal::CONT),
    ("SIGSTOP", Signal::STOP),
    ("SIGTSTP", Signal::TSTP),
    ("SIGTTIN", Signal::TTIN),
    ("SIGTTOU", Signal::TTOU),
    ("SIGXCPU", Signal::XCPU),
    ("SIGXFSZ", Signal::XFSZ),
    ("SIGWINCH", Signal::WINCH),
    ("SIGSYS", Signal::SYS),
];

/// The signal of that name, or of that number as text.
pub(super) fn by_name(name: &str) -> Option<Signal> {
    ALL.iter().find(|(known, signal)| *known == name || signal.as_raw().to_string() == name).map(|(_, signal)| *signal)
}

/// What a signal is called.
pub(super) fn name_of(number: i32) -> String {
    let known = ALL.iter().find(|(_, signal)| signal.as_raw() == number);
    known.map_or_else(|| format!("SIG{number}"), |(name, _)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(by_name("SIGTERM"), Some(Signal::TERM));
        assert_eq!(by_name("9"), Some(Signal::KILL));
        assert_eq!(by_name("term"), None);
        assert_eq!(name_of(15), "SIGTERM");
    }
}
