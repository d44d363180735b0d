//! What belongs to one instance of a component: for whom it works, what it has used, what it may use.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use jackfield_protocol::{
    CallError, CallId, Correlation, ErrorCode, ExtensionId, HostCall, Level, LogRecord, Source, plain_text,
    redact_text, redact_value,
};
use jackfield_runtime::{BoxFuture, HostApi, HostCallCx, LogFile, Secrets};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;

use crate::engine::{Clock, Standing, TICK};
use crate::fault::Halt;
use crate::wasi::Console;

/// Host calls within one call into a component.
const MAX_HOST_CALLS: u32 = 100_000;
/// The most that is charged between two looks: time in which this thread did not run is nobody's fault.
const MAX_CHARGE_PER_LOOK: Duration = Duration::from_millis(4);
/// How often what is contributed may change within one call: each time costs the host more than the component.
const MAX_CONTRIBUTIONS: u32 = 100;
/// What a message of a component may have of text.
pub(crate) const MAX_MESSAGE: usize = 64 * 1024;

/// What all instances of one extension share.
pub(crate) struct Shared {
    pub(crate) id: ExtensionId,
    pub(crate) host: Arc<dyn HostApi>,
    pub(crate) log: LogFile,
    pub(crate) secrets: Secrets,
    pub(crate) clock: Arc<Clock>,
    pub(crate) budget: Duration,
    pub(crate) memory: Memory,
    pub(crate) project: String,
    pub(crate) data_dir: String,
    pub(crate) on_contribute: Box<dyn Fn(crate::bindings::jackfield::extension::types::Registration) + Send + Sync>,
}

/// What an extension has of memory in all its instances.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) used: AtomicU64,
    pub(crate) limit: u64,
}

impl Shared {
    /// Writes what the extension said, to its file and as a record.
    pub(crate) fn log(&self, call: Option<&CallId>, level: &str, message: &str, data: Map<String, Value>) {
        let message: String = message.chars().take(MAX_MESSAGE).collect();
        self.log.said(level, &message);
        let mut data = Value::Object(data);
        redact_value(&mut data, &self.secrets.now());
        let data = if let Value::Object(data) = data { data } else { Map::new() };
        self.host.log(LogRecord {
            schema: LogRecord::SCHEMA.to_owned(),
            ts: jiff::Timestamp::now().to_string(),
            level: match level {
                "debug" | "trace" => Level::Debug,
                "warn" | "warning" => Level::Warn,
                "error" | "fatal" => Level::Error,
                _ => Level::Info,
            },
            event: "extension.log".to_owned(),
            message: redact_text(&plain_text(&message), &self.secrets.now()),
            correlation: Correlation {
                extension_id: self.id.as_str().to_owned(),
                scenario_id: "runtime".to_owned(),
                tool_call_id: call.map(|call| call.as_str().to_owned()),
                ..Correlation::default()
            },
            source: Some(Source { component: "extension".to_owned(), host: None, pid: None }),
            data,
        });
    }
}

/// What belongs to one instance.
pub(crate) struct State {
    pub(crate) shared: Arc<Shared>,
    pub(crate) streams: ResourceTable,
    pub(crate) console: Console,
    pub(crate) born: Instant,
    /// The call that it serves.
    pub(crate) call: Option<CallId>,
    /// No host call but `log` is served: it describes itself.
    pub(crate) is_pure: bool,
    /// Ends what it has under way with the host.
    pub(crate) cancel: Arc<CancellationToken>,
    host_calls: u32,
    contributed: u32,
    /// What it has computed in this call, as the ticks of the clock tell.
    spent: Duration,
    since: Duration,
    /// How often the clock has ticked while it computed in this call.
    pub(crate) ticks: Arc<AtomicU32>,
    memory: u64,
    /// It was refused memory.
    pub(crate) starved: bool,
}

