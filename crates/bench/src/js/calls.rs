//! A tool call and a host call through everything, beside a bare call of a function in the engine.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use jackfield_host::{Host, ToolCall};
use jackfield_protocol::Isolation;
use serde_json::{Value, json};

use super::engine::bare_calls;
use super::open;
use crate::numbers::{Samples, ratio};

const TURNS: usize = 20;
const TURN: usize = 500;
/// Host calls within one tool call, so that the tool call's own cost does not count.
const ASKS: usize = 200;

/// `answer` returns at once; `ask` makes host calls and says how long they took.
const SCRIPT: &str = r#"
import { hrtime } from "node:process";
import { statSync } from "node:fs";
export default function (pi) {
  const parameters = { type: "object", properties: { text: { type: "string" }, count: { type: "integer" } }, required: ["text"] };
  pi.registerTool({
    name: "answer", label: "Answer", description: "Answers at once", parameters,
    async execute(id, input) { return { content: [{ type: "text", text: input.text }], details: undefined }; },
  });
  pi.registerTool({
    name: "ask", label: "Ask", description: "Asks the host", parameters,
    async execute(id, input) {
      const begun = hrtime.bigint();
      for (let i = 0; i < input.count; i++) statSync("answers.ts");
      return { content: [{ type: "text", text: String(hrtime.bigint() - begun) }], details: undefined };
    },
  });
}
"#;

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("one tool call through the whole host (ledger, policy, schema, supervisor), and one host call");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let dir = tempfile::tempdir()?;
    let mut sides = Vec::new();
    for (name, isolation) in [("thread", Isolation::Thread), ("process", Isolation::Process)] {
        let host = runtime.block_on(ready(&dir.path().join(name), isolation))?;
        sides.push((name, host, Samples::default(), Samples::default()));
    }
    let mut bare = Samples::default();
    for _ in 0..TURNS {
        for sample in bare_calls(TURN)? {
            bare.add(sample);
        }
        for (_, host, calls, asks) in &mut sides {
            let (host, turn) = (host.clone(), runtime.block_on(runtime.spawn(turn(host.clone())))??);
            turn.into_iter().for_each(|sample| calls.add(sample));
            asks.add(runtime.block_on(asked(&host))?);
        }
    }
    println!("  bare call of a function in the engine      {}", bare.line());
    for (name, host, calls, asks) in sides {
        println!("  tool call, {name:<8}                        {}", calls.line());
        println!("  host call, {name:<8} (mean of {ASKS})          {}", asks.line());
        println!(
            "  tool call over bare, {name}: {:.0} times (p50)",
            ratio(calls.percentile(0.5), bare.percentile(0.5))
        );
        runtime.block_on(host.shutdown());
    }
    Ok(())
}

async fn ready(home: &Path, isolation: Isolation) -> anyhow::Result<Host> {
    fs::create_dir_all(home)?;
    let script = home.join("answers.ts");
    fs::write(&script, SCRIPT)?;
    let host = open(home, vec![script], isolation)?;
    host.learn(Duration::from_secs(30)).await;
    let first = host.call_tool(ToolCall::by_person("answer", args(1))).await;
    first.result.context("the first call does not work")?;
    Ok(host)
}

fn args(count: usize) -> Value {
    json!({ "text": "a short argument, as tools get them", "count": count })
}

async fn turn(host: Host) -> anyhow::Result<Vec<Duration>> {
    let mut samples = Vec::with_capacity(TURN);
    for _ in 0..TURN {
        let begun = Instant::now();
        let outcome = host.call_tool(ToolCall::by_person("answer", args(1))).await;
        samples.push(begun.elapsed());
        outcome.result?;
    }
    Ok(samples)
}

async fn asked(host: &Host) -> anyhow::Result<Duration> {
    let outcome = host.call_tool(ToolCall::by_person("ask", args(ASKS))).await;
    let answer = serde_json::to_value(outcome.result?)?;
    let nanos = answer.pointer("/content/0/text").and_then(Value::as_str).and_then(|text| text.parse::<u64>().ok());
    let nanos = nanos.with_context(|| format!("the extension said how long it took: {answer}"))?;
    Ok(Duration::from_nanos(nanos / ASKS as u64))
}
