//! `exec`: one program to its end, never a shell line, and nothing of it left running when the call has failed.

mod output;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use jackfield_protocol::{CallError, ErrorCode, ExecParams, is_secret_name};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::output::Capture;
use self::tree::Tree;
use super::fs::{self, Root};
use super::{Cut, ServiceLimits, Until};

/// Variables that every program gets from the host, beside those that begin with `LC_`.
const PASSED: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "USER"];
/// How long a killed program may take to be gone.
const REAP: Duration = Duration::from_secs(5);

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
        let real = root.real(Path::new(&exec.command), &root.path().join(&cwd), fs::Last::Keep)?;
        exec.command = match root.inside(&real) {
            Some(relative) => {
                let relative = relative?;
                // Without a slash it would be looked up on PATH.
                if relative.contains('/') { relative } else { format!("./{relative}") }
            }
            None => real.to_str().map(str::to_owned).ok_or_else(|| {
                CallError::new(ErrorCode::InvalidRequest, format!("the real name of program {real:?} is not UTF-8"))
            })?,
        };
    }
    exec.cwd = (cwd != ".").then_some(cwd);
    Ok(())
}

/// Runs the program and gives what it said.
pub(super) async fn perform(
    ground: Ground<'_>,
    params: &ExecParams,
    until: Until,
    chunks: Option<mpsc::Sender<Value>>,
) -> Result<Value, CallError> {
    let chunks = chunks.filter(|_| params.stream);
    let what = format!("exec {:?}", params.command);
    let ran = run(ground, params, &until, chunks).await?;
    let mut value = json!({
        "code": ran.code(),
        "stdout": ran.stdout.text,
        "stderr": ran.stderr.text,
        "truncated": ran.stdout.truncated || ran.stderr.truncated,
        "killed": matches!(ran.end, End::Cut(_)),
    });
    match ran.end {
        End::Exited(_) => Ok(value),
        End::Cut(cut) => {
            if let Some(object) = value.as_object_mut() {
                object.remove("code");
            }
            let mut error = until.error(&what, cut).with_details(value);
            error.message.push_str("; the program and all that it started were killed");
            Err(error)
        }
    }
}

/// What a program said and how it ended.
pub(super) struct Ran {
    pub(super) stdout: output::Captured,
    pub(super) stderr: output::Captured,
    pub(super) end: End,
}

/// How it ended.
pub(super) enum End {
    /// By itself.
    Exited(ExitStatus),
    /// By the host.
    Cut(Cut),
}

impl Ran {
    /// As shells count: 128 and the signal for a program that a signal ended.
    pub(super) fn code(&self) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt as _;
        match self.end {
            End::Exited(status) => status.code().or_else(|| status.signal().map(|signal| 128 + signal)),
            End::Cut(_) => None,
        }
    }
}

