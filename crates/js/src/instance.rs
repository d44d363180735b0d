//! The runtime's contract: starts an engine on a thread or in a process, and makes calls of the host into messages.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jackfield_protocol::{CallError, Contributions, ErrorCode, Event, Isolation, Launch, Manifest, RuntimeKind};
use jackfield_runtime::{
    BoxFuture, CallCx, Confinement, Exit, ExtensionCall, HostApi, Instance, Limits, LogFile, Reply, Runtime,
    StartError, StartSpec, Started, Traits, real_path,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tracing::Instrument as _;

use crate::engine_client::{EngineAnswer, EngineClient};
use crate::guard::Guard;
use crate::isolate::Setup;
use crate::messages::{ToJs, in_words, message_of, reply_of};
use crate::resolve::root_of;
use crate::server::{ServerConfig, Servers};
use crate::{CodeCache, Library, artifact, process, thread};

/// The library module that speaks pi's extension API.
const PI_RUNTIME: &str = "jackfield:pi/runtime";
/// How long the script may take to end, and then the engine.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// How engines are run.
#[derive(Debug, Clone)]
pub struct JsOptions {
    /// Where compiled code is kept; nowhere means that every start compiles.
    pub cache: Option<PathBuf>,
    /// What the extension gets as its modules.
    pub library: Library,
    /// Where an extension runs that says nothing itself.
    pub isolation: Isolation,
    /// The program and its first arguments that run [`crate::child`]; without it every engine is a thread.
    pub child: Option<Vec<String>>,
    /// How long script may run without a pause.
    pub slice: Duration,
    /// Megabytes of memory for an engine that says nothing itself.
    pub memory_mb: u64,
}

impl Default for JsOptions {
    fn default() -> Self {
        Self {
            cache: None,
            library: Library::Embedded,
            isolation: Isolation::Thread,
            child: None,
            slice: Duration::from_secs(10),
            memory_mb: 256,
        }
    }
}

/// Runs pi's extensions.
pub struct JsRuntime {
    options: JsOptions,
    cache: Arc<CodeCache>,
    servers: Option<Servers>,
}

impl JsRuntime {
    /// A runtime with these options.
    pub fn new(options: JsOptions) -> Self {
        let cache = options.cache.as_deref().map(CodeCache::at).unwrap_or_default();
        let config = ServerConfig { library: options.library.clone(), cache: options.cache.clone() };
        let servers = options.child.clone().map(|command| Servers::new(command, config));
        Self { options, cache: Arc::new(cache), servers }
    }

    /// Runs one file to the end of its top level, without any extension's API: for tests of the library.
    ///
    /// # Errors
    /// What the file threw, with its stack.
    pub async fn run_file(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> Result<(), String> {
        let Launch::Js { entry } = &spec.manifest.launch else { return Err("not JavaScript".to_owned()) };
        let entry = entry_of(&spec, entry).map_err(|error| error.to_string())?;
        let mut setup = self.setup(&spec, entry);
        setup.runtime = None;
        let log = LogFile::at(&spec.log_file, spec.secrets.clone());
        let (cache, slice) = (Arc::clone(&self.cache), self.slice(&spec));
        let engine = thread::start(&setup, self.options.library.clone(), cache, slice, &spec, host, log)
            .map_err(|error| error.to_string())?;
        let answer = engine.started.await;
        engine.client.send(ToJs::Stop { reason: "done".to_owned() });
        match answer {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(thrown)) => Err(format!("{}: {}\n{}", thrown.name, thrown.message, thrown.stack)),
            Err(_) => Err(engine.client.exit().unwrap_or_default().reason),
        }
    }

    fn slice(&self, spec: &StartSpec) -> Duration {
        spec.cpu_slice.unwrap_or(self.options.slice)
    }

    fn setup(&self, spec: &StartSpec, entry: PathBuf) -> Setup {
        let memory_mb = spec.max_memory_mb.unwrap_or(self.options.memory_mb);
        let (artifacts, manifest) = self.artifacts(spec, &entry);
        Setup {
            info: info(spec, &entry),
            root: root(spec, &entry),
            entry,
            artifacts,
            manifest,
            runtime: Some(PI_RUNTIME.to_owned()),
            memory: usize::try_from(memory_mb.saturating_mul(1024 * 1024)).unwrap_or(usize::MAX),
            test_clock: false,
        }
    }

    /// Artifacts of this entry, and what they have to say about its manifest: beside it, and among those that
    /// `jackfield build` keeps.
    fn artifacts(&self, spec: &StartSpec, entry: &Path) -> (Vec<PathBuf>, String) {
        let kept = self.options.cache.as_deref().map(|cache| artifact::place(cache, entry));
        let folders = kept.into_iter().chain([spec.dir.clone()]);
        let there: Vec<PathBuf> =
            folders.map(|folder| folder.join(artifact::FILE)).filter(|file| file.exists()).collect();
        let manifest = if there.is_empty() { String::new() } else { artifact::digest_of(&spec.manifest) };
        (there, manifest)
    }

    async fn begin(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> Result<Started, StartError> {
        let Launch::Js { entry } = &spec.manifest.launch else {
            return Err(StartError::Unsupported(format!("extension {} is not JavaScript", spec.manifest.id)));
        };
        let entry = entry_of(&spec, entry)?;
        let setup = self.setup(&spec, entry);
        let log = LogFile::at(&spec.log_file, spec.secrets.clone());
        let isolation = spec.manifest.isolation.unwrap_or(self.options.isolation);
        let slice = self.slice(&spec);
        let engine = match (&self.servers, isolation) {
            (Some(servers), Isolation::Process) => process::start(servers, &setup, slice, &spec, host, log).await?,
            _ => {
                let (library, cache) = (self.options.library.clone(), Arc::clone(&self.cache));
                thread::start(&setup, library, cache, slice, &spec, host, log)?
            }
        };
        let instance = JsInstance {
            client: Arc::clone(&engine.client),
            killer: engine.killer,
            pid: engine.pid,
            patience: self.slice(&spec) + SHUTDOWN_GRACE,
            events: std::sync::OnceLock::new(),
            stopping: AtomicBool::new(false),
        };
        let registered = self.loaded(&instance, engine.started, spec.start_timeout).await?;
        let stderr = || instance.client.log.tail();
        let mut contributions: Contributions = serde_json::from_value(registered).map_err(|error| {
            StartError::BadHandshake { reason: format!("what it registers cannot be read: {error}"), stderr: stderr() }
        })?;
        let loaded = instance.client.loaded();
        contributions.warnings.extend(loaded.notes);
        // A handler that is asked as a hook is not told of the same thing again.
        let asked =
            |event: &&String| !matches!(event.as_str(), "tool_call" | "tool_result" | "input" | "before_agent_start");
        let mut events: Vec<String> = contributions.events.iter().filter(asked).cloned().collect();
        events.extend(contributions.bus.iter().map(|channel| format!("bus:{channel}")));
        // What only handlers of removed events need; those names are never told.
        if let Some(Value::Array(implied)) = contributions.extra.remove("impliedEvents") {
            events.extend(implied.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        instance.events.set(events).ok();
        Ok(Started { instance: Arc::new(instance), contributions })
    }

    /// What the extension registers, once its factory has ended.
    async fn loaded(
        &self,
        instance: &JsInstance,
        started: oneshot::Receiver<EngineAnswer>,
        timeout: Duration,
    ) -> Result<Value, StartError> {
        let answer = tokio::select! {
            biased;
            answer = started => answer,
            why = instance.stuck() => {
                instance.kill(&why);
                instance.client.gone(&why, false);
                let exit = instance.client.exit().unwrap_or_default();
                let stderr = instance.client.log.tail();
                return Err(StartError::EarlyExit { awaited: "end of its factory".to_owned(), exit, stderr });
            }
            () = tokio::time::sleep(timeout) => {
                instance.kill("it did not start in time");
                let (awaited, after) = ("end of its factory".to_owned(), timeout);
                return Err(StartError::HandshakeTimeout { awaited, after, stderr: instance.client.log.tail() });
            }
        };
        let stderr = || instance.client.log.tail();
        match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(thrown)) => {
                instance.kill("its factory failed");
                Err(StartError::BadHandshake { reason: in_words(&thrown), stderr: stderr() })
            }
            Err(_) => {
                let exit = instance.client.exit().unwrap_or_default();
                Err(StartError::EarlyExit { awaited: "end of its factory".to_owned(), exit, stderr: stderr() })
            }
        }
    }
}

impl Runtime for JsRuntime {
    fn kind(&self) -> RuntimeKind {
        RuntimeKind::Js
    }

    fn traits(&self, _manifest: &Manifest) -> Traits {
        Traits {
            confinement: Confinement::Sandboxed,
            limits: Limits::Scripts,
            validates_arguments: true,
            asks_person: true,
            wants_raw_results: true,
            ..Traits::default()
        }
    }

    fn start(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> BoxFuture<'_, Result<Started, StartError>> {
        let span = tracing::debug_span!("start", runtime = "js", extension = %spec.manifest.id);
        Box::pin(self.begin(spec, host).instrument(span))
    }
}

/// An engine that was set going.
pub(crate) struct Engine {
    pub(crate) client: Arc<EngineClient>,
    pub(crate) killer: Killer,
    pub(crate) pid: Option<u32>,
    pub(crate) started: tokio::sync::oneshot::Receiver<EngineAnswer>,
}

/// Ends an engine whatever it does, as far as that is possible.
pub(crate) enum Killer {
    /// Script ends at its next step; a builtin that takes no steps is left behind on its thread.
    Thread(Arc<Guard>),
    /// The process goes at once.
    Process(process::Kill),
}

struct JsInstance {
    client: Arc<EngineClient>,
    killer: Killer,
    pid: Option<u32>,
    patience: Duration,
    events: std::sync::OnceLock<Vec<String>>,
    stopping: AtomicBool,
}

impl JsInstance {
    fn kill(&self, why: &str) {
        match &self.killer {
            Killer::Thread(guard) => guard.stop(why),
            Killer::Process(kill) => kill.now(),
        }
        self.client.send(ToJs::Stop { reason: why.to_owned() });
    }

    fn unavailable(&self) -> CallError {
        let why = self.client.exit().map_or_else(|| "it is being stopped".to_owned(), |exit| exit.reason);
        let message = format!("extension {} has gone: {why}", self.client.id);
        CallError::new(ErrorCode::Unavailable, message).of(&self.client.id)
    }

    async fn ask(&self, call: ExtensionCall, cx: CallCx) -> Result<Reply, CallError> {
        if self.client.exit().is_some() {
            return Err(self.unavailable());
        }
        let id = self.client.number();
        let (message, wanted, call_id) = message_of(id, call);
        let answer = self.client.expect(id);
        if !self.client.send(message) {
            self.client.forget(id);
            return Err(self.unavailable());
        }
        let given_up = tokio::select! {
            biased;
            answer = answer => {
                return match answer {
                    Ok(Ok(value)) => reply_of(wanted, value).map_err(|why| self.protocol(&why)),
                    Ok(Err(thrown)) => Err(self.protocol(&in_words(&thrown))),
                    Err(_) => Err(self.unavailable()),
                };
            }
            why = self.stuck() => {
                self.kill(&why);
                self.client.gone(&why, false);
                return Err(self.unavailable());
            }
            () = cx.cancel.cancelled() => CallError::new(ErrorCode::Cancelled, "the caller gave up"),
            () = tokio::time::sleep_until(cx.deadline.into()) => {
                CallError::new(ErrorCode::Timeout, format!("extension {} did not answer in time", self.client.id))
            }
        };
        self.client.forget(id);
        if let Some(call_id) = call_id {
            self.client.send(ToJs::Cancel { call_id: call_id.to_string() });
        }
        self.watch_for_hang();
        Err(given_up.of(&self.client.id))
    }

    /// Resolves when script on a thread is where it cannot be interrupted. A process of its own sees to that itself.
    async fn stuck(&self) -> String {
        let Killer::Thread(guard) = &self.killer else { return std::future::pending().await };
        while !guard.is_stuck() {
            tokio::time::sleep(guard.look_every()).await;
        }
        guard.stuck()
    }

    /// Script that does not even yield in the time it may run is stuck where it cannot be interrupted.
    fn watch_for_hang(&self) {
        let (client, patience) = (Arc::clone(&self.client), self.patience);
        let kill = match &self.killer {
            Killer::Process(kill) => Some(kill.clone()),
            Killer::Thread(_) => None,
        };
        tokio::spawn(async move {
            if client.exit().is_none() && !client.yields(patience).await {
                if let Some(kill) = kill {
                    kill.now();
                }
                client.gone("killed: it hung in a builtin that cannot be interrupted", false);
            }
        });
    }

    fn protocol(&self, why: &str) -> CallError {
        CallError::new(ErrorCode::Protocol, format!("extension {}: {why}", self.client.id)).of(&self.client.id)
    }
}

impl Instance for JsInstance {
    fn call(&self, call: ExtensionCall, cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        Box::pin(self.ask(call, cx))
    }

    fn notify(&self, event: &Event) {
        let wanted = self.events.get().is_some_and(|events| events.contains(&event.event));
        if wanted && let Ok(message) = serde_json::to_value(event) {
            self.client.send(ToJs::Notify { message });
        }
    }

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            if !self.stopping.swap(true, Ordering::AcqRel) && self.client.exit().is_none() {
                let id = self.client.number();
                let goodbye = self.client.expect(id);
                self.client.send(ToJs::Shutdown { id, reason: "quit".to_owned() });
                tokio::time::timeout(grace, goodbye).await.ok();
                self.client.send(ToJs::Stop { reason: "stopped by the host".to_owned() });
                if tokio::time::timeout(Duration::from_millis(200), self.client.exited()).await.is_err() {
                    self.kill("stopped by the host");
                    if tokio::time::timeout(SHUTDOWN_GRACE, self.client.exited()).await.is_err() {
                        self.client.gone("left behind: it hung in a builtin that cannot be interrupted", true);
                    }
                }
            }
            let mut exit = self.client.exited().await;
            exit.wanted = true;
            exit
        })
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(self.client.exited())
    }

    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn code(&self) -> Option<Value> {
        let loaded = self.client.loaded();
        Some(json!({ "cached": loaded.cached, "compiled": loaded.compiled }))
    }
}

