//! What Python files cost while nobody calls them, and while all are in use; and how long the first sight of many takes.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use jackfield_host::ToolCall;
use serde_json::json;

use super::{Interpreter, open, tool};
use crate::numbers::show;

const SIZES: [usize; 3] = [1, 10, 100];

pub(super) fn measure(runtime: &tokio::runtime::Runtime, interpreter: &Interpreter) -> anyhow::Result<()> {
    println!("  memory of all processes below the host (proportional, keepers included)");
    for size in SIZES {
        let dir = tempfile::tempdir()?;
        for number in 0..size {
            let kind = if number % 2 == 0 { "def" } else { "async def" };
            tool(dir.path(), &format!("t{number}"), &format!("{kind} run(x: int = 1) -> int:\n    return x\n"))?;
        }
        runtime.block_on(async {
            let first = open(dir.path(), interpreter)?;
            let begun = Instant::now();
            first.learn(Duration::from_secs(60)).await;
            let learnt = begun.elapsed();
            first.shutdown().await;
            let host = open(dir.path(), interpreter)?;
            host.learn(Duration::from_secs(60)).await;
            let rest: u64 = descendants().into_iter().map(proportional_kb).sum();
            let begun = Instant::now();
            for number in 0..size {
                host.call_tool(ToolCall::by_person(format!("t{number}"), json!({}))).await.result?;
            }
            let started = begun.elapsed();
            let processes = descendants();
            let keepers: Vec<u32> = processes.iter().copied().filter(|pid| is_keeper(*pid)).collect();
            let used: u64 = processes.iter().copied().map(proportional_kb).sum();
            let kept: u64 = keepers.into_iter().map(proportional_kb).sum();
            println!(
                "    {size:>3} files  at rest {rest} kB  in use {used} kB ({} kB each, of it the keeper {} kB)  first sight {}  \
                 first call {} each",
                used / size as u64,
                kept / size as u64,
                show(learnt),
                show(started / u32::try_from(size).unwrap_or(1))
            );
            host.shutdown().await;
            anyhow::Ok(())
        })?;
    }
    Ok(())
}

/// All processes below this one.
pub(super) fn descendants() -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        if fields.next() != Some("Z")
            && let Some(parent) = fields.next().and_then(|parent| parent.parse().ok())
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut pending = vec![std::process::id()];
    while let Some(pid) = pending.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        found.extend(&below);
        pending.extend(below);
    }
    found
}

fn is_keeper(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1) == Some(b"__keep")
}

/// What a process costs, with shared pages divided among those who share them.
pub(super) fn proportional_kb(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("Pss:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}
