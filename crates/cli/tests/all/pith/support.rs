//! What these tests share: a home with Python tools, and a small MCP server on the loopback.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use jackfield_test_support::{HttpRequest, Sandbox};
use serde_json::{Value, json};

pub(crate) use crate::sandbox;

/// Writes a Python tool into the home.
pub fn tool(sandbox: &Sandbox, name: &str, text: &str) -> PathBuf {
    sandbox.python_tool(name, text)
}

/// Writes the file of an MCP server into the home.
pub fn server_file(sandbox: &Sandbox, name: &str, text: &str) -> PathBuf {
    let file = sandbox.home().join("extensions/mcp").join(name);
    sandbox.write(&file, text);
    file
}

/// The names of all tools, in the order in which they are listed.
#[track_caller]
pub fn tool_names(sandbox: &Sandbox, flags: &[&str]) -> Vec<String> {
    sandbox.tool_names(flags)
}

/// The text that a call answers with; fails unless it works.
#[track_caller]
pub fn called(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.called(words)
}

/// Files below `dir`, without the place where secrets are, that hold `text`.
pub fn holding(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() && entry.file_name() != "secrets" {
            found.extend(holding(&path, text));
        } else if entry.file_name() != ".env"
            && path.is_file()
            && String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).contains(text)
        {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Makes a pipe that nobody writes to.
pub fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
}

/// What `jackfield mcp` says to these requests, up to the answer to the last of them.
#[track_caller]
pub fn mcp(sandbox: &Sandbox, requests: &[Value]) -> Vec<Value> {
    let mut command = sandbox.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut input = child.stdin.take().expect("a pipe");
    for request in requests {
        input.write_all(format!("{request}\n").as_bytes()).expect("it reads");
    }
    let last = &requests.last().expect("a request")["id"];
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok) {
        said.push(serde_json::from_str::<Value>(&line).expect("a line of JSON"));
        if said.last().is_some_and(|line| line["id"] == *last && line["method"].is_null()) {
            break;
        }
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
    said
}

/// The words that every request has in the era in which it stands for itself.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// An MCP server with two tools.
pub struct Peer {
    pub url: String,
    seen: Arc<Mutex<Vec<BTreeMap<String, String>>>>,
}

impl Peer {
    /// Lets in whoever brings `authorization`, or everybody.
    pub fn start(authorization: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let seen = Arc::default();
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, authorization, &seen));
            }
        });
        Self { url, seen }
    }

    /// The headers of every request that came.
    pub fn seen(&self) -> Vec<BTreeMap<String, String>> {
        self.seen.lock().expect("seen").clone()
    }
}

fn serve(
    mut stream: TcpStream,
    authorization: Option<&str>,
    seen: &Mutex<Vec<BTreeMap<String, String>>>,
) -> Option<()> {
    let HttpRequest { method, headers, body, .. } = HttpRequest::read(&stream)?;
    let is_let_in =
        authorization.is_none_or(|wanted| headers.get("authorization").is_some_and(|given| given == wanted));
    seen.lock().expect("seen").push(headers);
    let (status, text) = match serde_json::from_slice::<Value>(&body) {
        _ if !is_let_in => (401, String::new()),
        Ok(message) if method == "POST" => answer(&message),
        _ => (405, String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    stream.write_all(head.as_bytes()).ok()
}

fn answer(message: &Value) -> (u16, String) {
    let city = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "weather", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": [
            { "name": "forecast", "description": "Says how it will be.", "inputSchema": city },
            { "name": "alerts", "description": "Says what to beware of.", "inputSchema": city },
        ] }),
        Some("tools/call") => {
            let said = format!("{} in {}", message["params"]["name"], message["params"]["arguments"]["city"]);
            json!({ "content": [{ "type": "text", "text": said.replace('"', "") }] })
        }
        _ if message["id"].is_null() => return (202, String::new()),
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            return (200, json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }).to_string());
        }
    };
    (200, json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string())
}
