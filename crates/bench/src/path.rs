//! One tool call: face, ledger, hooks, schema, policy, pipe and back, against the bare pipe.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use jackfield_host::{Home, Host, HostOptions, ToolCall};
use jackfield_process::{Keeper, ProcessOptions, ProcessRuntime};
use serde_json::{Value, json};

use crate::beside;
use crate::numbers::{Samples, ratio, show};

/// Calls per turn; raw and whole path take turns, so that both see the same noise.
const TURN: usize = 500;
const TURNS: usize = 20;
const ASKS: [usize; 3] = [1, 8, 64];

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("one tool call, whole path (ledger, policy, schema, supervisor) against a raw pipe to the same child");
    println!("on one thread, as the binary runs it:");
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    on(&one)?;
    crowded(&one)?;
    println!("on two worker threads:");
    on(&tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

fn on(runtime: &tokio::runtime::Runtime) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let host = runtime.block_on(async { open(dir.path()) })?;
    runtime.block_on(async {
        host.learn(Duration::from_secs(30)).await;
        let outcome = host.call_tool(ToolCall::by_person("ping", args())).await;
        outcome.result.context("the first call does not work")
    })?;
    let mut raw = RawPipe::start()?;
    let line = format!("{}\n", json!({ "type": "tool_call", "id": "123", "name": "ping", "args": args() }));
    let (mut bare, mut polled, mut whole) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..TURNS {
        for _ in 0..TURN {
            bare.add(raw.round_trip(&line)?);
        }
        let turn = runtime.block_on(runtime.spawn(bare_async(line.clone())))??;
        turn.into_iter().for_each(|sample| polled.add(sample));
        let turn = runtime.block_on(runtime.spawn(one_by_one(host.clone())))??;
        turn.into_iter().for_each(|sample| whole.add(sample));
    }
    println!("  raw pipe    {}", bare.line());
    println!("  raw epoll   {}", polled.line());
    println!("  whole path  {}", whole.line());
    println!(
        "  ratio       p50 {:.2}  p95 {:.2}",
        ratio(whole.percentile(0.5), bare.percentile(0.5)),
        ratio(whole.percentile(0.95), bare.percentile(0.95))
    );
    refused(runtime, &host);
    for at_once in ASKS {
        let (calls, took) = runtime.block_on(runtime.spawn(many(host.clone(), at_once)))??;
        let per_second = calls as f64 / took.as_secs_f64();
        println!("  {at_once:>2} in flight  {per_second:>9.0} calls/s  ({} each)", show(took / calls as u32));
    }
    runtime.block_on(host.shutdown());
    Ok(())
}

fn args() -> Value {
    json!({ "text": "a short argument, as tools get them", "count": 3 })
}

async fn one_by_one(host: Host) -> anyhow::Result<Vec<Duration>> {
    let mut samples = Vec::with_capacity(TURN);
    for _ in 0..TURN {
        let begun = Instant::now();
        let outcome = host.call_tool(ToolCall::by_person("ping", args())).await;
        samples.push(begun.elapsed());
        outcome.result?;
    }
    Ok(samples)
}

/// The same pipe without a host, but waited for as an event-driven program waits: what the scheduler adds.
async fn bare_async(line: String) -> anyhow::Result<Vec<Duration>> {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let mut child = tokio::process::Command::new(beside("jackfield-pingpong")?)
        .arg("--raw")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().context("a pipe")?;
    let mut stdout = BufReader::new(child.stdout.take().context("a pipe")?);
    let (mut samples, mut answer) = (Vec::with_capacity(TURN), Vec::new());
    for _ in 0..TURN {
        let begun = Instant::now();
        stdin.write_all(line.as_bytes()).await?;
        answer.clear();
        stdout.read_until(b'\n', &mut answer).await?;
        samples.push(begun.elapsed());
    }
    drop(stdin);
    child.wait().await?;
    Ok(samples)
}

