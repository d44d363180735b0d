//! The loop of a channel: connects, receives, and puts what comes in into the inbox and before its responder.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jackfield_host::Host;
use jackfield_protocol::{CallError, Correlation, ErrorCode, ExtensionId, Level};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::channels::{ChannelNews, Tell};
use crate::connection::{SharedConnection, Source, User};
use crate::history::Histories;
use crate::inbox::{Inbox, Letter};
use crate::limits::{ALLOWED_SENDER_RATE, Backoff, STRANGER_RATE, StrangerRateLimiter};
use crate::respond::Responder;
use crate::senders::Senders;
use crate::sessions::Sessions;

/// How many messages may be under way; no more are received meanwhile.
const MAX_MESSAGES_UNDER_WAY: usize = 128;
/// How many senders are answered at once.
const MAX_CONCURRENT_SENDERS: usize = 16;
/// How long messages in hand may take after the channel was told to stop.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(30);
/// A connection that lasted this long was stable: the pause before the next one begins short again.
const STABLE_AFTER: Duration = Duration::from_secs(10);
/// After so many failures in a row to receive, the connection is made anew.
const RECONNECT_AFTER_FAILURES: u32 = 3;
/// How long the end of a connection may take.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a new connection waits until the one before has ended.
const HANDOVER_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a stopping channel waits for the end of its last `receive`.
const LAST_RECEIVE_TIMEOUT: Duration = Duration::from_secs(3);
/// After so many empty and instant `receive` calls in a row, the log gets a warning.
const EMPTY_RECEIVES_WARNING: u32 = 5;
/// A `receive` that waited this long before it gave nothing is no busy loop.
const MIN_RECEIVE_WAIT: Duration = Duration::from_secs(1);

/// One message on its way.
pub(crate) struct Job {
    pub(crate) letter: Letter,
    /// The connection that it came in on, if that was in this run.
    pub(crate) came_on: Option<User>,
    pub(crate) _room: OwnedSemaphorePermit,
}

/// A channel that runs.
pub(crate) struct Run {
    pub(crate) host: Host,
    pub(crate) name: String,
    pub(crate) owner: ExtensionId,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) senders: Senders,
    pub(crate) sessions: Mutex<Sessions>,
    pub(crate) history: Option<Histories>,
    pub(crate) responder: Arc<dyn Responder>,
    tell: Tell,
    source: Box<dyn Source>,
    /// The connection in use.
    pub(crate) link: watch::Sender<Option<Arc<SharedConnection>>>,
    room: Arc<Semaphore>,
    pub(crate) working: Semaphore,
    /// What waits, by sender; a sender who is here has a worker.
    pub(crate) desks: Mutex<HashMap<String, VecDeque<Job>>>,
    /// Changes when a worker ends.
    workers: watch::Sender<usize>,
    pub(crate) strangers: Mutex<StrangerRateLimiter>,
    /// Allowed senders who write too much.
    pub(crate) known: Mutex<StrangerRateLimiter>,
    /// The first pause before something is tried again.
    pub(crate) pause: Duration,
    /// Nothing new is begun.
    pub(crate) stop: CancellationToken,
    /// What is under way is given up.
    pub(crate) hurry: CancellationToken,
}

/// What [`Run`] is made of.
pub(crate) struct Parts {
    pub(crate) host: Host,
    pub(crate) name: String,
    pub(crate) inbox: Inbox,
    pub(crate) senders: Senders,
    pub(crate) sessions: Sessions,
    pub(crate) history: Option<Histories>,
    pub(crate) responder: Arc<dyn Responder>,
    pub(crate) source: Box<dyn Source>,
    pub(crate) tell: Tell,
    pub(crate) pause: Duration,
    pub(crate) stop: CancellationToken,
    pub(crate) hurry: CancellationToken,
}

