//! Messages of MCP: reading one never panics, and what was read and written again reads the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The module itself, so that the HTTP client need not be built with it.
#[path = "../../crates/mcp/src/envelope.rs"]
#[allow(dead_code, reason = "not every way to write is used")]
mod envelope;

use envelope::{Envelope, Kind};

/// What a message says, comparable.
fn said(text: &str) -> Option<String> {
    Envelope::read(text).ok().map(|kind| format!("{kind:?}"))
}

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(kind) = Envelope::read(text) else { return };
    let before = Some(format!("{kind:?}"));
    let written = match kind {
        Kind::Request { id, method, params } => envelope::request(&id, &method, params.map(|params| params.get())),
        Kind::Notification { method, params } => envelope::notification(&method, params.map(|params| params.get())),
        Kind::Answer { id: Some(id), result: Ok(result) } => envelope::answer(&id, result.get()),
        Kind::Answer { id: None, result: Ok(_) } => panic!("a good answer has an id"),
        Kind::Answer { id, result: Err(error) } => envelope::failure(id.as_ref(), &error),
    };
    assert_eq!(said(&written), before, "{written}");
});
