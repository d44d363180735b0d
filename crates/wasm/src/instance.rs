//! The runtime's contract: from a component in a file to an extension that answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jackfield_protocol::{
    Asked, CallError, CallId, CommandAction, CommandReply, ContributionChange, Contributions, ErrorCode, Event,
    HookCall, HookVerdict, Launch, Manifest, RuntimeKind, ToolResult,
};
use jackfield_runtime::{
    BoxFuture, CallCx, Confinement, Exit, ExtensionCall, HostApi, Instance, Limits, LogFile, Reply, Runtime,
    StartError, StartSpec, Started, Traits,
};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::bindings::jackfield::extension::types::{self, Verdict};
use crate::code::Codes;
use crate::engine::Machine;
use crate::guest::{Done, Job, Program};
use crate::imports::written;
use crate::pool::Pool;
use crate::registration::{self, Registered};
use crate::state::{Memory, Shared};
use crate::{WasmOptions, imports, read_component, scan};

/// Events that wait for their turn.
const EVENT_QUEUE: usize = 256;
/// How long an event may take.
const EVENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs WASM components.
pub struct WasmRuntime {
    options: WasmOptions,
    // Made at the first start: whoever only lists pays nothing for them.
    machine: OnceLock<Result<Arc<Machine>, String>>,
    codes: OnceLock<Arc<Codes>>,
}

impl WasmRuntime {
    /// A runtime with these options.
    pub fn new(options: WasmOptions) -> Self {
        Self { options, machine: OnceLock::new(), codes: OnceLock::new() }
    }

    fn machine(&self) -> Result<Arc<Machine>, String> {
        self.machine.get_or_init(|| Machine::new().map(Arc::new)).clone()
    }

    async fn begin(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> Result<Started, StartError> {
        let prepared = self.prepare(&spec, host).await?;
        let contributions = prepared.described(&spec, true).await?;
        Ok(Started { instance: Arc::new(WasmInstance::new(prepared)), contributions })
    }

    /// Reads, looks at, compiles and links a component. None of it runs.
    pub(crate) async fn prepare(&self, spec: &StartSpec, host: Arc<dyn HostApi>) -> Result<Prepared, StartError> {
        let id = spec.manifest.id.clone();
        let Launch::Wasm { component } = &spec.manifest.launch else {
            return Err(StartError::Unsupported(format!("extension {id} is not a WASM component")));
        };
        let path = spec.dir.join(component);
        let refuse = |why: String| StartError::NotRunnable(format!("extension {id}: {}: {why}", path.display()));
        let machine = self.machine().map_err(refuse)?;
        let place = path.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let bytes = read_component(&place)?;
            let facts = scan(&bytes)?;
            Ok::<_, String>((bytes, facts))
        });
        let (bytes, facts) = looked.await.map_err(|error| refuse(error.to_string()))?.map_err(refuse)?;
        let codes = self.codes.get_or_init(|| Arc::new(Codes::new(&self.options)));
        let loaded = codes.load(&machine.engine, bytes).await.map_err(refuse)?;
        let program = Program::link(&machine, &loaded.component).map_err(refuse)?;
        let registered = Arc::new(RwLock::new(Registered::default()));
        let shared = Arc::new(self.shared(spec, &machine, &host, &registered));
        let context = json!({
            "extension": id.as_str(),
            "project": spec.project,
            "data_dir": spec.data_dir,
            "provider": spec.provider,
            "model": spec.model,
            "host": concat!("jackfield ", env!("CARGO_PKG_VERSION")),
        });
        let pool = Arc::new(Pool::new(program, shared, context.to_string(), self.options.overlap));
        Ok(Prepared { pool, registered, machine, compiled: loaded.compiled, world: facts.world })
    }

    fn shared(
        &self,
        spec: &StartSpec,
        machine: &Machine,
        host: &Arc<dyn HostApi>,
        registered: &Arc<RwLock<Registered>>,
    ) -> Shared {
        let (ours, theirs) = (Arc::clone(registered), Arc::clone(host));
        let limit = spec.max_memory_mb.unwrap_or(self.options.memory_mb).saturating_mul(1024 * 1024);
        Shared {
            id: spec.manifest.id.clone(),
            host: Arc::clone(host),
            log: LogFile::at(&spec.log_file, spec.secrets.clone()),
            secrets: spec.secrets.clone(),
            clock: Arc::clone(&machine.clock),
            budget: spec.cpu_slice.unwrap_or(self.options.budget),
            memory: Memory { used: AtomicU64::new(0), limit },
            project: spec.project.to_string_lossy().into_owned(),
            data_dir: spec.data_dir.to_string_lossy().into_owned(),
            on_contribute: Box::new(move |said| {
                let read = registration::read(said);
                let contributions = read.contributions.clone();
                set(&ours, read);
                theirs.contribute(ContributionChange::All(contributions));
            }),
        }
    }
}

