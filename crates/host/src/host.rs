//! The host itself: owns everything, hands out cheap handles, and is the only thing that faces talk to.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use jackfield_protocol::{
    CallError, CallId, Correlation, ErrorCode, ExtensionId, HookCall, HookPoint, Launch, Level, Need, Notice, Power,
    Resource, SessionId,
};
use jackfield_runtime::{Runtime, StartError, StartSpec, Started};
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, broadcast};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::approver::Approver;
use crate::call::{Authority, CommandOutcome, ToolCall, ToolOutcome};
use crate::catalog::{Catalog, Memory};
use crate::discovery::{
    Diagnostic, DiscoveryInput, Found, Origin, Report, Standing, child_env, discover_cached, known_secrets,
};
use crate::gate::Gate;
use crate::grants::{Grant, Grants};
use crate::home::Home;
use crate::hooks::HookOutcome;
use crate::ledger::{Begin, Entry, Ledger, LedgerError, Outcome, RunIds};
use crate::log_sink::LogSink;
use crate::notices::Flood;
use crate::policy::{Caller, Decision, Mode, Policy, Subject};
use crate::registry::Snapshot;
use crate::services::{ServiceLimits, Services, SessionInfo};
use crate::supervisor::{Running, State, Supervised};
use crate::trust::{Trust, TrustState};

/// How long a handshake may take when the manifest does not say.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How many extensions start at the same time.
const START_TOGETHER: usize = 16;

/// What a host is made of. Put together by the composition root.
pub struct HostOptions {
    /// Where the host keeps its files.
    pub home: Home,
    /// The project it works on.
    pub project: PathBuf,
    /// Extensions named on the command line, first wins.
    pub ext: Vec<PathBuf>,
    /// Overrides the configured policy mode.
    pub mode: Option<Mode>,
    /// The environment, read once by the composition root.
    pub env: BTreeMap<String, String>,
    /// One per kind.
    pub runtimes: Vec<Arc<dyn Runtime>>,
    /// Who is asked when policy cannot decide alone.
    pub approver: Arc<dyn Approver>,
    /// Whether a person can serve interactive tools.
    pub interactive: bool,
    /// Leave out everything that is not named by `ext`.
    pub only_ext: bool,
    /// Look only at what a call of this tool concerns, where that is known from an earlier run. Everything else is looked
    /// at as soon as it is needed.
    pub only_tool: Option<String>,
    /// The program that stands between the host and what `exec` runs, so that a killed host leaves nothing behind.
    pub keeper: Option<PathBuf>,
}

/// Why a host did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A configuration file is wrong.
    #[error("{0}")]
    Config(String),
    /// A directory or file of the home cannot be used.
    #[error("cannot use {path}: {source}; choose another place with --home")]
    Home {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The ledger cannot be written, and without evidence nothing runs.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What faces are told.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum HostEvent {
    /// An extension says something.
    Notice {
        /// Who.
        extension: ExtensionId,
        /// What.
        #[serde(flatten)]
        notice: Notice,
    },
    /// An extension changed its state.
    State {
        /// Who.
        extension: ExtensionId,
        /// To what.
        #[serde(flatten)]
        state: State,
    },
    /// Tools, commands or hooks have changed.
    RegistryChanged,
    /// A hook did not answer as it should.
    HookFailed {
        /// Whose.
        extension: ExtensionId,
        /// At which moment.
        hook: HookPoint,
        /// What went wrong.
        reason: String,
    },
    /// A version was put in place of another, or was not.
    Reloaded(crate::reload::Reloaded),
}

/// A tool call under way.
pub(crate) struct Active {
    pub(crate) extension: ExtensionId,
    pub(crate) tool: String,
    pub(crate) parent: Option<CallId>,
}

/// The host's inside, shared by handles and gates.
pub(crate) struct Inner {
    pub(crate) home: Home,
    pub(crate) project: PathBuf,
    pub(crate) ext: Vec<PathBuf>,
    pub(crate) only_ext: bool,
    pub(crate) env: Arc<BTreeMap<String, String>>,
    pub(crate) secrets: Arc<Vec<String>>,
    pub(crate) policy: Policy,
    policy_warnings: Vec<String>,
    pub(crate) grants: Grants,
    run_grants: Mutex<Vec<Grant>>,
    pub(crate) services: Services,
    pub(crate) approver: Arc<dyn Approver>,
    /// Held while a person is asked.
    pub(crate) asking: tokio::sync::Mutex<()>,
    pub(crate) interactive: bool,
    pub(crate) session_id: String,
    pub(crate) cancel: CancellationToken,
    pub(crate) snapshot: ArcSwap<Snapshot>,
    pub(crate) report: ArcSwap<Report>,
    pub(crate) extensions: ArcSwap<BTreeMap<ExtensionId, Arc<Supervised>>>,
    /// Held while the next snapshot is built and while a reload changes the set of extensions.
    rebuilding: Mutex<()>,
    pub(crate) reloading: tokio::sync::Mutex<()>,
    pub(crate) catalog: Catalog,
    runtimes: Vec<Arc<dyn Runtime>>,
    ledger: Ledger,
    log: LogSink,
    run_id: String,
    next_call: AtomicU64,
    active: Mutex<HashMap<CallId, Active>>,
    events: broadcast::Sender<HostEvent>,
    flood: Flood,
    sequence: Mutex<u64>,
    starting: Semaphore,
    /// Only what one tool concerns has been looked at.
    narrow: AtomicBool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.cancel.cancel();
        for extension in self.extensions.load().values() {
            extension.abandon();
        }
    }
}

