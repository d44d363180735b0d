//! A child for whoever speaks something of its own with it: its pipes as lines, its log, its tree and its end, as every
//! child of this crate has them.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use jackfield_protocol::{CallError, ErrorCode};
use jackfield_runtime::{Exit, HostApi, StartError, StartSpec};
use tokio::process::ChildStdout;
use tokio_util::sync::CancellationToken;

use crate::core::{Core, EXIT_REASON_TIMEOUT, Ending, Killer, Running, lock};
use crate::host_calls::HostCalls;
use crate::instance::{TERMINATE_TIMEOUT, watch_child, write_on};
use crate::lines::{Line, Lines};
use crate::log::ExtensionLog;
use crate::notes::RunNote;
use crate::outbox::{Bounds, NotSent, Outbox};
use crate::pending::Pending;
use crate::{ProcessOptions, os, spawn};

/// A child with everything around it, and what of it could not be had.
pub(crate) struct Launched {
    pub(crate) core: Arc<Core>,
    pub(crate) stdout: ChildStdout,
    pub(crate) warnings: Vec<String>,
}

/// Starts `command` and whatever watches over it. The caller reads standard output and says when it ended.
pub(crate) fn launch(
    options: &ProcessOptions,
    spec: StartSpec,
    host: Arc<dyn HostApi>,
    command: &str,
    args: &[String],
) -> Result<Launched, StartError> {
    let mut child = spawn::spawn(&spec, command, args, options.keeper.as_ref())?;
    let (Some(stdin), Some(stdout), Some(stderr), Some(pid)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take(), child.id())
    else {
        return Err(StartError::NotRunnable(format!("extension {}: {command} has no pipes", spec.manifest.id)));
    };
    let mut warnings = Vec::new();
    let (log, error) = ExtensionLog::open(&spec.log_file, options.log_limit, spec.secrets.clone());
    if let Some(error) = error {
        warnings.push(format!("its log {} cannot be written: {error}", spec.log_file.display()));
    }
    let note =
        options.run_dir.as_deref().and_then(|dir| match RunNote::write(dir, pid, options.keeper.is_some(), command) {
            Ok(note) => note,
            Err(error) => {
                warnings.push(format!("its run note in {} cannot be written: {error}", dir.display()));
                None
            }
        });
    let version = spec.manifest.version.as_deref().unwrap_or("-");
    log.note(&format!("starting {}/{version} at {}", spec.manifest.id, jiff::Timestamp::now()));

    let bounds = Bounds { bytes: options.outbox_bytes, frames: options.outbox_frames };
    let core = Arc::new(Core {
        id: spec.manifest.id.clone(),
        spec,
        host,
        outbox: Outbox::new(stdin, bounds, os::unread),
        pending: Pending::default(),
        log,
        host_calls: HostCalls::default(),
        max_line: options.max_line,
        tasks: tokio::runtime::Handle::current(),
        gone: CancellationToken::new(),
        stdout_ended: CancellationToken::new(),
        stderr_ended: CancellationToken::new(),
        kill_wanted: CancellationToken::new(),
        exit: tokio::sync::watch::Sender::new(None),
        child: Running { pid, kept: options.keeper.is_some(), reaped: AtomicBool::new(false), vitals: OnceLock::new() },
        ending: Mutex::new(Ending::default()),
        watching_deafness: AtomicBool::new(false),
        started: Instant::now(),
        heard: AtomicU64::new(0),
        stray_answers: AtomicU64::new(0),
        dropped_events: AtomicU64::new(0),
        long_line_seen: AtomicBool::new(false),
    });
    core.tasks.spawn(watch_child(Arc::clone(&core), child, note));
    core.tasks.spawn(write_on(Arc::clone(&core)));
    let listener = Arc::clone(&core);
    core.tasks.spawn(async move {
        tokio::select! {
            () = listener.log.follow(stderr) => {}
            () = listener.gone.cancelled() => {}
        }
        listener.stderr_ended.cancel();
    });
    Ok(Launched { core, stdout, warnings })
}

/// A running child. Dropping it ends the whole tree.
pub struct SupervisedChild {
    core: Arc<Core>,
    warnings: Vec<String>,
}

/// What a child writes on standard output. Dropping it counts as the end of it.
pub struct ChildLines {
    core: Arc<Core>,
    lines: Lines<ChildStdout>,
}

/// One line of a child.
#[derive(Debug, PartialEq, Eq)]
pub enum ChildLine<'a> {
    /// Without its end.
    Whole(&'a [u8]),
    /// Longer than allowed; it is gone.
    TooLong,
}

impl SupervisedChild {
    /// Starts `command` with the environment and in the directory that `spec` names.
    ///
    /// # Errors
    /// The program is not there, cannot be run, or the system refused to start it.
    pub fn start(
        options: &ProcessOptions,
        spec: StartSpec,
        host: Arc<dyn HostApi>,
        command: &str,
        args: &[String],
    ) -> Result<(Self, ChildLines), StartError> {
        let Launched { core, stdout, warnings } = launch(options, spec, host, command, args)?;
        let lines = ChildLines { lines: Lines::new(stdout, core.max_line), core: Arc::clone(&core) };
        Ok((Self { core, warnings }, lines))
    }