/// A component that is ready to run.
pub(crate) struct Prepared {
    pool: Arc<Pool>,
    registered: Arc<RwLock<Registered>>,
    machine: Arc<Machine>,
    compiled: bool,
    world: String,
}

impl Prepared {
    /// What it says that it contributes. With `init`, the instance that said so is initialised and kept for the first call.
    pub(crate) async fn described(&self, spec: &StartSpec, init: bool) -> Result<Contributions, StartError> {
        let cx = CallCx::within(spec.start_timeout);
        let done = self.pool.first(Job::Describe, cx, init).await;
        let done = done.map_err(|error| {
            let stderr = self.pool.shared.log.tail();
            match error.code {
                ErrorCode::Timeout if !error.message.contains("broke off") => StartError::HandshakeTimeout {
                    awaited: "end of `describe`".to_owned(),
                    after: spec.start_timeout,
                    stderr,
                },
                _ => StartError::BadHandshake { reason: error.message, stderr },
            }
        })?;
        let Done::Described(said) = done else { return Ok(Contributions::default()) };
        let read = registration::read(*said);
        let contributions = read.contributions.clone();
        set(&self.registered, read);
        Ok(contributions)
    }
}

fn set(registered: &RwLock<Registered>, read: Registered) {
    *registered.write().unwrap_or_else(PoisonError::into_inner) = read;
}

impl Runtime for WasmRuntime {
    fn kind(&self) -> RuntimeKind {
        RuntimeKind::Wasm
    }

    fn traits(&self, _manifest: &Manifest) -> Traits {
        Traits { confinement: Confinement::Sandboxed, limits: Limits::Components, ..Traits::default() }
    }

    fn start(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> BoxFuture<'_, Result<Started, StartError>> {
        let span = tracing::debug_span!("start", runtime = "wasm", extension = %spec.manifest.id);
        Box::pin(self.begin(spec, host).instrument(span))
    }
}

struct WasmInstance {
    pool: Arc<Pool>,
    registered: Arc<RwLock<Registered>>,
    events: mpsc::Sender<(String, String)>,
    overflowed: AtomicBool,
    exit: watch::Sender<Option<Exit>>,
    stopping: AtomicBool,
    compiled: bool,
    world: String,
    // Its clock runs as long as somebody needs it.
    _machine: Arc<Machine>,
}

impl WasmInstance {
    fn new(prepared: Prepared) -> Self {
        let Prepared { pool, registered, machine, compiled, world } = prepared;
        let (events, queue) = mpsc::channel(EVENT_QUEUE);
        if pool.program.has_handlers() {
            tokio::spawn(tell(Arc::clone(&pool), queue));
        }
        Self {
            pool,
            registered,
            events,
            overflowed: AtomicBool::new(false),
            exit: watch::Sender::new(None),
            stopping: AtomicBool::new(false),
            compiled,
            world,
            _machine: machine,
        }
    }

    fn protocol(&self, why: &str) -> CallError {
        let id = &self.pool.shared.id;
        CallError::new(ErrorCode::Protocol, format!("extension {id}: {why}")).of(id)
    }

    fn asks(&self, point: &str, tool: Option<&str>) -> bool {
        self.registered.read().unwrap_or_else(PoisonError::into_inner).asks(point, tool)
    }

    fn wants(&self, event: &str) -> bool {
        self.registered.read().unwrap_or_else(PoisonError::into_inner).wants(event)
    }

