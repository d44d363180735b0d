//! Extensions that misbehave, installed in the manner that each test needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jackfield_test_support::{Sandbox, misbehaving};
use serde_json::Value;

pub(crate) use crate::sandbox;

pub(crate) const FRAMES: &str = "frames";
pub(crate) const JSON_RPC: &str = "json-rpc";

/// Installs one that misbehaves in either dialect under a manifest of our own; `rest` are further lines of it.
pub(crate) fn native(sandbox: &Sandbox, id: &str, dialect: &str, modes: &str, rest: &str) -> PathBuf {
    let script = misbehaving(if dialect == FRAMES { "misbehave.py" } else { "misbehave_rpc.py" });
    let dir = sandbox.home().join("extensions").join(id);
    manifest(sandbox, &dir, id, dialect, &[&script.to_string_lossy(), modes], rest);
    dir
}

/// Installs a Python program that speaks frames, with [`PRELUDE`] before it.
pub(crate) fn script(sandbox: &Sandbox, id: &str, source: &str, rest: &str) -> PathBuf {
    let dir = sandbox.home().join("extensions").join(id);
    let file = dir.join("main.py");
    sandbox.write(&file, &format!("{PRELUDE}{source}"));
    manifest(sandbox, &dir, id, FRAMES, &[&file.to_string_lossy()], rest);
    dir
}

pub(crate) fn manifest(sandbox: &Sandbox, dir: &Path, id: &str, dialect: &str, args: &[&str], rest: &str) {
    let text = format!(
        "id = \"{id}\"\nversion = \"1.0.0\"\n\n[run]\ncommand = \"python3\"\nargs = {args:?}\ndialect = \"{dialect}\"\n\n{rest}\n"
    );
    sandbox.write(&dir.join("extension.toml"), &text);
}

/// What the programs of [`script`] share.
pub(crate) const PRELUDE: &str = r#"
import json, os, sys, threading, time

def send(kind, **fields):
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()

def hello(*tools, intercept=()):
    send("hello", name="script", version="1.0.0", capabilities=[])
    for tool in tools:
        send("register_tool", name=tool, description="", schema={"type": "object"})
    if intercept:
        send("subscribe", events=[], intercept=list(intercept))
    send("ready")

def hear():
    for line in sys.stdin:
        frame = json.loads(line)
        if frame["type"] == "shutdown":
            return
        if frame["type"] != "hello_ack":
            yield frame

def text(frame, text, is_error=False):
    send("tool_result", id=frame["id"], content=[{"type": "text", "text": text}], is_error=is_error)

"#;

/// Runs `what` and asserts that it did not take longer.
#[track_caller]
pub(crate) fn within<T>(limit: Duration, what: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let value = what();
    let took = began.elapsed();
    assert!(took < limit, "took {took:?}, which is more than {limit:?}");
    value
}

/// Processes that were started for extensions of this sandbox, found by the environment that every extension is given.
pub(crate) fn processes(sandbox: &Sandbox) -> Vec<u32> {
    let mark = format!("JACKFIELD_DATA_DIR={}", sandbox.home().join("data").display());
    let environ = |pid: &u32| fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let is_ours = |pid: &u32| environ(pid).split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes()));
    let entries = fs::read_dir("/proc").expect("a table of processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(is_ours).filter(|pid| jackfield_test_support::is_alive(*pid)).collect()
}

/// The messages of diagnostics.
pub(crate) fn messages(listing: &Value) -> String {
    let diagnostics = listing["diagnostics"].as_array().expect("diagnostics");
    diagnostics.iter().filter_map(|diagnostic| diagnostic["message"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The row of one extension in a listing.
#[track_caller]
pub(crate) fn row(listing: &Value, id: &str) -> Value {
    let rows = listing["extensions"].as_array().expect("rows");
    rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no row {id} in {listing:#}")).clone()
}

/// The public names of an extension's tools.
pub(crate) fn tools_of(listing: &Value, extension: &str) -> Vec<String> {
    let tools = listing["tools"].as_array().expect("tools").iter();
    let own = tools.filter(|tool| tool["extension"] == extension);
    own.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

/// Every file below `dir` with its bytes.
pub(crate) fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push((entry.path(), fs::read(entry.path()).unwrap_or_default()));
            }
        }
    }
    found.sort();
    found
}
