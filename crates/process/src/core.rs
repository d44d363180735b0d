//! What all dialects share of a running child: its pipes, its calls, its log and its end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use jackfield_protocol::{CallError, CallId, ErrorCode, ExtensionId};
use jackfield_runtime::{CallCx, Exit, HostApi, StartSpec};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::host_calls::HostCalls;
use crate::log::ExtensionLog;
use crate::os;
use crate::outbox::{NotSent, Outbox};
use crate::pending::{DialectAnswer, Pending, QuestionKind};

/// A child whose queue is full and that has read nothing for so long is given up.
const DEAF_TIMEOUT: Duration = Duration::from_secs(5);
/// A child that was heard or found alive so lately is not looked at again before a call: a look costs a tenth of a quick
/// call, and nobody is told of an answer, kills its sender and calls again in less.
const LIVENESS_CACHE: Duration = Duration::from_micros(50);
/// How long a call waits to learn why the child's input has closed.
pub(crate) const EXIT_REASON_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) struct Core {
    pub(crate) id: ExtensionId,
    pub(crate) spec: StartSpec,
    pub(crate) host: Arc<dyn HostApi>,
    pub(crate) outbox: Outbox,
    pub(crate) pending: Pending,
    pub(crate) log: ExtensionLog,
    pub(crate) host_calls: HostCalls,
    pub(crate) max_line: usize,
    /// The runtime that the instance was started on, for work that outlives a call.
    pub(crate) tasks: Handle,
    /// Cancelled when the child is gone and all that waited has been told.
    pub(crate) gone: CancellationToken,
    pub(crate) stdout_ended: CancellationToken,
    pub(crate) stderr_ended: CancellationToken,
    pub(crate) kill_wanted: CancellationToken,
    pub(crate) exit: watch::Sender<Option<Exit>>,
    pub(crate) child: Running,
    pub(crate) ending: Mutex<Ending>,
    pub(crate) watching_deafness: AtomicBool,
    pub(crate) started: Instant,
    /// When the child was last heard or found alive, in microseconds since `started`.
    pub(crate) heard: AtomicU64,
    pub(crate) stray_answers: AtomicU64,
    pub(crate) dropped_events: AtomicU64,
    pub(crate) long_line_seen: AtomicBool,
}

/// The process behind an instance.
pub(crate) struct Running {
    pub(crate) pid: u32,
    /// Whether it is a keeper.
    pub(crate) kept: bool,
    /// Its number may belong to another process by now.
    pub(crate) reaped: AtomicBool,
    /// The extension itself, behind the keeper; known once it has spoken, where the system can tell.
    pub(crate) vitals: OnceLock<os::Vitals>,
}

impl Running {
    fn if_alive(&self, act: impl FnOnce(u32)) {
        if !self.reaped.load(Ordering::Acquire) {
            act(self.pid);
        }
    }

    /// Begins to look at the extension itself.
    pub(crate) fn watch_vitals(&self) {
        let vitals = if self.kept { os::Vitals::of_kept(self.pid) } else { os::Vitals::of(self.pid) };
        if let Some(vitals) = vitals {
            // Set once, by the one who started it.
            self.vitals.set(vitals).ok();
        }
    }

    /// Whether it is certain that the extension will never see what it is sent.
    fn is_over(&self) -> bool {
        self.vitals.get().is_some_and(os::Vitals::is_over)
    }

    /// Asks the group to end.
    pub(crate) fn terminate(&self) {
        self.if_alive(os::terminate_group);
    }

    /// Ends the tree, through the keeper where there is one.
    pub(crate) fn kill(&self) {
        self.if_alive(if self.kept { os::kill_keeper } else { os::kill_tree });
    }

    /// Ends the tree without asking anyone.
    pub(crate) fn kill_outright(&self) {
        self.if_alive(os::kill_tree);
    }
}

/// Why an instance ends.
#[derive(Debug, Default, Clone)]
pub(crate) struct Ending {
    /// The host asked for it.
    pub(crate) wanted: bool,
    /// What the child did to be killed.
    pub(crate) cause: Option<String>,
}

/// Who ends an instance.
pub(crate) enum Killer {
    /// The host has no more use for it.
    Owner,
    /// It broke a rule.
    Rule(&'static str),
}

/// Locks what cannot be left half changed by a panic elsewhere.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One message as a line.
pub(crate) fn to_line(message: &impl Serialize) -> Result<Vec<u8>, CallError> {
    let mut line = Vec::with_capacity(256);
    serde_json::to_writer(&mut line, message).map_err(|error| {
        CallError::new(ErrorCode::Internal, format!("a message for an extension cannot be written as JSON: {error}"))
    })?;
    line.push(b'\n');
    Ok(line)
}

impl Core {
    /// An error of this extension.
    pub(crate) fn error(&self, code: ErrorCode, text: impl std::fmt::Display) -> CallError {
        CallError::new(code, format!("extension {} {text}", self.id)).of(&self.id)
    }

