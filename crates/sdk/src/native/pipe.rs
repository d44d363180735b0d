//! The two ends that lead to the host, and calls that wait for it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use crate::{Error, Result};

/// The longest line that is read, in bytes; the host's own limit is lower.
const MAX_LINE: u64 = 64 << 20;

/// Where frames come from and go to.
pub(super) struct Pipe {
    input: Box<dyn BufRead>,
    output: Box<dyn Write>,
    /// What came while a handler waited for something else.
    later: VecDeque<Value>,
    /// The tool call under way.
    current: Option<String>,
    calls: u64,
}

impl Pipe {
    pub(super) fn new(input: Box<dyn BufRead>, output: Box<dyn Write>) -> Self {
        Self { input, output, later: VecDeque::new(), current: None, calls: 0 }
    }

    /// The next frame from the host; what is no JSON object is noise.
    fn read(&mut self) -> io::Result<Option<Value>> {
        loop {
            let mut line = Vec::new();
            let read = io::Read::take(&mut self.input, MAX_LINE).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(None);
            }
            if let Ok(frame @ Value::Object(_)) = serde_json::from_slice(&line) {
                return Ok(Some(frame));
            }
        }
    }

    fn write(&mut self, frame: &Value) -> io::Result<()> {
        writeln!(self.output, "{frame}")?;
        self.output.flush()
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let gone = |error: io::Error| Error::new("io", format!("cannot speak with the host: {error}"));
        self.calls += 1;
        let id = format!("host-{}", self.calls);
        let mut frame = json!({ "type": "host_call", "id": id, "method": method, "params": params });
        if let (Some(frame), Some(within)) = (frame.as_object_mut(), &self.current) {
            frame.insert("within".to_owned(), json!(within));
        }
        self.write(&frame).map_err(gone)?;
        loop {
            let Some(frame) = self.read().map_err(gone)? else {
                return Err(Error::new("io", "the host has gone"));
            };
            let text = |key: &str| frame.get(key).and_then(Value::as_str).unwrap_or_default();
            if text("type") != "host_result" || text("id") != id {
                self.later.push_back(frame);
                continue;
            }
            let Some(error) = frame.get("error").filter(|error| error.is_object()) else {
                return Ok(frame.get("output").cloned().unwrap_or_default());
            };
            let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            return Err(Error { code: text("code"), message: text("message"), details: error.get("details").cloned() });
        }
    }
}

thread_local! {
    static PIPE: RefCell<Option<Pipe>> = const { RefCell::new(None) };
}

fn with<T>(nobody: T, work: impl FnOnce(&mut Pipe) -> T) -> T {
    PIPE.with_borrow_mut(|pipe| pipe.as_mut().map_or(nobody, work))
}

fn nobody() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "no host on this thread; call it from the handler's own")
}

pub(super) fn install(pipe: Pipe) {
    PIPE.set(Some(pipe));
}

pub(super) fn remove() {
    PIPE.set(None);
}

pub(super) fn next() -> io::Result<Option<Value>> {
    with(Err(nobody()), |pipe| match pipe.later.pop_front() {
        Some(frame) => Ok(Some(frame)),
        None => pipe.read(),
    })
}

pub(super) fn send(frame: &Value) -> io::Result<()> {
    with(Err(nobody()), |pipe| pipe.write(frame))
}

pub(super) fn call(method: &str, params: Value) -> Result<Value> {
    with(Err(Error::new("io", nobody().to_string())), |pipe| pipe.call(method, params))
}

pub(super) fn enter(call: &str) {
    with((), |pipe| pipe.current = Some(call.to_owned()));
}

pub(super) fn leave() {
    with((), |pipe| pipe.current = None);
}

pub(super) fn current() -> Option<String> {
    with(None, |pipe| pipe.current.clone())
}