/// A handle on a host. The last one to go takes the host and every extension with it.
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

impl Host {
    /// Finds extensions and learns from the catalogue what they contribute. Starts nothing.
    ///
    /// # Errors
    /// A broken configuration, or a home that cannot be used.
    pub fn open(options: HostOptions) -> Result<Self, OpenError> {
        let HostOptions { home, project, ext, mode, env, runtimes, approver, interactive, only_ext, only_tool, keeper } =
            options;
        prepare_home(&home)?;
        let (mut policy, policy_warnings) = read_policy(&home)?;
        policy.mode = mode.unwrap_or(policy.mode);
        let env = Arc::new(env);
        let secrets = Arc::new(known_secrets(&env));
        let run_id = random_id();
        let session_id = format!("session-{run_id}");
        let ids = RunIds { run_id: run_id.clone(), session_id: session_id.clone() };
        let ledger = Ledger::open(&home.ledger(), ids, Arc::clone(&secrets))?;
        let grants = Grants::open_or_none(&home);
        let session = SessionInfo {
            id: SessionId::new(session_id.clone()),
            cwd: project.clone(),
            provider: String::new(),
            model: String::new(),
        };
        let mut services = Services::new(project.clone(), Arc::clone(&env), ServiceLimits::default(), session);
        if let Some(keeper) = keeper {
            services = services.with_keeper(keeper);
        }
        let inner = Arc::new(Inner {
            services,
            catalog: Catalog::of(&home),
            log: LogSink::new(&home, &session_id, &run_id, Arc::clone(&secrets)),
            home,
            project,
            ext,
            only_ext,
            env,
            secrets,
            policy,
            policy_warnings,
            grants,
            run_grants: Mutex::default(),
            approver,
            asking: tokio::sync::Mutex::default(),
            interactive,
            session_id,
            cancel: CancellationToken::new(),
            snapshot: ArcSwap::default(),
            report: ArcSwap::default(),
            extensions: ArcSwap::default(),
            rebuilding: Mutex::default(),
            reloading: tokio::sync::Mutex::default(),
            runtimes,
            ledger,
            run_id,
            next_call: AtomicU64::new(1),
            active: Mutex::default(),
            events: broadcast::Sender::new(1024),
            flood: Flood::default(),
            sequence: Mutex::default(),
            starting: Semaphore::new(START_TOGETHER),
            narrow: AtomicBool::new(false),
        });
        let concerned = match only_tool {
            Some(tool) if !only_ext => crate::lookup::find(&inner.input(), &tool),
            _ => None,
        };
        let report = match concerned {
            Some(extensions) => {
                inner.narrow.store(true, Ordering::Release);
                Report { extensions, ..Report::default() }
            }
            None => inner.discover(),
        };
        let extensions = serving(&report)
            .into_iter()
            .map(|(id, found)| {
                let active = found.standing == Standing::Active;
                let memory = if active { inner.catalog.load(&found) } else { Memory::default() };
                (id, Supervised::new(found, memory, Arc::downgrade(&inner)))
            })
            .collect();
        inner.extensions.store(Arc::new(extensions));
        inner.report.store(Arc::new(report));
        inner.rebuild();
        Ok(Self { inner })
    }

