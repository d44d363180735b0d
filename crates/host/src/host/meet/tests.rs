//! Calls beside extensions that were never seen, in a made-up runtime.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use jackfield_discovery::{Extent, Found, Origin};
use jackfield_files::Home;
use jackfield_protocol::{
    CallError, Contributions, ErrorCode, Event, Format, HookPoint, HookVerdict, Launch, Manifest, McpEra, McpServer,
    McpTransport, RuntimeKind, ToolResult, ToolSpec,
};
use jackfield_runtime::{
    BoxFuture, CallCx, Confinement, Exit, ExtensionCall, HostApi, Instance, Reply, Runtime, StartError, StartSpec,
    Started, Traits,
};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::call::ToolCall;
use crate::host::HostOptions;

/// What each extension was asked, in order.
type Asked = Arc<Mutex<Vec<String>>>;

/// Starts every extension by its id: `guard` blocks every call, `silent` never answers its handshake, all others offer the
/// tool `work`.
struct Fake {
    kind: RuntimeKind,
    asked: Asked,
}

impl Runtime for Fake {
    fn kind(&self) -> RuntimeKind {
        self.kind
    }

    fn traits(&self, _manifest: &Manifest) -> Traits {
        Traits { confinement: Confinement::Sandboxed, ..Traits::default() }
    }

    fn start(&self, spec: StartSpec, _host: Arc<dyn HostApi>) -> BoxFuture<'_, Result<Started, StartError>> {
        let id = spec.manifest.id.to_string();
        let contributions = match id.as_str() {
            "guard" => Contributions { hooks: vec![HookPoint::BeforeToolCall], ..Contributions::default() },
            _ => Contributions { tools: vec![ToolSpec::open("work")], ..Contributions::default() },
        };
        let instance = Arc::new(FakeInstance { id: id.clone(), asked: Arc::clone(&self.asked) });
        Box::pin(async move {
            if id == "silent" {
                std::future::pending::<()>().await;
            }
            Ok(Started { instance, contributions })
        })
    }
}

struct FakeInstance {
    id: String,
    asked: Asked,
}

impl Instance for FakeInstance {
    fn call(&self, call: ExtensionCall, _cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        let (kind, reply) = match call {
            ExtensionCall::Tool { .. } => ("tool", Reply::Tool(ToolResult::text(self.id.clone()))),
            ExtensionCall::Hook { .. } => ("hook", Reply::Hook(HookVerdict::Block { reason: "no".to_owned() })),
            _ => ("other", Reply::Done),
        };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{} {kind}", self.id));
        Box::pin(async { Ok(reply) })
    }

    fn notify(&self, _event: &Event) {}

    fn stop(&self, _grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(async { Exit::default() })
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(std::future::pending())
    }
}

