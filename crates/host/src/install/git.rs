//! Fetching an extension with git, without giving the repository or its address a chance to run anything.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use jackfield_protocol::plain_text;

use super::InstallError;

/// A clone that takes longer is given up.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(20);
/// How much of what git says is kept.
const MAX_SAID: u64 = 16 * 1024;

/// Whether `source` is an address for git and not a directory.
pub(super) fn is_url(source: &str) -> bool {
    ["https://", "http://", "ssh://", "git@", "file://"].iter().any(|prefix| source.starts_with(prefix))
        || source.ends_with(".git")
}

/// `source` as it may be shown: without user name and password.
pub(super) fn without_password(source: &str) -> String {
    match source.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            match authority.rsplit_once('@') {
                Some((userinfo, host)) if userinfo.contains(':') => format!("{scheme}://{host}{path}"),
                _ => source.to_owned(),
            }
        }
        None => source.to_owned(),
    }
}

/// Clones the newest commit of `url` into `target`, which must not exist.
pub(super) fn clone(url: &str, target: &Path) -> Result<(), InstallError> {
    let failed = |reason: String| InstallError::Source { source_text: without_password(url), reason };
    if url.starts_with('-') {
        return Err(failed("an address does not begin with `-`".to_owned()));
    }
    // A file and not a pipe: what git leaves running in the background may hold a pipe open for ever.
    let log_path = target.with_extension("log");
    let log = File::create(&log_path).map_err(InstallError::io("create", &log_path))?;
    let mut command = Command::new("git");
    command
        // No hook of a template, no helper of a protocol and no submodule gets a say.
        .args(["-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false", "-c", "core.fsmonitor=false"])
        .args(["clone", "--quiet", "--depth", "1", "--no-tags", "--template=", "--"])
        .arg(url)
        .arg(target)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh")
        .env("GIT_LFS_SKIP_SMUDGE", "1")
        // Inside another repository's hook these would point git at that repository.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    if std::env::var_os("GIT_SSH_COMMAND").is_none() && std::env::var_os("GIT_SSH").is_none() {
        command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| failed(format!("cannot run git: {error}")))?;
    let status = wait(&mut child);
    let mut said = Vec::new();
    if let Ok(log) = File::open(&log_path) {
        // Without its words the failure is still a failure.
        let _ = log.take(MAX_SAID).read_to_end(&mut said);
    }
    let said = plain_text(&String::from_utf8_lossy(&said)).replace(url, &without_password(url));
    match status {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(_)) => Err(failed(format!("git clone failed: {}", said.trim()))),
        Ok(None) => Err(failed(format!("git clone took longer than {} s", TIMEOUT.as_secs()))),
        Err(error) => Err(failed(format!("cannot wait for git: {error}"))),
    }
}

/// `None` when it took too long; then nothing of it is left.
fn wait(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            kill(child);
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for url in ["https://x.org/a", "http://x.org/a", "ssh://x.org/a", "git@x.org:a", "file:///a", "./a.git"] {
            assert!(is_url(url), "{url}");
        }
        for path in [".", "./a", "/a/b", "a", "-x"] {
            assert!(!is_url(path), "{path}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(without_password("https://me:hunter2@x.org/a.git"), "https://x.org/a.git");
        assert_eq!(without_password("https://x.org/a@b:c"), "https://x.org/a@b:c");
        assert_eq!(without_password("git@x.org:a.git"), "git@x.org:a.git");
    }
}
