//! Starting, running and ending one child.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jackfield_protocol::{
    CallError, Contributions, Dialect, ErrorCode, Event, Launch, Manifest, PythonRole, RuntimeKind,
};
use jackfield_runtime::{
    BoxFuture, CallCx, Exit, ExtensionCall, HostApi, Instance, Reply, Runtime, StartError, StartSpec, Started, Traits,
};
use tokio::process::{Child, ChildStdout};
use tracing::Instrument as _;

use crate::core::{Core, Killer, lock};
use crate::dialect::{DialectState, HandshakeReader};
use crate::lines::{Line, Lines};
use crate::notes::RunNote;
use crate::outbox::Drained;
use crate::python::{LaunchPlan, Python};
use crate::supervised_child::{Launched, launch};
use crate::{ProcessOptions, os, python};

/// How long a child may live on after it closed a pipe.
const EOF_TIMEOUT: Duration = Duration::from_millis(250);
/// How long the pipes of a dead child may take to end; longer only when someone else holds them.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_millis(250);
/// How long SIGTERM, and then the keeper, may take.
pub(crate) const TERMINATE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the system may take to let go of a killed child.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a failed start waits until nothing is left.
pub(crate) const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs extensions as child processes in three dialects. Starts nothing by itself and restarts nothing.
#[derive(Debug, Clone)]
pub struct ProcessRuntime {
    options: ProcessOptions,
    python: Arc<Python>,
}

impl ProcessRuntime {
    /// A runtime with these options.
    pub fn new(options: ProcessOptions) -> Self {
        let python = Python::new(options.python.clone());
        Self { options, python }
    }

    async fn begin(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> Result<Started, StartError> {
        let (command, args, dialect) = match &spec.manifest.launch {
            Launch::Process { command, args, dialect } => (command.clone(), args.clone(), *dialect),
            Launch::Python { entry, role } => {
                let LaunchPlan { program, args } = self.python.launch_plan(&spec, entry, *role)?;
                (program.to_string_lossy().into_owned(), args, Dialect::Frames)
            }
            Launch::Wasm { component } => return Err(StartError::Unsupported(format!("{component} is not a program"))),
            Launch::Mcp(_) => return Err(StartError::Unsupported("an MCP server does not speak frames".to_owned())),
            Launch::Js { entry } => return Err(StartError::Unsupported(format!("{entry} is not a program"))),
            Launch::Unsupported { reason } => return Err(StartError::Unsupported(reason.clone())),
        };
        let Launched { core, stdout, warnings } = launch(&self.options, spec, host, &command, &args)?;
        let state = Arc::new(DialectState::new(dialect));
        // From here on dropping the instance ends the child, also when the caller drops this very future.
        let instance =
            ProcessInstance { core: Arc::clone(&core), state: Arc::clone(&state), polite: AtomicBool::new(false) };

        let mut reader = HandshakeReader { lines: Lines::new(stdout, core.max_line) };
        match state.handshake(&core, &mut reader).await {
            Ok(mut contributions) => {
                if let Some(interpreter) = state.interpreter() {
                    self.python.learnt(&core.spec, Path::new(&command), interpreter);
                }
                core.child.watch_vitals();
                core.tasks.spawn(read_on(Arc::clone(&core), state, reader.lines));
                contributions.warnings.extend(warnings);
                Ok(Started { instance: Arc::new(instance), contributions })
            }
            Err(error) => {
                core.stdout_ended.cancel();
                core.kill(Killer::Owner);
                // Bounded; a child that cannot be killed is reported all the same.
                tokio::time::timeout(CLEAN_UP_TIMEOUT, core.gone.cancelled()).await.ok();
                Err(with_file(with_tail(error, core.log.tail()), &core.spec))
            }
        }
    }
}

/// The tail is complete only now that the child has gone.
fn with_tail(error: StartError, tail: String) -> StartError {
    match error {
        StartError::HandshakeTimeout { awaited, after, .. } => {
            StartError::HandshakeTimeout { awaited, after, stderr: tail }
        }
        StartError::BadHandshake { reason, .. } => StartError::BadHandshake { reason, stderr: tail },
        StartError::EarlyExit { awaited, exit, .. } => StartError::EarlyExit { awaited, exit, stderr: tail },
        StartError::NotRunnable(_) | StartError::Unsupported(_) => error,
    }
}

/// A Python file has no manifest that people know it by: what is wrong with it names the file.
fn with_file(error: StartError, spec: &StartSpec) -> StartError {
    let Some(file) = python::file_of(spec) else { return error };
    let file = file.display();
    match error {
        StartError::HandshakeTimeout { after, stderr, .. } => StartError::BadHandshake {
            reason: format!(
                "{file}: it was still being loaded after {} s; keep what takes long inside a function",
                after.as_secs_f64()
            ),
            stderr,
        },
        StartError::EarlyExit { exit, stderr, .. } => StartError::BadHandshake {
            reason: format!("{file}: its process ended while it was loaded ({exit})"),
            stderr,
        },
        error => error,
    }
}

impl Runtime for ProcessRuntime {
    fn kind(&self) -> RuntimeKind {
        RuntimeKind::Process
    }

