//! What these tests share.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{ChildStdin, Stdio};

use jackfield_test_support::{JsonLines, KilledOnDrop, Sandbox, processes_mentioning, repository};
use serde_json::Value;

pub(crate) use crate::sandbox;
pub(crate) use jackfield_test_support::{save, text};

/// The file of a tool in the home.
pub fn tool_file(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.home().join("extensions/tools").join(format!("{name}.py"))
}

/// Writes a tool into the home.
pub fn tool(sandbox: &Sandbox, name: &str, text: &str) -> PathBuf {
    sandbox.python_tool(name, text)
}

/// Calls a tool and gives its text; fails unless it works.
#[track_caller]
pub fn called(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.called(&[&["call"], words].concat())
}

/// Calls a tool that answers with an error and gives its text.
#[track_caller]
pub fn fails(sandbox: &Sandbox, words: &[&str]) -> String {
    let (code, answer) = sandbox.json(&[&["call"], words].concat());
    assert_eq!(code, 1, "{answer:#}");
    assert_eq!(answer["is_error"], true, "{answer:#}");
    text(&answer).to_owned()
}

/// What is said about the tools beside the tools.
#[track_caller]
pub fn complaints(sandbox: &Sandbox) -> String {
    let output = sandbox.run(&["tools"]);
    output.stderr
}

/// The packages that `cargo xtask test` installs for these tests, as a virtual environment beside the extensions.
pub fn with_packages(sandbox: &Sandbox) {
    let packages = repository().join("target/tools/python-packages");
    assert!(packages.join("pyvenv.cfg").is_file(), "{} is missing: run `cargo xtask test`", packages.display());
    let extensions = sandbox.home().join("extensions");
    fs::create_dir_all(&extensions).expect("a directory");
    std::os::unix::fs::symlink(packages, extensions.join(".venv")).expect("a link");
}

/// The living workers of a sandbox, without their keepers.
pub fn workers(sandbox: &Sandbox) -> Vec<u32> {
    let all = processes_mentioning(&sandbox.home().join("extensions").display().to_string());
    let is_worker = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        words.contains("main.py") && !words.contains("__keep")
    };
    all.into_iter().filter(is_worker).collect()
}

/// What a process has in memory.
pub fn resident_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process that runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse().ok()).expect("a number of kB")
}

/// `jackfield --json dev` at work. Killed when dropped.
pub struct Dev {
    child: KilledOnDrop,
    stdin: ChildStdin,
    lines: JsonLines,
}

impl Dev {
    #[track_caller]
    pub fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.command(&[&["--json", "dev"], args].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary runs");
        let stdin = child.stdin.take().expect("a pipe");
        let lines = JsonLines::of(child.stdout.take().expect("a pipe"));
        let mut dev = Self { child: child.into(), stdin, lines };
        dev.wait_for("ready", |line| line["type"] == "ready");
        dev
    }

    #[track_caller]
    pub fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.lines.wait_for(what, fits)
    }

    /// The next word about a reload of this extension.
    #[track_caller]
    pub fn reloaded(&mut self, id: &str) -> Value {
        let line = self.wait_for(&format!("a reload of {id}"), |line| {
            line["type"] == "ext_reloaded" && line["reload"]["extension"] == id
        });
        line["reload"].clone()
    }

    pub fn types(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).expect("it reads");
    }

    /// Types a call and gives the answer.
    #[track_caller]
    pub fn call(&mut self, line: &str) -> Value {
        self.types(line);
        let tool = line.split_whitespace().next().expect("a tool").to_owned();
        self.wait_for(&format!("an answer of {tool}"), |line| line["tool"] == tool.as_str() && line["ok"].is_boolean())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}
