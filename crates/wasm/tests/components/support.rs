//! A host that records, and components in a folder of their own.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use jackfield_protocol::{
    CallError, CallId, Content, ContributionChange, Contributions, ErrorCode, Event, Format, HookCall, HookVerdict,
    HostCall, Launch, LogRecord, Manifest, Notice, RuntimeKind, ToolResult,
};
use jackfield_runtime::{
    BoxFuture, CallCx, ExtensionCall, HostApi, HostCallCx, Instance, Reply, Runtime as _, Secrets, StartError,
    StartSpec,
};
use jackfield_test_support::{assemble, guest};
use jackfield_wasm::{WasmOptions, WasmRuntime};
use serde_json::{Map, Value, json};

/// Records what a component says and asks.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) notices: Mutex<Vec<Notice>>,
    pub(crate) logs: Mutex<Vec<LogRecord>>,
    pub(crate) changes: Mutex<Vec<Contributions>>,
    pub(crate) calls: Mutex<Vec<(HostCall, HostCallCx)>>,
}

impl HostApi for Recorder {
    fn call(&self, call: HostCall, cx: HostCallCx) -> BoxFuture<'_, Result<Value, CallError>> {
        let mut calls = self.calls.lock().expect("no panic");
        if calls.len() < 1000 {
            calls.push((call.clone(), cx.clone()));
        }
        drop(calls);
        Box::pin(async move {
            match call {
                HostCall::Env(env) if env.name == "DENIED" => {
                    Err(CallError::new(ErrorCode::Denied, "env DENIED is not granted"))
                }
                HostCall::Env(env) if env.name == "SLOW" => {
                    cx.cancel.cancelled().await;
                    Err(CallError::new(ErrorCode::Cancelled, "given up"))
                }
                HostCall::Env(env) if env.name == "PAUSE" => {
                    tokio::time::sleep(Duration::from_millis(700)).await;
                    Ok(json!({ "value": "rested" }))
                }
                HostCall::Env(env) if env.name == "BLOCKED" => {
                    std::thread::sleep(Duration::from_millis(700));
                    Ok(json!({ "value": "rested" }))
                }
                HostCall::Env(env) => Ok(json!({ "value": format!("value of {}", env.name) })),
                other => Ok(json!({ "method": other.method() })),
            }
        })
    }

    fn contribute(&self, change: ContributionChange) {
        let ContributionChange::All(all) = change;
        self.changes.lock().expect("no panic").push(all);
    }

    fn tell(&self, notice: Notice) {
        self.notices.lock().expect("no panic").push(notice);
    }

    fn log(&self, record: LogRecord) {
        self.logs.lock().expect("no panic").push(record);
    }
}

impl Recorder {
    pub(crate) fn said(&self, message: &str) -> bool {
        self.logs.lock().expect("no panic").iter().any(|record| record.message.contains(message))
    }
}

/// A component in a folder, and the runtime for it.
pub(crate) struct Bed {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) host: Arc<Recorder>,
    pub(crate) runtime: WasmRuntime,
    pub(crate) id: String,
}

/// The guest that does everything, made once.
pub(crate) fn actor_bytes() -> &'static [u8] {
    static ACTOR: OnceLock<Vec<u8>> = OnceLock::new();
    ACTOR.get_or_init(|| guest("actor.wat", "actor"))
}

/// Native code is kept for all tests of a run: compiling is not what most of them are about.
fn cache() -> PathBuf {
    static CACHE: OnceLock<tempfile::TempDir> = OnceLock::new();
    CACHE.get_or_init(|| tempfile::tempdir().expect("a folder")).path().join("code")
}

