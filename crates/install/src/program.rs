//! Running a program of the system for an installation: bounded in time and in what it says, ended with all it started.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use jackfield_protocol::plain_text;

use super::InstallError;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How much of what it says is kept.
const MAX_SAID: u64 = 16 * 1024;

/// How a program ended.
pub(super) struct Ran {
    /// `None` when it took too long; then nothing of it is left. An error when it could not be started or waited for.
    pub(super) status: io::Result<Option<ExitStatus>>,
    /// What it wrote to stderr, without control sequences.
    pub(super) said: String,
}

/// Runs `command` without input. Its stderr goes through the file `log`.
pub(super) fn run(command: &mut Command, log: &Path, timeout: Duration) -> Result<Ran, InstallError> {
    // A file and not a pipe: what the program leaves running in the background may hold a pipe open for ever.
    let file = File::create(log).map_err(InstallError::io("create", log))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let status = command.spawn().and_then(|mut child| wait(&mut child, timeout));
    let mut said = Vec::new();
    if let Ok(log) = File::open(log) {
        // Without its words the failure is still a failure.
        let _ = log.take(MAX_SAID).read_to_end(&mut said);
    }
    Ok(Ran { status, said: plain_text(&String::from_utf8_lossy(&said)) })
}

fn wait(child: &mut Child, timeout: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            kill(child);
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // It may have gone in this moment.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}