    fn traits(&self, manifest: &Manifest) -> Traits {
        // No dialect of programs has a word for questions.
        let program = Traits { takes_questions: false, ..Traits::default() };
        match manifest.launch {
            Launch::Python { role, .. } => Traits {
                validates_arguments: true,
                only_serves_calls: true,
                rests_when_idle: role == PythonRole::Tool,
                is_described: true,
                ..program
            },
            _ => program,
        }
    }

    fn start(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> BoxFuture<'_, Result<Started, StartError>> {
        let span = tracing::debug_span!("start", runtime = "process", extension = %spec.manifest.id);
        Box::pin(self.begin(spec, host).instrument(span))
    }

    fn describe<'a>(&'a self, specs: &'a [StartSpec]) -> BoxFuture<'a, Vec<Option<Result<Contributions, StartError>>>> {
        Box::pin(python::describe(&self.python, specs, self.options.keeper.as_ref()))
    }
}

/// A running child. Dropping it ends the whole tree.
struct ProcessInstance {
    core: Arc<Core>,
    state: Arc<DialectState>,
    /// Someone has asked the child to go.
    polite: AtomicBool,
}

impl Drop for ProcessInstance {
    fn drop(&mut self) {
        self.core.kill(Killer::Owner);
    }
}

impl Instance for ProcessInstance {
    fn call(&self, call: ExtensionCall, cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        Box::pin(self.state.call(&self.core, call, cx))
    }

    fn notify(&self, event: &Event) {
        self.state.notify(&self.core, event);
    }

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Exit> {
        let first = !self.polite.swap(true, Ordering::AcqRel);
        lock(&self.core.ending).wanted = true;
        let (core, state) = (Arc::clone(&self.core), Arc::clone(&self.state));
        // A task of its own: the stop goes on when the caller stops waiting for it.
        self.core.tasks.spawn(async move { stop(core, state, grace, first).await });
        Box::pin(self.core.exited())
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(self.core.exited())
    }

    fn is_gone(&self) -> bool {
        self.core.is_gone()
    }

