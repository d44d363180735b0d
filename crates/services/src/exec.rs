//! `exec`: one program to its end, never a shell line, and nothing of it left running when the call has failed.

mod input;
mod output;
mod signals;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jackfield_protocol::{CallError, ErrorCode, ExecParams, Need, Power, Resource, is_secret_name};
use jackfield_runtime::{CallInput, HostCallCx};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::input::InputWriter;
use self::output::{Capture, Pieces};
use self::tree::Tree;
use super::fs::{self, Root};
use super::{Cut, NO_TIMEOUT, ServiceLimits, Until, demand, errno};
use crate::Authorize;

/// Variables that every program gets from the host, beside those that begin with `LC_`.
const PASSED_VARIABLES: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "USER"];
/// How long a program that was asked to end may take before it is killed.
const TERMINATE_GRACE: Duration = Duration::from_secs(5);
/// How long a killed program may take to be gone.
const REAP_TIMEOUT: Duration = Duration::from_secs(5);

/// What the programs of one host have in common.
#[derive(Clone, Copy)]
pub(super) struct Ground<'s> {
    pub(super) root: &'s Root,
    pub(super) env: &'s BTreeMap<String, String>,
    pub(super) limits: &'s ServiceLimits,
    /// The program that, called as `__keep PARENT_PID -- program args…`, runs another one and ends it when the host dies.
    pub(super) keeper: Option<&'s Path>,
}

/// Puts the real working directory, and the real place of a program named by path, into the call.
pub(super) fn resolve(root: &Root, exec: &mut ExecParams) -> Result<(), CallError> {
    let cwd = root.resolve(exec.cwd.as_deref().unwrap_or("."), fs::Last::Follow)?;
    if exec.command.contains('/') {
        // The last name is kept: programs of many names look at the one they were called by.
        let real = root.resolve_from(&exec.command, &root.absolute(&cwd), fs::Last::Keep)?;
        // Without a slash it would be looked up on PATH.
        exec.command = if real.contains('/') { real } else { format!("./{real}") };
    }
    exec.cwd = (cwd != ".").then_some(cwd);
    Ok(())
}

/// Runs the program and gives what it said.
pub(super) async fn perform(
    ground: Ground<'_>,
    params: &ExecParams,
    authorize: &dyn Authorize,
    until: Until,
    cx: &HostCallCx,
) -> Result<Value, CallError> {
    let input = cx.input.as_ref().and_then(CallInput::take);
    let is_fed = input.is_some();
    let bytes = match fs::Encoding::parse(params.encoding.as_deref())? {
        fs::Encoding::Base64 => true,
        fs::Encoding::Utf8 | fs::Encoding::Either => false,
    };
    if let Some(cwd) = params.cwd.as_deref().filter(|cwd| cwd.starts_with('/')) {
        let need = Need { power: Power::Read, method: "exec", resource: Resource::Path(cwd.to_owned()) };
        demand(authorize, need).await?;
    }
    if chooses_code(ground.env, params) {
        // To choose which code runs is to run any.
        let need = Need { power: Power::Exec, method: "exec", resource: Resource::Program("*".to_owned()) };
        demand(authorize, need).await?;
    }
    let chunks = cx.chunks.clone().filter(|_| params.stream || is_fed);
    let wires = Wires { pieces: Pieces { bytes: bytes || is_fed, chunks }, input, announce: is_fed };
    let what = format!("exec {:?}", params.command);
    let ran = run(ground, params, &until, wires).await?;
    let cut = match ran.end {
        End::Exited(_) => None,
        End::Cut(cut) => Some(cut),
    };
    let mut value = json!({});
    if let Some(object) = value.as_object_mut() {
        if cut.is_none() {
            object.insert("code".to_owned(), json!(ran.code(params.raw || is_fed)));
            object.insert("signal".to_owned(), json!(ran.signal()));
        }
        if !is_fed {
            let shown = |stream: &output::Captured| if bytes { BASE64.encode(&stream.bytes) } else { stream.text() };
            object.insert("stdout".to_owned(), json!(shown(&ran.stdout)));
            object.insert("stderr".to_owned(), json!(shown(&ran.stderr)));
            object.insert("truncated".to_owned(), json!(ran.stdout.truncated || ran.stderr.truncated));
        }
        object.insert("killed".to_owned(), json!(cut.is_some() || ran.timed_out));
        if ran.timed_out {
            object.insert("timed_out".to_owned(), json!(true));
        }
        if bytes {
            object.insert("encoding".to_owned(), json!("base64"));
        }
    }
    match cut {
        None => Ok(value),
        Some(cut) => {
            let mut error = until.error(&what, cut).with_details(value);
            error.message.push_str("; the program and all that it started were killed");
            Err(error)
        }
    }
}