    async fn ask(&self, call: ExtensionCall, cx: CallCx) -> Result<Reply, CallError> {
        match call {
            ExtensionCall::Tool { call_id, name, args, meta, .. } => {
                let meta = if meta.is_empty() { String::new() } else { written(&*meta) };
                self.tool(call_id, Job::Tool { name, args: written(&*args), meta }, cx).await
            }
            ExtensionCall::Command { call_id, name, args } => self.command(call_id, name, args, cx).await,
            ExtensionCall::Hook { call_id, hook } => self.hook(call_id, &hook, cx).await,
            ExtensionCall::Ask { call_id, event, asked } => self.question(call_id, event, asked, cx).await,
            ExtensionCall::Shortcut { call_id, key } => {
                let job = Job::Event { event: "shortcut".to_owned(), data: json!({ "key": key }).to_string() };
                self.pool.run(Some(call_id), job, cx).await?;
                Ok(Reply::Done)
            }
            ExtensionCall::PanelKey { panel_id, key, text } => {
                self.queue("panel_key", json!({ "panel_id": panel_id, "key": key, "text": text }).to_string());
                Ok(Reply::Done)
            }
            _ => Err(CallError::new(ErrorCode::Unsupported, "WASM components have no word for this call")
                .of(&self.pool.shared.id)),
        }
    }

    async fn tool(&self, call: CallId, job: Job, cx: CallCx) -> Result<Reply, CallError> {
        match self.pool.run(Some(call), job, cx).await? {
            Done::Tool(Ok(result)) => imports::from_guest(result).map(Reply::Tool).map_err(|why| self.protocol(&why)),
            Done::Tool(Err(error)) => Ok(Reply::Tool(failed(error))),
            _ => Err(self.protocol("it answered something else than it was asked")),
        }
    }

    async fn command(&self, call: CallId, name: String, args: String, cx: CallCx) -> Result<Reply, CallError> {
        let done = |action| CommandReply { action, error: None };
        let Done::Command(reply) = self.pool.run(Some(call), Job::Command { name, args }, cx).await? else {
            let error = Some("it has no slash commands".to_owned());
            return Ok(Reply::Command(CommandReply { action: CommandAction::Noop, error }));
        };
        let reply = match reply {
            Ok(types::CommandReply::Nothing) => done(CommandAction::Noop),
            Ok(types::CommandReply::Display(display)) => done(CommandAction::Display { display }),
            Ok(types::CommandReply::Prompt(prompt)) => done(CommandAction::Prompt { prompt }),
            Ok(types::CommandReply::Insert(insert)) => done(CommandAction::Insert { insert }),
            Ok(types::CommandReply::Other(text)) => serde_json::from_str(&text)
                .map_err(|error| self.protocol(&format!("its answer to a slash command cannot be read: {error}")))?,
            Err(error) => CommandReply { action: CommandAction::Noop, error: Some(error.message) },
        };
        Ok(Reply::Command(reply))
    }

    /// Asks at a moment, or says nothing where it does not want to be asked.
    async fn verdict(
        &self,
        call: CallId,
        point: &str,
        tool: Option<&str>,
        payload: &Value,
        cx: CallCx,
    ) -> Result<Verdict, CallError> {
        if !self.pool.program.has_handlers() || !self.asks(point, tool) {
            return Ok(Verdict::Pass);
        }
        let job = Job::Hook { point: point.to_owned(), payload: written(payload) };
        match self.pool.run(Some(call), job, cx).await? {
            Done::Verdict(verdict) => Ok(verdict),
            _ => Ok(Verdict::Pass),
        }
    }

    fn json(&self, text: &str) -> Result<Value, CallError> {
        serde_json::from_str(text)
            .map_err(|error| self.protocol(&format!("what it answered a hook is not JSON: {error}")))
    }

    async fn hook(&self, call: CallId, hook: &HookCall, cx: CallCx) -> Result<Reply, CallError> {
        let tool = match hook {
            HookCall::BeforeToolCall { tool, .. } | HookCall::AfterToolCall { tool, .. } => Some(tool.as_str()),
            _ => None,
        };
        let payload = serde_json::to_value(hook).map_err(|error| self.protocol(&error.to_string()))?;
        Ok(Reply::Hook(match self.verdict(call, hook.point().as_str(), tool, &payload, cx).await? {
            Verdict::Pass => HookVerdict::Continue,
            Verdict::Replace(value) => HookVerdict::Replace { value: self.json(&value)? },
            Verdict::Block(reason) => HookVerdict::Block { reason },
            Verdict::Answer(_) => return Err(self.protocol("it answered a hook that is no question")),
        }))
    }