    /// Sends what no one waits on.
    pub(crate) fn send(self: &Arc<Self>, message: &impl Serialize) -> Result<(), CallError> {
        let line = to_line(message)?;
        self.outbox.send(line).map(drop).map_err(|why| self.not_sent(why))
    }

    /// Sends, or says in the log that it could not.
    pub(crate) fn send_or_note(self: &Arc<Self>, message: &impl Serialize) {
        if let Err(error) = self.send(message) {
            self.log.note(&format!("a message was not sent: {error}"));
        }
    }

    pub(crate) fn not_sent(self: &Arc<Self>, why: NotSent) -> CallError {
        match why {
            NotSent::Full => {
                self.watch_deafness();
                self.error(ErrorCode::Unavailable, "does not read its input: the queue to it is full; reload it")
            }
            NotSent::TooLarge => self.error(ErrorCode::InvalidRequest, "cannot take a message of this size"),
            NotSent::Closed if lock(&self.ending).wanted => self.error(ErrorCode::Unavailable, "is being stopped"),
            NotSent::Closed => self.error(ErrorCode::Unavailable, "has closed its input; reload it"),
        }
    }

    /// Kills the child unless it reads something within [`DEAF_TIMEOUT`]. One watcher at a time.
    fn watch_deafness(self: &Arc<Self>) {
        if self.watching_deafness.swap(true, Ordering::AcqRel) {
            return;
        }
        let core = Arc::clone(self);
        self.tasks.spawn(async move {
            while let Some(since) = core.outbox.stuck_since() {
                if since.elapsed() >= DEAF_TIMEOUT {
                    core.kill(Killer::Rule("it did not read its input for 5 s"));
                    break;
                }
                tokio::select! {
                    () = tokio::time::sleep_until((since + DEAF_TIMEOUT).into()) => {}
                    () = core.gone.cancelled() => break,
                }
            }
            core.watching_deafness.store(false, Ordering::Release);
        });
    }

    /// Asks the child something and waits for the answer, the deadline, the caller's change of mind or the child's death.
    /// `abandoned` runs when the answer is no longer waited for.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        question: Question<'_>,
        cx: &CallCx,
        message: impl FnOnce(u64) -> Result<Vec<u8>, CallError>,
        abandoned: impl FnOnce(u64),
    ) -> Result<DialectAnswer, CallError> {
        let began = Instant::now();
        if cx.cancel.is_cancelled() {
            return Err(self.given_up(&question));
        }
        let id = question.id.unwrap_or_else(|| self.pending.fresh_id());
        let mut receiver =
            self.pending.wait_for(id, question.asked, question.call_id.clone()).map_err(CallError::undelivered)?;
        let mut waiting = Waiting { pending: &self.pending, id, abandoned: Some(abandoned) };
        let mut deadline = cx.deadline;
        // Where the message begins in all that was sent; `None` if it was not.
        let mut start = None;
        match self.send_unless_over(message(id)?, began) {
            Ok(at) => start = Some(at),
            // The child is about to be gone; its last words make a better error than a closed pipe.
            Err(NotSent::Closed) if !lock(&self.ending).wanted => {
                deadline = deadline.min(began + EXIT_REASON_TIMEOUT);
            }
            Err(why) => {
                waiting.abandoned = None;
                let error = self.not_sent(why);
                // A full queue stays full; only another instance can do better.
                return Err(if why == NotSent::Closed { error.undelivered() } else { error });
            }
        }
        tokio::select! {
            biased;
            outcome = &mut receiver => {
                waiting.abandoned = None;
                let outcome =
                    outcome.unwrap_or_else(|_| Err(self.error(ErrorCode::Internal, "lost its answer inside the host")));
                outcome.map_err(|error| if self.never_got(start) { error.undelivered() } else { error })
            }
            () = cx.cancel.cancelled() => Err(self.given_up(&question)),
            () = tokio::time::sleep_until(deadline.into()) => {
                if start.is_none() {
                    return Err(self.not_sent(NotSent::Closed).undelivered());
                }
                let waited = deadline.saturating_duration_since(began).as_nanos().div_ceil(1_000_000);
                Err(self.error(ErrorCode::Timeout, format_args!("did not answer {} within {waited} ms", question.what)))
            }
        }
    }

