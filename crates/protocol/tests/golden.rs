//! The types are held to the golden transcripts: every frame is read and written again without loss, every invalid line
//! is refused, and every file under `protocol/golden` is part of a test.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use jackfield_protocol::envelope::Envelope;
use jackfield_protocol::frames;
use jackfield_protocol::jsonrpc::{self, HookReply, InitializeResult, RpcError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

const FRAMES: [&str; 6] =
    ["frames-tool", "frames-command", "frames-hooks", "frames-host-call", "frames-channel", "frames-cannot-start"];
const JSON_RPC: [&str; 1] = ["jsonrpc-basic"];
const ENVELOPE: [&str; 2] = ["envelope-basic", "envelope-host-call"];
const INVALID: [&str; 3] = ["frames", "jsonrpc", "envelope"];

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../protocol/golden")
}

/// The lines of a file, each with the place to name when it fails.
fn lines(file: &str) -> Vec<(String, Value)> {
    let path = golden().join(format!("{file}.jsonl"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let number = |(index, line): (usize, &str)| {
        let place = format!("{file}.jsonl:{}", index + 1);
        let value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
        (place, value)
    };
    let lines: Vec<_> = text.lines().enumerate().map(number).collect();
    assert!(!lines.is_empty(), "{file}.jsonl is empty");
    lines
}

enum Way {
    ToExtension,
    FromExtension,
}

/// The frames of a transcript.
fn transcript(file: &str) -> Vec<(String, Way, Value)> {
    lines(file)
        .into_iter()
        .map(|(place, mut line)| {
            let way = match line["dir"].as_str() {
                Some(">") => Way::ToExtension,
                Some("<") => Way::FromExtension,
                _ => panic!("{place}: dir is neither > nor <"),
            };
            (place, way, line["frame"].take())
        })
        .collect()
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("JSON")
}

/// The host's side is compared byte by byte, because extensions in shell match on it.
#[track_caller]
fn check_exact<T: Serialize + DeserializeOwned>(place: &str, frame: &Value) {
    let typed: T = serde_json::from_value(frame.clone()).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(text(&typed), text(frame), "{place}");
}

/// The extension's side may leave out what says nothing; apart from that, nothing is lost and nothing is added.
#[track_caller]
fn check_same(place: &str, written: &Value, frame: &Value) {
    assert!(same(written, frame), "{place}: read as\n{}\nbut it says\n{}", text(written), text(frame));
}

fn same(written: &Value, original: &Value) -> bool {
    match (written, original) {
        (Value::Object(written), Value::Object(original)) => {
            let keys: BTreeSet<&String> = written.keys().chain(original.keys()).collect();
            keys.into_iter().all(|key| match (written.get(key), original.get(key)) {
                (Some(written), Some(original)) => same(written, original),
                (Some(added), None) => says_nothing(added),
                (None, Some(lost)) => lost.is_null(),
                (None, None) => true,
            })
        }
        (Value::Array(written), Value::Array(original)) => {
            written.len() == original.len() && written.iter().zip(original).all(|(a, b)| same(a, b))
        }
        (written, Value::Null) => says_nothing(written),
        (written, original) => written == original,
    }
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

#[test]
fn frames() {
    for (place, way, frame) in FRAMES.into_iter().flat_map(transcript) {
        match way {
            Way::ToExtension => check_exact::<frames::ToExtension>(&place, &frame),
            Way::FromExtension => {
                let read = frames::FromExtension::parse(text(&frame).as_bytes());
                let typed = read.unwrap_or_else(|error| panic!("{place}: {error:?}"));
                let written = serde_json::to_value(&typed).expect("JSON");
                check_same(&place, &written, &frame);
                assert_eq!(frames::FromExtension::parse(text(&written).as_bytes()), Ok(typed), "{place}");
            }
        }
    }
}

#[test]
fn every_kind_of_frame_is_in_a_transcript() {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (_, way, frame) in FRAMES.into_iter().flat_map(transcript) {
        let arrow = if matches!(way, Way::ToExtension) { '>' } else { '<' };
        seen.insert(format!("{arrow} {}", frame["type"].as_str().expect("a type")));
    }
    let expected = [
        "< call_tool",
        "< call_tool_cancel",
        "< cannot_start",
        "< channel_result",
        "< clear_notes",
        "< command_response",
        "< event_intercept_response",
        "< hello",
        "< host_call",
        "< host_cancel",
        "< log",
        "< notify",
        "< open_panel",
        "< panel_close",
        "< panel_render",
        "< progress",
        "< ready",
        "< register_channel",
        "< register_command",
        "< register_tool",
        "< shutdown_ack",
        "< submit",
        "< submit_slash",
        "< subscribe",
        "< tool_result",
        "> channel_call",
        "> command_invoked",
        "> event",
        "> event_intercept",
        "> hello_ack",
        "> host_result",
        "> panel_close",
        "> panel_key",
        "> shutdown",
        "> tool_call",
        "> tool_cancel",
        "> tool_result",
    ];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn json_rpc() {
    for (place, way, frame) in JSON_RPC.into_iter().flat_map(transcript) {
        match way {
            Way::ToExtension if frame.get("method").is_some() => check_exact::<jsonrpc::Request>(&place, &frame),
            // The answer to a request of the extension: its own id comes back, of whatever type.
            Way::ToExtension => {
                assert!(frame["id"].is_string(), "{place}: an answer repeats the extension's id");
                assert!(frame.get("result").is_some() != frame.get("error").is_some(), "{place}: one of the two");
                if let Some(error) = frame.get("error") {
                    check_exact::<RpcError>(&place, error);
                }
            }
            Way::FromExtension => check_same(&place, &read_json_rpc(&place, &frame), &frame),
        }
    }
    check_results();
}

/// What the type makes of a message, as JSON again.
fn read_json_rpc(place: &str, frame: &Value) -> Value {
    use jsonrpc::FromExtension::{Answer, Notification, Request};
    let read = jsonrpc::FromExtension::parse(text(frame).as_bytes());
    let members = match read.unwrap_or_else(|| panic!("{place}: not a message")) {
        Answer { id, outcome: Ok(result) } => json!({ "id": id, "result": result }),
        Answer { id, outcome: Err(error) } => json!({ "id": id, "error": error }),
        Request { id, method, params } => json!({ "id": id, "method": method, "params": params }),
        Notification { method, params } => json!({ "method": method, "params": params }),
    };
    let mut message = Map::from_iter([("jsonrpc".to_owned(), json!("2.0"))]);
    message.extend(members.as_object().cloned().expect("an object"));
    Value::Object(message)
}

/// The results whose form is known, by the request that they answer.
fn check_results() {
    let (mut method, mut checked) = (Map::new(), BTreeSet::new());
    for (place, way, frame) in JSON_RPC.into_iter().flat_map(transcript) {
        match (way, frame.get("method"), frame.get("result")) {
            (Way::ToExtension, Some(name), _) => _ = method.insert(frame["id"].to_string(), name.clone()),
            (Way::FromExtension, None, Some(result)) if !result.is_null() => {
                let method =
                    method.get(&frame["id"].to_string()).and_then(Value::as_str).expect("an answer to a request");
                if method == "initialize" {
                    check_typed::<InitializeResult>(&place, result);
                } else if method.starts_with("hooks/") {
                    check_typed::<HookReply>(&place, result);
                }
                checked.insert(method.to_owned());
            }
            _ => {}
        }
    }
    for method in ["initialize", "tools/call", "hooks/before_message", "hooks/before_tool_call", "shutdown"] {
        assert!(checked.contains(method), "no transcript shows the result of {method}");
    }
}

#[track_caller]
fn check_typed<T: Serialize + DeserializeOwned>(place: &str, value: &Value) {
    let typed: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{place}: {error}"));
    check_same(place, &serde_json::to_value(&typed).expect("JSON"), value);
}

#[test]
fn envelope() {
    let mut seen = BTreeSet::new();
    for (place, way, frame) in ENVELOPE.into_iter().flat_map(transcript) {
        seen.insert(frame["type"].as_str().expect("a type").to_owned());
        let typed = Envelope::parse(text(&frame).as_bytes()).unwrap_or_else(|error| panic!("{place}: {error}"));
        match way {
            Way::ToExtension => assert_eq!(text(&typed), text(&frame), "{place}"),
            Way::FromExtension => {
                check_same(&place, &serde_json::to_value(&typed).expect("JSON"), &frame);
                assert_eq!(Envelope::parse(text(&typed).as_bytes()), Ok(typed), "{place}");
            }
        }
    }
    let expected = [
        "error",
        "event_hook",
        "host_call",
        "host_result",
        "log",
        "register",
        "slash_command",
        "slash_result",
        "tool_call",
        "tool_result",
    ];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn invalid_lines_are_refused() {
    for (place, entry) in INVALID.into_iter().flat_map(|file| lines(&format!("invalid/{file}"))) {
        let field = |name: &str| entry[name].as_str().unwrap_or_else(|| panic!("{place}: no {name}"));
        let (line, why) = (field("line").as_bytes(), field("why"));
        let refused = match field("dialect") {
            "frames" => frames::FromExtension::parse(line).is_err(),
            "json_rpc" => jsonrpc::FromExtension::parse(line).is_none(),
            "envelope" => Envelope::parse(line).is_err(),
            other => panic!("{place}: unknown dialect {other}"),
        };
        assert!(refused, "{place} was read, although: {why}");
    }
}

#[test]
fn every_file_is_in_a_test() {
    let names = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(golden().join(folder)).expect("a folder");
        let name =
            |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name().into_string().expect("UTF-8");
        entries.map(name).filter_map(|name| Some(name.strip_suffix(".jsonl")?.to_owned())).collect()
    };
    let tested = |files: &[&str]| -> BTreeSet<String> { files.iter().map(|name| (*name).to_owned()).collect() };
    assert_eq!(names(""), tested(&[FRAMES.as_slice(), &JSON_RPC, &ENVELOPE].concat()));
    assert_eq!(names("invalid"), tested(&INVALID));
}