    /// What discovery found and what it thinks of it.
    pub fn report(&self) -> Arc<Report> {
        self.inner.report.load_full()
    }

    /// Everything that extensions contribute, as far as is known now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.snapshot.load_full()
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// Where the host keeps its files.
    pub fn home(&self) -> &Home {
        &self.inner.home
    }

    /// The project it works on.
    pub fn project(&self) -> &Path {
        &self.inner.project
    }

    /// What is told to faces from now on.
    pub fn events(&self) -> broadcast::Receiver<HostEvent> {
        self.inner.events.subscribe()
    }

    /// Where an extension stands.
    pub fn state(&self, id: &ExtensionId) -> Option<State> {
        self.inner.extension(id).map(|extension| extension.state())
    }

    /// What an extension contributes and the hash of the version that does, as far as is known.
    pub fn contributions(&self, id: &ExtensionId) -> Option<(jackfield_protocol::Contributions, String)> {
        let known = self.inner.extension(id)?.known()?;
        Some((known.contributions.clone(), known.hash.clone()))
    }

    /// Why an extension does not serve although it may run.
    pub fn trouble(&self, id: &ExtensionId) -> Option<String> {
        let extension = self.inner.extension(id)?;
        match extension.state() {
            State::Failed { reason } | State::Restarting { reason, .. } => Some(reason),
            State::Spawning => Some("it is still starting".to_owned()),
            State::Ready | State::Shutdown => None,
            State::Idle => extension.failure().map(|failure| {
                format!("its last start failed: {} (try again with `jackfield reload {id}`)", failure.reason)
            }),
        }
    }

    /// The process behind a running extension.
    pub fn pid(&self, id: &ExtensionId) -> Option<u32> {
        self.inner.extension(id)?.running()?.instance.pid()
    }

    /// Starts an extension and waits until it is ready.
    ///
    /// # Errors
    /// Why it is not.
    pub async fn start(&self, id: &ExtensionId, within: Duration) -> Result<(), CallError> {
        let extension = self.inner.extension(id).ok_or_else(|| {
            CallError::new(ErrorCode::NotFound, format!("no extension named {id} (see `jackfield list`)"))
        })?;
        extension.ready(Instant::now() + within).await.map(|_| ())
    }

    /// Starts every extension whose contributions are not known, all at once, and waits for them; those that are not
    /// ready by then go on starting behind. Extensions that are in the catalogue are not started, nor are those that
    /// failed a moment ago.
    pub async fn learn(&self, within: Duration) {
        let unknown = |extension: &&Arc<Supervised>| {
            extension.known().is_none() && !extension.failure().is_some_and(|failure| failure.is_recent())
        };
        let unknown = self.inner.extensions.load().values().filter(unknown).cloned().collect();
        self.start_together(unknown, within).await;
    }

    /// Starts those that hook or want to be told, as a host that stays needs them from the beginning.
    pub async fn start_listeners(&self, within: Duration) {
        let listens = |extension: &&Arc<Supervised>| {
            extension
                .known()
                .is_some_and(|known| !known.contributions.hooks.is_empty() || !known.contributions.events.is_empty())
        };
        let listeners = self.inner.extensions.load().values().filter(listens).cloned().collect();
        self.start_together(listeners, within).await;
    }

    async fn start_together(&self, extensions: Vec<Arc<Supervised>>, within: Duration) {
        let deadline = Instant::now() + within;
        let mut starts = JoinSet::new();
        for extension in extensions.into_iter().filter(|e| e.found().standing == Standing::Active) {
            // Why one did not start is in its state.
            starts.spawn(async move { extension.ready(deadline).await.map(|_| ()) });
        }
        while starts.join_next().await.is_some() {}
    }