impl Bed {
    pub(crate) fn with(bytes: &[u8], options: WasmOptions) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("guest.wasm"), bytes).expect("written");
        let (host, runtime) = (Arc::new(Recorder::default()), WasmRuntime::new(options));
        Self { dir, host, runtime, id: "guest".to_owned() }
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        let options = WasmOptions {
            cache: Some(cache()),
            budget: Duration::from_millis(400),
            memory_mb: 64,
            ..WasmOptions::default()
        };
        Self::with(bytes, options)
    }

    pub(crate) fn text(text: &str, world: &str) -> Self {
        Self::of(&assemble(text, world))
    }

    pub(crate) fn actor() -> Self {
        Self::of(actor_bytes())
    }

    pub(crate) fn spec(&self) -> StartSpec {
        let launch = Launch::Wasm { component: "guest.wasm".to_owned() };
        let manifest = Manifest::plain(&self.id, Format::Native, RuntimeKind::Wasm, launch);
        let path = self.dir.path().to_path_buf();
        StartSpec {
            manifest: Arc::new(manifest),
            data_dir: path.clone(),
            log_file: path.join("guest.log"),
            dir: path,
            env: Vec::new(),
            project: "/project".into(),
            provider: String::new(),
            model: String::new(),
            start_timeout: Duration::from_secs(20),
            max_memory_mb: None,
            cpu_slice: None,
            secrets: Secrets::of(vec!["hunter2secret".to_owned()]),
        }
    }

    pub(crate) async fn try_start(&self) -> Result<(Arc<dyn Instance>, Contributions), StartError> {
        let host: Arc<dyn HostApi> = Arc::clone(&self.host) as Arc<dyn HostApi>;
        self.runtime.start(self.spec(), host).await.map(|started| (started.instance, started.contributions))
    }

    pub(crate) async fn start(&self) -> (Arc<dyn Instance>, Contributions) {
        self.try_start().await.expect("it starts")
    }

    /// Why it does not start.
    pub(crate) async fn refused(&self) -> String {
        match self.try_start().await {
            Ok(_) => panic!("it starts"),
            Err(error) => error.to_string(),
        }
    }
}

pub(crate) fn tool(name: &str, args: Value) -> ExtensionCall {
    ExtensionCall::Tool {
        call_id: CallId::new("call-1"),
        name: name.to_owned(),
        args: args.into(),
        wire: None,
        meta: Map::new().into(),
    }
}

pub(crate) fn within(ms: u64) -> CallCx {
    CallCx::within(Duration::from_millis(ms))
}

pub(crate) async fn result(instance: &Arc<dyn Instance>, name: &str, args: Value) -> ToolResult {
    match instance.call(tool(name, args), within(20_000)).await {
        Ok(Reply::Tool(result)) => result,
        other => panic!("no result of {name}: {other:?}"),
    }
}

pub(crate) fn text_of(result: &ToolResult) -> String {
    match result.content.as_slice() {
        [Content::Text { text, .. }] => text.clone(),
        other => panic!("not one text: {other:?}"),
    }
}

pub(crate) async fn text(instance: &Arc<dyn Instance>, name: &str, args: Value) -> String {
    text_of(&result(instance, name, args).await)
}

pub(crate) async fn failure(instance: &Arc<dyn Instance>, name: &str, ms: u64) -> CallError {
    instance.call(tool(name, json!({})), within(ms)).await.expect_err("it fails")
}

pub(crate) async fn verdict(
    instance: &Arc<dyn Instance>,
    name: &str,
    arguments: Value,
) -> Result<HookVerdict, CallError> {
    let hook = HookCall::BeforeToolCall { call_id: CallId::new("call-2"), tool: name.to_owned(), arguments };
    match instance.call(ExtensionCall::Hook { call_id: CallId::new("hook-1"), hook }, within(20_000)).await? {
        Reply::Hook(verdict) => Ok(verdict),
        other => panic!("no verdict: {other:?}"),
    }
}

pub(crate) fn event(name: &str) -> Event {
    Event { event: name.to_owned(), sequence: 7, data: Map::from_iter([("why".to_owned(), json!("test"))]) }
}

pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
