//! What goes wrong on the way, in words.

use std::error::Error as _;

use jackfield_protocol::{CallError, ErrorCode, plain_text};

use super::{IDLE_TIMEOUT, Inner, LONGEST};
use crate::oauth::Challenge;

/// What an error of the HTTP library says, without the address, which may hold secrets.
pub(crate) fn described(error: &reqwest::Error) -> String {
    let mut inmost: &dyn std::error::Error = error;
    while let Some(next) = inmost.source() {
        inmost = next;
    }
    let what = match error {
        _ if error.is_timeout() => "it took too long",
        _ if error.is_connect() => "no connection",
        _ if error.is_body() || error.is_decode() => "the answer broke off",
        _ => "the request failed",
    };
    if error.source().is_some() { format!("{what}: {inmost}") } else { what.to_owned() }
}

/// A server that wants other credentials, or none that we have.
pub(crate) fn refused(name: &str, challenge: &Challenge, by_hand: bool) -> CallError {
    let status = challenge.status;
    let text = match (status, by_hand) {
        (_, true) => format!(
            "MCP server {name} refuses the Authorization header that its settings give it ({status}); correct the header, or \
             take it out and run `jackfield mcp login {name}`"
        ),
        (401, false) => format!("MCP server {name} wants a login: run `jackfield mcp login {name}`"),
        _ => match &challenge.scope {
            Some(scope) => format!(
                "MCP server {name} refuses this with what was granted; it wants {scope:?}: run \
                 `jackfield mcp login {name} --scope {scope:?}`"
            ),
            None => format!(
                "MCP server {name} refuses this (403): the account may not do it, or another login is needed: \
                             run `jackfield mcp login {name}`"
            ),
        },
    };
    CallError::new(ErrorCode::Denied, plain_text(&text))
}

/// The beginning of what a server said, fit to be shown.
pub(crate) fn brief(text: &str) -> String {
    let text = plain_text(text).replace(['\n', '\r', '\t'], " ");
    let text = text.trim();
    match text.char_indices().nth(300) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl Inner {
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> CallError {
        let origin = self.url.origin().ascii_serialization();
        let text = format!("cannot reach MCP server {} at {origin}: {}", self.name, described(error));
        let failed = CallError::new(ErrorCode::Unavailable, text);
        if error.is_connect() { failed.undelivered() } else { failed }
    }

    pub(super) fn silent(&self) -> CallError {
        let text = format!("MCP server {} said nothing for {} s", self.name, IDLE_TIMEOUT.as_secs());
        CallError::new(ErrorCode::Timeout, text)
    }

    pub(super) fn too_long(&self, bytes: u64) -> CallError {
        let (limit, got) = (LONGEST >> 20, bytes >> 20);
        let text = format!(
            "MCP server {} answered with more than {limit} MiB ({got} MiB had come), which is the most that is read; ask for \
             less at a time",
            self.name
        );
        CallError::new(ErrorCode::Protocol, text)
    }

    pub(super) fn broken(&self, why: &str) -> CallError {
        CallError::new(ErrorCode::Protocol, format!("MCP server {}: {why}", self.name))
    }
}