    /// Keeps for later runs which extension owns which tool, if all are known.
    pub fn keep_lookup(&self) {
        let inner = &self.inner;
        if !inner.only_ext && !inner.narrow.load(Ordering::Acquire) {
            let extensions: Vec<Arc<Supervised>> = inner.extensions.load().values().cloned().collect();
            crate::lookup::keep(&inner.input(), &inner.home, &self.snapshot(), &extensions);
        }
    }

    /// Calls a tool.
    pub async fn call_tool(&self, call: ToolCall) -> ToolOutcome {
        let authority = Authority::Caller(call.caller);
        self.inner.call_tool(call, authority).await
    }

    /// Runs a slash command of an extension.
    pub async fn run_command(&self, name: &str, args: &str) -> CommandOutcome {
        self.inner.run_command(name, args).await
    }

    /// Asks the extensions that hook a moment of the agent.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn ask_hooks(&self, call: HookCall) -> Result<HookOutcome, CallError> {
        let snapshot = self.snapshot();
        self.inner.ask_hooks(&snapshot, call).await
    }

    /// Tells the extensions that want to know that something happened.
    pub fn emit(&self, event: &str, data: Map<String, Value>) {
        self.inner.emit(&self.snapshot(), event, || Value::Object(data));
    }

    /// What policy would say if `caller` called this tool, and what its extension may do, as data.
    pub fn why_tool(&self, name: &str, caller: Caller) -> Option<(ExtensionId, Decision, Vec<(Power, Decision)>)> {
        let snapshot = self.snapshot();
        let entry = snapshot.tool(name)?;
        let need = Need { power: Power::Tool, method: "tool", resource: Resource::Tool(entry.name.clone()) };
        let call = self.inner.decide(&entry.extension, Subject::Caller(caller), &need);
        let declared = self.inner.declared(&entry.owner.found());
        let powers = Power::ALL
            .into_iter()
            .map(|power| {
                let need = Need { power, method: "any", resource: Resource::Whole };
                let subject = Subject::Extension { id: &entry.extension, declared: &declared };
                (power, self.inner.decide(&entry.extension, subject, &need))
            })
            .collect();
        Some((entry.extension.clone(), call, powers))
    }

    /// Stops every extension and waits until they have gone.
    pub async fn shutdown(&self) {
        self.inner.cancel.cancel();
        let mut stops = JoinSet::new();
        for extension in self.inner.extensions.load().values().cloned() {
            stops.spawn(async move { extension.shutdown().await });
        }
        while stops.join_next().await.is_some() {}
    }
}

impl Inner {
    fn input(&self) -> DiscoveryInput {
        DiscoveryInput {
            home: self.home.clone(),
            project: self.project.clone(),
            ext: self.ext.clone(),
            path_env: self.env.get("PATH").map(Into::into),
            env: (*self.env).clone(),
        }
    }

    pub(crate) fn discover(&self) -> Report {
        let input = self.input();
        let mut report = if self.only_ext {
            crate::standing::discover_named(&input)
        } else {
            discover_cached(&input, &self.home.catalog().join("discovery.json"))
        };
        let config = self.home.config();
        report.diagnostics.extend(self.policy_warnings.iter().map(|warning| Diagnostic::warn(&config, warning)));
        if let Some(problem) = self.grants.problem() {
            report.diagnostics.push(Diagnostic::error(&self.home.grants(), problem.to_string()));
        }
        report
    }

    /// Looks at everything, when so far only what one tool concerns has been looked at.
    pub(crate) fn widen(self: &Arc<Self>) {
        if !self.narrow.swap(false, Ordering::AcqRel) {
            return;
        }
        let report = self.discover();
        let mut extensions = (*self.extensions.load_full()).clone();
        for (id, found) in serving(&report) {
            extensions.entry(id).or_insert_with(|| {
                let active = found.standing == Standing::Active;
                let memory = if active { self.catalog.load(&found) } else { Memory::default() };
                Supervised::new(found, memory, Arc::downgrade(self))
            });
        }
        self.extensions.store(Arc::new(extensions));
        self.report.store(Arc::new(report));
        self.rebuild();
    }

    pub(crate) fn extension(&self, id: &ExtensionId) -> Option<Arc<Supervised>> {
        self.extensions.load().get(id).cloned()
    }