impl State {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            streams: ResourceTable::new(),
            console: Console::default(),
            born: Instant::now(),
            call: None,
            is_pure: true,
            cancel: Arc::default(),
            host_calls: 0,
            contributed: 0,
            spent: Duration::ZERO,
            since: Duration::ZERO,
            ticks: Arc::default(),
            memory: 0,
            starved: false,
        }
    }

    /// A call begins, now: it has its whole budget.
    pub(crate) fn begin(&mut self, call: Option<CallId>) -> Instant {
        self.call = call;
        self.host_calls = 0;
        self.contributed = 0;
        self.spent = Duration::ZERO;
        let now = self.shared.clock.look();
        self.since = self.shared.clock.shows();
        self.ticks.store(0, Ordering::Relaxed);
        now
    }

    /// The clock has ticked while it computed.
    pub(crate) fn tick(&mut self) -> Result<(), Halt> {
        let now = self.shared.clock.shows();
        self.spent += now.saturating_sub(self.since).min(MAX_CHARGE_PER_LOOK.max(2 * TICK));
        self.since = now;
        self.ticks.fetch_add(1, Ordering::Relaxed);
        if self.spent > self.shared.budget { Err(Halt::Budget(self.shared.budget)) } else { Ok(()) }
    }

    /// Makes a host call. The component is suspended meanwhile, and its clock stands still. The call is handed over at
    /// once, so that whoever waits for it does not carry it.
    pub(crate) fn host_call(&mut self, call: HostCall) -> HostCalling<'_> {
        match self.count() {
            Ok(None) => {}
            Ok(Some(refused)) => return HostCalling(Err(Some(Ok(Err(refused))))),
            Err(halt) => return HostCalling(Err(Some(Err(halt.into())))),
        }
        self.charge();
        let Self { shared, since, call: within, cancel, .. } = self;
        let (within, cancel) = (within.clone(), Arc::clone(cancel));
        let cx = HostCallCx { within, cancel, claimed: None, timeout: None, chunks: None, input: None };
        HostCalling(Ok(Serving { serving: shared.host.call(call, cx), clock: &shared.clock, standing: None, since }))
    }

    /// One more host call; an error where it is not to be made.
    pub(crate) fn count(&mut self) -> Result<Option<CallError>, Halt> {
        self.host_calls += 1;
        if self.host_calls > MAX_HOST_CALLS {
            return Err(Halt::HostCalls(MAX_HOST_CALLS));
        }
        let message = "no host call but log.write is served in `describe`";
        Ok(self.is_pure.then(|| CallError::new(ErrorCode::Denied, message)))
    }

    /// It says once more what it contributes.
    pub(crate) fn contribute(&mut self) -> Result<(), Halt> {
        self.contributed += 1;
        let refused = if self.is_pure {
            "`describe` answers with what is contributed; it may not contribute".to_owned()
        } else if self.contributed > MAX_CONTRIBUTIONS {
            format!("it changed what it contributes more than {MAX_CONTRIBUTIONS} times in one call")
        } else {
            return Ok(());
        };
        Err(Halt::Refused(refused))
    }

    /// What it has computed up to now is its own.
    fn charge(&mut self) {
        self.spent += self.shared.clock.shows().saturating_sub(self.since).min(MAX_CHARGE_PER_LOOK);
    }

    /// Does something for the component, at once and without charging it.
    pub(crate) fn untimed(&mut self, work: impl FnOnce()) {
        self.charge();
        work();
        self.since = self.shared.clock.shows();
    }

    /// Waits with the component's clock standing still.
    pub(crate) async fn suspended<T>(&mut self, wait: impl Future<Output = T>) -> T {
        self.charge();
        let outcome = {
            let _standing = self.shared.clock.standing();
            wait.await
        };
        self.shared.clock.look();
        self.since = self.shared.clock.shows();
        outcome
    }
}

/// What a host call comes to: a trap, or an answer, which may be a refusal.
type Served = wasmtime::Result<Result<Value, CallError>>;

/// A host call under way, or why there is none. A type of its own and no `async` block: those are copied when they are
/// waited for.
pub(crate) struct HostCalling<'a>(Result<Serving<'a>, Option<Served>>);

struct Serving<'a> {
    serving: BoxFuture<'a, Result<Value, CallError>>,
    clock: &'a Clock,
    /// Only while the host does not answer at once.
    standing: Option<Standing<'a>>,
    since: &'a mut Duration,
}

impl Future for HostCalling<'_> {
    type Output = Served;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let serving = match &mut self.0 {
            Ok(serving) => serving,
            Err(answer) => return answer.take().map_or(Poll::Pending, Poll::Ready),
        };
        let Poll::Ready(outcome) = serving.serving.as_mut().poll(cx) else {
            serving.standing.get_or_insert_with(|| serving.clock.standing());
            return Poll::Pending;
        };
        if serving.standing.take().is_some() {
            // The clock may have slept.
            serving.clock.look();
        }
        *serving.since = serving.clock.shows();
        Poll::Ready(Ok(outcome))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.cancel.cancel();
        self.shared.memory.used.fetch_sub(self.memory, Ordering::AcqRel);
    }
}

impl State {
    /// Takes memory out of what the extension may have, all its memories and tables together.
    fn take(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let memory = &self.shared.memory;
        let taken = memory
            .used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
                used.checked_add(bytes).filter(|used| *used <= memory.limit)
            })
            .is_ok();
        if taken {
            self.memory += bytes;
        } else {
            self.starved = true;
        }
        taken
    }
}

impl ResourceLimiter for State {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.take(desired.saturating_sub(current)))
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.take(desired.saturating_sub(current).saturating_mul(size_of::<usize>())))
    }
}
