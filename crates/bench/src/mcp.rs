//! What jackfield adds between an agent and an MCP server: the same call to the same server, directly and through
//! `jackfield mcp`, over pipes and over HTTP; and how soon a list comes after the start.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::beside;
use crate::numbers::{Samples, show};

const TURN: usize = 500;
const TURNS: usize = 20;
const STARTS: usize = 20;

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("one call of a tool of an MCP server, with policy and ledger on:");
    let dir = tempfile::tempdir()?;
    let (home, project) = (dir.path().join("home"), dir.path().join("project"));
    fs::create_dir_all(&home)?;
    fs::create_dir_all(&project)?;
    let server =
        json!({ "command": beside("jackfield-pingpong")?, "args": ["--mcp"], "prefix": "", "protocol": "legacy" });
    fs::write(home.join("mcp.json"), json!({ "mcpServers": { "pingpong": server } }).to_string())?;
    let mut bare = Pipe::start(Command::new(beside("jackfield-pingpong")?).arg("--mcp"))?;
    let mut through = Pipe::start(jackfield(&home, &project)?.arg("mcp"))?;
    let mut http = Http::start(&home, &project)?;
    let mut samples: [Samples; 3] = Default::default();
    let [direct, piped, posted] = &mut samples;
    for _ in 0..TURNS {
        for _ in 0..TURN {
            direct.add(bare.call()?);
        }
        for _ in 0..TURN {
            piped.add(through.call()?);
        }
        for _ in 0..TURN {
            posted.add(http.call()?);
        }
    }
    println!("  directly            {}", direct.line());
    println!("  stdio → stdio       {}", piped.line());
    println!("  HTTP → stdio        {}", posted.line());
    let added = |samples: &Samples| show(samples.percentile(0.5).saturating_sub(direct.percentile(0.5)));
    println!("  added p50           {} on pipes (goal 25 µs), {} over HTTP (goal 100 µs)", added(piped), added(posted));
    drop((bare, through, http));
    let mut lists = Samples::default();
    for _ in 0..STARTS {
        let begun = Instant::now();
        let mut pipe = Pipe::start(jackfield(&home, &project)?.args(["mcp", "--alone"]))?;
        let ready = begun.elapsed();
        let asked = Instant::now();
        pipe.ask("tools/list", &json!({}))?;
        lists.add(asked.elapsed());
        drop((pipe, ready));
    }
    println!("  tools/list after initialize  {} (goal 5 ms)", lists.line());
    Ok(())
}

fn jackfield(home: &Path, project: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(beside("jackfield")?);
    command.arg("--home").arg(home).arg("--project").arg(project);
    Ok(command)
}

fn hello() -> Value {
    json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } })
}

fn arguments() -> Value {
    json!({ "name": "ping", "arguments": { "text": "a short argument, as tools get them", "count": 3 } })
}

/// An MCP server at the other end of two pipes.
struct Pipe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Pipe {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("a pipe")?;
        let output = BufReader::new(child.stdout.take().context("a pipe")?);
        let mut pipe = Self { child, input, output, next: 0 };
        pipe.ask("initialize", &hello())?;
        pipe.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(pipe)
    }

    fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Duration> {
        self.next += 1;
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"{method}\",\"params\":{params}}}\n", self.next);
        let wanted = format!("\"id\":{},", self.next);
        let mut answer = String::new();
        let begun = Instant::now();
        self.input.write_all(line.as_bytes())?;
        loop {
            answer.clear();
            anyhow::ensure!(self.output.read_line(&mut answer)? > 0, "it ended before it answered {method}");
            // Notifications come in between.
            if answer.contains(&wanted) {
                break;
            }
        }
        let took = begun.elapsed();
        anyhow::ensure!(answer.contains("\"result\""), "{method} failed: {answer}");
        Ok(took)
    }

    fn call(&mut self) -> anyhow::Result<Duration> {
        self.ask("tools/call", &arguments())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The same over one connection that stays open.
struct Http {
    child: Child,
    stream: BufReader<TcpStream>,
    address: String,
    session: String,
    next: u64,
}

impl Http {
    fn start(home: &Path, project: &Path) -> anyhow::Result<Self> {
        let mut command = jackfield(home, project)?;
        command.args(["--json", "mcp", "--http", "127.0.0.1:0", "--no-token"]).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("a pipe")?).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line)?;
        let url = said.get("url").and_then(Value::as_str).context("an address")?;
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let stream = TcpStream::connect(&address)?;
        stream.set_nodelay(true)?;
        let mut http = Self { child, stream: BufReader::new(stream), address, session: String::new(), next: 0 };
        let (_, head) = http.ask("initialize", &hello())?;
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).context("a session")?;
        http.session = session.trim().to_owned();
        Ok(http)
    }

    fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<(Duration, String)> {
        self.next += 1;
        let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"{method}\",\"params\":{params}}}", self.next);
        let session = match self.session.as_str() {
            "" => String::new(),
            session => format!("mcp-session-id: {session}\r\n"),
        };
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json\r\n{session}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let begun = Instant::now();
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let start = head.len();
            self.stream.read_line(&mut head)?;
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
        let took = begun.elapsed();
        let answer = String::from_utf8_lossy(&answer);
        if !answer.contains("\"result\"") {
            bail!("{method} failed: {head}{answer}");
        }
        Ok((took, head))
    }

    fn call(&mut self) -> anyhow::Result<Duration> {
        self.ask("tools/call", &arguments()).map(|(took, _)| took)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