impl Drop for JsInstance {
    fn drop(&mut self) {
        self.kill("its owner let it go");
    }
}

fn entry_of(spec: &StartSpec, entry: &str) -> Result<PathBuf, StartError> {
    let path = spec.dir.join(entry);
    real_path(&path).map_err(|error| {
        StartError::NotRunnable(format!("extension {}: {} cannot be read: {error}", spec.manifest.id, path.display()))
    })
}

/// The real path of the user's home, which is the same for all extensions.
fn real_home(home: &str) -> PathBuf {
    static LAST: Mutex<Option<(String, PathBuf)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, real)) = last.as_ref().filter(|(known, _)| known == home) {
        return real.clone();
    }
    let real = real_path(Path::new(home)).unwrap_or_else(|_| home.into());
    *last = Some((home.to_owned(), real.clone()));
    real
}

fn root(spec: &StartSpec, entry: &Path) -> PathBuf {
    // What a real path begins with is a real path.
    let real = || real_path(&spec.dir).unwrap_or_else(|_| spec.dir.clone());
    let dir = if entry.starts_with(&spec.dir) { spec.dir.clone() } else { real() };
    let home = spec.env.iter().find(|(name, _)| name == "HOME").map_or("/", |(_, home)| home.as_str());
    root_of(entry, &dir, &real_home(home))
}

