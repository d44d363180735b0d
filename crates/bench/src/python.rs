//! Python files: one call against a raw pipe to the same interpreter, the time from a save to its effect, memory, the first
//! sight of many files, and a storm of saves.

mod live;
mod memory;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use jackfield_host::{Home, Host, HostOptions, ToolCall};
use jackfield_process::{Keeper, ProcessOptions, ProcessRuntime, PythonOptions};
use serde_json::json;

use crate::beside;
use crate::numbers::{Samples, ratio};

const TURN: usize = 200;
const TURNS: usize = 20;

/// Does the least that an interpreter can do with a line: read it as JSON and answer.
const RAW: &str = "import json, sys\nfor line in sys.stdin:\n    frame = json.loads(line)\n    sys.stdout.write(json.dumps({'type': 'tool_result', 'id': frame['id'], 'content': [{'type': 'text', 'text': frame['args']['text']}]}) + '\\n')\n    sys.stdout.flush()\n";

pub(crate) fn measure() -> anyhow::Result<()> {
    let interpreter = interpreter()?;
    println!("Python files ({})", interpreter.version);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    calls(&runtime, &interpreter)?;
    live::save_to_live(&runtime, &interpreter)?;
    memory::measure(&runtime, &interpreter)?;
    live::storm(&runtime, &interpreter)
}

/// The interpreter itself, not something that looks for one.
pub(crate) struct Interpreter {
    program: PathBuf,
    version: String,
}

fn interpreter() -> anyhow::Result<Interpreter> {
    let script = "import sys; print(sys.executable); print(sys.version.split()[0])";
    let output = Command::new("python3").args(["-c", script]).output().context("python3 is needed")?;
    let text = String::from_utf8(output.stdout)?;
    let mut lines = text.lines();
    let program = PathBuf::from(lines.next().context("python3 says where it is")?);
    Ok(Interpreter { program, version: lines.next().unwrap_or_default().to_owned() })
}

/// A host over the Python files in `dir/home/extensions/tools`.
pub(crate) fn open(dir: &Path, interpreter: &Interpreter) -> anyhow::Result<Host> {
    let home = Home::at(dir.join("home"));
    fs::create_dir_all(dir.join("project"))?;
    let keeper = Keeper { program: beside("jackfield")?, args: vec!["__keep".to_owned()] };
    let python = PythonOptions { code: home.code(), interpreter: interpreter.program.to_str().map(str::to_owned) };
    let process =
        ProcessRuntime::new(ProcessOptions { keeper: Some(keeper), python: Some(python), ..ProcessOptions::default() });
    let env: BTreeMap<String, String> = std::env::vars().filter(|(name, _)| name == "PATH").collect();
    let host = Host::open(HostOptions {
        env,
        runtimes: vec![Arc::new(process)],
        ..HostOptions::new(home, dir.join("project"))
    })?;
    Ok(host)
}

/// Writes a tool.
pub(crate) fn tool(dir: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let folder = dir.join("home/extensions/tools");
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{name}.py"));
    let draft = folder.join(format!("{name}.draft~"));
    fs::write(&draft, text)?;
    fs::rename(&draft, &file)?;
    Ok(file)
}

fn calls(runtime: &tokio::runtime::Runtime, interpreter: &Interpreter) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    tool(dir.path(), "plain", "def run(text: str, count: int = 0) -> str:\n    return text\n")?;
    tool(dir.path(), "coroutine", "async def run(text: str, count: int = 0) -> str:\n    return text\n")?;
    let args = json!({ "text": "a short argument, as tools get them", "count": 3 });
    let host = runtime.block_on(async { open(dir.path(), interpreter) })?;
    runtime.block_on(host.learn(Duration::from_secs(30)));
    let mut raw = Command::new(&interpreter.program)
        .args(["-c", RAW])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the interpreter runs")?;
    let mut stdin = raw.stdin.take().context("a pipe")?;
    let mut stdout = BufReader::new(raw.stdout.take().context("a pipe")?);
    let line = format!("{}\n", json!({ "type": "tool_call", "id": "123", "name": "plain", "args": args }));
    let mut answer = Vec::new();
    let (mut bare, mut plain, mut coroutine) = (Samples::default(), Samples::default(), Samples::default());
    for turn in 0..=TURNS {
        for _ in 0..TURN {
            let begun = Instant::now();
            stdin.write_all(line.as_bytes())?;
            answer.clear();
            stdout.read_until(b'\n', &mut answer)?;
            if turn > 0 {
                bare.add(begun.elapsed());
            }
        }
        for (name, samples) in [("plain", &mut plain), ("coroutine", &mut coroutine)] {
            for _ in 0..TURN {
                let begun = Instant::now();
                let outcome = runtime.block_on(host.call_tool(ToolCall::by_person(name, args.clone())));
                // The first turn starts the workers.
                if turn > 0 {
                    samples.add(begun.elapsed());
                }
                outcome.result?;
            }
        }
    }
    drop(stdin);
    raw.wait()?;
    runtime.block_on(host.shutdown());
    println!("  raw pipe to the same interpreter   {}", bare.line());
    println!("  whole path, plain function         {}", plain.line());
    println!("  whole path, coroutine              {}", coroutine.line());
    let p50 = |samples: &Samples| samples.percentile(0.5);
    println!(
        "  ratio to the raw pipe, p50         plain {:.2}, coroutine {:.2}",
        ratio(p50(&plain), p50(&bare)),
        ratio(p50(&coroutine), p50(&bare))
    );
    Ok(())
}
