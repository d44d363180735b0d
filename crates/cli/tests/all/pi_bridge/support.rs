//! The real pi, driven over its RPC, with a model that says what a test tells it to.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use jackfield_test_support::{KilledOnDrop, PATIENCE, Sandbox, repository};
use serde_json::{Value, json};

/// Both lines of pi that people use: the last under its first name, and one under its new one.
pub(crate) const VERSIONS: [&str; 2] = ["pi-mariozechner", "pi-earendil"];

pub(crate) const TOKEN: &str = "a-token-that-nobody-else-has";

/// The program of a version, which `cargo xtask test` installs.
pub(crate) fn program(version: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_BIN_EXE_jackfield")).ancestors().nth(2).expect("the target folder");
    let program = target.join("tools").join(version).join("node_modules/.bin/pi");
    assert!(program.exists(), "{} is missing; `cargo xtask pi` installs it", program.display());
    program
}

/// A helper in Python that prints its port and runs until it is dropped.
pub(crate) struct Server {
    pub(crate) child: KilledOnDrop,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(script: &str, args: &[&str]) -> Self {
        let script = repository().join("crates/cli/tests/all/pi_bridge").join(script);
        let mut command = Command::new("python3");
        let mut child = command.arg(script).args(args).stdout(Stdio::piped()).spawn().expect("python3 runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a port");
        Self { port: line.trim().parse().expect("a port"), child: child.into() }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }
}

/// A place for one test: a sandbox, a model, and a directory for pi.
pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
    pub(crate) version: &'static str,
    _model: Server,
}

impl Stage {
    /// With the answers of the model, in order.
    pub(crate) fn new(version: &'static str, replies: &[Value]) -> Self {
        let sandbox = crate::sandbox();
        let folder = sandbox.path("stage");
        fs::create_dir_all(&folder).expect("a folder");
        let lines: String = replies.iter().map(|reply| format!("{reply}\n")).collect();
        fs::write(folder.join("replies.jsonl"), lines).expect("replies");
        let model = Server::start("model.py", &[folder.to_str().expect("UTF-8")]);
        let models = json!({ "providers": { "stub": {
            "baseUrl": format!("http://127.0.0.1:{}/v1", model.port), "api": "openai-completions", "apiKey": "none",
            "models": [{ "id": "stub", "input": ["text", "image"] }],
        } } });
        sandbox.write(&sandbox.path("agent/models.json"), &models.to_string());
        Self { sandbox, version, _model: model }
    }

