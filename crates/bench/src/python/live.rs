//! From a save to its effect, once and a thousand times.

use std::time::{Duration, Instant};

use anyhow::Context;
use jackfield_host::{Host, ToolCall};
use jackfield_protocol::Content;
use serde_json::json;

use super::memory::{descendants, proportional_kb};
use super::{Interpreter, open, tool};
use crate::numbers::{Samples, show};

const SAVES: u64 = 30;
const STORM: u64 = 1_000;
/// By then everything that is needed once is there.
const SETTLED: u64 = 200;
const MINUTE: Duration = Duration::from_secs(60);
/// As `jackfield dev` waits for a save to be complete.
const DEBOUNCE: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(30);

fn version(number: u64) -> String {
    format!("FIRST = {number}\ndef run():\n    return [FIRST, {number}]\n")
}

async fn ask(host: &Host) -> anyhow::Result<[u64; 2]> {
    let result = host.call_tool(ToolCall::by_person("number", json!({}))).await.result?;
    match result.content.first() {
        Some(Content::Text { text, .. }) if !result.is_error => serde_json::from_str(text).context("two numbers"),
        other => anyhow::bail!("no answer: {other:?}"),
    }
}

/// Waits until the tool answers as version `number`.
async fn live(host: &Host, number: u64) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while ask(host).await? != [number, number] {
        anyhow::ensure!(Instant::now() < deadline, "version {number} does not come to life");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

pub(super) fn save_to_live(runtime: &tokio::runtime::Runtime, interpreter: &Interpreter) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    tool(dir.path(), "number", &version(0))?;
    let samples = runtime.block_on(async {
        let host = open(dir.path(), interpreter)?;
        host.learn(PATIENCE).await;
        let watching = host.watch(DEBOUNCE)?;
        live(&host, 0).await?;
        let mut samples = Samples::default();
        for number in 1..=SAVES {
            let begun = Instant::now();
            tool(dir.path(), "number", &version(number))?;
            live(&host, number).await?;
            samples.add(begun.elapsed());
            // Not so many in a minute that the host takes its time.
            tokio::time::sleep(Duration::from_millis(if number < 18 { 300 } else { 3_500 })).await;
        }
        drop(watching);
        host.shutdown().await;
        anyhow::Ok(samples)
    })?;
    println!("  from a save to its effect          {} (goal 300 ms)", samples.line());
    Ok(())
}

/// A thousand saves in a minute while calls run: how many calls were answered, how many of them wrongly, and what is left.
pub(super) fn storm(runtime: &tokio::runtime::Runtime, interpreter: &Interpreter) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    tool(dir.path(), "number", &version(0))?;
    runtime.block_on(async {
        let host = open(dir.path(), interpreter)?;
        host.learn(PATIENCE).await;
        let watching = host.watch(DEBOUNCE)?;
        live(&host, 0).await?;
        let before = descendants().len();
        let memory = || (proportional_kb(std::process::id()), descendants().into_iter().map(proportional_kb).sum::<u64>());
        let mut settled = memory();
        let begun = Instant::now();
        let (mut calls, mut lost, mut mixed, mut newest) = (0, 0, 0, 0);
        let mut saved = 0;
        while begun.elapsed() < MINUTE || saved < STORM {
            let due = (begun.elapsed().as_secs_f64() / MINUTE.as_secs_f64() * STORM as f64) as u64;
            while saved < due.min(STORM) {
                saved += 1;
                if saved == SETTLED {
                    settled = memory();
                }
                tool(dir.path(), "number", &version(saved))?;
            }
            calls += 1;
            match ask(&host).await {
                Ok([a, b]) if a == b => newest = newest.max(a),
                Ok(_) => mixed += 1,
                Err(_) => lost += 1,
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        live(&host, STORM).await?;
        // The last of the old versions may be on its way out.
        let deadline = Instant::now() + PATIENCE;
        while descendants().len() > before && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        println!(
            "  {STORM} saves in {}: {calls} calls, {lost} lost, {mixed} answered by a mixture; {} processes before, {} after",
            show(begun.elapsed()),
            before,
            descendants().len(),
        );
        let end = memory();
        println!(
            "    the host {} kB after {SETTLED} saves, {} kB at the end; the processes below it {} and {} kB",
            settled.0, end.0, settled.1, end.1
        );
        drop(watching);
        host.shutdown().await;
        anyhow::Ok(())
    })
}
