//! The host's side of an engine: takes its messages, serves its host calls, and hands answers to those who wait.

use std::collections::{HashMap, VecDeque};
use std::future::Future as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use jackfield_protocol::{CallError, ContributionChange, Contributions, ErrorCode, ExtensionId, HostCall, Notice};
use jackfield_runtime::{CallInput, Exit, HostApi, HostCallCx, LogFile};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::messages::{Loaded, Outcome, Thrown, ToHost, ToJs};

/// Host calls of one extension that may be under way at once.
const MOST_CALLS: usize = 1024;
/// Chunks and inputs that wait for their reader.
const STREAM_QUEUE: usize = 64;
/// Inputs beyond that, for a script that writes much at once.
const MAX_OVERFLOW: usize = 16 * 1024;

/// What an engine answered: a value, or what its script threw.
pub(crate) type EngineAnswer = Result<Value, Thrown>;

pub(crate) struct EngineClient {
    pub(crate) id: ExtensionId,
    host: Arc<dyn HostApi>,
    tasks: Handle,
    send: Box<dyn Fn(ToJs) -> bool + Send + Sync>,
    pub(crate) log: LogFile,
    state: Mutex<State>,
    exit: watch::Sender<Option<Exit>>,
    pongs: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    next: u64,
    waiting: HashMap<u64, oneshot::Sender<EngineAnswer>>,
    under_way: HashMap<u64, UnderWay>,
    loaded: Loaded,
}

struct UnderWay {
    cancel: CancellationToken,
    input: Option<mpsc::Sender<Value>>,
    /// Input that its reader has no room for yet; a task of its own brings it, in order.
    late: VecDeque<Value>,
}

