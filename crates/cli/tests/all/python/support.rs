//! What these tests share.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use jackfield_test_support::{PATIENCE, Sandbox, processes_mentioning, repository};
use serde_json::{Value, json};

pub fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

/// The file of a tool in the home.
pub fn tool_file(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.home().join("extensions/tools").join(format!("{name}.py"))
}

/// Writes a tool into the home.
pub fn tool(sandbox: &Sandbox, name: &str, text: &str) -> PathBuf {
    let file = tool_file(sandbox, name);
    sandbox.write(&file, text);
    file
}

/// Writes a file as editors do: it appears at once.
pub fn save(file: &Path, text: &str) {
    let draft = file.with_extension("draft~");
    fs::write(&draft, text).expect("a draft");
    fs::rename(&draft, file).expect("saved");
}

/// The text that a call answers with.
#[track_caller]
pub fn text(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer:#}"))
}

/// Calls a tool and gives its text; fails unless it works.
#[track_caller]
pub fn called(sandbox: &Sandbox, words: &[&str]) -> String {
    let (code, answer) = sandbox.json(&[&["call"], words].concat());
    assert_eq!(code, 0, "{answer:#}");
    text(&answer).to_owned()
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
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl Dev {
    #[track_caller]
    pub fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.command(&[&["--json", "dev"], args].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary runs");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "noise": line }));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let mut dev = Self { child, stdin, lines, seen: Vec::new() };
        dev.wait_for("ready", |line| line["type"] == "ready");
        dev
    }

    #[track_caller]
    pub fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.seen.iter().position(&fits) {
                return self.seen.remove(at);
            }
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Timeout) => panic!("in vain: {what}; seen: {:#?}", self.seen),
                Err(RecvTimeoutError::Disconnected) => panic!("it went before {what}; seen: {:#?}", self.seen),
            }
        }
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

impl Drop for Dev {
    fn drop(&mut self) {
        // It is ours; one that has gone already is fine.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
