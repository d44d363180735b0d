//! A client that writes and reads lines, and servers for it to find.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use jackfield_test_support::{KilledOnDrop, Sandbox, eventually, misbehaving};
use serde_json::{Value, json};

pub use jackfield_test_support::text;

/// How long anything may take on a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A sandbox with MCP servers in its home, by name.
pub fn with_servers(servers: Value) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    sandbox.write(&sandbox.home().join("mcp.json"), &json!({ "mcpServers": servers }).to_string());
    sandbox
}

/// The server that does odd things, with words that say which.
pub fn odd(words: &[&str]) -> Value {
    let mut args = vec![json!("-B"), json!(misbehaving("mcp_server.py"))];
    args.extend(words.iter().map(|word| json!(word)));
    let era = if words.contains(&"modern") { "modern" } else { "legacy" };
    json!({ "command": "python3", "args": args, "protocol": era })
}

/// A sandbox with that server, known as `odd`, which was seen before.
pub fn with_odd(words: &[&str]) -> Sandbox {
    let sandbox = with_servers(json!({ "odd": odd(words) }));
    learn(&sandbox, 22);
    sandbox
}

/// Has every server seen once; that takes its time on a machine that has other things to do.
pub fn learn(sandbox: &Sandbox, tools: usize) -> Value {
    let mut listing = Value::Null;
    eventually("all servers are known", || {
        listing = sandbox.run(&["--json", "tools"]).exits(0).json();
        listing["tools"].as_array().map(Vec::len) == Some(tools)
    });
    listing
}

/// A client of `jackfield mcp`.
pub struct Client {
    child: KilledOnDrop,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    /// What came that was not waited for.
    pub aside: Vec<Value>,
    next: u64,
}

impl Client {
    /// Starts one and says nothing yet.
    pub fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.command(&["mcp"]);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the binary runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self { child: child.into(), input, lines, aside: Vec::new(), next: 1 }
    }

    /// Starts one and shakes hands.
    pub fn legacy(sandbox: &Sandbox, args: &[&str], capabilities: Value) -> Self {
        let mut client = Self::start(sandbox, args);
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        client.request("initialize", params);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Writes bytes as a line.
    pub fn raw(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("not closed");
        input.write_all(line).expect("written");
        input.write_all(b"\n").expect("written");
        input.flush().expect("written");
    }

    /// Writes a message.
    pub fn send(&mut self, message: &Value) {
        self.raw(message.to_string().as_bytes());
    }

    /// The next line as it was written.
    #[track_caller]
    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a message in time")
    }

    /// The next message.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and gives its number.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits for the answer to a request; what else comes is put aside.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == json!(id) && message.get("method").is_none() {
                return message;
            }
            self.aside.push(message);
        }
    }

    /// Waits for a request or notification; what else comes is put aside.
    #[track_caller]
    pub fn told(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.aside.iter().position(|message| message["method"] == json!(method)) {
                return self.aside.remove(at);
            }
            let message = self.next();
            self.aside.push(message);
        }
    }

    /// Asks and waits; the whole answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Asks and waits; the result.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer.get("result").is_some(), "{method}: {answer:#}");
        answer["result"].clone()
    }

    /// Calls a tool.
    #[track_caller]
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// A request that stands for itself, by a client that can do this.
    #[track_caller]
    pub fn modern(&mut self, method: &str, params: Value, capabilities: Value) -> Value {
        self.ask(method, modern(params, capabilities))
    }

    /// Closes the input and waits for the end.
    pub fn close(mut self) {
        self.input.take();
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}");
    }
}

/// Parameters with what every request says since 2026-07-28.
pub fn modern(mut params: Value, capabilities: Value) -> Value {
    let meta = params["_meta"].as_object().cloned().unwrap_or_default();
    let mut all = json!({ VERSION: "2026-07-28", CAPABILITIES: capabilities });
    all.as_object_mut().expect("an object").extend(meta);
    params["_meta"] = all;
    params
}

/// The names in a list.
pub fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str().map(str::to_owned)).collect()
}

/// `jackfield mcp --http`: what it says, and the process.
pub struct Serving {
    _child: KilledOnDrop,
    pub url: String,
    pub token: Option<String>,
}

impl Serving {
    pub fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.command(&["--json", "mcp", "--http", "127.0.0.1:0"]);
        let mut child = command.args(args).stdout(Stdio::piped()).spawn().expect("the binary runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let text = |name: &str| said[name].as_str().map(str::to_owned);
        Self { _child: child.into(), url: text("url").expect("an address"), token: text("token") }
    }

    /// One that was started otherwise.
    pub fn at(child: Child, url: &str, token: Option<String>) -> Self {
        Self { _child: child.into(), url: url.to_owned(), token }
    }

    /// The address without the path.
    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).expect("an address")
    }
}

/// Puts a file somewhere in the sandbox and gives its path.
pub fn script(sandbox: &Sandbox, name: &str, content: &str) -> String {
    let path = sandbox.path(name);
    fs::write(&path, content).expect("written");
    path.display().to_string()
}
