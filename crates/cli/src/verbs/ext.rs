//! `ext`: install, remove, verify, accept, enable, disable, logs.

pub(crate) mod lock;
mod pins;

use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use jackfield_host::{Home, LockError};
use jackfield_install::{InstallError, InstallOptions, Installer};
use jackfield_protocol::{CallError, ErrorCode, ExtensionId, plain_text};
use serde_json::json;

use super::list;
use crate::args::{ExtVerb, Global};
use crate::compose;
use crate::exit;
use crate::output;

pub(crate) async fn ext(global: &Global, verb: ExtVerb) -> anyhow::Result<u8> {
    let home = compose::home(global)?;
    let installer = Installer::new(&home);
    match verb {
        ExtVerb::List => return list::list(global),
        ExtVerb::Install { source, link, update } => {
            let options = InstallOptions { link, update, accept_wider: global.yes };
            let installed = match installer.install(&source, options) {
                Err(InstallError::Wider { id, more }) => {
                    let more = more.join(", ");
                    if !confirm(&format!("{id} asks for more than the version that is installed: {more}; install it?"))?
                    {
                        output::line("kept the version that is installed")?;
                        return Ok(exit::FINE);
                    }
                    installer.install(&source, InstallOptions { accept_wider: true, ..options })
                }
                done => done,
            };
            let installed = installed.map_err(call_error)?;
            let version = installed.version.as_deref().unwrap_or("-");
            if global.json {
                output::json(&json!({
                    "ok": true, "id": installed.id, "version": installed.version, "path": installed.dir, "hash": installed.hash,
                }))?;
            } else {
                output::plain(&format!("installed {} {version} in {}", installed.id, installed.dir.display()))?;
                output::plain(&format!("see what it offers: jackfield inspect {}", installed.dir.display()))?;
            }
        }
        ExtVerb::Remove { name } => {
            if !global.yes && !confirm(&format!("remove extension {name}?"))? {
                output::line("kept")?;
                return Ok(exit::FINE);
            }
            let dir = installer.remove(&name).map_err(call_error)?;
            told(global, "removed", &name, &dir)?;
        }
        ExtVerb::Verify { name } => return lock::verify(global, &installer, name.as_deref()),
        ExtVerb::Accept { name } => {
            return match pins::accept(global, &name)? {
                Some(code) => Ok(code),
                None => lock::accept(global, &installer, &name),
            };
        }
        ExtVerb::Enable { name } => {
            let dir = installer.set_enabled(&name, true).map_err(call_error)?;
            told(global, "enabled", &name, &dir)?;
        }
        ExtVerb::Disable { name } => {
            let dir = installer.set_enabled(&name, false).map_err(call_error)?;
            told(global, "disabled", &name, &dir)?;
        }
        ExtVerb::Logs { name, follow } => return logs(&home, &name, follow).await,
    }
    Ok(exit::FINE)
}

fn call_error(error: InstallError) -> CallError {
    let code = match &error {
        InstallError::NotFound { .. } | InstallError::NoSource { .. } => ErrorCode::NotFound,
        InstallError::Manifest { .. } => ErrorCode::InvalidConfig,
        InstallError::Source { .. } => ErrorCode::InvalidConfig,
        InstallError::Wider { .. } => ErrorCode::Denied,
        InstallError::Lock(LockError::Damaged { .. }) => ErrorCode::InvalidConfig,
        InstallError::Lock(LockError::Io { .. } | LockError::Unfit { .. }) => ErrorCode::Io,
        InstallError::Refused { .. } | InstallError::Exists { .. } | InstallError::Ambiguous { .. } => {
            ErrorCode::InvalidRequest
        }
        InstallError::Edit { .. } | InstallError::Io { .. } => ErrorCode::Io,
    };
    CallError::new(code, error.to_string())
}

fn told(global: &Global, done: &str, name: &str, path: &Path) -> anyhow::Result<()> {
    if global.json {
        output::json(&json!({ "ok": true, "action": done, "name": name, "path": path }))
    } else {
        output::plain(&format!("{done} {name} ({})", path.display()))
    }
}

fn confirm(question: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(CallError::new(ErrorCode::Denied, format!("{question} nobody is there to ask; say --yes")).into());
    }
    eprint!("{} [y/N] ", plain_text(question));
    std::io::stderr().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim().eq_ignore_ascii_case("y"))
}

/// Prints the log, and with `-f` what is added to it, also across rotations, until the reader goes.
async fn logs(home: &Home, name: &str, follow: bool) -> anyhow::Result<u8> {
    let not_found = || {
        let message = format!("no log of {name:?} in {}; has it ever run?", home.logs().display());
        CallError::new(ErrorCode::NotFound, message)
    };
    let id = ExtensionId::sanitized(name).ok_or_else(not_found)?;
    let path = home.log_file(&id);
    if !follow && !path.is_file() {
        return Err(not_found().into());
    }
    let mut open: Option<(File, u64)> = None;
    loop {
        if open.is_none()
            && let Ok(file) = File::open(&path)
        {
            open = Some((file, 0));
        }
        if let Some((file, position)) = &mut open {
            match copy_new(file, position) {
                // Whoever read along has gone.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(exit::FINE),
                other => other?,
            }
        }
        if !follow {
            return Ok(exit::FINE);
        }
        let rotated = match (&open, std::fs::metadata(&path)) {
            (Some((file, position)), Ok(named)) => !same_file(file, &named) || named.len() < *position,
            (Some(_), Err(_)) => true,
            (None, _) => false,
        };
        if rotated {
            open = None;
            continue;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn copy_new(file: &mut File, position: &mut u64) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(*position))?;
    let mut bytes = Vec::new();
    file.take(8 * 1024 * 1024).read_to_end(&mut bytes)?;
    *position += bytes.len() as u64;
    let mut out = std::io::stdout().lock();
    out.write_all(plain_text(&String::from_utf8_lossy(&bytes)).as_bytes())?;
    out.flush()
}

#[cfg(unix)]
fn same_file(open: &File, named: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    open.metadata().is_ok_and(|open| (open.dev(), open.ino()) == (named.dev(), named.ino()))
}

#[cfg(not(unix))]
fn same_file(_open: &File, _named: &std::fs::Metadata) -> bool {
    true
}