impl EngineClient {
    pub(crate) fn new(
        id: ExtensionId,
        host: Arc<dyn HostApi>,
        log: LogFile,
        send: impl Fn(ToJs) -> bool + Send + Sync + 'static,
    ) -> Arc<Self> {
        let state = State { next: 1, ..State::default() };
        Arc::new(Self {
            id,
            host,
            tasks: Handle::current(),
            send: Box::new(send),
            log,
            state: Mutex::new(state),
            exit: watch::Sender::new(None),
            pongs: watch::Sender::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends to the engine; what cannot be sent any more has no reader.
    pub(crate) fn send(&self, message: ToJs) -> bool {
        (self.send)(message)
    }

    /// Where the answer numbered `id` will come.
    pub(crate) fn expect(&self, id: u64) -> oneshot::Receiver<EngineAnswer> {
        let (sender, receiver) = oneshot::channel();
        self.lock().waiting.insert(id, sender);
        if self.exit.borrow().is_some() {
            self.forget(id);
        }
        receiver
    }

    /// A number for a call.
    pub(crate) fn number(&self) -> u64 {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        number
    }

    /// Nobody waits for this answer any more.
    pub(crate) fn forget(&self, id: u64) {
        self.lock().waiting.remove(&id);
    }

    /// Takes a message of the engine. Never blocks.
    pub(crate) fn take(self: &Arc<Self>, message: ToHost) {
        match message {
            ToHost::Reply { id, outcome } => {
                let waiting = self.lock().waiting.remove(&id);
                if let Some(waiting) = waiting {
                    waiting.send(outcome).ok();
                }
            }
            ToHost::HostCall { id, method, params, stream, timeout_ms } => {
                self.host_call(id, &method, params, stream, timeout_ms);
            }
            ToHost::HostInput { id, value } => {
                self.input(id, value);
            }
            ToHost::HostCancel { id } => {
                if let Some(call) = self.lock().under_way.get(&id) {
                    call.cancel.cancel();
                }
            }
            ToHost::Log { level, message } => self.log.said(&level, &message),
            ToHost::Progress { call_id, message } => self.host.tell(Notice::Progress { call_id, message }),
            ToHost::Contribute { contributions } => match serde_json::from_value::<Contributions>(contributions) {
                Ok(contributions) => self.host.contribute(ContributionChange::All(contributions)),
                Err(error) => self.log.said("error", &format!("its registrations cannot be read: {error}")),
            },
            ToHost::Pong => self.pongs.send_modify(|count| *count += 1),
            ToHost::Loaded(loaded) => {
                loaded.notes.iter().for_each(|note| self.log.said("warn", note));
                self.lock().loaded = loaded;
            }
            ToHost::Gone { reason } => self.gone(&reason, false),
        }
    }

    /// Input for a call, in the order in which it came. A reader that does not keep up loses its call, not the host its
    /// memory.
    fn input(self: &Arc<Self>, id: u64, value: Value) {
        let mut state = self.lock();
        let Some(call) = state.under_way.get_mut(&id) else { return };
        let Some(input) = call.input.clone() else { return };
        if !call.late.is_empty() {
            if call.late.len() >= MAX_OVERFLOW {
                call.cancel.cancel();
            } else {
                call.late.push_back(value);
            }
            return;
        }
        let Err(mpsc::error::TrySendError::Full(value)) = input.try_send(value) else { return };
        call.late.push_back(value);
        drop(state);
        let client = Arc::clone(self);
        self.tasks.spawn(async move {
            loop {
                let Ok(room) = input.reserve().await else { return };
                let mut state = client.lock();
                let Some(call) = state.under_way.get_mut(&id) else { return };
                if let Some(value) = call.late.pop_front() {
                    room.send(value);
                }
                if call.late.is_empty() {
                    return;
                }
            }
        });
    }

    fn host_call(self: &Arc<Self>, id: u64, method: &str, params: Value, stream: bool, timeout_ms: Option<u64>) {
        let refuse = |error: CallError| {
            self.send(ToJs::HostDone { id, outcome: Outcome::Error(error) });
        };
        let call = match HostCall::parse(method, params) {
            Ok(call) => call,
            Err(error) => return refuse(error),
        };
        if let HostCall::Log(log) = &call {
            // What it reports also stands where people look first.
            self.log.said(log.level.as_str(), &log.message);
        }
        let cancel = CancellationToken::new();
        let (input, receiver) = mpsc::channel(STREAM_QUEUE);
        let (chunks, mut pieces) = mpsc::channel(STREAM_QUEUE);
        {
            let mut state = self.lock();
            if state.under_way.len() >= MOST_CALLS {
                drop(state);
                let message = format!("more than {MOST_CALLS} host calls at once; wait for some to end");
                return refuse(CallError::new(ErrorCode::InvalidRequest, message));
            }
            let under_way = UnderWay { cancel: cancel.clone(), input: stream.then_some(input), late: VecDeque::new() };
            state.under_way.insert(id, under_way);
        }
        let cx = HostCallCx {
            // Script does not say on whose behalf it asks; with one call under way the host knows.
            within: None,
            claimed: None,
            timeout: timeout_ms.map(Duration::from_millis),
            cancel: Arc::new(cancel),
            chunks: stream.then_some(chunks),
            input: stream.then(|| CallInput::new(receiver)),
        };
        let client = Arc::clone(self);
        let mut work = Box::pin(async move {
            let mut serving = client.host.call(call, cx);
            let outcome = loop {
                tokio::select! {
                    biased;
                    Some(value) = pieces.recv(), if stream => {
                        client.send(ToJs::HostChunk { id, value });
                    }
                    outcome = &mut serving => break outcome,
                }
            };
            while let Ok(value) = pieces.try_recv() {
                client.send(ToJs::HostChunk { id, value });
            }
            client.lock().under_way.remove(&id);
            let outcome = match outcome {
                Ok(value) => Outcome::Value(value),
                Err(error) => Outcome::Error(error),
            };
            client.send(ToJs::HostDone { id, outcome });
        });
        // Begun here and now, so that what a script says takes effect in the order in which it says it.
        let begun = {
            let _within = self.tasks.enter();
            work.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        };
        if begun.is_pending() {
            self.tasks.spawn(work);
        }
    }

    /// The engine is no more: everybody who waits learns so.
    pub(crate) fn gone(&self, reason: &str, wanted: bool) {
        // First the reason: whoever waits looks for it as soon as the wait is over.
        self.exit.send_if_modified(|exit| {
            if exit.is_some() {
                return false;
            }
            *exit = Some(Exit { reason: reason.to_owned(), stderr: self.log.tail(), wanted });
            true
        });
        let (waiting, under_way) = {
            let mut state = self.lock();
            (std::mem::take(&mut state.waiting), std::mem::take(&mut state.under_way))
        };
        for call in under_way.values() {
            call.cancel.cancel();
        }
        drop(waiting);
    }

    /// How its code came into the engine.
    pub(crate) fn loaded(&self) -> Loaded {
        self.lock().loaded.clone()
    }

    /// How the engine went, if it has gone.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit.borrow().clone()
    }

    /// Resolves when it has gone.
    pub(crate) async fn exited(&self) -> Exit {
        let mut exit = self.exit.subscribe();
        match exit.wait_for(Option::is_some).await {
            Ok(exit) => exit.clone().unwrap_or_default(),
            Err(_) => Exit::default(),
        }
    }

    /// Whether script yields within `patience`.
    pub(crate) async fn yields(&self, patience: Duration) -> bool {
        let mut pongs = self.pongs.subscribe();
        pongs.mark_unchanged();
        self.send(ToJs::Ping);
        tokio::time::timeout(patience, pongs.changed()).await.is_ok_and(|changed| changed.is_ok())
    }
}