    /// What could not be had: a log, a run note.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Sends a line, its end included, and says where it begins for [`Self::never_got`]. Waits only to learn why a child is
    /// about to be gone.
    ///
    /// # Errors
    /// The child does not read, has closed its input, or is gone; undelivered if nothing of the line can have reached it.
    pub async fn send(&self, line: Vec<u8>) -> Result<u64, CallError> {
        match self.send_now(line) {
            Some(sent) => sent,
            None => Err(self.why_closed().await),
        }
    }

    /// As [`Self::send`], without waiting: nothing when the child takes no more. [`Self::why_closed`] knows why.
    pub fn send_now(&self, line: Vec<u8>) -> Option<Result<u64, CallError>> {
        match self.core.send_unless_over(line, Instant::now()) {
            Ok(start) => Some(Ok(start)),
            Err(NotSent::Closed) => None,
            Err(why) => Some(Err(self.core.not_sent(why))),
        }
    }

    /// Why a child takes no more, once that is known, or after a moment in other words.
    pub async fn why_closed(&self) -> CallError {
        let stopping = lock(&self.core.ending).wanted;
        let gone = tokio::time::timeout(EXIT_REASON_TIMEOUT, self.core.exited()).await;
        match gone {
            Ok(exit) if !stopping => self.gone(&exit),
            _ => self.core.not_sent(NotSent::Closed),
        }
        .undelivered()
    }

    /// The error of whoever waits for one that is gone.
    pub fn gone(&self, exit: &Exit) -> CallError {
        let tail = if exit.stderr.is_empty() { String::new() } else { format!("; stderr ends: {}", exit.stderr) };
        self.core.error(ErrorCode::Unavailable, format_args!("is gone ({}){tail}", exit.reason))
    }

    /// Whether it is certain that the child has not read the line that begins at `start`, and never will.
    pub fn never_got(&self, start: u64) -> bool {
        self.core.outbox.never_read(start)
    }

    /// Whether the child has taken all that was sent; `None` where that cannot be known.
    pub fn has_read_all(&self) -> Option<bool> {
        self.core.outbox.unseen().map(|bytes| bytes == 0)
    }

    /// Begins to look for signs of life before something is sent; for one whose handshake is done.
    pub fn watch_vitals(&self) {
        self.core.child.watch_vitals();
    }

    /// A line in its log.
    pub fn note(&self, text: &str) {
        self.core.log.note(text);
    }

    /// Text that the child wrote, without control sequences and secrets.
    pub fn clean(&self, text: &str) -> String {
        self.core.log.clean(text)
    }

    /// The last lines of its standard error.
    pub fn tail(&self) -> String {
        self.core.log.tail()
    }

    /// The number of its process, or of its keeper's.
    pub fn pid(&self) -> u32 {
        self.core.child.pid
    }

    /// Closes its input, waits `grace`, asks the group to end, and ends the tree. Goes on when the caller stops waiting.
    pub fn stop(&self, grace: Duration) -> impl Future<Output = Exit> + Send + '_ {
        lock(&self.core.ending).wanted = true;
        self.core.outbox.close();
        let core = Arc::clone(&self.core);
        self.core.tasks.spawn(async move {
            if tokio::time::timeout(grace, core.gone.cancelled()).await.is_ok() {
                return;
            }
            core.child.terminate();
            if tokio::time::timeout(TERMINATE_TIMEOUT, core.gone.cancelled()).await.is_err() {
                core.kill(Killer::Owner);
            }
        });
        self.core.exited()
    }

    /// Ends the tree at once and waits until nothing is left, at most a few seconds.
    pub async fn kill(&self) {
        self.core.stdout_ended.cancel();
        self.core.kill(Killer::Owner);
        tokio::time::timeout(crate::instance::CLEAN_UP_TIMEOUT, self.core.gone.cancelled()).await.ok();
    }

    /// Ends the tree at once without waiting. Works without a runtime.
    pub fn abandon(&self) {
        self.core.kill(Killer::Owner);
    }

    /// Whether it is gone.
    pub fn is_gone(&self) -> bool {
        self.core.is_gone()
    }

    /// Resolves when it is gone.
    pub async fn exited(&self) -> Exit {
        self.core.exited().await
    }
}

impl Drop for SupervisedChild {
    fn drop(&mut self) {
        self.core.kill(Killer::Owner);
    }
}

impl ChildLines {
    /// The next line; `None` when there are no more.
    pub async fn next(&mut self) -> Option<ChildLine<'_>> {
        let core = &self.core;
        let line = tokio::select! {
            biased;
            line = self.lines.next() => line,
            () = core.gone.cancelled() => Ok(None),
        };
        match line {
            Ok(Some(Line::Whole(line))) => {
                core.lives(Instant::now());
                Some(ChildLine::Whole(line))
            }
            Ok(Some(Line::TooLong(_))) => Some(ChildLine::TooLong),
            Ok(None) => {
                core.stdout_ended.cancel();
                None
            }
            Err(error) => {
                core.log.note(&format!("standard output cannot be read: {error}"));
                core.stdout_ended.cancel();
                None
            }
        }
    }

    /// The longest line that is read.
    pub fn longest(&self) -> usize {
        self.core.max_line
    }
}

impl Drop for ChildLines {
    fn drop(&mut self) {
        self.core.stdout_ended.cancel();
    }
}