/// A connection that is listened to.
struct Listening {
    link: Arc<SharedConnection>,
    cancel: CancellationToken,
    task: JoinHandle<Option<CallError>>,
    since: Instant,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let Parts { host, name, inbox, senders, sessions, history, responder, source, tell, pause, stop, hurry } =
            parts;
        Arc::new(Self {
            owner: source.owner(),
            host,
            name,
            inbox: Arc::new(inbox),
            senders,
            sessions: Mutex::new(sessions),
            history,
            responder,
            tell,
            source,
            link: watch::Sender::new(None),
            room: Arc::new(Semaphore::new(MAX_MESSAGES_UNDER_WAY)),
            working: Semaphore::new(MAX_CONCURRENT_SENDERS),
            desks: Mutex::default(),
            workers: watch::Sender::new(0),
            strangers: Mutex::new(StrangerRateLimiter::new(STRANGER_RATE, Instant::now())),
            known: Mutex::new(StrangerRateLimiter::new(ALLOWED_SENDER_RATE, Instant::now())),
            pause,
            stop,
            hurry,
        })
    }

    /// Runs until it is told to stop.
    pub(crate) async fn run(self: &Arc<Self>) -> Result<(), CallError> {
        let (letters, damaged) = self.inbox.waiting()?;
        for why in damaged {
            self.news(Level::Error, "damaged", why);
        }
        self.source.resume(&letters.iter().map(|letter| &letter.message).collect::<Vec<_>>());
        if !letters.is_empty() {
            self.news(
                Level::Info,
                "resumed",
                format!("{} messages of an earlier run are taken up again", letters.len()),
            );
        }
        let resumed = CancellationToken::new();
        let resuming = tokio::spawn({
            let (run, resumed) = (Arc::clone(self), resumed.clone());
            async move {
                for letter in letters {
                    let room = tokio::select! {
                        room = Arc::clone(&run.room).acquire_owned() => room,
                        () = run.stop.cancelled() => break,
                    };
                    let Ok(room) = room else { break };
                    run.put(Job { letter, came_on: None, _room: room });
                }
                resumed.cancel();
            }
        });
        let last = self.connections(&resumed).await;
        resuming.abort();
        let mut workers = self.workers.subscribe();
        // It ends at the latest when the grace is over: then what is under way is given up.
        tokio::select! {
            _ = workers.wait_for(|workers| *workers == 0) => {}
            () = async {
                tokio::time::sleep(SHUTDOWN_GRACE).await;
                self.hurry.cancel();
                tokio::time::sleep(DISCONNECT_TIMEOUT).await;
            } => {}
        }
        self.link.send_replace(None);
        if let Some(link) = last {
            tokio::time::timeout(Duration::from_secs(5), link.retire()).await.ok();
        }
        let rest = lock(&self.strangers).rest();
        if rest > 0 {
            self.note("channel.refused", &format!("{rest} more messages were refused"), json!({ "count": rest })).ok();
        }
        let (waiting, _) = Inbox::counts(&self.host.home().channel(&self.name));
        let left = if waiting == 0 { String::new() } else { format!("; {waiting} messages wait for the next run") };
        self.news(Level::Info, "stopped", format!("channel {} has stopped{left}", self.name));
        Ok(())
    }

    /// Connects, and connects again whenever that is needed; gives the last connection.
    async fn connections(self: &Arc<Self>, resumed: &CancellationToken) -> Option<Arc<SharedConnection>> {
        let mut backoff = Backoff::new(self.pause, self.pause * 240);
        let mut listening: Option<Listening> = None;
        let mut attempts = 0_u32;
        loop {
            let connected = tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                connected = self.source.connect() => connected,
            };
            let link = match connected {
                Ok(link) => link,
                Err(error) => {
                    // The version before may hold what this one needs.
                    if let Some(before) = listening.take() {
                        self.leave(before).await;
                        continue;
                    }
                    attempts += 1;
                    let pause = wait_as_told(&error, backoff.pause());
                    let text = format!(
                        "cannot connect channel {} (attempt {attempts}): {error}; it is tried again in {:.1} s",
                        self.name,
                        pause.as_secs_f64()
                    );
                    self.news(Level::Warn, "connect_failed", text);
                    if self.rest(pause).await {
                        continue;
                    }
                    break;
                }
            };
            attempts = 0;
            let again = listening.is_some();
            // The last word of the one before comes before the first of the new one.
            self.link.send_replace(Some(Arc::clone(&link)));
            if let Some(before) = listening.take() {
                self.leave(before).await;
            }
            let what = if again { "switched" } else { "connected" };
            self.news(Level::Info, what, format!("channel {} is {what}", self.name));
            let cancel = self.stop.child_token();
            let task = tokio::spawn({
                let (run, link, cancel, resumed) =
                    (Arc::clone(self), Arc::clone(&link), cancel.clone(), resumed.clone());
                async move { run.listen(&link, cancel, resumed).await }
            });
            let mut now = Listening { link: Arc::clone(&link), cancel, task, since: Instant::now() };
            tokio::select! {
                biased;
                ended = &mut now.task => {
                    if now.since.elapsed() >= STABLE_AFTER {
                        backoff.reset();
                    }
                    self.link.send_replace(None);
                    // Answers that are still to be sent go out on the next connection, or on this instance's next.
                    link.connection.disconnect().await;
                    if let Ok(Some(error)) = ended {
                        let pause = wait_as_told(&error, backoff.pause());
                        let seconds = pause.as_secs_f64();
                        let text = format!("channel {} was lost: {error}; it is connected again in {seconds:.1} s", self.name);
                        self.news(Level::Warn, "lost", text);
                        if !self.rest(pause).await {
                            return None;
                        }
                    }
                }
                () = self.stop.cancelled() => {
                    self.last_word(now.task).await;
                    return Some(link);
                }
                () = link.connection.superseded() => {
                    if now.since.elapsed() >= STABLE_AFTER || !link.connection.is_gone() {
                        backoff.reset();
                    }
                    if link.connection.is_gone() {
                        // Its task ends by itself, and says why, unless it waits for room.
                        let ended = match tokio::time::timeout(DISCONNECT_TIMEOUT, &mut now.task).await {
                            Ok(ended) => ended,
                            Err(_) => {
                                now.cancel.cancel();
                                now.task.await
                            }
                        };
                        self.link.send_replace(None);
                        if let Ok(Some(error)) = ended {
                            self.news(Level::Warn, "lost", format!("channel {} was lost: {error}", self.name));
                        }
                        let pause = backoff.pause();
                        if !self.rest(pause).await {
                            return None;
                        }
                    } else {
                        listening = Some(now);
                    }
                }
            }
        }
        let last = listening?;
        self.last_word(last.task).await;
        Some(last.link)
    }

    /// Waits for the end of a connection that was told to stop. What it received last is in the inbox when this returns.
    async fn last_word(&self, mut task: JoinHandle<Option<CallError>>) {
        if tokio::time::timeout(LAST_RECEIVE_TIMEOUT, &mut task).await.is_err() {
            task.abort();
            let text =
                format!("channel {} did not stop receiving; if a message comes on it now, it is lost", self.name);
            self.news(Level::Warn, "receive_failed", text);
        }
    }

    /// Ends a connection that another takes the place of. What came in on it meanwhile is in the inbox when this returns;
    /// answers to that still go out on it.
    ///
    /// One whose `receive` cannot be ended is listened to as long as it lives; only the order may suffer from that.
    async fn leave(self: &Arc<Self>, mut before: Listening) {
        before.cancel.cancel();
        if tokio::time::timeout(HANDOVER_TIMEOUT, &mut before.task).await.is_ok() {
            return self.retire(&before.link);
        }
        tokio::spawn(async move {
            before.task.await.ok();
            before.link.retire().await;
        });
    }

    fn retire(self: &Arc<Self>, link: &Arc<SharedConnection>) {
        let link = Arc::clone(link);
        tokio::spawn(async move { link.retire().await });
    }

    /// Waits; false when the channel is to stop.
    pub(crate) async fn rest(&self, pause: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(pause) => true,
            () = self.stop.cancelled() => false,
        }
    }

    /// Receives on one connection until it is cancelled, or gives why there is no point in going on.
    async fn listen(
        self: &Arc<Self>,
        link: &Arc<SharedConnection>,
        cancel: CancellationToken,
        resumed: CancellationToken,
    ) -> Option<CallError> {
        let (mut failures, mut nothing) = (0, 0_u32);
        let mut empty = Backoff::new(Duration::from_millis(20), Duration::from_secs(2));
        let mut bad = Backoff::new(self.pause, self.pause * 120);
        tokio::select! {
            () = resumed.cancelled() => {}
            () = cancel.cancelled() => return None,
        }
        while !cancel.is_cancelled() {
            // Room first: what is received can be kept then.
            let room = tokio::select! {
                room = Arc::clone(&self.room).acquire_owned() => room.ok()?,
                () = cancel.cancelled() => return None,
            };
            let began = Instant::now();
            let pause = match link.connection.receive(cancel.clone()).await {
                Ok(Some(message)) if !message.text.trim().is_empty() => {
                    (failures, nothing) = (0, 0);
                    empty.reset();
                    bad.reset();
                    self.accept(link, message, room).await;
                    continue;
                }
                Ok(message) => {
                    if let Some(message) = message {
                        self.kept(link, &message);
                    }
                    failures = 0;
                    nothing += 1;
                    if began.elapsed() >= MIN_RECEIVE_WAIT {
                        empty.reset();
                        nothing = 0;
                    } else if nothing == EMPTY_RECEIVES_WARNING {
                        let text = format!("channel {} receives nothing again and again; it is slowed down", self.name);
                        self.news(Level::Warn, "receives_nothing", text);
                    }
                    empty.pause()
                }
                Err(error) if error.code == ErrorCode::Cancelled && cancel.is_cancelled() => {
                    if !link.connection.is_gone() {
                        let text = format!("{error}; if a message comes on it now, it is lost");
                        self.news(Level::Warn, "receive_failed", text);
                    }
                    return None;
                }
                Err(error) => {
                    failures += 1;
                    if link.connection.is_gone() || failures >= RECONNECT_AFTER_FAILURES {
                        return Some(error);
                    }
                    let pause = wait_as_told(&error, bad.pause());
                    let text = format!("cannot receive on channel {}: {error}", self.name);
                    self.news(Level::Warn, "receive_failed", text);
                    pause
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = cancel.cancelled() => {}
            }
        }
        None
    }

    /// Puts a message before the worker of its sender.
    pub(crate) fn put(self: &Arc<Self>, job: Job) {
        let sender = job.letter.message.sender.clone();
        let is_first = {
            let mut desks = lock(&self.desks);
            let is_first = !desks.contains_key(&sender);
            desks.entry(sender.clone()).or_default().push_back(job);
            is_first
        };
        if is_first {
            self.workers.send_modify(|workers| *workers += 1);
            let run = Arc::clone(self);
            tokio::spawn(async move {
                while let Some(job) = run.next(&sender) {
                    run.handle(job).await;
                }
                run.workers.send_modify(|workers| *workers -= 1);
            });
        }
    }

    /// The next message of a sender; without one its worker ends. What is not begun waits in the inbox for the next run.
    fn next(&self, sender: &str) -> Option<Job> {
        let mut desks = lock(&self.desks);
        let job = desks.get_mut(sender).and_then(VecDeque::pop_front).filter(|_| !self.stop.is_cancelled());
        if job.is_none() {
            desks.remove(sender);
        }
        job
    }

    /// Tells whoever runs the channel, and the log.
    pub(crate) fn news(&self, level: Level, event: &'static str, text: String) {
        let message = self.host.redact(&text);
        let data = json!({ "channel": self.name, "event": event });
        // The log is diagnostics: one that cannot be written stops nothing.
        self.host.write_log(&self.owner, level, &message, data).ok();
        (self.tell)(ChannelNews { level, event, message });
    }

    pub(crate) fn note(&self, event: &str, message: &str, data: Value) -> Result<(), CallError> {
        let mut data = data;
        if let Some(data) = data.as_object_mut() {
            data.insert("channel".to_owned(), json!(self.name));
        }
        let correlation = Correlation { extension_id: self.owner.to_string(), ..Correlation::default() };
        self.host.ledger_note(event, correlation, message, data)
    }
}

/// The pause, or the longer one that the other side asks for in `retry_after`, within an hour.
pub(crate) fn wait_as_told(error: &CallError, pause: Duration) -> Duration {
    let told = error.details.as_ref().and_then(|details| details.get("retry_after")).and_then(Value::as_f64);
    let told = told.filter(|seconds| seconds.is_finite() && *seconds > 0.0).map_or(0.0, |seconds| seconds.min(3600.0));
    pause.max(Duration::from_secs_f64(told))
}