    /// What the model was asked so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.lines("requests.jsonl")
    }

    /// The model's answers to the requests that come from now on.
    pub(crate) fn reply(&self, replies: &[Value]) {
        let file = self.sandbox.path("stage/replies.jsonl");
        let mut lines: Vec<String> = fs::read_to_string(&file).expect("replies").lines().map(str::to_owned).collect();
        lines.resize(self.requests().len(), says("nothing").to_string());
        lines.extend(replies.iter().map(Value::to_string));
        fs::write(&file, lines.join("\n")).expect("replies");
    }

    pub(crate) fn lines(&self, file: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.sandbox.path("stage").join(file)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The names of the tools that the model was offered with a request.
    pub(crate) fn offered(&self, request: usize) -> Vec<String> {
        let tools = self.requests()[request]["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// The results of tools that stand in a request, in order.
    pub(crate) fn results(&self, request: usize) -> Vec<String> {
        let messages = self.requests()[request]["messages"].as_array().expect("messages").clone();
        let text = |content: &Value| match content {
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<String>(),
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        messages.iter().filter(|message| message["role"] == "tool").map(|message| text(&message["content"])).collect()
    }

    /// Sets what pi needs to find the model, and nothing of whoever runs the tests.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command.env("PI_CODING_AGENT_DIR", self.sandbox.path("agent")).env("PI_OFFLINE", "1").env("PI_TELEMETRY", "0");
        command.env("HOME", self.sandbox.user()).current_dir(self.sandbox.project());
    }

    /// What every pi here is told.
    pub(crate) fn words() -> Vec<&'static str> {
        "--mode rpc --provider stub --model stub --no-skills --no-prompt-templates".split(' ').collect()
    }

    /// pi by itself, with these further arguments.
    pub(crate) fn pi(&self, args: &[&str]) -> Pi {
        let mut command = Command::new(program(self.version));
        self.prepare(&mut command);
        command.args(Self::words()).args(args);
        Pi::start(command)
    }

    /// pi as `jackfield pi` starts it.
    pub(crate) fn jackfield_pi(&self, ours: &[&str], args: &[&str]) -> Pi {
        let mut command = self.sandbox.command(ours);
        self.prepare(&mut command);
        command.arg("pi").arg("--pi").arg(program(self.version)).arg("--").args(Self::words());
        command.args(["--no-session", "--no-extensions"]).args(args);
        Pi::start(command)
    }

    /// The extension of the tools that are installed, written by the binary.
    pub(crate) fn bridge(&self) -> PathBuf {
        let (code, answer) = self.sandbox.json(&["bridge"]);
        assert_eq!(code, 0, "{answer:#}");
        answer["path"].as_str().expect("a path").into()
    }
}

/// pi in RPC mode.
pub(crate) struct Pi {
    pub(crate) child: KilledOnDrop,
    stdin: Option<ChildStdin>,
    events: Receiver<Value>,
    pub(crate) seen: Vec<Value>,
}

impl Pi {
    pub(crate) fn start(mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("pi runs");
        let (sender, events) = channel();
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "type": "noise", "line": line }));
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child: child.into(), stdin, events, seen: Vec::new() }
    }

    pub(crate) fn send(&mut self, command: Value) {
        let stdin = self.stdin.as_mut().expect("open");
        writeln!(stdin, "{command}").and_then(|()| stdin.flush()).expect("pi reads");
    }

    /// Waits for an event of this type.
    #[track_caller]
    pub(crate) fn until(&mut self, kind: &str) -> Value {
        let deadline = Instant::now() + PATIENCE * 2;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => {
                    self.seen.push(event.clone());
                    if event["type"] == kind {
                        return event;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("no {kind}: {:#?}", self.seen),
                Err(RecvTimeoutError::Disconnected) => panic!("pi ended before {kind}: {:#?}", self.seen),
            }
        }
    }

    /// Says something and waits until all is done; gives how the calls ended, by tool.
    #[track_caller]
    pub(crate) fn prompt(&mut self, text: &str) -> Vec<Value> {
        let before = self.seen.len();
        self.send(json!({ "type": "prompt", "message": text }));
        self.until("agent_end");
        let ends = self.seen.iter().skip(before).filter(|event| event["type"] == "tool_execution_end");
        ends.cloned().collect()
    }

    /// Ends pi as a client does, and gives its exit code.
    pub(crate) fn end(mut self) -> i32 {
        drop(self.stdin.take());
        self.child.gone("the end of pi with its input")
    }
}

/// How a call ended.
#[track_caller]
pub(crate) fn ended<'a>(ends: &'a [Value], tool: &str) -> (&'a str, bool) {
    let end = ends.iter().find(|end| end["toolName"] == tool).unwrap_or_else(|| panic!("no end of {tool}: {ends:#?}"));
    let text = end["result"]["content"][0]["text"].as_str().unwrap_or_default();
    (text, end["isError"].as_bool().unwrap_or_else(|| panic!("{end:#}")))
}

/// A model's wish to call tools.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Value {
    json!({ "calls": calls })
}

pub(crate) fn says(text: &str) -> Value {
    json!({ "text": text })
}

/// A request as any program makes it: status and answer.
pub(crate) fn post(url: &str, path: &str, token: &str, body: &Value) -> (u16, Value) {
    use std::io::Read as _;
    let address = url.strip_prefix("http://").expect("plain HTTP");
    let mut stream = std::net::TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let text = answer.split_once("\r\n\r\n").map(|(_, text)| text).unwrap_or_default();
    (status, serde_json::from_str(text).unwrap_or(Value::Null))
}
