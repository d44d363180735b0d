//! A host that records, and extensions written on the spot.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jackfield_process::{ProcessOptions, ProcessRuntime};
use jackfield_protocol::{
    CallError, CallId, Content, ContributionChange, Contributions, Dialect, ErrorCode, Event, Format, HookCall,
    HookVerdict, HostCall, Launch, LogRecord, Manifest, Notice, RuntimeKind, ToolResult,
};
use jackfield_runtime::{
    BoxFuture, CallCx, ExtensionCall, HostApi, HostCallCx, Instance, Reply, Runtime as _, Secrets, StartError,
    StartSpec,
};
use serde_json::{Map, Value, json};

pub(crate) const PRELUDE: &str = r#"
import sys, json, os, time, subprocess, signal, threading
guard = threading.Lock()
def raw(text):
    with guard:
        sys.stdout.write(text + "\n"); sys.stdout.flush()
def send(**fields): raw(json.dumps(fields))
def hello(*tools, caps=(), version="1.0", **subs):
    send(type="hello", name="t", version=version, capabilities=list(caps))
    for tool in tools: send(type="register_tool", name=tool, description="d " + tool)
    if subs: send(type="subscribe", **subs)
    send(type="ready")
def next_line(ack=False):
    for line in sys.stdin:
        frame = json.loads(line)
        if ack or frame.get("type") != "hello_ack": yield frame
def text(id, text, **more): send(type="tool_result", id=id, content=[{"type": "text", "text": text}], **more)
"#;

/// Records what an extension says and asks.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) notices: Mutex<Vec<Notice>>,
    pub(crate) logs: Mutex<Vec<LogRecord>>,
    pub(crate) changes: Mutex<Vec<Contributions>>,
    pub(crate) calls: Mutex<Vec<(HostCall, HostCallCx)>>,
}

impl Recorder {
    pub(crate) fn notices(&self) -> Vec<Notice> {
        self.notices.lock().expect("no panic").clone()
    }
}

