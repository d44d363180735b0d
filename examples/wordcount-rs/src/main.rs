//! Counts lines, words and characters, in the envelope dialect: every line is `{id, version, type, payload}`.
//!
//! One thread is enough: a tool call that needs a file sends a host call and is parked until the host's result comes, and
//! meanwhile other calls are served. The extension opens no file itself.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut extension = Extension { out: io::stdout().lock(), parked: HashMap::new(), host_calls: 0 };
    extension.send("register", "register", registration())?;
    // The host closes our input when it wants us to go.
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?) {
            Ok(envelope) => extension.handle(&envelope)?,
            Err(error) => eprintln!("wordcount-rs: not an envelope: {error}"),
        }
    }
    Ok(())
}

/// What this extension contributes and asks for.
fn registration() -> Value {
    json!({
        "name": "wordcount-rs",
        "version": env!("CARGO_PKG_VERSION"),
        "api_version": "1.0",
        "capability_manifest": {
            "schema": "pi.ext.cap.v1",
            "capabilities": [{
                "capability": "read",
                "methods": ["fs"],
                "scope": { "paths": ["**"] },
                "reason": "count reads the file that it is given",
            }],
        },
        "tools": [{
            "name": "count",
            "description": "Counts lines, words and characters of a text, or of a file of the project.",
            "parameters": {
                "type": "object",
                "properties": { "text": { "type": "string" }, "path": { "type": "string" } },
                "oneOf": [{ "required": ["text"] }, { "required": ["path"] }],
                "additionalProperties": false,
            },
        }],
        "slash_commands": [{ "name": "count", "description": "Counts the words that follow" }],
        "event_hooks": [],
    })
}

/// A tool call that waits for a file.
struct Parked {
    /// The id of its envelope, which the answer repeats.
    id: String,
    call_id: String,
    path: String,
}

struct Extension<W> {
    out: W,
    /// By the id of the host call.
    parked: HashMap<String, Parked>,
    host_calls: u64,
}

impl<W: Write> Extension<W> {
    fn handle(&mut self, envelope: &Value) -> io::Result<()> {
        let (id, payload) = (text_of(envelope, "id"), &envelope["payload"]);
        match text_of(envelope, "type") {
            "tool_call" => self.tool_call(id, payload),
            "host_result" => self.host_result(payload),
            "slash_command" => {
                let words: Vec<&str> =
                    payload["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let output = json!({ "action": "display", "display": Counts::of(&words.join(" ")).to_string() });
                self.send(id, "slash_result", json!({ "output": output, "is_error": false }))
            }
            // A message from another time, or one that this extension did not ask for.
            _ => Ok(()),
        }
    }

    fn tool_call(&mut self, id: &str, payload: &Value) -> io::Result<()> {
        let (call_id, input) = (text_of(payload, "call_id"), &payload["input"]);
        if text_of(payload, "name") != "count" {
            return self.tool_result(id, call_id, Err("wordcount-rs has no such tool".to_owned()));
        }
        match (input["text"].as_str(), input["path"].as_str()) {
            (Some(text), None) => self.tool_result(id, call_id, Ok(text)),
            (None, Some(path)) => {
                self.host_calls += 1;
                let host_call = format!("host-{}", self.host_calls);
                let parked = Parked { id: id.to_owned(), call_id: call_id.to_owned(), path: path.to_owned() };
                self.parked.insert(host_call.clone(), parked);
                let request = json!({
                    "call_id": host_call,
                    "capability": "read",
                    "method": "fs",
                    "params": { "op": "read", "path": path },
                    "context": { "call_id": call_id },
                });
                self.send(&host_call, "host_call", request)
            }
            _ => self.tool_result(id, call_id, Err("count takes either a text or a path".to_owned())),
        }
    }

    fn host_result(&mut self, payload: &Value) -> io::Result<()> {
        let Some(Parked { id, call_id, path }) = self.parked.remove(text_of(payload, "call_id")) else { return Ok(()) };
        let content = match payload.pointer("/output/content").and_then(Value::as_str) {
            Some(content) if payload["is_error"] != true => Ok(content),
            _ => {
                let why =
                    payload.pointer("/error/message").and_then(Value::as_str).unwrap_or("the host gave no reason");
                Err(format!("cannot read {path}: {why}"))
            }
        };
        self.tool_result(&id, &call_id, content)
    }

    /// Answers with the counts of a text, or with why there is none.
    fn tool_result(&mut self, id: &str, call_id: &str, text: Result<&str, String>) -> io::Result<()> {
        let is_error = text.is_err();
        let output = match text.map(Counts::of) {
            Ok(counts) => {
                json!({ "content": [{ "type": "text", "text": counts.to_string() }], "details": counts.details() })
            }
            Err(why) => json!({ "content": [{ "type": "text", "text": why }] }),
        };
        self.send(id, "tool_result", json!({ "call_id": call_id, "output": output, "is_error": is_error }))
    }

    fn send(&mut self, id: &str, kind: &str, payload: Value) -> io::Result<()> {
        let envelope = json!({ "id": id, "version": "1.0", "type": kind, "payload": payload });
        writeln!(self.out, "{envelope}")?;
        self.out.flush()
    }
}

fn text_of<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

#[derive(Debug, PartialEq)]
struct Counts {
    lines: usize,
    words: usize,
    characters: usize,
}

impl Counts {
    fn of(text: &str) -> Self {
        Self { lines: text.lines().count(), words: text.split_whitespace().count(), characters: text.chars().count() }
    }

    fn details(&self) -> Value {
        json!({ "lines": self.lines, "words": self.words, "characters": self.characters })
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} lines, {} words, {} characters", self.lines, self.words, self.characters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the extension sends after these messages.
    fn talk(messages: &[Value]) -> Vec<Value> {
        let mut extension = Extension { out: Vec::new(), parked: HashMap::new(), host_calls: 0 };
        for message in messages {
            extension.handle(message).expect("a Vec takes everything");
        }
        let text = String::from_utf8(extension.out).expect("JSON is UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    #[test]
    fn a_text_is_counted_at_once() {
        let call = json!({"id": "7", "version": "1.0", "type": "tool_call",
            "payload": {"call_id": "c1", "name": "count", "input": {"text": "über uns\nalle"}}});
        let answer = json!({"id": "7", "version": "1.0", "type": "tool_result", "payload": {"call_id": "c1",
            "output": {"content": [{"type": "text", "text": "2 lines, 3 words, 13 characters"}],
                "details": {"lines": 2, "words": 3, "characters": 13}}, "is_error": false}});
        assert_eq!(talk(&[call]), [answer]);
    }

    #[test]
    fn a_file_is_the_hosts_to_give() {
        let call = json!({"id": "7", "version": "1.0", "type": "tool_call",
            "payload": {"call_id": "c1", "name": "count", "input": {"path": "a.txt"}}});
        let refusal = json!({"id": "host-1", "version": "1.0", "type": "host_result",
            "payload": {"call_id": "host-1", "output": {}, "is_error": true,
                "error": {"code": "denied", "message": "not granted", "retryable": false}}});
        let sent = talk(&[call, refusal.clone(), refusal]);
        assert_eq!(sent.len(), 2, "one host call, one answer, and nothing for the second result: {sent:?}");
        assert_eq!(sent[0]["payload"]["params"], json!({"op": "read", "path": "a.txt"}));
        assert_eq!(sent[1]["payload"]["is_error"], true);
        assert_eq!(sent[1]["payload"]["output"]["content"][0]["text"], "cannot read a.txt: not granted");
    }
}