    fn pid(&self) -> Option<u32> {
        Some(self.core.child.pid)
    }
}

async fn stop(core: Arc<Core>, state: Arc<DialectState>, grace: Duration, first: bool) {
    let until = tokio::time::Instant::now() + grace;
    let gone = async |until| tokio::time::timeout_at(until, core.gone.cancelled()).await.is_ok();
    if first {
        let said = tokio::time::timeout_at(until, state.farewell(&core, grace)).await;
        if said.is_err() {
            core.outbox.close();
        }
    }
    if gone(until).await {
        return;
    }
    core.child.terminate();
    if gone(tokio::time::Instant::now() + TERMINATE_TIMEOUT).await {
        return;
    }
    core.kill(Killer::Owner);
}

/// Waits for the child and tells everyone that it has gone.
pub(crate) async fn watch_child(core: Arc<Core>, mut child: Child, note: Option<RunNote>) {
    let status = outlive(&core, &mut child).await;
    core.child.reaped.store(true, Ordering::Release);
    // Whoever is left in the group has lost its extension. A keeper leaves nobody, unless it was killed itself.
    os::kill_orphans(core.child.pid);
    // Answers that stand in the pipe are still answers, and the last words explain the end.
    let last_words = async { tokio::join!(core.stdout_ended.cancelled(), core.stderr_ended.cancelled()) };
    tokio::time::timeout(LAST_OUTPUT_TIMEOUT, last_words).await.ok();
    let ending = lock(&core.ending).clone();
    let status = match &status {
        Some(status) => os::status_text(*status),
        None => "could not be killed".to_owned(),
    };
    let reason = match ending.cause {
        Some(cause) => format!("killed by the host because {cause}"),
        None => status,
    };
    let exit = Exit { reason, stderr: core.log.tail(), wanted: ending.wanted };
    core.log.note(&format!("ended: {}", exit.reason));
    if let Some(note) = note {
        note.remove();
    }
    let error = gone_error(&core, &exit);
    // Before anyone learns it from a failed call: who then calls again must not be sent here.
    core.exit.send_replace(Some(exit));
    // Before the calls fail: each then looks whether the child has read it.
    core.outbox.abandon();
    core.pending.close(&error);
    core.gone.cancel();
}

fn gone_error(core: &Core, exit: &Exit) -> CallError {
    let tail = if exit.stderr.is_empty() { String::new() } else { format!("; stderr ends: {}", exit.stderr) };
    match python::file_of(&core.spec) {
        Some(file) => core.error(
            ErrorCode::Unavailable,
            format_args!("is gone ({}): {} ended its process{tail}", exit.reason, file.display()),
        ),
        None => core.error(ErrorCode::Unavailable, format_args!("is gone ({}){tail}", exit.reason)),
    }
}

/// The child's status; `None` if the system would not let it die.
async fn outlive(core: &Core, child: &mut Child) -> Option<ExitStatus> {
    tokio::select! {
        status = child.wait() => return status.ok(),
        () = core.kill_wanted.cancelled() => {}
        () = core.stdout_ended.cancelled() => {
            if let Ok(status) = tokio::time::timeout(EOF_TIMEOUT, child.wait()).await {
                return status.ok();
            }
            core.kill(Killer::Rule("it closed its standard output"));
        }
    }
    if let Ok(status) = tokio::time::timeout(TERMINATE_TIMEOUT, child.wait()).await {
        return status.ok();
    }
    core.child.kill_outright();
    // Where there are no signals this is the only way; elsewhere the child is dead already.
    child.start_kill().ok();
    tokio::time::timeout(KILL_TIMEOUT, child.wait()).await.ok()?.ok()
}

pub(crate) async fn write_on(core: Arc<Core>) {
    let drained = tokio::select! {
        drained = core.outbox.drain() => drained,
        () = core.gone.cancelled() => return,
    };
    if drained == Drained::Broken && tokio::time::timeout(EOF_TIMEOUT, core.gone.cancelled()).await.is_err() {
        core.kill(Killer::Rule("it closed its standard input"));
    }
}

async fn read_on(core: Arc<Core>, state: Arc<DialectState>, mut lines: Lines<ChildStdout>) {
    let gone = core.gone.clone().cancelled_owned();
    tokio::pin!(gone);
    loop {
        let line = tokio::select! {
            biased;
            line = lines.next() => line,
            () = &mut gone => break,
        };
        match line {
            Ok(Some(Line::Whole(line))) => {
                core.lives(Instant::now());
                state.line(&core, line);
            }
            Ok(Some(Line::TooLong(_))) => core.too_long(),
            Ok(None) => break,
            Err(error) => {
                core.log.note(&format!("standard output cannot be read: {error}"));
                break;
            }
        }
        if !lines.has_line() {
            state.settled(&core);
        }
    }
    core.stdout_ended.cancel();
}