impl HostApi for Recorder {
    fn call(&self, call: HostCall, cx: HostCallCx) -> BoxFuture<'_, Result<Value, CallError>> {
        self.calls.lock().expect("no panic").push((call.clone(), cx.clone()));
        Box::pin(async move {
            match call {
                HostCall::Env(env) if env.name == "DENIED" => {
                    Err(CallError::new(ErrorCode::Denied, "env DENIED is not granted"))
                }
                HostCall::Env(env) if env.name == "SLOW" => {
                    cx.cancel.cancelled().await;
                    Err(CallError::new(ErrorCode::Cancelled, "given up"))
                }
                HostCall::Env(env) => Ok(json!({ "value": format!("value of {}", env.name) })),
                HostCall::Exec(exec) => {
                    if let Some(chunks) = &cx.chunks {
                        for number in 0..3 {
                            chunks.send(json!({ "stdout": number })).await.expect("the runtime listens");
                        }
                    }
                    Ok(json!({ "code": 0, "command": exec.command }))
                }
                HostCall::Tool(tool) if tool.name == "huge" => {
                    Ok(serde_json::to_value(ToolResult::text("x".repeat(300 * 1024))).expect("JSON"))
                }
                HostCall::Tool(tool) => {
                    Ok(serde_json::to_value(ToolResult::text(format!("{} {}", tool.name, tool.input))).expect("JSON"))
                }
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

/// An extension in a folder of its own.
pub(crate) struct Bed {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) host: Arc<Recorder>,
    pub(crate) options: ProcessOptions,
    pub(crate) start_timeout: Duration,
    pub(crate) dialect: Dialect,
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

impl Bed {
    /// A Python extension after [`PRELUDE`].
    pub(crate) fn python(dialect: Dialect, script: &str) -> Self {
        Self::script(dialect, &format!("#!/usr/bin/env python3\n{PRELUDE}\n{script}\n"))
    }

    pub(crate) fn shell(dialect: Dialect, script: &str) -> Self {
        Self::script(dialect, &format!("#!/bin/sh\n{script}\n"))
    }

    pub(crate) fn script(dialect: Dialect, text: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("run");
        std::fs::write(&file, text).expect("a script");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let path = std::env::var("PATH").expect("PATH");
        Self {
            dir,
            host: Arc::default(),
            options: ProcessOptions::default(),
            start_timeout: Duration::from_secs(20),
            dialect,
            command: "./run".to_owned(),
            args: Vec::new(),
            env: vec![("PATH".to_owned(), path), ("GREETING".to_owned(), "hi".to_owned())],
        }
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("ext.log")).unwrap_or_default()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn spec(&self) -> StartSpec {
        let launch = Launch::Process { command: self.command.clone(), args: self.args.clone(), dialect: self.dialect };
        let version = Some("0.1".to_owned());
        let manifest = Manifest { version, ..Manifest::plain("bed", Format::Zot, RuntimeKind::Process, launch) };
        StartSpec {
            max_memory_mb: None,
            cpu_slice: None,
            manifest: Arc::new(manifest),
            dir: self.dir.path().to_owned(),
            data_dir: self.dir.path().to_owned(),
            log_file: self.file("ext.log"),
            env: self.env.clone(),
            project: PathBuf::from("/project"),
            provider: "p".to_owned(),
            model: "m".to_owned(),
            start_timeout: self.start_timeout,
            secrets: Secrets::of(vec!["hunter2hunter2".to_owned()]),
        }
    }

    pub(crate) async fn try_start(&self) -> Result<(Arc<dyn Instance>, Contributions), StartError> {
        let host: Arc<dyn HostApi> = self.host.clone();
        let started = ProcessRuntime::new(self.options.clone()).start(self.spec(), host).await?;
        Ok((started.instance, started.contributions))
    }

    pub(crate) async fn start(&self) -> (Arc<dyn Instance>, Contributions) {
        match self.try_start().await {
            Ok(started) => started,
            Err(error) => panic!("{error}\nlog:\n{}", self.log()),
        }
    }

    pub(crate) async fn fails(&self) -> StartError {
        self.try_start().await.err().expect("the start fails")
    }
}

pub(crate) async fn tool(instance: &Arc<dyn Instance>, name: &str, args: Value) -> Result<ToolResult, CallError> {
    tool_within(instance, name, args, Duration::from_secs(20)).await
}

pub(crate) async fn tool_within(
    instance: &Arc<dyn Instance>,
    name: &str,
    args: Value,
    timeout: Duration,
) -> Result<ToolResult, CallError> {
    let call_id = CallId::new(format!("call-{name}"));
    let call =
        ExtensionCall::Tool { call_id, name: name.to_owned(), args: args.into(), wire: None, meta: Map::new().into() };
    match instance.call(call, CallCx::within(timeout)).await? {
        Reply::Tool(result) => Ok(result),
        other => panic!("not a tool's answer: {other:?}"),
    }
}

pub(crate) async fn tool_text(instance: &Arc<dyn Instance>, name: &str, args: Value) -> String {
    match tool(instance, name, args).await {
        Ok(result) => text_of(&result),
        Err(error) => panic!("{name}: {error}"),
    }
}

pub(crate) fn text_of(result: &ToolResult) -> String {
    match result.content.first() {
        Some(Content::Text { text, .. }) => text.clone(),
        other => panic!("not a text: {other:?}"),
    }
}

pub(crate) async fn hook(instance: &Arc<dyn Instance>, hook: HookCall) -> Result<HookVerdict, CallError> {
    let call = ExtensionCall::Hook { call_id: CallId::new("hook-1"), hook };
    match instance.call(call, CallCx::within(Duration::from_secs(20))).await? {
        Reply::Hook(verdict) => Ok(verdict),
        other => panic!("not a verdict: {other:?}"),
    }
}

pub(crate) fn before_tool_call(tool: &str) -> HookCall {
    HookCall::BeforeToolCall { call_id: "c1".into(), tool: tool.to_owned(), arguments: json!({ "a": 1 }) }
}

pub(crate) fn event(name: &str, sequence: u64) -> Event {
    Event { event: name.to_owned(), sequence, data: Map::from_iter([("step".to_owned(), json!(sequence))]) }
}

/// Waits until `done` gives something.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, done: impl FnMut() -> Option<T>) -> T {
    match poll(Duration::from_secs(15), done) {
        Some(value) => value,
        None => panic!("{what} did not happen"),
    }
}

fn poll<T>(patience: Duration, mut done: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(value) = done() {
            return Some(value);
        }
        if Instant::now() > deadline {
            return None;
        }
        // Between two looks, not instead of one.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process with this number is there and not merely unreaped.
pub(crate) fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z')))
}

/// A number that a script wrote into a file.
#[track_caller]
pub(crate) fn pid_in(file: &Path) -> u32 {
    eventually(&format!("a pid in {}", file.display()), || std::fs::read_to_string(file).ok()?.trim().parse().ok())
}
