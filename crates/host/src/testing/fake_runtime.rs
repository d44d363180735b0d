//! The runtime that starts fake extensions, and the journal of what reaches them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackfield_files::Home;
use jackfield_protocol::{CallError, ErrorCode, Event, HookCall, Manifest, RuntimeKind};
use jackfield_runtime::{
    BoxFuture, CallCx, Exit, ExtensionCall, HostApi, Instance, Reply, Runtime, StartError, StartSpec, Started, Traits,
};
use tokio::sync::watch;

use super::fake_extension::{FakeCall, FakeExtension, Start};
use super::lock;

/// An instance that was started, as the test sees it. The host owns the instance itself.
#[derive(Clone)]
pub(super) struct StartedInstance {
    pub(super) door: Option<Arc<dyn HostApi>>,
    exit: watch::Sender<Option<Exit>>,
}

impl StartedInstance {
    /// Makes the instance exit by itself.
    pub(super) fn dies(&self, reason: &str) {
        let exit = Exit { reason: reason.to_owned(), ..Exit::default() };
        self.exit.send_replace(Some(exit));
    }

    /// How the instance ended. Waits for its end.
    pub(super) async fn exited(&self) -> Exit {
        let mut exit = self.exit.subscribe();
        let exit = exit.wait_for(Option::is_some).await.map(|exit| (*exit).clone());
        exit.ok().flatten().unwrap_or_default()
    }
}

/// What reached the extensions, in order.
#[derive(Default)]
pub(super) struct Journal {
    pub(super) calls: Vec<(String, ExtensionCall)>,
    pub(super) events: Vec<(String, Event)>,
    pub(super) instances: HashMap<String, Vec<StartedInstance>>,
}

/// What the test and the runtimes of one host share.
pub(super) struct Theatre {
    pub(super) home: Home,
    pub(super) extensions: Mutex<HashMap<String, FakeExtension>>,
    pub(super) journal: Mutex<Journal>,
    /// The ids of the extensions whose start has begun, in order.
    pub(super) starting: watch::Sender<Vec<String>>,
    /// The number of calls that reached extensions. Changes after the call is in the journal.
    pub(super) delivered: watch::Sender<usize>,
}

impl Theatre {
    pub(super) fn new(home: Home) -> Arc<Self> {
        Arc::new(Self {
            home,
            extensions: Mutex::default(),
            journal: Mutex::default(),
            starting: watch::Sender::default(),
            delivered: watch::Sender::new(0),
        })
    }

    fn extension(&self, manifest: &Manifest) -> Option<FakeExtension> {
        lock(&self.extensions).get(manifest.id.as_str()).cloned()
    }

    /// An instance of `extension`, noted in the journal.
    pub(super) fn instance(
        self: &Arc<Self>,
        extension: FakeExtension,
        door: Option<Arc<dyn HostApi>>,
    ) -> Arc<FakeInstance> {
        let started = StartedInstance { door, exit: watch::Sender::new(None) };
        lock(&self.journal).instances.entry(extension.id.clone()).or_default().push(started.clone());
        Arc::new(FakeInstance { theatre: Arc::clone(self), extension, started })
    }
}

/// Starts the fake extensions of one kind.
pub(super) struct FakeRuntime {
    pub(super) kind: RuntimeKind,
    pub(super) theatre: Arc<Theatre>,
}

impl Runtime for FakeRuntime {
    fn kind(&self) -> RuntimeKind {
        self.kind
    }

    fn traits(&self, manifest: &Manifest) -> Traits {
        self.theatre.extension(manifest).map(|extension| extension.traits).unwrap_or_default()
    }

    fn start(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> BoxFuture<'_, Result<Started, StartError>> {
        Box::pin(async move {
            self.theatre.starting.send_modify(|ids| ids.push(spec.manifest.id.to_string()));
            let unknown = || StartError::NotRunnable(format!("no test describes {}", spec.manifest.id));
            let extension = self.theatre.extension(&spec.manifest).ok_or_else(unknown)?;
            match &extension.start {
                Start::AtOnce => {}
                Start::Fails(message) => return Err(StartError::NotRunnable((*message).to_owned())),
                Start::Never => std::future::pending().await,
                Start::After(latch) => latch.opened().await,
            }
            let contributions = extension.contributions.clone();
            Ok(Started { instance: self.theatre.instance(extension, Some(host)), contributions })
        })
    }
}

/// A running fake extension.
pub(super) struct FakeInstance {
    theatre: Arc<Theatre>,
    extension: FakeExtension,
    started: StartedInstance,
}

impl Instance for FakeInstance {
    fn call(&self, call: ExtensionCall, cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        Box::pin(async move {
            let id = &self.extension.id;
            lock(&self.theatre.journal).calls.push((id.clone(), call.clone()));
            self.theatre.delivered.send_modify(|calls| *calls += 1);
            let CallCx { deadline, cancel } = cx.clone();
            let answer = (self.extension.answer)(FakeCall {
                call,
                cx,
                door: self.started.door.clone(),
                extension: id.clone(),
                home: self.theatre.home.clone(),
            });
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(CallError::new(ErrorCode::Cancelled, "the call was cancelled")),
                answer = answer => answer,
                exit = self.started.exited() => Err(CallError::new(ErrorCode::Unavailable, exit.reason)),
                () = tokio::time::sleep_until(deadline.into()) => {
                    Err(CallError::new(ErrorCode::Timeout, format!("extension {id} did not answer in time")))
                }
            }
        })
    }

    fn notify(&self, event: &Event) {
        lock(&self.theatre.journal).events.push((self.extension.id.clone(), event.clone()));
    }

    fn stop(&self, _grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(async {
            self.started.exit.send_if_modified(|exit| {
                let runs = exit.is_none();
                exit.get_or_insert_with(|| Exit { reason: "stopped".to_owned(), wanted: true, ..Exit::default() });
                runs
            });
            self.started.exited().await
        })
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(self.started.exited())
    }
}

impl Drop for FakeInstance {
    fn drop(&mut self) {
        self.started.exit.send_if_modified(|exit| {
            let runs = exit.is_none();
            exit.get_or_insert_with(|| Exit { reason: "dropped".to_owned(), wanted: true, ..Exit::default() });
            runs
        });
    }
}

/// A call in a few words, for instance `tool work` or `hook before_tool_call`.
pub(crate) fn summary(call: &ExtensionCall) -> String {
    match call {
        ExtensionCall::Tool { name, .. } => format!("tool {name}"),
        ExtensionCall::Mcp { method, .. } => format!("mcp {method}"),
        ExtensionCall::Command { name, .. } => format!("command {name}"),
        ExtensionCall::Hook { hook: HookCall::BeforeToolCall { tool, .. }, .. } => format!("guards {tool}"),
        ExtensionCall::Hook { hook, .. } => format!("hook {}", hook.point().as_str()),
        ExtensionCall::Ask { event, .. } => format!("ask {event}"),
        ExtensionCall::Shortcut { key, .. } => format!("shortcut {key}"),
        ExtensionCall::Channel { op, .. } => {
            let op = serde_json::to_value(op).expect("JSON");
            format!("channel {}", op["op"].as_str().expect("a name"))
        }
        other => format!("{other:?}"),
    }
}