/// How a program is connected to whoever wants it.
#[derive(Default)]
pub(super) struct Wires {
    pieces: Pieces,
    input: Option<mpsc::Receiver<Value>>,
    /// Its number comes before its output.
    announce: bool,
}

/// What a program said and how it ended.
pub(super) struct Ran {
    pub(super) stdout: output::Captured,
    pub(super) stderr: output::Captured,
    pub(super) end: End,
    /// It was asked to end because its own time was up.
    timed_out: bool,
}

/// How a program ended.
pub(super) enum End {
    /// The program ended by itself.
    Exited(ExitStatus),
    /// The host ended it.
    Cut(Cut),
}

impl Ran {
    /// As shells count, 128 and the signal for a program that a signal ended; as the system counts, none.
    pub(super) fn code(&self, raw: bool) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt as _;
        match self.end {
            End::Exited(status) if raw => status.code(),
            End::Exited(status) => status.code().or_else(|| status.signal().map(|signal| 128 + signal)),
            End::Cut(_) => None,
        }
    }

    /// The signal that ended it.
    fn signal(&self) -> Option<String> {
        use std::os::unix::process::ExitStatusExt as _;
        match self.end {
            End::Exited(status) => status.signal().map(signals::name_of),
            End::Cut(_) => None,
        }
    }
}

/// Runs a program within the call's time.
pub(super) async fn run(
    ground: Ground<'_>,
    params: &ExecParams,
    until: &Until,
    wires: Wires,
) -> Result<Ran, CallError> {
    let first = match &params.stdin {
        Some(text) => fs::decode(text, params.encoding.as_deref(), "stdin")?,
        None => Vec::new(),
    };
    let Wires { mut pieces, input, announce } = wires;
    let is_fed = input.is_some();
    let mark = tree::new_mark();
    let mut command = prepare(ground, params, is_fed, &mark)?;
    let mut child = spawn(&mut command).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => {
            CallError::new(ErrorCode::InvalidRequest, format!("exec {:?} did not start: {error}", params.command))
        }
        _ => errno::failure(&format!("exec {:?} did not start", params.command), &error),
    })?;
    // From here on the tree dies with this future.
    let tree = Tree::new(child.id(), mark);
    if announce {
        until.run("exec", pieces.announce(child.id())).await?;
    }
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // What was handed on in pieces need not be kept.
    let most = if is_fed { 0 } else { ground.limits.output(params.max_output) };
    let (out, err) = (Capture::new(most), Capture::new(most));
    let ended = CancellationToken::new();
    let own_end = params.timeout_ms.map(Duration::from_millis);
    let has_keeper = ground.keeper.is_some();
    let mut timed_out = false;
    let forced = AtomicBool::new(false);

    let end = {
        let signal = |signal: Signal| {
            forced.fetch_or(signal == Signal::KILL, Ordering::Relaxed);
            tree.signal(signal, has_keeper);
        };
        let talk = async {
            tokio::join!(
                out.pump(stdout, "stdout", pieces.clone(), &ended),
                err.pump(stderr, "stderr", pieces.clone(), &ended),
                InputWriter { stdin, first, input }.run(&ended, &signal),
            );
        };
        tokio::pin!(talk);
        let mut talking = true;
        let over = until.over();
        tokio::pin!(over);
        let patience = tokio::time::sleep(own_end.unwrap_or(NO_TIMEOUT));
        tokio::pin!(patience);
        let end = loop {
            tokio::select! {
                biased;
                cut = &mut over => break End::Cut(cut),
                () = &mut patience, if own_end.is_some() => {
                    signal(if timed_out { Signal::KILL } else { Signal::TERM });
                    timed_out = true;
                    patience.as_mut().reset(tokio::time::Instant::now() + TERMINATE_GRACE);
                }
                () = &mut talk, if talking => talking = false,
                status = child.wait() => break End::Exited(status.map_err(|error| {
                    CallError::new(ErrorCode::Io, format!("exec {:?} cannot be waited for: {error}", params.command))
                })?),
            }
        };
        match end {
            // What was killed or out of time leaves nobody behind; otherwise only what is left in the group goes.
            End::Exited(_) if !timed_out && !forced.load(Ordering::Relaxed) => tree.end_group(),
            End::Exited(_) | End::Cut(_) => kill(tree.take(), &mut child).await,
        }
        // What the program has written is still in the pipes; what holds them open beyond it is not waited for.
        ended.cancel();
        match end {
            End::Exited(status) if talking => tokio::select! {
                biased;
                () = &mut talk => End::Exited(status),
                // Only a consumer of chunks that does not read can take this long.
                cut = &mut over => End::Cut(cut),
            },
            End::Cut(_) if talking => {
                // A consumer that does not read must not hold up the end.
                let _ = tokio::time::timeout(Duration::from_secs(1), &mut talk).await;
                end
            }
            end => end,
        }
    };
    Ok(Ran { stdout: out.take(), stderr: err.take(), end, timed_out })
}