    async fn question(&self, call: CallId, event: String, asked: Asked, cx: CallCx) -> Result<Reply, CallError> {
        let mut asked = asked;
        if !self.asks(&event, None) {
            if self.wants(&event) {
                self.queue(&event, Value::Object(asked.data.clone()).to_string());
            }
            return Ok(Reply::Asked(asked));
        }
        let payload = json!({ "data": asked.data, "result": asked.result });
        match self.verdict(call, &event, None, &payload, cx).await? {
            Verdict::Pass => {}
            Verdict::Replace(value) => match self.json(&value)? {
                Value::Object(data) => asked.data = data,
                _ => return Err(self.protocol("it replaced the fields of an event by something that is no object")),
            },
            Verdict::Block(reason) => {
                asked.result = json!({ "block": true, "reason": reason });
                asked.stop = true;
            }
            Verdict::Answer(value) => {
                asked.result = self.json(&value)?;
                asked.stop = true;
            }
        }
        Ok(Reply::Asked(asked))
    }

    fn queue(&self, event: &str, data: String) {
        let full = self.events.try_send((event.to_owned(), data)).is_err();
        if full && self.pool.program.has_handlers() && !self.overflowed.swap(true, Ordering::Relaxed) {
            let message = format!("it does not keep up: events beyond {EVENT_QUEUE} that wait are dropped");
            self.pool.shared.log(None, "warn", &message, Map::new());
        }
    }

    fn gone(&self, reason: &str, wanted: bool) {
        self.pool.close();
        let stderr = self.pool.shared.log.tail();
        self.exit.send_if_modified(|exit| {
            let is_news = exit.is_none();
            if is_news {
                *exit = Some(Exit { reason: reason.to_owned(), stderr, wanted });
            }
            is_news
        });
    }
}

/// Tells events one after the other.
async fn tell(pool: Arc<Pool>, mut queue: mpsc::Receiver<(String, String)>) {
    while let Some((event, data)) = queue.recv().await {
        let cx = CallCx { deadline: Instant::now() + EVENT_TIMEOUT, cancel: CancellationToken::new() };
        // What goes wrong stands in its log; nobody waits for an event.
        pool.run(None, Job::Event { event, data }, cx).await.ok();
        if pool.gone.is_cancelled() {
            return;
        }
    }
}

/// A tool's own failure is an answer.
fn failed(error: types::Error) -> ToolResult {
    let mut details = Map::from_iter([("code".to_owned(), Value::String(error.code))]);
    if let Some(said) = error.details {
        details.insert("details".to_owned(), serde_json::from_str(&said).unwrap_or(Value::String(said)));
    }
    ToolResult { details: Some(Value::Object(details)), ..ToolResult::error(error.message) }
}

impl Instance for WasmInstance {
    fn call(&self, call: ExtensionCall, cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        Box::pin(self.ask(call, cx))
    }

    fn notify(&self, event: &Event) {
        if self.wants(&event.event) {
            let mut data = event.data.clone();
            data.insert("sequence".to_owned(), json!(event.sequence));
            self.queue(&event.event, Value::Object(data).to_string());
        }
    }

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            if !self.stopping.swap(true, Ordering::AcqRel) && self.exit.borrow().is_none() {
                if self.pool.program.has_handlers() {
                    self.pool.run(None, Job::Shutdown, CallCx::within(grace)).await.ok();
                }
                self.gone("stopped by the host", true);
            }
            self.exited().await
        })
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            let mut exit = self.exit.subscribe();
            match exit.wait_for(Option::is_some).await {
                Ok(exit) => exit.clone().unwrap_or_default(),
                Err(_) => Exit::default(),
            }
        })
    }

    fn code(&self) -> Option<Value> {
        let compiled = u8::from(self.compiled);
        Some(json!({ "cached": 1 - compiled, "compiled": compiled, "world": self.world }))
    }
}

impl Drop for WasmInstance {
    fn drop(&mut self) {
        self.gone("its owner let it go", false);
    }
}
