//! An MCP server over HTTP, with connections that stay open.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

use super::{arguments, hello, request};

/// The server, and one connection to it.
pub(super) struct Http {
    child: Child,
    address: String,
    connection: Connection,
}

impl Http {
    /// Starts one that says its address on its first line.
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("a pipe")?).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line)?;
        let url = said.get("url").and_then(Value::as_str).context("an address")?;
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let connection = Connection::open(&address)?;
        Ok(Self { child, address, connection })
    }

    pub(super) fn call(&mut self) -> anyhow::Result<Duration> {
        self.connection.call()
    }

    /// One more connection, with a session of its own.
    pub(super) fn another(&self) -> anyhow::Result<Connection> {
        Connection::open(&self.address)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// One connection.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
    session: String,
    next: u64,
}

impl Connection {
    fn open(address: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let (address, session) = (address.to_owned(), String::new());
        let mut connection = Self { stream: BufReader::new(stream), address, session, next: 0 };
        connection.send("initialize", &hello())?;
        let head = connection.receive()?;
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).context("a session")?;
        connection.session = session.trim().to_owned();
        Ok(connection)
    }

    pub(super) fn call(&mut self) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        self.send_call()?;
        self.receive()?;
        Ok(begun.elapsed())
    }

    pub(super) fn send_call(&mut self) -> anyhow::Result<()> {
        self.send("tools/call", &arguments())
    }

    fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<()> {
        self.next += 1;
        let body = request(self.next, method, params);
        let session = match self.session.as_str() {
            "" => String::new(),
            session => format!("mcp-session-id: {session}\r\n"),
        };
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json\r\n{session}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        Ok(self.stream.get_mut().write_all(request.as_bytes())?)
    }

    /// Waits for an answer; gives its head.
    pub(super) fn receive(&mut self) -> anyhow::Result<String> {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let start = head.len();
            anyhow::ensure!(self.stream.read_line(&mut head)? > 0, "it hung up: {head}");
            let line = head.get(start..).unwrap_or_default().trim();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        anyhow::ensure!(answer.contains("\"result\""), "a request failed: {head}{answer}");
        Ok(head)
    }
}
