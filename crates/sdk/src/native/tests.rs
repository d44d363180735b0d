#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use super::*;
use crate::{Args, host};

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn count(args: &Args) -> Result<Answer> {
    let text = host::read(args.text("path")?)?;
    host::progress("read it");
    let words = text.split_whitespace().count();
    Ok(Answer::text(format!("{words} words")).with_details(json!({ "words": words })))
}

fn extension() -> Extension {
    Extension::new("sample", "1.0.0")
        .tool("count", "Counts words of a file.", json!({ "type": "object" }), count)
        .tool("fail", "Fails.", json!({ "type": "object" }), |_| -> Result<String> { Err("on purpose".into()) })
        .command("hi", "Greets.", |args| Ok(format!("hi {args}")))
        .guard(|tool| match tool.tool.as_str() {
            "bash" => Verdict::Block("no shell".to_owned()),
            "read" => Verdict::Replace(json!({ "path": "other" })),
            _ => Verdict::Pass,
        })
        .on("session_start", |data| host::log("info", &data.to_string()))
}

/// All that the extension says to these frames.
fn talk(frames: &[Value]) -> Vec<Value> {
    let input: String = frames.iter().map(|frame| format!("{frame}\n")).collect();
    let heard = Heard::default();
    let pipe = Pipe::new(Box::new(Cursor::new(format!("noise\n{input}"))), Box::new(heard.clone()));
    serve(&extension(), pipe).expect("a buffer takes everything");
    let bytes = heard.0.lock().expect("nobody panics").clone();
    let text = String::from_utf8(bytes).expect("JSON is UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn after_ready(frames: &[Value]) -> Vec<Value> {
    let said = talk(frames);
    let ready = said.iter().position(|frame| frame["type"] == "ready").expect("it gets ready");
    said[ready + 1..].to_vec()
}

#[test]
fn it_introduces_itself() {
    let said = talk(&[]);
    let kinds: Vec<&str> = said.iter().filter_map(|frame| frame["type"].as_str()).collect();
    assert_eq!(kinds, ["hello", "register_tool", "register_tool", "register_command", "subscribe", "ready"]);
    assert_eq!(said[4]["intercept"], json!(["tool_call"]));
    assert_eq!(said[4]["events"], json!(["session_start"]));
}

#[test]
fn a_tool_waits_for_the_host_and_what_comes_meanwhile_waits_for_it() {
    let said = after_ready(&[
        json!({ "type": "tool_call", "id": "1", "name": "count", "args": { "path": "a" } }),
        json!({ "type": "command_invoked", "id": "2", "name": "hi", "args": "Ada" }),
        json!({ "type": "host_result", "id": "host-1", "output": { "content": "a b c" }, "is_error": false }),
        json!({ "type": "shutdown" }),
    ]);
    assert_eq!(said[0]["params"], json!({ "op": "read", "path": "a" }));
    assert_eq!(said[0]["within"], "1");
    assert_eq!(said[1], json!({ "type": "progress", "id": "1", "message": "read it" }));
    assert_eq!(said[2]["content"], json!([{ "type": "text", "text": "3 words" }]));
    assert_eq!(said[2]["details"], json!({ "words": 3 }));
    assert_eq!(said[3]["display"], "hi Ada");
    assert_eq!(said[4], json!({ "type": "shutdown_ack" }));
}

#[test]
fn errors_are_answers() {
    let denied = json!({ "code": "denied", "message": "not granted" });
    let said = after_ready(&[
        json!({ "type": "tool_call", "id": "1", "name": "fail", "args": {} }),
        json!({ "type": "tool_call", "id": "2", "name": "count", "args": {} }),
        json!({ "type": "tool_call", "id": "3", "name": "nothing", "args": {} }),
        json!({ "type": "tool_call", "id": "4", "name": "count", "args": { "path": "a" } }),
        json!({ "type": "host_result", "id": "host-1", "output": null, "is_error": true, "error": denied }),
        json!({ "type": "command_invoked", "id": "5", "name": "nothing" }),
        json!({ "type": "tool_call", "id": "6", "name": "count", "args": { "path": "a" } }),
    ]);
    let said: Vec<&Value> = said.iter().filter(|frame| frame["type"] != "host_call").collect();
    let texts: Vec<&str> = said.iter().filter_map(|frame| frame["content"][0]["text"].as_str()).collect();
    assert_eq!(
        texts,
        [
            "on purpose",
            "the argument `path` must be a text",
            "sample has no tool `nothing`",
            "not granted",
            "the host has gone"
        ]
    );
    assert!(said.iter().filter(|frame| frame["type"] == "tool_result").all(|frame| frame["is_error"] == true));
    assert_eq!(said[4]["error"], "sample has no command `nothing`");
}

#[test]
fn a_guard_judges_and_listeners_hear() {
    let ask = |id: &str, tool: &str| json!({ "type": "event_intercept", "id": id, "event": "tool_call", "tool_name": tool, "tool_args": {} });
    let said = after_ready(&[
        ask("1", "bash"),
        ask("2", "read"),
        ask("3", "ls"),
        json!({ "type": "event", "event": "session_start", "session_id": "s" }),
        json!({ "type": "event", "event": "other" }),
    ]);
    assert_eq!(said[0]["reason"], "no shell");
    assert_eq!(said[1]["modified_args"], json!({ "path": "other" }));
    assert_eq!(said[2], json!({ "type": "event_intercept_response", "id": "3" }));
    assert_eq!(said[3]["message"], "{\"session_id\":\"s\"}");
    assert_eq!(said.len(), 4);
}

#[test]
fn bytes_become_text() {
    assert_eq!(base64(b""), "");
    assert_eq!(base64(b"f"), "Zg==");
    assert_eq!(base64(b"fo"), "Zm8=");
    assert_eq!(base64(b"foo"), "Zm9v");
    assert_eq!(base64(&[255, 254, 253, 0]), "//79AA==");
}
