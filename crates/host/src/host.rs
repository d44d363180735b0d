//! The host itself: a cheap handle on everything there is, and the only thing that faces talk to.

mod describe;
mod events;
mod inner;
mod meet;
mod options;
mod state;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use jackfield_protocol::{Asked, CallError, ErrorCode, ExtensionId, HookCall, Need, Power, Resource, ToolSpec};
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio::task::JoinSet;

use crate::call::{CallRight, CommandOutcome, ToolCall, ToolOutcome};
use crate::hooks::HookOutcome;
use crate::registry::Snapshot;
use crate::supervisor::{State, Supervised};

pub(crate) use inner::{Active, Inner};
use jackfield_discovery::lock::{Judge, Locked};
use jackfield_discovery::{Found, Report, Standing};
use jackfield_files::Home;
use jackfield_policy::{Caller, Decision, Policy, Subject};
use jackfield_services::Services;
pub(crate) use meet::Wanted;
pub use options::{HostEvent, HostOptions, LogLine, OpenError};

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

/// Why a tool may be called and what its extension may do.
#[derive(Debug)]
#[non_exhaustive]
pub struct Why {
    /// The owner of the tool.
    pub extension: ExtensionId,
    /// The decision on a call of the tool.
    pub call: Decision,
    /// The decision on each power that the extension might ask for.
    pub powers: Vec<(Power, Decision)>,
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
        let inner = Inner::build(options)?;
        Ok(Self { inner })
    }

    /// What discovery found and what it thinks of it.
    pub fn report(&self) -> Arc<Report> {
        self.inner.extensions.report.load_full()
    }

    /// Everything that extensions contribute, as far as is known now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.inner.snapshot())
    }

    /// The tools that the host itself gives to extensions through the `tool` host call.
    pub fn built_in_tools() -> Vec<ToolSpec> {
        Services::builtin_tools()
    }

    /// The policy in force.
    pub fn policy(&self) -> &Policy {
        &self.inner.authority.policy
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
        self.inner.faces.events.subscribe()
    }

    /// What extensions log from now on. Whoever reads too slowly misses lines.
    pub fn log_lines(&self) -> broadcast::Receiver<LogLine> {
        self.inner.faces.log_lines.subscribe()
    }

    /// The same, and how many events there were before: what a face says beside them finds its place by the number.
    pub fn events_numbered(&self) -> (broadcast::Receiver<HostEvent>, u64) {
        let published = self.inner.faces.published.lock().unwrap_or_else(PoisonError::into_inner);
        (self.inner.faces.events.subscribe(), *published)
    }

    /// How many events have been told to faces so far.
    pub fn events_published(&self) -> u64 {
        *self.inner.faces.published.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Reads the lock file and gives what it records of an extension. What is damaged records nothing; why shows in the
    /// extension's standing.
    pub fn locked(&self) -> impl Fn(&Found) -> Option<Locked> + use<> {
        let judge = Judge::of(&self.inner.home, &self.inner.extensions.catalog);
        move |found| judge.recorded(found).cloned()
    }

    /// Why an extension does not serve although it may run.
    pub fn trouble(&self, id: &ExtensionId) -> Option<String> {
        let extension = self.inner.extension(id)?;
        match extension.state() {
            State::Failed { reason } | State::Restarting { reason, .. } => Some(reason),
            // What it offers may be known from the last run; then there is nothing amiss.
            State::Spawning if extension.known().is_none() => Some("it is still starting".to_owned()),
            State::Spawning | State::Ready | State::Shutdown => None,
            State::Idle => extension.failure().map(|failure| {
                format!("its last start failed: {} (try again with `jackfield reload {id}`)", failure.reason)
            }),
        }
    }

    /// The process behind a running extension.
    pub fn pid(&self, id: &ExtensionId) -> Option<u32> {
        self.inner.extension(id)?.running()?.instance.pid()
    }

    /// How the code of a running extension came to run, where its runtime knows: what had to be compiled.
    pub fn code(&self, id: &ExtensionId) -> Option<serde_json::Value> {
        self.inner.extension(id)?.running()?.instance.code()
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

    /// Begins the session: starts those that hook or want to be told, as a host that stays needs them from the beginning.
    pub async fn start_listeners(&self, within: Duration) {
        let listens = |extension: &&Arc<Supervised>| {
            extension.known().is_some_and(|known| {
                let known = &known.contributions;
                !known.hooks.is_empty() || !known.events.is_empty() || !known.bus.is_empty()
            })
        };
        let listeners = self.inner.extensions.all.load().values().filter(listens).cloned().collect();
        self.start_together(listeners, within).await;
        self.inner.begin_session();
    }

    /// Calls a tool. Waits first for extensions that were never seen and could be guards or own the tool's name.
    pub async fn call_tool(&self, call: ToolCall) -> ToolOutcome {
        self.inner.begin_session();
        let authority = CallRight::Caller(call.caller);
        self.inner.call_tool(call, authority).await
    }

    /// How many tool calls and the like are under way.
    pub fn calls_under_way(&self) -> usize {
        self.inner.active().len()
    }

    /// Runs a slash command of an extension.
    pub async fn run_command(&self, name: &str, args: &str) -> CommandOutcome {
        self.inner.begin_session();
        self.inner.run_command(name, args).await
    }

    /// Asks the extensions that hook a moment of the agent.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn ask_hooks(&self, call: HookCall) -> Result<HookOutcome, CallError> {
        self.inner.begin_session();
        self.inner.meet(Wanted::Hooks, None).await;
        let snapshot = self.snapshot();
        self.inner.ask_hooks(&snapshot, call).await
    }

    /// Asks every extension that subscribed to `event`, one after another; what each makes of the question goes to the
    /// next. One that fails is reported and passed over, except at `tool_call` and `user_bash`, which do not happen then.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn ask(&self, event: &str, data: Map<String, Value>) -> Result<Asked, CallError> {
        self.inner.begin_session();
        self.inner.meet(Wanted::Hooks, None).await;
        self.inner.ask(&self.snapshot(), event, data).await
    }

    /// Presses a keyboard shortcut that an extension registered.
    ///
    /// # Errors
    /// `not_found` for a shortcut of nobody; otherwise what its extension says.
    pub async fn press(&self, key: &str) -> Result<(), CallError> {
        self.inner.begin_session();
        self.inner.press(key).await
    }

    /// What the session holds: entries of extensions, and those that the agent added.
    pub fn session_entries(&self) -> Vec<Map<String, Value>> {
        self.inner.authority.services.session().entries()
    }

    /// Adds an entry of the agent to the session and gives its id.
    ///
    /// # Errors
    /// When the session is full, or its file cannot be written.
    pub fn append_entry(&self, entry: Map<String, Value>) -> Result<String, CallError> {
        let id = self.inner.authority.services.session().append(entry)?;
        if let Some(entry) = self.inner.authority.services.session().entry(&id) {
            self.inner.publish(HostEvent::SessionEntry { extension: None, entry });
        }
        Ok(id)
    }

    /// The tools that an extension chose for the agent; nothing where none did.
    pub fn active_tools(&self) -> Option<Vec<String>> {
        self.inner.authority.services.session().active_tools()
    }

    /// Whether somebody may answer the questions of extensions.
    pub fn has_face(&self) -> bool {
        self.inner.faces.face.is_there()
    }

    /// Tells the extensions that want to know that something happened.
    pub fn emit(&self, event: &str, data: Map<String, Value>) {
        self.inner.begin_session();
        self.inner.emit(&self.snapshot(), event, || Value::Object(data));
    }

    /// What policy would say if `caller` called this tool, and what its extension may do, as data.
    pub fn why_tool(&self, name: &str, caller: Caller) -> Option<Why> {
        let snapshot = self.snapshot();
        let entry = snapshot.tool(name)?;
        let need = Need { power: Power::Tool, method: "tool", resource: Resource::Tool(entry.name.clone()) };
        let call = self.inner.decide(&entry.extension, Subject::Caller(caller), &need);
        let declared = entry.owner.declared();
        let powers = Power::ALL
            .into_iter()
            .map(|power| {
                let need = Need { power, method: "any", resource: Resource::Whole };
                let subject = Subject::Extension { declared: &declared };
                (power, self.inner.decide(&entry.extension, subject, &need))
            })
            .collect();
        Some(Why { extension: entry.extension.clone(), call, powers })
    }

    /// Stops every extension and waits until they have gone.
    pub async fn shutdown(&self) {
        self.inner.cancel.cancel();
        let mut stops = JoinSet::new();
        for extension in self.inner.extensions.all.load().values() {
            let extension = Arc::clone(extension);
            stops.spawn(async move { extension.shutdown().await });
        }
        while stops.join_next().await.is_some() {}
    }
}
