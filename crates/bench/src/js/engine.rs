//! What it costs to have an engine at all: a bare one, and one that is ready for an extension.

use std::fs;
use std::time::{Duration, Instant};

use jackfield_protocol::Isolation;
use rquickjs::{Context, Ctx, Function, Runtime};

use super::open;
use crate::numbers::{Samples, ratio};

const TURNS: usize = 200;
const EMPTY: &str = "export default function () {}\n";

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("engine start, one after another, wall time");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut bare, mut ready) = (Samples::default(), Samples::default());
    let mut processes = Samples::default();
    for turn in 0..TURNS {
        bare.add(bare_start()?);
        ready.add(started(&runtime, turn, Isolation::Thread)?);
        processes.add(started(&runtime, turn, Isolation::Process)?);
    }
    println!("  bare QuickJS (runtime, context, one expression)       {}", bare.line());
    println!("  an empty extension from cache, on a thread            {}", ready.line());
    println!("  the same in a process of its own                      {}", processes.line());
    println!("  thread over bare: {:.1} times (p50)", ratio(ready.percentile(0.5), bare.percentile(0.5)));
    Ok(())
}

/// A host that knows one extension, whose code is cached; the time from asking for it to its contributions.
fn started(runtime: &tokio::runtime::Runtime, turn: usize, isolation: Isolation) -> anyhow::Result<Duration> {
    static HOME: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();
    let home = match HOME.get() {
        Some(home) => home.path().to_owned(),
        None => {
            let made = tempfile::tempdir()?;
            HOME.get_or_init(|| made).path().to_owned()
        }
    };
    let script = home.join("empty.ts");
    if turn == 0 {
        fs::write(&script, EMPTY)?;
    }
    runtime.block_on(async {
        let host = open(&home, vec![script], isolation)?;
        let report = host.report();
        let mut took = Duration::ZERO;
        for found in &report.extensions {
            let begun = Instant::now();
            host.start(&found.manifest.id, Duration::from_secs(30)).await?;
            took = begun.elapsed();
        }
        host.shutdown().await;
        Ok(took)
    })
}

/// The engine without anything of ours.
fn bare_start() -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let context = Context::full(&Runtime::new()?)?;
    let two: i32 = context.with(|cx| cx.eval("1 + 1"))?;
    let took = begun.elapsed();
    anyhow::ensure!(two == 2, "it computes");
    Ok(took)
}

/// Calls of one function with a small object, which comes back: what a call costs without a host. Arguments and answer go
/// through JSON text as they do in ours.
pub(super) fn bare_calls(count: usize) -> anyhow::Result<Vec<Duration>> {
    let context = Context::full(&Runtime::new()?)?;
    context.with(|cx: Ctx<'_>| {
        let answer: Function = cx.eval("(input) => ({ content: [{ type: 'text', text: input.text }] })")?;
        let args = r#"{"text":"a short argument, as tools get them","count":1}"#;
        let mut samples = Vec::with_capacity(count);
        for _ in 0..count {
            let begun = Instant::now();
            let input = cx.json_parse(args)?;
            let output: rquickjs::Value = answer.call((input,))?;
            let text = cx.json_stringify(output)?.map(|text| text.to_string()).transpose()?;
            samples.push(begun.elapsed());
            anyhow::ensure!(text.is_some_and(|text| text.contains("short")), "it answers");
        }
        Ok(samples)
    })
}