struct Stage {
    dir: TempDir,
    asked: Asked,
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("project")).unwrap();
        Self { dir, asked: Asked::default() }
    }

    /// A host of these extensions. Nothing has met them, as when a face opens a host and calls at once.
    fn host(&self, extensions: &[Manifest]) -> Host {
        let fake = |kind| Arc::new(Fake { kind, asked: Arc::clone(&self.asked) }) as Arc<dyn Runtime>;
        let home = Home::at(self.dir.path().join("home"));
        let host = Host::open(HostOptions {
            mode: Some(jackfield_policy::Mode::Permissive),
            runtimes: vec![fake(RuntimeKind::Js), fake(RuntimeKind::Mcp), fake(RuntimeKind::Process)],
            only_ext: true,
            ..HostOptions::new(home, self.dir.path().join("project"))
        })
        .unwrap();
        let supervised = extensions.iter().map(|manifest| {
            let dir = self.dir.path().join(manifest.id.as_str());
            std::fs::create_dir_all(&dir).unwrap();
            (manifest.id.clone(), host.inner.supervised(found(manifest.clone(), dir)))
        });
        host.inner.extensions.all.store(Arc::new(supervised.collect()));
        host.inner.rebuild();
        host
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn found(manifest: Manifest, dir: PathBuf) -> Found {
    let manifest_path = dir.join("manifest");
    let (origin, standing) = (Origin::Global, Standing::Active);
    Found { manifest: Arc::new(manifest), dir, manifest_path, origin, standing, extent: Extent::Directory }
}

/// Of a kind that may be a guard.
fn script(id: &str) -> Manifest {
    Manifest::plain(id, Format::Pi, RuntimeKind::Js, Launch::Js { entry: "index.ts".to_owned() })
}

/// Of a kind that has tools and nothing else, all under names that begin with the server's.
fn server(id: &str) -> Manifest {
    let transport = McpTransport::Http { url: String::new(), headers: BTreeMap::new() };
    let launch = Launch::Mcp(McpServer { transport, era: McpEra::Auto, prefix: None });
    Manifest::plain(id, Format::Mcp, RuntimeKind::Mcp, launch)
}

/// Of a kind that has tools and nothing else, under any name.
fn file(id: &str) -> Manifest {
    Manifest::plain(id, Format::Python, RuntimeKind::Process, Launch::Js { entry: "x.py".to_owned() })
}

fn text(outcome: &crate::call::ToolOutcome) -> String {
    format!("{:?}", outcome.result.as_ref().map(|result| &result.content))
}

#[tokio::test]
async fn a_guard_that_nobody_has_met_is_asked() {
    let stage = Stage::new();
    let host = stage.host(&[script("good"), script("guard")]);
    let outcome = host.call_tool(ToolCall::by_person("work", json!({}))).await;
    let error = outcome.result.expect_err("blocked");
    assert_eq!((error.code, stage.asked()), (ErrorCode::Denied, vec!["guard hook".to_owned()]));
}

#[tokio::test]
async fn a_guard_that_a_reload_brings_is_asked() {
    let stage = Stage::new();
    let host = stage.host(&[script("good")]);
    assert!(host.call_tool(ToolCall::by_person("work", json!({}))).await.result.is_ok());
    // As a reload does before it starts what is new.
    let guard = host.inner.supervised(found(script("guard"), stage.dir.path().to_owned()));
    let mut extensions = (**host.inner.extensions.all.load()).clone();
    extensions.insert(guard.id.clone(), guard);
    host.inner.extensions.all.store(Arc::new(extensions));
    host.inner.rebuild_quietly();
    assert!(host.call_tool(ToolCall::by_person("work", json!({}))).await.result.is_err());
}

/// The silent one never answers, and its start has no limit here: a call that waited for it would not end.
#[tokio::test]
async fn an_extension_that_cannot_matter_is_not_waited_for() {
    let stage = Stage::new();
    let host = stage.host(&[script("good"), server("silent"), file("z-silent")]);
    let outcome = host.call_tool(ToolCall::by_person("work", json!({}))).await;
    assert!(text(&outcome).contains("good"), "{outcome:?}");
    let silent = host.inner.extension(&"silent".into()).unwrap();
    assert!(silent.is_stranger() && silent.state() == crate::supervisor::State::Idle, "nobody started it");
}

/// It could own the name of the tool, so the call waits for it, and says so, but not for long.
#[tokio::test]
async fn an_extension_that_is_no_guard_is_waited_for_once_and_not_for_long() {
    let stage = Stage::new();
    let host = stage.host(&[file("silent"), script("z-good")]);
    let mut events = host.events();
    let outcome = host.call_tool(ToolCall::by_person("work", json!({}))).await;
    assert!(text(&outcome).contains("z-good"), "{outcome:?}");
    let mut waited = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let HostEvent::Waiting { extensions } = event {
            waited.extend(extensions);
        }
    }
    assert_eq!(waited, [ExtensionId::from("silent")]);
    assert!(!host.inner.extension(&"silent".into()).unwrap().is_stranger(), "the next call does not wait again");
}

#[tokio::test]
async fn a_caller_who_gives_up_does_not_get_past_a_guard() {
    let stage = Stage::new();
    let host = stage.host(&[script("good"), script("silent")]);
    let call = ToolCall::by_person("work", json!({}));
    let (calling, cancel) = (host.clone(), call.cancel.clone());
    let pending = tokio::spawn(async move { calling.call_tool(call).await });
    cancel.cancel();
    let error = pending.await.unwrap().result.expect_err("cancelled");
    assert_eq!((error.code, stage.asked()), (ErrorCode::Cancelled, Vec::<String>::new()));
    let begun = jackfield_ledger::read(&host.home().ledger(), jackfield_ledger::Filter::default()).unwrap();
    assert!(begun.iter().any(|record| record["event"] == "tool_call.end"), "it is recorded all the same: {begun:?}");
}

/// The silent one never starts: the call is still waiting for it when its start is read from the ledger.
#[tokio::test]
async fn a_call_is_on_record_before_anything_starts_for_it() {
    let stage = Stage::new();
    let host = stage.host(&[script("silent")]);
    let call = ToolCall::by_person("work", json!({}));
    let (calling, cancel) = (host.clone(), call.cancel.clone());
    let pending = tokio::spawn(async move { calling.call_tool(call).await });
    let begun = || {
        let records = jackfield_ledger::read(&host.home().ledger(), jackfield_ledger::Filter::default());
        records.is_ok_and(|records| records.iter().any(|record| record["event"] == "tool_call.start"))
    };
    while !begun() {
        assert!(!pending.is_finished(), "it waits");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    cancel.cancel();
    pending.await.unwrap().result.expect_err("cancelled");
}

#[tokio::test]
async fn the_record_of_the_end_names_the_owner_that_was_found() {
    let stage = Stage::new();
    let host = stage.host(&[script("good")]);
    assert!(host.call_tool(ToolCall::by_person("work", json!({}))).await.result.is_ok());
    let records = jackfield_ledger::read(&host.home().ledger(), jackfield_ledger::Filter::default()).unwrap();
    let owner = |event: &str| {
        let record = records.iter().find(|record| record["event"] == event).expect("recorded");
        record["correlation"]["extension_id"].clone()
    };
    assert_eq!((owner("tool_call.start"), owner("tool_call.end")), (json!("-"), json!("good")));
}
