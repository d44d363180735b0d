//! Lines of every dialect, log records, and the texts that reach a terminal: nothing panics, and what was read can be
//! written and read again.

#![no_main]

use jackfield_protocol::{HostCall, canonical_json, envelope, frames, glob_matches, jsonrpc, plain_text};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|line: &[u8]| {
    if let Ok(frame) = frames::FromExtension::parse(line) {
        let text = serde_json::to_vec(&frame).expect("a frame is JSON");
        assert!(frames::FromExtension::parse(&text).is_ok(), "what is written is read again");
        if let frames::FromExtension::HostCall(call) = frame
            && let Ok(call) = HostCall::parse(&call.method, call.params)
        {
            let again = HostCall::parse(call.method(), call.params());
            assert_eq!(
                again.as_ref().map(HostCall::needs).ok(),
                Some(call.needs()),
                "a need does not change on the way"
            );
        }
    }
    if let Ok(envelope) = envelope::Envelope::parse(line) {
        serde_json::to_vec(&envelope).expect("an envelope is JSON");
    }
    jsonrpc::FromExtension::parse(line);
    if let Ok(mut value) = serde_json::from_slice::<Value>(line) {
        canonical_json(&value);
        jackfield_protocol::redact_value(&mut value, &["secret".to_owned()]);
        jackfield_protocol::normalize_log(&mut value, "/project");
    }
    let text = String::from_utf8_lossy(line);
    let plain = plain_text(&text);
    assert!(!plain.contains('\u{1b}'), "no control sequence reaches a terminal");
    if let Some((pattern, text)) = text.split_once('\n') {
        glob_matches(pattern.get(..64).unwrap_or(pattern), text.get(..256).unwrap_or(text));
    }
});
