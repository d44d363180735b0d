//! WASM components: a call and a host call beside a bare call of wasmtime, what it costs to compile, load and instantiate
//! one, and what a thousand of them take.

mod bare;
pub(crate) mod crowd;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use jackfield_host::{Home, Host, HostOptions, Mode, ToolCall, YesToAll};
use jackfield_protocol::{CallError, CallId, ContributionChange, HostCall, Launch, LogRecord, Manifest, Notice};
use jackfield_runtime::{
    BoxFuture, CallCx, ExtensionCall, HostApi, HostCallCx, Instance, Reply, Runtime as _, Secrets, StartSpec,
};
use jackfield_test_support::guest;
use jackfield_wasm::{WasmOptions, WasmRuntime};
use serde_json::{Map, Value, json};

use crate::numbers::{Samples, ratio};

/// The first argument that makes this program one of the crowds.
pub(crate) const CROWD: &str = "__crowd";
/// The first argument that makes this program a compiler.
pub(crate) const COMPILER: &str = "__compile";

const TURNS: usize = 100;
const TURN: usize = 1000;
const STARTS: usize = 50;

/// A host that answers every host call at once.
pub(crate) struct Quick;

impl HostApi for Quick {
    fn call(&self, _: HostCall, _: HostCallCx) -> BoxFuture<'_, Result<Value, CallError>> {
        Box::pin(async { Ok(json!({ "value": "x" })) })
    }

    fn contribute(&self, _: ContributionChange) {}

    fn tell(&self, _: Notice) {}

    fn log(&self, _: LogRecord) {}
}

pub(crate) fn measure() -> anyhow::Result<()> {
    let component = guest("actor.wat", "actor");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("actor.wasm"), &component)?;
    runtime.block_on(starts(dir.path()))?;
    runtime.block_on(calls(dir.path(), &component))?;
    crowd::measure(dir.path())
}

fn options(dir: &Path, cache: &str) -> WasmOptions {
    let this = std::env::current_exe().ok().and_then(|program| program.to_str().map(str::to_owned));
    let compiler = this.map(|program| vec![program, COMPILER.to_owned()]);
    WasmOptions { cache: Some(dir.join(cache)), compiler, memory_mb: 4096, overlap: 1024, ..WasmOptions::default() }
}

fn spec(dir: &Path) -> anyhow::Result<StartSpec> {
    let manifest: Manifest = serde_json::from_value(json!({
        "id": "actor", "name": "actor", "format": "native", "runtime": "wasm", "enabled": true,
        "launch": Launch::Wasm { component: "actor.wasm".to_owned() },
    }))?;
    Ok(StartSpec {
        manifest: Arc::new(manifest),
        dir: dir.to_owned(),
        data_dir: dir.to_owned(),
        log_file: dir.join("actor.log"),
        env: Vec::new(),
        project: dir.to_owned(),
        provider: String::new(),
        model: String::new(),
        start_timeout: Duration::from_secs(60),
        max_memory_mb: None,
        cpu_slice: None,
        secrets: Secrets::default(),
    })
}

async fn started(runtime: &WasmRuntime, dir: &Path) -> anyhow::Result<Arc<dyn Instance>> {
    Ok(runtime.start(spec(dir)?, Arc::new(Quick)).await?.instance)
}

/// Compiling, loading what was compiled, and instantiating.
async fn starts(dir: &Path) -> anyhow::Result<()> {
    println!("a component of {} bytes", std::fs::metadata(dir.join("actor.wasm"))?.len());
    let (mut cold, mut cached) = (Samples::default(), Samples::default());
    for turn in 0..5 {
        let began = Instant::now();
        started(&WasmRuntime::new(options(dir, &format!("cold{turn}"))), dir).await?;
        cold.add(began.elapsed());
    }
    let runtime = WasmRuntime::new(options(dir, "cold0"));
    for _ in 0..STARTS {
        let began = Instant::now();
        let instance = started(&runtime, dir).await?;
        cached.add(began.elapsed());
        anyhow::ensure!(
            instance.code().is_some_and(|code| code.get("cached").is_some_and(|cached| cached == 1)),
            "it is cached"
        );
    }
    println!("  start with a cold compile (child process)  {}", cold.line());
    println!("  start from cached code, checked            {}", cached.line());
    let bare = bare::instantiations(&std::fs::read(dir.join("actor.wasm"))?, STARTS * 20).await?;
    println!("  bare wasmtime: instantiate                 {}", bare.line());
    Ok(())
}

