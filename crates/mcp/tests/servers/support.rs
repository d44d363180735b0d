//! A host that records, and the server that misbehaves on command.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jackfield_mcp::{Elsewhere, Logins, McpOptions, McpRuntime};
use jackfield_process::ProcessOptions;
use jackfield_protocol::{
    CallError, CallId, Content, ContributionChange, Contributions, ErrorCode, Format, HostCall, Launch, LogRecord,
    Manifest, McpEra, McpServer, McpTransport, Notice, RuntimeKind, ToolResult, Wire,
};
use jackfield_runtime::{
    BoxFuture, CallCx, ExtensionCall, HostApi, HostCallCx, Instance, Reply, Runtime as _, Secrets, StartError,
    StartSpec,
};
use serde_json::{Map, Value, json};

/// Records what a server says and asks. Elicitation is answered, roots are, sampling is refused.
#[derive(Default)]
pub struct Recorder {
    pub notices: Mutex<Vec<Notice>>,
    pub changes: Mutex<Vec<Contributions>>,
    pub asked: Mutex<Vec<(String, Option<CallId>)>>,
}

impl HostApi for Recorder {
    fn call(&self, call: HostCall, cx: HostCallCx) -> BoxFuture<'_, Result<Value, CallError>> {
        let HostCall::Mcp(asked) = call else { panic!("{call:?}") };
        self.asked.lock().expect("no panic").push((asked.method.clone(), cx.within));
        Box::pin(std::future::ready(match asked.method.as_str() {
            "elicitation/create" => Ok(json!({ "action": "accept", "content": { "name": "Ada" } })),
            "roots/list" => Ok(json!({ "roots": [{ "uri": "file:///p" }] })),
            _ => Err(CallError::new(ErrorCode::Denied, "a person said no")),
        }))
    }

    fn contribute(&self, change: ContributionChange) {
        let ContributionChange::All(all) = change;
        self.changes.lock().expect("no panic").push(all);
    }

    fn tell(&self, notice: Notice) {
        self.notices.lock().expect("no panic").push(notice);
    }

    fn log(&self, _record: LogRecord) {}
}

/// A server in a folder of its own.
pub struct Bed {
    pub dir: tempfile::TempDir,
    pub host: Arc<Recorder>,
    pub modes: Vec<String>,
    pub era: McpEra,
    pub env: BTreeMap<String, String>,
    pub start_timeout: Duration,
}

impl Bed {
    pub fn of(modes: &[&str]) -> Self {
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            host: Arc::default(),
            modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
            era: McpEra::Auto,
            env: BTreeMap::new(),
            start_timeout: Duration::from_secs(20),
        }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("ext.log")).unwrap_or_default()
    }

    /// What the server was sent, if it keeps that.
    pub fn heard(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.dir.path().join("heard")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn spec(&self) -> StartSpec {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../test-support/extensions/mcp_server.py");
        let mut args = vec![script.display().to_string()];
        args.extend(self.modes.iter().cloned());
        args.push(format!("log:{}", self.dir.path().join("heard").display()));
        let transport = McpTransport::Stdio { command: "python3".to_owned(), args, env: self.env.clone(), cwd: None };
        let launch = Launch::Mcp(McpServer { transport, era: self.era, prefix: None });
        StartSpec {
            max_memory_mb: None,
            cpu_slice: None,
            manifest: Arc::new(Manifest::plain("bed", Format::Mcp, RuntimeKind::Mcp, launch)),
            dir: self.dir.path().to_owned(),
            data_dir: self.dir.path().to_owned(),
            log_file: self.dir.path().join("ext.log"),
            env: vec![("PATH".to_owned(), std::env::var("PATH").expect("PATH"))],
            project: PathBuf::from("/project"),
            provider: String::new(),
            model: String::new(),
            start_timeout: self.start_timeout,
            secrets: Secrets::default(),
        }
    }

    pub async fn try_start(&self) -> Result<(Arc<dyn Instance>, Contributions), StartError> {
        let env = Arc::new(BTreeMap::from([("MY_TOKEN".to_owned(), "hunter2hunter2".to_owned())]));
        let runtime = McpRuntime::new(McpOptions {
            process: ProcessOptions::default(),
            env,
            elsewhere: Elsewhere::default(),
            logins: Logins::default(),
        });
        let host: Arc<dyn HostApi> = self.host.clone();
        let started = runtime.start(self.spec(), host).await?;
        Ok((started.instance, started.contributions))
    }

    pub async fn fails(&self) -> String {
        self.try_start().await.err().expect("the start fails").to_string()
    }

    pub async fn start(&self) -> (Arc<dyn Instance>, Contributions) {
        match self.try_start().await {
            Ok(started) => started,
            Err(error) => panic!("{error}\nlog:\n{}", self.log()),
        }
    }
}

pub fn cx(seconds: u64) -> CallCx {
    CallCx::within(Duration::from_secs(seconds))
}

pub async fn call_as(
    instance: &Arc<dyn Instance>,
    id: &str,
    name: &str,
    args: Value,
    meta: Value,
    cx: CallCx,
) -> Result<ToolResult, CallError> {
    let Value::Object(meta) = meta else { panic!("no object") };
    let call = ExtensionCall::Tool {
        call_id: CallId::new(id),
        name: name.to_owned(),
        args: args.into(),
        wire: None,
        meta: meta.into(),
    };
    match instance.call(call, cx).await? {
        Reply::Tool(result) => Ok(result),
        other => panic!("{other:?}"),
    }
}

pub async fn tool(instance: &Arc<dyn Instance>, name: &str, args: Value) -> Result<ToolResult, CallError> {
    call_as(instance, &format!("call-{name}"), name, args, Value::Object(Map::new()), cx(20)).await
}

pub async fn text(instance: &Arc<dyn Instance>, name: &str, args: Value) -> String {
    match tool(instance, name, args).await.expect("an answer").content.into_iter().next() {
        Some(Content::Text { text, .. }) => text,
        other => panic!("{other:?}"),
    }
}

pub async fn relay(instance: &Arc<dyn Instance>, method: &str, params: &str) -> Result<String, CallError> {
    let call =
        ExtensionCall::Mcp { call_id: CallId::new("relay"), method: method.to_owned(), params: Wire::new(params) };
    match instance.call(call, cx(20)).await? {
        Reply::Mcp(wire) => Ok(wire.as_str().to_owned()),
        other => panic!("{other:?}"),
    }
}

/// Waits until it is so.
pub async fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !so() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
