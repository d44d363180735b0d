//! A thousand of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use jackfield_protocol::{CallError, ContributionChange, HostCall, LogRecord, Notice};
use jackfield_runtime::{BoxFuture, CallCx, HostApi, HostCallCx, Runtime as _};
use jackfield_wasm::WasmRuntime;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{options, spec, started, tool};

const MANY: usize = 1000;

/// A host that answers nobody before all have asked.
struct Patient {
    asked: AtomicUsize,
    answers: Semaphore,
}

impl HostApi for Patient {
    fn call(&self, _: HostCall, _: HostCallCx) -> BoxFuture<'_, Result<Value, CallError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async {
            let _answer = self.answers.acquire().await;
            Ok(json!({ "value": "x" }))
        })
    }

    fn contribute(&self, _: ContributionChange) {}

    fn tell(&self, _: Notice) {}

    fn log(&self, _: LogRecord) {}
}

/// The resident set in megabytes, and the threads of this process.
fn size() -> anyhow::Result<(f64, usize)> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()).context("the state of this process")
    };
    Ok((field("VmRSS:")?.parse::<f64>()? / 1024.0, field("Threads:")?.parse()?))
}

/// Each in a process of its own: what one frees would be counted for the other.
pub(crate) fn measure(dir: &Path) -> anyhow::Result<()> {
    println!("{MANY} at once, on one thread");
    for part in ["extensions", "suspended"] {
        let status = Command::new(std::env::current_exe()?).arg(super::CROWD).arg(part).arg(dir).status()?;
        anyhow::ensure!(status.success(), "{part}: {status}");
    }
    Ok(())
}

/// One of the parts.
pub(crate) fn child(mut words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let part = words.next().context("a part")?;
    let dir = PathBuf::from(words.next().context("a folder")?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match part.as_str() {
        "extensions" => runtime.block_on(extensions(&dir)),
        _ => runtime.block_on(suspended(&dir)),
    }
}

async fn extensions(dir: &Path) -> anyhow::Result<()> {
    let runtime = WasmRuntime::new(options(dir, "cold0"));
    // The engine and the code are there once, however many use them.
    let _first = started(&runtime, dir).await?;
    let (before, _) = size()?;
    let began = Instant::now();
    let mut all = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        all.push(started(&runtime, dir).await?);
    }
    let (after, threads) = size()?;
    println!(
        "  {MANY} extensions with an instance each: {:.1} MB ({:.0} KB each), {threads} threads, started in {:.0} ms",
        after - before,
        (after - before) * 1024.0 / MANY as f64,
        began.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}

async fn suspended(dir: &Path) -> anyhow::Result<()> {
    let runtime = WasmRuntime::new(options(dir, "cold0"));
    let host = Arc::new(Patient { asked: AtomicUsize::new(0), answers: Semaphore::new(0) });
    let theirs: Arc<dyn HostApi> = Arc::clone(&host) as Arc<dyn HostApi>;
    let instance = runtime.start(spec(dir)?, theirs).await?.instance;
    let (before, _) = size()?;
    let began = Instant::now();
    let calls: Vec<_> = (0..MANY)
        .map(|_| {
            let instance = Arc::clone(&instance);
            tokio::spawn(async move {
                instance.call(tool("env", json!({ "name": "HOME" })), CallCx::within(Duration::from_secs(60))).await
            })
        })
        .collect();
    while host.asked.load(Ordering::Relaxed) < MANY {
        tokio::task::yield_now().await;
        anyhow::ensure!(began.elapsed() < Duration::from_secs(60), "not all of them asked");
    }
    let (after, threads) = size()?;
    let asked = began.elapsed();
    host.answers.add_permits(MANY);
    for call in calls {
        call.await??;
    }
    println!(
        "  {MANY} guests suspended in a host call: {:.1} MB ({:.0} KB each), {threads} threads, all asked after {:.0} ms, all answered after {:.0} ms",
        after - before,
        (after - before) * 1024.0 / MANY as f64,
        asked.as_secs_f64() * 1e3,
        began.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}