    /// Builds the next snapshot from what is known now.
    pub(crate) fn rebuild(&self) {
        let _one_at_a_time = self.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
        let extensions = self.extensions.load().values().cloned().collect();
        let before = self.snapshot.load();
        self.snapshot.store(Arc::new(Snapshot::build(extensions, &before)));
        self.publish(HostEvent::RegistryChanged);
    }

    pub(crate) fn contributions_changed(&self, extension: &Supervised) {
        if let Some(known) = extension.known() {
            let found = extension.found();
            if self.catalog.load(&found).known.as_ref() != Some(&*known) {
                self.catalog.save(&found, &known);
            }
        }
        self.rebuild();
    }

    pub(crate) fn declared(&self, found: &Found) -> Arc<Vec<jackfield_protocol::Capability>> {
        Arc::new(found.manifest.capabilities.clone())
    }

    /// Starts an instance of `found` in the runtime that fits.
    pub(crate) async fn start(self: &Arc<Self>, found: &Found) -> Result<Started, StartError> {
        let manifest = &found.manifest;
        if let Launch::Unsupported { reason } = &manifest.launch {
            return Err(StartError::Unsupported(reason.clone()));
        }
        let runtime = self.runtimes.iter().find(|runtime| runtime.kind() == manifest.runtime).ok_or_else(|| {
            StartError::Unsupported(format!("no runtime of this host runs {} extensions", manifest.runtime.as_str()))
        })?;
        // Discovery judged the files as they were then; what starts is judged as it is now.
        if found.origin == Origin::Project {
            let state = Trust::load(&self.home).state(&self.project);
            if state != TrustState::Trusted {
                return Err(StartError::NotRunnable(state.advice(&self.project)));
            }
        }
        let data_dir = self.home.data(&manifest.id);
        let unusable = |error: std::io::Error| {
            StartError::NotRunnable(format!("cannot make its data directory {}: {error}", data_dir.display()))
        };
        std::fs::create_dir_all(&data_dir).map_err(unusable)?;
        let spec = StartSpec {
            dir: found.dir.clone(),
            log_file: self.home.log_file(&manifest.id),
            env: child_env(manifest, &self.env, &found.dir, &data_dir),
            data_dir,
            project: self.project.clone(),
            provider: String::new(),
            model: String::new(),
            start_timeout: manifest.limits.start_timeout_ms.map_or(START_TIMEOUT, Duration::from_millis),
            secrets: Arc::clone(&self.secrets),
            manifest: Arc::clone(manifest),
        };
        let gate = Gate::new(Arc::downgrade(self), manifest.id.clone(), self.declared(found));
        // A thousand extensions do not start at once.
        let _slot = self.starting.acquire().await;
        runtime.start(spec, Arc::new(gate)).await
    }

    /// Tells a fresh instance that the session has begun.
    pub(crate) fn greet(&self, running: &Running) {
        if running.contributions.load().wants_event("session_start") {
            let event = self.event("session_start", json!({}));
            running.instance.notify(&event);
        }
    }

    /// Tells those who run and want to know. The data is made only if there is somebody to tell.
    pub(crate) fn emit(&self, snapshot: &Snapshot, name: &str, data: impl FnOnce() -> Value) {
        let told: Vec<Arc<Running>> = snapshot
            .subscribers()
            .iter()
            .filter_map(|extension| extension.running())
            .filter(|running| running.contributions.load().wants_event(name))
            .collect();
        if told.is_empty() {
            return;
        }
        // The lock is held while everybody is told, so that all see the same order.
        let mut sequence = self.sequence.lock().unwrap_or_else(PoisonError::into_inner);
        *sequence += 1;
        let event = self.numbered(name, data(), *sequence);
        for running in told {
            running.instance.notify(&event);
        }
    }

    fn event(&self, name: &str, data: Value) -> jackfield_protocol::Event {
        let mut sequence = self.sequence.lock().unwrap_or_else(PoisonError::into_inner);
        *sequence += 1;
        self.numbered(name, data, *sequence)
    }