/// Starts it. A file that was written a moment ago may still be held by a child that is just being started elsewhere in
/// the host; that passes at once.
async fn spawn(command: &mut Command) -> std::io::Result<Child> {
    tracing::debug!(program = ?command.as_std().get_program(), "starts a program");
    let mut tries = 0;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy && tries < 20 => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            other => return other,
        }
    }
}

/// Kills the tree where blocking is allowed, and waits for the program itself to be reaped.
async fn kill(tree: Tree, child: &mut Child) {
    // Neither failure leaves anything to do: the tree is killed on drop too, and tokio reaps a child that is dropped.
    let _ = tokio::task::spawn_blocking(move || drop(tree)).await;
    let _ = tokio::time::timeout(REAP_TIMEOUT, child.wait()).await;
}

fn prepare(ground: Ground<'_>, params: &ExecParams, is_fed: bool, mark: &str) -> Result<Command, CallError> {
    let Ground { root, env, .. } = ground;
    let path = params.env.get("PATH").or_else(|| env.get("PATH")).map(String::as_str);
    let program = find(root, path, &params.command)?;
    let cwd = fs::checked(params.cwd.as_deref().unwrap_or("."))?;
    root.is_folder(cwd)?;
    let mut command = match ground.keeper {
        Some(keeper) => {
            let mut command = Command::new(keeper);
            command.arg("__keep").arg(std::process::id().to_string()).arg("--").arg(program);
            command
        }
        None => {
            let mut command = Command::new(program);
            command.arg0(&params.command);
            command
        }
    };
    command
        .args(&params.args)
        .current_dir(root.path().join(cwd))
        .env_clear()
        .stdin(if params.stdin.is_some() || is_fed { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if !params.clear_env {
        command.envs(base_environment(env)).env("TERM", "dumb");
    }
    for (name, value) in &params.env {
        check_variable(name, value)?;
        command.env(name, value);
    }
    command.env(tree::MARK, mark);
    Ok(command)
}

/// The part of the host's environment that any program gets.
fn base_environment(env: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    env.iter().filter(|(name, _)| {
        (PASSED_VARIABLES.contains(&name.as_str()) || name.starts_with("LC_")) && !is_secret_name(name)
    })
}

fn check_variable(name: &str, value: &str) -> Result<(), CallError> {
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(CallError::new(ErrorCode::InvalidRequest, format!("exec: {name:?} cannot be set as a variable")));
    }
    Ok(())
}

/// Whether a variable of the call chooses which code runs, other than the host's own value does. A permit for one program
/// would be one for any then.
fn chooses_code(env: &BTreeMap<String, String>, params: &ExecParams) -> bool {
    let loads_code = |name: &str| {
        name.starts_with("LD_") || name.starts_with("DYLD_") || ["PATH", "BASH_ENV", "ENV"].contains(&name)
    };
    params.env.iter().any(|(name, value)| loads_code(name) && env.get(name) != Some(value))
}

/// The file of a program: by path as resolved, or by name on the host's PATH.
fn find(root: &Root, path: Option<&str>, command: &str) -> Result<PathBuf, CallError> {
    if command.is_empty() || command.contains('\0') {
        return Err(CallError::new(ErrorCode::InvalidRequest, format!("exec: {command:?} is not a program")));
    }
    if command.contains('/') {
        let path = root.path().join(command.strip_prefix("./").unwrap_or(command));
        return match (path.try_exists(), is_program(&path)) {
            (Ok(true), true) => Ok(path),
            (Ok(true), false) => {
                let message = format!("exec: {command:?} cannot be run; is it marked as executable?");
                Err(errno::as_errno("EACCES", message))
            }
            _ => Err(errno::as_errno("ENOENT", format!("exec: there is no program {command:?}"))),
        };
    }
    let path = path.unwrap_or("/usr/local/bin:/usr/bin:/bin");
    // A relative entry would find whatever an extension has put into the project.
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(command))
        .find(|file| is_program(file))
        .ok_or_else(|| {
            errno::as_errno("ENOENT", format!("exec: there is no program {command:?} on PATH; install it first"))
        })
}

/// Whether a program of this name is on the host's PATH.
pub(super) fn is_installed(root: &Root, env: &BTreeMap<String, String>, command: &str) -> bool {
    find(root, env.get("PATH").map(String::as_str), command).is_ok()
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}
