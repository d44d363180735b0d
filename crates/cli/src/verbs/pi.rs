//! `pi`: starts the user's own pi with the bridge in it.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;

use jackfield_gateway::bridge::{self, TOKEN_VARIABLE, URL_VARIABLE};
use jackfield_protocol::{CallError, ErrorCode, plain_text};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::LEARN_TIMEOUT;
use super::bridge::{Serving, write};
use crate::args::Global;
use crate::exit;
use crate::output::note;

pub(crate) async fn pi(global: &Global, pi: Option<PathBuf>, args: Vec<String>) -> anyhow::Result<u8> {
    let program = match pi {
        Some(program) => program,
        None => on_path().ok_or_else(|| {
            let message = "there is no program named pi on the PATH; install it (npm install -g \
                           @earendil-works/pi-coding-agent), or say where it is with --pi PATH";
            CallError::new(ErrorCode::NotFound, message)
        })?,
    };
    let serving = Serving::open(global).await?;
    // pi ends when a file that it was given does not load, so the tools are known before it starts.
    serving.host.learn(LEARN_TIMEOUT).await;
    let ran = run(global, &serving, &program, &args).await;
    serving.end().await;
    ran
}

async fn run(global: &Global, serving: &Serving, program: &std::path::Path, args: &[String]) -> anyhow::Result<u8> {
    let (written, tools) = write(global, &serving.host, None)?;
    if let Some(why) = &written.stale {
        note!(
            "warn: pi starts with the last good tools; one of those there are now cannot be written: {}",
            plain_text(why)
        );
    }
    let _held = written.hold()?;
    let mut command = Command::new(program);
    command.arg("--extension").arg(&written.path).args(bridge::allow_tools(args, &tools));
    command.env(URL_VARIABLE, &serving.url).env(TOKEN_VARIABLE, &serving.token.token).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorCode::NotFound,
            _ => ErrorCode::Io,
        };
        CallError::new(code, format!("cannot start pi ({}): {error}", program.display()))
    })?;
    Ok(code_of(wait(&mut child).await?))
}

/// Waits for pi. What a terminal's keys send, pi gets itself; what is sent to us alone is passed on.
async fn wait(child: &mut Child) -> std::io::Result<ExitStatus> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let pid = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let pass = |what: Signal| {
        if let Some(pid) = pid {
            // One that has gone needs no signal.
            kill_process(pid, what).ok();
        }
    };
    loop {
        tokio::select! {
            status = child.wait() => return status,
            _ = interrupt.recv() => {}
            _ = quit.recv() => {}
            _ = terminate.recv() => pass(Signal::TERM),
            _ = hangup.recv() => pass(Signal::HUP),
        }
    }
}

/// As a shell tells it: 128 and the signal.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::ERROR)
}

fn on_path() -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let is_program = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join("pi")).find(is_program)
}