    fn numbered(&self, name: &str, data: Value, sequence: u64) -> jackfield_protocol::Event {
        let mut fields = match data {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        fields.insert("session_id".to_owned(), json!(self.session_id));
        fields.insert("cwd".to_owned(), json!(self.project.to_string_lossy()));
        jackfield_protocol::Event { event: name.to_owned(), sequence, data: fields }
    }

    pub(crate) fn publish(&self, event: HostEvent) {
        // Nobody listening is fine.
        self.events.send(event).ok();
    }

    /// Passes on what an extension says, made plain and held to a rate.
    pub(crate) fn notice(&self, extension: &ExtensionId, notice: Notice) {
        for notice in self.flood.admit(extension, notice, Instant::now()) {
            let notice = crate::notices::plain(notice, &self.secrets);
            self.publish(HostEvent::Notice { extension: extension.clone(), notice });
        }
    }

    pub(crate) fn state_changed(&self, id: &ExtensionId, state: &State) {
        let reason = match state {
            State::Restarting { reason, .. } | State::Failed { reason } => Some(reason.as_str()),
            State::Idle | State::Spawning | State::Ready | State::Shutdown => None,
        };
        if let Some(reason) = reason {
            let event = format!("extension.{}", state.name());
            // State changes are told to faces below; a ledger that cannot be written stops the next call anyway.
            let correlation = Correlation { extension_id: id.to_string(), ..Correlation::default() };
            self.ledger_note(&event, correlation, reason, json!({})).ok();
        }
        self.publish(HostEvent::State { extension: id.clone(), state: state.clone() });
    }

    pub(crate) fn next_call_id(&self) -> CallId {
        CallId::new(format!("{}-{}", self.run_id, self.next_call.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn active(&self) -> MutexGuard<'_, HashMap<CallId, Active>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn run_grants(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.run_grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ledger_begin(&self, what: Begin<'_>) -> Result<Entry, CallError> {
        self.ledger.begin(what).map_err(no_evidence)
    }

    pub(crate) fn ledger_end(&self, entry: Entry, outcome: Outcome<'_>) -> Result<(), CallError> {
        entry.end(outcome).map_err(no_evidence)
    }

    pub(crate) fn ledger_note(
        &self,
        event: &str,
        correlation: Correlation,
        message: &str,
        data: Value,
    ) -> Result<(), CallError> {
        let data = data.as_object().cloned().unwrap_or_default();
        self.ledger.note(event, Level::Info, message, correlation, data).map_err(no_evidence)
    }

    pub(crate) fn write_log(
        &self,
        extension: &ExtensionId,
        level: Level,
        message: &str,
        data: Value,
    ) -> Result<(), CallError> {
        let io = |error: std::io::Error| CallError::new(ErrorCode::Io, format!("cannot write the log: {error}"));
        self.log.write(extension, level, message, data).map_err(io)
    }
}

/// The extension that answers to each id: the one that may run, or else the first that would.
pub(crate) fn serving(report: &Report) -> BTreeMap<ExtensionId, Found> {
    let mut serving: BTreeMap<ExtensionId, Found> = BTreeMap::new();
    for found in &report.extensions {
        let entry = serving.entry(found.manifest.id.clone()).or_insert_with(|| found.clone());
        if entry.standing != Standing::Active && found.standing == Standing::Active {
            *entry = found.clone();
        }
    }
    serving
}

fn no_evidence(error: LedgerError) -> CallError {
    CallError::new(ErrorCode::Io, format!("nothing runs without evidence: {error}"))
}

fn prepare_home(home: &Home) -> Result<(), OpenError> {
    for path in [home.root().to_path_buf(), home.logs(), home.catalog(), home.run(), home.extensions()] {
        std::fs::create_dir_all(&path).map_err(|source| OpenError::Home { path, source })?;
    }
    Ok(())
}

fn read_policy(home: &Home) -> Result<(Policy, Vec<String>), OpenError> {
    let file = home.config();
    match std::fs::read_to_string(&file) {
        Ok(text) => Policy::parse(&text, &file).map_err(|error| OpenError::Config(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((Policy::default(), Vec::new())),
        Err(source) => Err(OpenError::Home { path: file, source }),
    }
}

/// Eight hex digits that no two runs share in practice.
fn random_id() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let digest = Sha256::digest(format!("{now} {} {:?}", std::process::id(), std::thread::current().id()));
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