fn info(spec: &StartSpec, entry: &Path) -> Value {
    let mut env: serde_json::Map<String, Value> =
        spec.env.iter().map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect();
    // What the host tells the runtime by way of the environment is not the extension's.
    let tmpdir = env.remove("JACKFIELD_TEMP_DIR").unwrap_or_else(|| json!(std::env::temp_dir()));
    let has_ui = env.remove("JACKFIELD_UI").is_some_and(|there| there == "1");
    let variable = |name: &str| env.get(name).cloned().unwrap_or_default();
    let (agent_dir, env_tmpdir) = (variable("PI_CODING_AGENT_DIR"), variable("TMPDIR"));
    let home = env.get("HOME").cloned().unwrap_or_else(|| json!("/"));
    json!({
        "extension": spec.manifest.id.as_str(),
        "entry": entry,
        "dir": spec.dir,
        "dataDir": spec.data_dir,
        "project": spec.project,
        "home": home,
        "tmpdir": tmpdir,
        "envTmpdir": env_tmpdir,
        "agentDir": agent_dir,
        "env": env,
        "platform": if cfg!(target_os = "macos") { "darwin" } else { "linux" },
        "arch": if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" },
        "pid": std::process::id(),
        "mode": if has_ui { "rpc" } else { "print" },
        "hasUI": has_ui,
        "version": env!("CARGO_PKG_VERSION"),
    })
}