fn tool(name: &str, args: Value) -> ExtensionCall {
    ExtensionCall::Tool {
        call_id: CallId::new("bench-1"),
        name: name.to_owned(),
        args: args.into(),
        wire: None,
        meta: Map::new().into(),
    }
}

async fn calls(dir: &Path, component: &[u8]) -> anyhow::Result<()> {
    println!("one call, and one call with a host call in it, against bare wasmtime with the same settings");
    let instance = started(&WasmRuntime::new(options(dir, "cold0")), dir).await?;
    let host = open(dir)?;
    host.learn(Duration::from_secs(60)).await;
    let mut bare = bare::Bare::new(component, bare::Pass::Text).await?;
    let mut json = bare::Bare::new(component, bare::Pass::Json).await?;
    let (echo, env) = (json!({ "text": "hello" }), json!({ "name": "HOME" }));
    for (what, name, args) in [("call", "echo", &echo), ("call with a host call", "env", &env)] {
        let [mut alone, mut equal, mut ours, mut whole] = [const { Samples::new() }; 4];
        for turn in 0..TURNS {
            let text = args.to_string();
            for _ in 0..TURN {
                let began = Instant::now();
                bare.call(name, &text).await?;
                alone.add(began.elapsed());
            }
            for _ in 0..TURN {
                let args = args.clone();
                let began = Instant::now();
                json.call_with(name, args).await?;
                equal.add(began.elapsed());
            }
            for _ in 0..TURN {
                let call = tool(name, args.clone());
                let began = Instant::now();
                let reply = instance.call(call, CallCx::within(Duration::from_secs(10))).await?;
                ours.add(began.elapsed());
                anyhow::ensure!(matches!(reply, Reply::Tool(result) if !result.is_error), "it answers");
            }
            // The ledger writes to disk: fewer are enough.
            for _ in 0..if turn % 20 == 0 { TURN / 4 } else { 0 } {
                let call = ToolCall::by_person(format!("ext_actor_{name}"), args.clone());
                let began = Instant::now();
                host.call_tool(call).await.result.context("through the whole host")?;
                whole.add(began.elapsed());
            }
        }
        println!("{what}");
        println!("  bare wasmtime, text that lies ready     {}", alone.line());
        println!("  bare wasmtime, JSON written and read    {}", equal.line());
        println!("  through the runtime                     {}", ours.line());
        println!("  through the whole host                  {}", whole.line());
        println!(
            "  runtime over bare (p50, goal 1.5): {:.2} times with JSON written and read, {:.2} times with text that lies ready",
            ratio(ours.percentile(0.5), equal.percentile(0.5)),
            ratio(ours.percentile(0.5), alone.percentile(0.5))
        );
    }
    host.shutdown().await;
    Ok(())
}

/// A whole host with the component and nothing else.
fn open(dir: &Path) -> anyhow::Result<Host> {
    let home = dir.join("home");
    std::fs::create_dir_all(&home)?;
    Ok(Host::open(HostOptions {
        ext: vec![dir.join("actor.wasm")],
        mode: Some(Mode::Permissive),
        env: std::env::vars().filter(|(name, _)| name == "PATH" || name == "HOME").collect(),
        runtimes: vec![Arc::new(WasmRuntime::new(options(dir, "cold0")))],
        approver: Arc::new(YesToAll),
        only_ext: true,
        ..HostOptions::new(Home::at(&home), home.clone())
    })?)
}
