//! A client of `jackfield rpc`.

use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::{JsonLines, KilledOnDrop};

/// A host that stays, spoken to in JSON lines. Killed when dropped.
pub struct Rpc {
    child: KilledOnDrop,
    stdin: Option<ChildStdin>,
    lines: JsonLines,
    next: u64,
}

impl Rpc {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the binary runs");
        let stdin = child.stdin.take();
        let lines = JsonLines::of(child.stdout.take().expect("a pipe"));
        Self { child: child.into(), stdin, lines, next: 1 }
    }

    /// The process of the host.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and gives its id.
    ///
    /// # Panics
    /// When the host does not take it.
    pub fn send(&mut self, mut request: Value) -> String {
        let id = self.next.to_string();
        self.next += 1;
        request["id"] = json!(id);
        let stdin = self.stdin.as_mut().expect("the host's input is open");
        stdin.write_all(format!("{request}\n").as_bytes()).expect("the host reads");
        id
    }

    /// Sends bytes as they are.
    ///
    /// # Panics
    /// When the host does not take them.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().expect("the host's input is open").write_all(bytes).expect("the host reads");
    }

    /// Waits until the host has gone by itself and gives its exit code.
    ///
    /// # Panics
    /// When it stays.
    #[track_caller]
    pub fn gone(&mut self) -> i32 {
        self.child.gone("the end of the host")
    }

    /// Waits for the response to a request.
    ///
    /// # Panics
    /// When it does not come in time.
    #[track_caller]
    pub fn response(&mut self, id: &str) -> Value {
        self.wait_for(&format!("a response to request {id}"), |line| line["type"] == "response" && line["id"] == id)
    }

    /// Waits for a line that fits, among those that have come and those that will.
    ///
    /// # Panics
    /// When it does not come in time.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.lines.wait_for(what, fits)
    }

    /// The next line that no test has waited for, if one comes within `patience` and the host has not gone.
    pub fn next_line(&mut self, patience: Duration) -> Option<Value> {
        self.lines.next(patience)
    }

    /// Sends a request and waits for its response.
    #[track_caller]
    pub fn ask(&mut self, request: Value) -> Value {
        let id = self.send(request);
        self.response(&id)
    }

    /// Calls a tool and waits for its response.
    #[track_caller]
    pub fn call(&mut self, tool: &str, args: Value) -> Value {
        self.ask(json!({ "type": "call_tool", "tool": tool, "args": args }))
    }

    /// Calls a tool and gives the first text of its answer.
    ///
    /// # Panics
    /// When it fails.
    #[track_caller]
    pub fn text(&mut self, tool: &str, args: Value) -> String {
        let response = self.call(tool, args);
        crate::text(&response["data"]).to_owned()
    }

    /// Kills the host as `kill -9` does.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("reaped");
    }

    /// Closes the host's input and waits until it has gone.
    ///
    /// # Panics
    /// When it cannot be waited for.
    pub fn close(mut self) -> i32 {
        self.stdin = None;
        self.exit()
    }

    /// Waits until the host has gone, which something else must have caused, and gives its exit code; -1 for a signal.
    ///
    /// # Panics
    /// When it cannot be waited for.
    pub fn exit(&mut self) -> i32 {
        self.child.wait().expect("the host ends").code().unwrap_or(-1)
    }
}
