//! Fetching an extension with git, without giving the repository or its address a chance to run anything.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::InstallError;
use super::program::{self, Ran};

/// A clone that takes longer is given up.
const TIMEOUT: Duration = Duration::from_secs(120);

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
        .env_remove("GIT_INDEX_FILE");
    if std::env::var_os("GIT_SSH_COMMAND").is_none() && std::env::var_os("GIT_SSH").is_none() {
        command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
    }
    let Ran { status, said } = program::run(&mut command, &target.with_extension("log"), TIMEOUT)?;
    let said = said.replace(url, &without_password(url));
    match status {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(_)) => Err(failed(format!("git clone failed: {}", said.trim()))),
        Ok(None) => Err(failed(format!("git clone took longer than {} s", TIMEOUT.as_secs()))),
        Err(error) => Err(failed(format!("cannot run git: {error}"))),
    }
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
