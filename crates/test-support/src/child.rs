//! Child processes of a test, and the JSON lines that they write.

use std::io::{BufRead, BufReader, Read};
use std::ops::{Deref, DerefMut};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{PATIENCE, eventually};

/// A child process that ends with the test: it is killed when this is dropped.
pub struct KilledOnDrop(Child);

impl From<Child> for KilledOnDrop {
    fn from(child: Child) -> Self {
        Self(child)
    }
}

impl Deref for KilledOnDrop {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KilledOnDrop {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl KilledOnDrop {
    /// Waits until it has gone by itself and gives its exit code; -1 for a signal. `what` says what is waited for.
    ///
    /// # Panics
    /// When it stays.
    #[track_caller]
    pub fn gone(&mut self, what: &str) -> i32 {
        let mut code = None;
        eventually(what, || {
            code = self.0.try_wait().expect("a child can be waited for");
            code.is_some()
        });
        code.and_then(|status| status.code()).unwrap_or(-1)
    }
}

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // A child that has gone already is fine.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The lines of a child as JSON, read by a thread. A line that is no JSON becomes `{"noise": LINE}`.
pub struct JsonLines {
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl JsonLines {
    /// Reads this output.
    pub fn of(output: impl Read + Send + 'static) -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "noise": line }));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { lines, seen: Vec::new() }
    }

    /// Waits for a line that fits, among those that have come and those that will, and takes it out.
    ///
    /// # Panics
    /// When it does not come in time; `what` says what was waited for.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(index) = self.seen.iter().position(&fits) {
                return self.seen.remove(index);
            }
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Timeout) => panic!("in vain: {what}; seen: {:#?}", self.seen),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended before {what}; seen: {:#?}", self.seen),
            }
        }
    }

    /// The next line, whatever it is, unless none comes in time.
    pub fn next(&mut self, patience: Duration) -> Option<Value> {
        if self.seen.is_empty() { self.lines.recv_timeout(patience).ok() } else { Some(self.seen.remove(0)) }
    }
}