    /// Sends to a child that may see it. What is written to one that was killed may vanish with it in a way that looks as if
    /// it had been read, and then nobody dares to send it again.
    pub(crate) fn send_unless_over(&self, message: Vec<u8>, now: Instant) -> Result<u64, NotSent> {
        let heard = self.started + Duration::from_micros(self.heard.load(Ordering::Relaxed));
        if now.saturating_duration_since(heard) > LIVENESS_CACHE {
            if self.child.is_over() {
                return Err(NotSent::Closed);
            }
            // As of before the look; nothing is known of what happened since.
            self.lives(now);
        }
        self.outbox.send(message)
    }

    /// Notes that the child was heard or found alive at `now`. A burst of calls looks for signs of life once.
    pub(crate) fn lives(&self, now: Instant) {
        let since = now.saturating_duration_since(self.started);
        self.heard.store(u64::try_from(since.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether it is certain that the child has not read the message that begins at `start`, and never will.
    fn never_got(&self, start: Option<u64>) -> bool {
        start.is_none_or(|start| self.outbox.never_read(start))
    }

    fn given_up(&self, question: &Question<'_>) -> CallError {
        let text = format!("the caller gave up {} of extension {}", question.what, self.id);
        CallError::new(ErrorCode::Cancelled, text).of(&self.id)
    }

    /// An answer that nobody waits for: counted, and noted once per hundred.
    pub(crate) fn stray(&self, what: &str) {
        let count = self.stray_answers.fetch_add(1, Ordering::Relaxed) + 1;
        if count % 100 == 1 {
            self.log.note(&format!("ignored {what} that nobody waits for ({count} so far)"));
        }
    }

    /// An event that did not fit: counted, and noted once per hundred.
    pub(crate) fn event_dropped(&self, event: &str, error: &CallError) {
        let count = self.dropped_events.fetch_add(1, Ordering::Relaxed) + 1;
        if count % 100 == 1 {
            self.log.note(&format!("event {event} was dropped ({count} so far): {error}"));
        }
    }

    /// A line that is longer than allowed. An answer may have been lost in it, so all that waits fails.
    pub(crate) fn too_long(&self) {
        let mebibytes = self.max_line.div_ceil(1024 * 1024);
        if !self.long_line_seen.swap(true, Ordering::Relaxed) {
            self.log.note(&format!("ignored a line of more than {mebibytes} MiB; further ones are not mentioned"));
        }
        self.pending.fail_all(&self.error(
            ErrorCode::Protocol,
            format_args!("sent a line of more than {mebibytes} MiB; an answer may be lost"),
        ));
    }

    /// A line that is no message.
    pub(crate) fn noise(&self, line: &[u8]) {
        const MOST_SHOWN: usize = 512;
        if line.is_empty() {
            return;
        }
        let cut = if line.len() > MOST_SHOWN { "…" } else { "" };
        let shown = String::from_utf8_lossy(line.get(..MOST_SHOWN).unwrap_or(line));
        self.log.note(&format!("stdout: {shown}{cut}"));
    }

    /// Ends the tree at once. Does not wait; works without a runtime.
    pub(crate) fn kill(&self, killer: Killer) {
        {
            let mut ending = lock(&self.ending);
            match killer {
                Killer::Owner => ending.wanted = true,
                Killer::Rule(cause) => {
                    if !ending.wanted {
                        ending.cause.get_or_insert_with(|| cause.to_owned());
                    }
                }
            }
        }
        self.child.kill();
        self.kill_wanted.cancel();
    }

    /// Whether the child is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.exit.borrow().is_some()
    }

    /// Resolves when the child is gone.
    pub(crate) async fn exited(&self) -> Exit {
        let mut exit = self.exit.subscribe();
        match exit.wait_for(Option::is_some).await {
            Ok(exit) => exit.clone().unwrap_or_default(),
            // The sender lives in this very value.
            Err(_) => Exit::default(),
        }
    }
}

/// What is asked of a child.
pub(crate) struct Question<'a> {
    pub(crate) asked: QuestionKind,
    /// What is asked for, as errors name it.
    pub(crate) what: &'a str,
    pub(crate) call_id: Option<CallId>,
    /// A fixed id where the dialect has one.
    pub(crate) id: Option<u64>,
}

/// Stops waiting when dropped, however the call ends.
struct Waiting<'a, F: FnOnce(u64)> {
    pending: &'a Pending,
    id: u64,
    abandoned: Option<F>,
}

impl<F: FnOnce(u64)> Drop for Waiting<'_, F> {
    fn drop(&mut self) {
        if self.pending.forget(self.id)
            && let Some(abandoned) = self.abandoned.take()
        {
            abandoned(self.id);
        }
    }
}
