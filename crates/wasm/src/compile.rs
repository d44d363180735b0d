//! Compiling, in a process of its own: what a hostile component can do to a compiler, it does to a child that may be killed.

use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::engine;

/// How long a compiler may take.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(120);
/// The most native code that one component becomes.
const MAX_CODE: u64 = 512 * 1024 * 1024;
/// What a compiler may use of memory, and of processor time over all its threads, in seconds.
const MAX_MEMORY: u64 = 4 * 1024 * 1024 * 1024;
const MAX_SECONDS: u64 = 240;
/// What is read of a compiler's complaint.
const MAX_COMPLAINT: u64 = 16 * 1024;

/// Compiles in this process.
pub(crate) fn here(component: &[u8]) -> Result<Vec<u8>, String> {
    engine::engine()?.precompile_component(component).map_err(|error| format!("it cannot be compiled: {error:#}"))
}

/// Compiles in a child.
pub(crate) async fn there(command: &[String], component: Vec<u8>) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("the compiler cannot be run: {error}");
    let (program, args) = command.split_first().ok_or("no compiler is named")?;
    let mut child = tokio::process::Command::new(program)
        .args(args)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("the compiler has no pipes".to_owned());
    };
    let work = async {
        let (mut code, mut complaint) = (Vec::new(), Vec::new());
        let feed = async {
            // A compiler that dies before it has read all says why elsewhere.
            stdin.write_all(&component).await.ok();
            drop(stdin);
        };
        let (mut stdout, mut stderr) = (stdout.take(MAX_CODE + 1), stderr.take(MAX_COMPLAINT));
        let (_, read, _) = tokio::join!(feed, stdout.read_to_end(&mut code), stderr.read_to_end(&mut complaint));
        read.map_err(failed)?;
        if code.len() as u64 > MAX_CODE {
            return Err("it becomes more native code than 512 MB".to_owned());
        }
        let status = child.wait().await.map_err(failed)?;
        let complaint = String::from_utf8_lossy(&complaint).trim().to_owned();
        match (status.success(), complaint.is_empty()) {
            (true, _) => Ok(code),
            (false, false) => Err(complaint),
            (false, true) => Err(format!("it cannot be compiled: the compiler ended with {status}")),
        }
    };
    match tokio::time::timeout(COMPILE_TIMEOUT, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("it cannot be compiled within {} s", COMPILE_TIMEOUT.as_secs())),
    }
}

/// What the binary does as a compiler: reads a component, writes native code, or says on stderr why not.
/// Gives whether it worked.
pub fn child() -> bool {
    for (resource, limit) in [(Resource::Data, MAX_MEMORY), (Resource::Cpu, MAX_SECONDS), (Resource::Core, 0)] {
        // A limit that is lower already stays.
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) }).ok();
    }
    // Nobody wants the code of a host that has gone.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).ok();
    match child_work() {
        Ok(()) => true,
        Err(why) => {
            writeln!(std::io::stderr(), "{why}").ok();
            false
        }
    }
}

fn child_work() -> Result<(), String> {
    let mut component = Vec::new();
    let most = crate::MAX_COMPONENT + 1;
    std::io::stdin().lock().take(most).read_to_end(&mut component).map_err(|error| error.to_string())?;
    let code = here(&component)?;
    let mut out = std::io::stdout().lock();
    out.write_all(&code).and_then(|()| out.flush()).map_err(|error| error.to_string())
}