/// Runs a program within the call's time.
pub(super) async fn run(
    ground: Ground<'_>,
    params: &ExecParams,
    until: &Until,
    chunks: Option<mpsc::Sender<Value>>,
) -> Result<Ran, CallError> {
    let mark = tree::new_mark();
    let mut command = prepare(ground, params, &mark)?;
    let mut child = spawn(&mut command).await.map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::InvalidInput => ErrorCode::InvalidRequest,
            _ => ErrorCode::Io,
        };
        CallError::new(code, format!("exec {:?} did not start: {error}", params.command))
    })?;
    // From here on the tree dies with this future.
    let tree = Tree::new(child.id(), mark);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (out, err) = (Capture::new(ground.limits.max_output), Capture::new(ground.limits.max_output));
    let ended = CancellationToken::new();

    let end = {
        let talk = async {
            tokio::join!(
                out.pump(stdout, "stdout", chunks.clone(), &ended),
                err.pump(stderr, "stderr", chunks.clone(), &ended),
                feed(stdin, params.stdin.as_deref()),
            );
        };
        tokio::pin!(talk);
        let mut talking = true;
        let over = until.over();
        tokio::pin!(over);
        let end = loop {
            tokio::select! {
                biased;
                cut = &mut over => break End::Cut(cut),
                () = &mut talk, if talking => talking = false,
                status = child.wait() => break End::Exited(status.map_err(|error| {
                    CallError::new(ErrorCode::Io, format!("exec {:?} cannot be waited for: {error}", params.command))
                })?),
            }
        };
        match end {
            End::Exited(_) => tree.end_group(),
            End::Cut(_) => kill(tree, &mut child).await,
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
    Ok(Ran { stdout: out.take(), stderr: err.take(), end })
}

/// Starts it. A file that was written a moment ago may still be held by a child that is just being started elsewhere in
/// the host; that passes at once.
async fn spawn(command: &mut Command) -> std::io::Result<Child> {
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
    let _ = tokio::time::timeout(REAP, child.wait()).await;
}

/// Writes what the program reads. A program that does not read it is no failure.
async fn feed(stdin: Option<ChildStdin>, text: Option<&str>) {
    if let (Some(mut stdin), Some(text)) = (stdin, text) {
        let _ = stdin.write_all(text.as_bytes()).await;
        let _ = stdin.shutdown().await;
    }
}

fn prepare(ground: Ground<'_>, params: &ExecParams, mark: &str) -> Result<Command, CallError> {
    let Ground { root, env, .. } = ground;
    let program = find(root, env, &params.command)?;
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
        .envs(base_environment(env))
        .env("TERM", "dumb")
        .stdin(if params.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    for (name, value) in &params.env {
        check_variable(name, value)?;
        command.env(name, value);
    }
    command.env(tree::MARK, mark);
    Ok(command)
}

/// The part of the host's environment that any program gets.
fn base_environment(env: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    env.iter().filter(|(name, _)| (PASSED.contains(&name.as_str()) || name.starts_with("LC_")) && !is_secret_name(name))
}

/// Variables that choose which code runs would make a permit for one program a permit for any.
fn check_variable(name: &str, value: &str) -> Result<(), CallError> {
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(CallError::new(ErrorCode::InvalidRequest, format!("exec: {name:?} cannot be set as a variable")));
    }
    let loads_code =
        name.starts_with("LD_") || name.starts_with("DYLD_") || ["PATH", "BASH_ENV", "ENV"].contains(&name);
    if loads_code {
        return Err(CallError::new(
            ErrorCode::Denied,
            format!("exec: the variable {name} chooses which code runs, so an extension cannot set it"),
        ));
    }
    Ok(())
}

/// The file of a program: by path as resolved, or by name on the host's PATH.
fn find(root: &Root, env: &BTreeMap<String, String>, command: &str) -> Result<PathBuf, CallError> {
    if command.is_empty() || command.contains('\0') {
        return Err(CallError::new(ErrorCode::InvalidRequest, format!("exec: {command:?} is not a program")));
    }
    if command.contains('/') {
        let path = root.path().join(command.strip_prefix("./").unwrap_or(command));
        return match (path.try_exists(), is_program(&path)) {
            (Ok(true), true) => Ok(path),
            (Ok(true), false) => Err(CallError::new(
                ErrorCode::Io,
                format!("exec: {command:?} cannot be run; is it marked as executable?"),
            )),
            _ => Err(CallError::new(ErrorCode::NotFound, format!("exec: there is no program {command:?}"))),
        };
    }
    let path = env.get("PATH").map_or("/usr/local/bin:/usr/bin:/bin", String::as_str);
    // A relative entry would find whatever an extension has put into the project.
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(command))
        .find(|file| is_program(file))
        .ok_or_else(|| {
            CallError::new(
                ErrorCode::NotFound,
                format!("exec: there is no program {command:?} on PATH; install it first"),
            )
        })
}

/// Whether a program of this name is on the host's PATH.
pub(super) fn is_installed(root: &Root, env: &BTreeMap<String, String>, command: &str) -> bool {
    find(root, env, command).is_ok()
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}