async fn many(host: Host, at_once: usize) -> anyhow::Result<(usize, Duration)> {
    let each = 20_000 / at_once.max(1);
    let begun = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..at_once {
        let host = host.clone();
        tasks.spawn(async move {
            for _ in 0..each {
                host.call_tool(ToolCall::by_person("ping", args())).await.result?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok((each * at_once, begun.elapsed()))
}

/// Where a part of the difference goes: the same call, refused by the schema before it reaches the child.
fn refused(runtime: &tokio::runtime::Runtime, host: &Host) {
    let mut refused = Samples::default();
    runtime.block_on(async {
        for _ in 0..5_000 {
            let begun = Instant::now();
            let outcome = host.call_tool(ToolCall::by_person("ping", json!({ "count": "many" }))).await;
            refused.add(begun.elapsed());
            assert!(outcome.result.is_err(), "refused by the schema");
        }
    });
    println!("  of it, all but the child (two ledger lines, schema, policy): {}", refused.line());
}

/// The same call in hosts that know ten and a thousand extensions. They take turns, as everything here does; the others
/// are known from the catalogue and do not run, as in a host that nobody has asked for them.
fn crowded(runtime: &tokio::runtime::Runtime) -> anyhow::Result<()> {
    let mut crowds = Vec::new();
    for size in [10, 1_000] {
        let dir = tempfile::tempdir()?;
        for number in 0..size {
            extension(&dir.path().join(format!("home/extensions/other{number}")), &format!("other{number}"))?;
        }
        let host = runtime.block_on(async {
            let first = open_all(dir.path())?;
            first.learn(Duration::from_secs(120)).await;
            first.shutdown().await;
            // Its own extension is written anew and so the only one to be met again.
            let host = open_all(dir.path())?;
            host.learn(Duration::from_secs(30)).await;
            one_by_one(host.clone()).await?;
            anyhow::Ok(host)
        })?;
        crowds.push((size, dir, host, Samples::default()));
    }
    for _ in 0..TURNS {
        for (_, _, host, samples) in &mut crowds {
            let turn = runtime.block_on(runtime.spawn(one_by_one(host.clone())))??;
            turn.into_iter().for_each(|sample| samples.add(sample));
        }
    }
    let mut medians = Vec::new();
    for (size, _dir, host, samples) in crowds {
        println!("  in a host that knows {size:>5} extensions  {}", samples.line());
        medians.push(samples.percentile(0.5));
        runtime.block_on(host.shutdown());
    }
    if let [few, many] = medians.as_slice() {
        println!("  {:.2} times as long with 1,000 as with 10 (p50)", ratio(*many, *few));
    }
    Ok(())
}

fn extension(dir: &Path, name: &str) -> anyhow::Result<()> {
    fs::create_dir_all(dir)?;
    let tool = if name == "pingpong" { "ping" } else { name };
    let manifest = json!({
        "name": name, "version": "1.0.0", "exec": beside("jackfield-pingpong")?, "args": ["--tool", tool],
    });
    fs::write(dir.join("extension.json"), manifest.to_string())?;
    Ok(())
}

fn open(dir: &Path) -> anyhow::Result<Host> {
    host(dir, true)
}

fn open_all(dir: &Path) -> anyhow::Result<Host> {
    host(dir, false)
}

fn host(dir: &Path, only_ext: bool) -> anyhow::Result<Host> {
    let pingpong = dir.join("pingpong");
    extension(&pingpong, "pingpong")?;
    let keeper = Keeper { program: beside("jackfield")?, args: vec!["__keep".to_owned()] };
    let process = ProcessRuntime::new(ProcessOptions { keeper: Some(keeper), ..ProcessOptions::default() });
    let env: BTreeMap<String, String> = std::env::vars().filter(|(name, _)| name == "PATH").collect();
    let host = Host::open(HostOptions {
        ext: vec![pingpong],
        env,
        runtimes: vec![Arc::new(process)],
        only_ext,
        ..HostOptions::new(Home::at(dir.join("home")), dir.to_path_buf())
    })?;
    Ok(host)
}

/// The physical limit: a blocking write and a blocking read on the pipes of the same program.
struct RawPipe {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl RawPipe {
    fn start() -> anyhow::Result<Self> {
        let mut child = Command::new(beside("jackfield-pingpong")?)
            .arg("--raw")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().context("a pipe")?;
        let stdout = BufReader::new(child.stdout.take().context("a pipe")?);
        Ok(Self { child, stdin, stdout, line: Vec::new() })
    }

    fn round_trip(&mut self, line: &str) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        self.stdin.write_all(line.as_bytes())?;
        self.line.clear();
        self.stdout.read_until(b'\n', &mut self.line)?;
        Ok(begun.elapsed())
    }
}

impl Drop for RawPipe {
    fn drop(&mut self) {
        // The child is ours; if it has gone already there is nothing to end.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
