//! The keeper: a small process between the host and an extension that ends the extension's whole tree when the extension
//! exits, when the host says so, and when the host is gone, even by SIGKILL.

use std::ffi::OsString;

/// What `jackfield __keep PARENT_PID -- program args…` runs; the arguments begin after `__keep`. Returns the exit status for
/// the process. Must be called before any other thread or runtime exists.
///
/// The extension inherits standard input, output and error untouched, and has no terminal. `SIGTERM` is for the extension and ignored by the
/// keeper; `SIGUSR1` ends everything at once.
#[cfg(unix)]
pub fn keeper_main(args: impl Iterator<Item = OsString>) -> i32 {
    unix::keep(args)
}

/// There are no process trees to keep on this system.
#[cfg(not(unix))]
pub fn keeper_main(_args: impl Iterator<Item = OsString>) -> i32 {
    eprintln!("jackfield keeper: not supported on this system");
    EXIT_USAGE
}

/// The exit code for arguments that make no sense.
const EXIT_USAGE: i32 = 125;

/// Stands before the most MiB of data that the extension and each of its children may have.
pub(crate) const MEMORY_FLAG: &str = "--memory-mb";

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::process::Command;
    use std::time::Duration;

    use rustix::process::{
        Pid, Signal, WaitOptions, WaitStatus, getpgid, getpid, getppid, kill_process, setpgid, setsid, wait,
    };
    use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
    use signal_hook::iterator::Signals;

    use super::{EXIT_USAGE, MEMORY_FLAG};

    /// The keeper lives under the same limit and needs this much itself.
    const LEAST_MB: u64 = 16;

    /// The exit code when the program could not be run.
    const EXIT_NOT_RUN: i32 = 126;
    /// How often the keeper looks whether its parent is still there. The parent-death signal comes earlier where the system
    /// has one, but it is tied to the thread that started the keeper.
    const PARENT_POLL_INTERVAL: Duration = Duration::from_millis(500);

    struct KeeperArgs {
        parent: Pid,
        memory_mb: Option<u64>,
        program: OsString,
        args: Vec<OsString>,
    }

    fn read(mut args: impl Iterator<Item = OsString>) -> Option<KeeperArgs> {
        let parent = Pid::from_raw(args.next()?.to_str()?.parse().ok()?)?;
        let mut word = args.next()?;
        let mut memory_mb = None;
        if word == MEMORY_FLAG {
            memory_mb = Some(args.next()?.to_str()?.parse().ok()?);
            word = args.next()?;
        }
        if word != "--" {
            return None;
        }
        Some(KeeperArgs { parent, memory_mb, program: args.next()?, args: args.collect() })
    }

    pub(super) fn keep(args: impl Iterator<Item = OsString>) -> i32 {
        let Some(keeper_args) = read(args) else {
            eprintln!("jackfield keeper: usage: PARENT_PID [--memory-mb N] -- PROGRAM [ARGS…]");
            return EXIT_USAGE;
        };
        // Handlers come before the child: no signal about it may be missed, and a handler, unlike an ignored signal, does
        // not survive into the child.
        let mut signals = match Signals::new([SIGCHLD, SIGTERM, SIGUSR1, SIGINT, SIGHUP]) {
            Ok(signals) => signals,
            Err(error) => {
                eprintln!("jackfield keeper: cannot watch signals: {error}");
                return EXIT_NOT_RUN;
            }
        };
        adopt();
        if getppid() != Some(keeper_args.parent) {
            eprintln!("jackfield keeper: process {} is not the parent, or gone", keeper_args.parent.as_raw_nonzero());
            return EXIT_NOT_RUN;
        }
        if let Err(error) = leave_terminal(keeper_args.parent) {
            eprintln!("jackfield keeper: cannot begin a session: {error}");
            return EXIT_NOT_RUN;
        }
        if let Some(most) = keeper_args.memory_mb {
            let bytes = most.max(LEAST_MB).saturating_mul(1024 * 1024);
            let limit = rustix::process::Rlimit { current: Some(bytes), maximum: Some(bytes) };
            // Data, not address space: engines that reserve far more than they use must still start.
            if let Err(error) = rustix::process::setrlimit(rustix::process::Resource::Data, limit) {
                eprintln!("jackfield keeper: cannot limit memory to {most} MiB: {error}");
                return EXIT_NOT_RUN;
            }
        }
        let child = match Command::new(&keeper_args.program).args(&keeper_args.args).spawn() {
            Ok(child) => child.id(),
            Err(error) => {
                eprintln!("jackfield keeper: cannot start {}: {error}", keeper_args.program.display());
                return EXIT_NOT_RUN;
            }
        };
        let_go_of_pipes();
        look_after_parent(keeper_args.parent);

        let mut ended = None;
        for signal in signals.forever() {
            match signal {
                SIGCHLD => {
                    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
                        if u32::try_from(pid.as_raw_nonzero().get()).is_ok_and(|pid| pid == child) {
                            ended = Some(status);
                        }
                    }
                    if ended.is_some() {
                        break;
                    }
                }
                SIGUSR1 => break,
                // The host's SIGTERM goes to the whole group: it is the extension's to answer. The same signal says that
                // the parent died; then there is nobody left to wait for.
                _ => {
                    if getppid() != Some(keeper_args.parent) {
                        break;
                    }
                }
            }
        }
        end_everything();
        match ended {
            Some(status) => leave_like(status),
            None => {
                // Takes along whatever of the group is left; the host knows that it killed and asks for no status.
                rustix::process::kill_current_process_group(Signal::KILL).ok();
                EXIT_NOT_RUN
            }
        }
    }

    /// Begins a session without a terminal, so that the extension can neither read what a person types nor write a question
    /// of its own. Its group keeps the number of this process.
    ///
    /// # Errors
    /// The system refuses; the extension must not run then.
    fn leave_terminal(parent: Pid) -> rustix::io::Result<()> {
        // The leader of a group may not begin a session. The host made this process one, so that it can be killed from
        // its first moment on.
        setpgid(None, Some(getpgid(Some(parent))?))?;
        setsid().map(|_| ())
    }

    #[cfg(target_os = "linux")]
    fn adopt() {
        // Both fail only on kernels without them; the group and the half-second look remain.
        rustix::process::set_child_subreaper(Some(getpid())).ok();
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM)).ok();
    }

    #[cfg(not(target_os = "linux"))]
    fn adopt() {}

    /// The pipes are the extension's: as long as the keeper held them too, the host would not see them end.
    fn let_go_of_pipes() {
        if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
            rustix::stdio::dup2_stdin(&null).ok();
            rustix::stdio::dup2_stdout(&null).ok();
        }
    }

    fn look_after_parent(parent: Pid) {
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(PARENT_POLL_INTERVAL);
                if getppid() != Some(parent) {
                    kill_process(getpid(), Signal::USR1).ok();
                    return;
                }
            }
        });
    }

    #[cfg(target_os = "linux")]
    fn end_everything() {
        use crate::os::{SweepScope, sweep};
        let reap = || while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {};
        if !sweep(getpid().as_raw_nonzero().get(), SweepScope::Below, reap) {
            // Someone forks faster than the table can be read: the group goes at once, this process with it.
            rustix::process::kill_current_process_group(Signal::KILL).ok();
        }
    }

    /// Without a table of processes only the group can be ended: by the host after this process has gone, or by this
    /// process together with itself.
    #[cfg(not(target_os = "linux"))]
    fn end_everything() {}

    /// Ends as the extension did, so that the host sees its status and not the keeper's.
    fn leave_like(status: WaitStatus) -> i32 {
        if let Some(signal) = status.terminating_signal() {
            let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
            // The extension may have left a core; a second one, of the keeper, helps nobody.
            rustix::process::setrlimit(rustix::process::Resource::Core, none).ok();
            signal_hook::low_level::emulate_default_handler(signal).ok();
            return 128 + signal;
        }
        status.exit_status().unwrap_or(EXIT_NOT_RUN)
    }
}
