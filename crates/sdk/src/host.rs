//! What an extension asks of the host. Every call is judged, recorded, and may be denied; the error says what to grant.

use serde_json::Value;

use crate::{Answer, Result, backend};

/// What a program left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; 128 and the signal's number where a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// An answer of another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The body, as text.
    pub body: String,
}

/// Writes to the log; `level` is `debug`, `info`, `warn` or `error`.
pub fn log(level: &str, message: &str) {
    backend::log(level, message);
}

/// Tells how far the tool call under way has come.
pub fn progress(message: &str) {
    backend::progress(message);
}

/// The text of a file. Needs `read`.
///
/// # Errors
/// When it is denied, or the file is not there or no text.
pub fn read(path: &str) -> Result<String> {
    backend::read(path)
}

/// Replaces a file. Needs `write`.
///
/// # Errors
/// When it is denied, or the system refuses.
pub fn write(path: &str, text: &str) -> Result<()> {
    backend::write(path, text)
}

/// A variable of the host's environment. Needs `env`.
///
/// # Errors
/// When it is denied.
pub fn variable(name: &str) -> Result<Option<String>> {
    backend::variable(name)
}

/// Runs a program to its end. Needs `exec`.
///
/// # Errors
/// When it is denied, or the program cannot be run.
pub fn run(command: &str, args: &[&str]) -> Result<Output> {
    backend::exec(command, args)
}

/// Fetches a URL. Needs `http`.
///
/// # Errors
/// When it is denied, or the other machine cannot be reached.
pub fn fetch(url: &str) -> Result<Response> {
    backend::fetch(url)
}

/// Calls another tool. Needs `tool`, or the power for which a built-in tool stands.
///
/// # Errors
/// When it is denied, or there is no such tool.
pub fn call_tool(name: &str, args: &Value) -> Result<Answer> {
    backend::call_other_tool(name, args)
}

/// A note for the person. Needs `ui`.
///
/// # Errors
/// When it is denied.
pub fn notify(message: &str) -> Result<()> {
    backend::notify(message)
}

/// Asks the person a yes-or-no question. Needs `ui`.
///
/// # Errors
/// When it is denied, or nobody is there.
pub fn confirm(title: &str, message: &str) -> Result<bool> {
    backend::confirm(title, message)
}

/// A value that [`store`] kept, also in an earlier run. Needs nothing.
///
/// # Errors
/// When it cannot be read.
pub fn stored(key: &str) -> Result<Option<Value>> {
    backend::stored(key)
}

/// Keeps a value beyond this run, for this extension alone. Needs nothing.
///
/// # Errors
/// When it cannot be written.
pub fn store(key: &str, value: &Value) -> Result<()> {
    backend::store(key, value)
}
