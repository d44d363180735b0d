//! An MCP server at the other end of two pipes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

use super::{arguments, hello, request};

pub(super) struct Pipe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Pipe {
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("a pipe")?;
        let output = BufReader::new(child.stdout.take().context("a pipe")?);
        let mut pipe = Self { child, input, output, next: 0 };
        pipe.ask("initialize", &hello())?;
        pipe.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(pipe)
    }

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Duration> {
        self.next += 1;
        let line = request(self.next, method, params) + "\n";
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

    pub(super) fn call(&mut self) -> anyhow::Result<Duration> {
        self.ask("tools/call", &arguments())
    }

    /// Sends a call without waiting for its answer; says its number.
    pub(super) fn send(&mut self) -> anyhow::Result<u64> {
        self.next += 1;
        let line = request(self.next, "tools/call", &arguments()) + "\n";
        self.input.write_all(line.as_bytes())?;
        Ok(self.next)
    }

    /// The number of the next call that is answered.
    pub(super) fn receive(&mut self) -> anyhow::Result<u64> {
        let mut answer = String::new();
        loop {
            answer.clear();
            anyhow::ensure!(self.output.read_line(&mut answer)? > 0, "it ended before it answered");
            let value: Value = serde_json::from_str(&answer)?;
            if let Some(id) = value.get("id").and_then(Value::as_u64) {
                anyhow::ensure!(value.get("result").is_some(), "a call failed: {answer}");
                return Ok(id);
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
