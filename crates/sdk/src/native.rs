//! The program: frames over standard input and output, one JSON object per line.
//!
//! One thread serves one thing after another. While a handler waits for the host, what comes meanwhile is kept for later.

mod pipe;
#[cfg(test)]
mod tests;

use std::io;

use serde_json::{Map, Value, json};

use self::pipe::Pipe;
use crate::host::{Output, Response};
use crate::{Answer, Block, Error, Extension, Reply, Result, ToolUse, Verdict};

/// Serves until the host says goodbye or closes our input.
pub(crate) fn run(definition: fn() -> Extension) {
    let input = Box::new(io::BufReader::new(io::stdin()));
    let served = serve(&definition(), Pipe::new(input, Box::new(io::stdout())));
    if let Err(error) = served {
        eprintln!("cannot speak with the host: {error}");
        std::process::exit(1);
    }
}

/// Introduces the extension and serves. The pipe is the thread's own meanwhile, so that handlers reach the host.
fn serve(extension: &Extension, pipe: Pipe) -> io::Result<()> {
    pipe::install(pipe);
    let done = introduce(extension).and_then(|()| {
        while let Some(frame) = pipe::next()? {
            if !handle(extension, &frame)? {
                break;
            }
        }
        Ok(())
    });
    pipe::remove();
    done
}

fn introduce(extension: &Extension) -> io::Result<()> {
    pipe::send(&json!({
        "type": "hello", "name": extension.name, "version": extension.version, "capabilities": ["host_call", "progress", "log"],
    }))?;
    for tool in &extension.tools {
        pipe::send(&json!({
            "type": "register_tool", "name": tool.name, "description": tool.description, "schema": tool.schema,
        }))?;
    }
    for command in &extension.commands {
        pipe::send(&json!({ "type": "register_command", "name": command.name, "description": command.description }))?;
    }
    let intercept: &[&str] = if extension.has_guard() { &["tool_call"] } else { &[] };
    let events = extension.events();
    if !events.is_empty() || !intercept.is_empty() {
        pipe::send(&json!({ "type": "subscribe", "events": events, "intercept": intercept }))?;
    }
    pipe::send(&json!({ "type": "ready" }))
}

/// False when it is time to go.
fn handle(extension: &Extension, frame: &Value) -> io::Result<bool> {
    let text = |key: &str| frame.get(key).and_then(Value::as_str).unwrap_or_default();
    let id = text("id");
    match text("type") {
        "tool_call" => {
            pipe::enter(id);
            let answer = extension.call_tool(text("name"), frame.get("args").cloned().unwrap_or_default());
            pipe::leave();
            pipe::send(&tool_result(id, answer))?;
        }
        "command_invoked" => {
            let reply = extension.run_command(text("name"), text("args"));
            pipe::send(&command_response(id, reply))?;
        }
        "event_intercept" => {
            let tool = ToolUse {
                tool: text("tool_name").to_owned(),
                arguments: frame.get("tool_args").cloned().unwrap_or_default(),
            };
            let verdict = if text("event") == "tool_call" { extension.judge(&tool) } else { Verdict::Pass };
            pipe::send(&match verdict {
                Verdict::Pass => json!({ "type": "event_intercept_response", "id": id }),
                Verdict::Replace(args) => {
                    json!({ "type": "event_intercept_response", "id": id, "modified_args": args })
                }
                Verdict::Block(reason) => {
                    json!({ "type": "event_intercept_response", "id": id, "block": true, "reason": reason })
                }
            })?;
        }
        "event" => {
            let mut data = frame.as_object().cloned().unwrap_or_default();
            data.remove("type");
            data.remove("event");
            extension.tell(text("event"), &Value::Object(data));
        }
        "shutdown" => {
            pipe::send(&json!({ "type": "shutdown_ack" }))?;
            return Ok(false);
        }
        // A frame from another time, or one that this extension did not ask for.
        _ => {}
    }
    Ok(true)
}

fn tool_result(id: &str, answer: Result<Answer>) -> Value {
    let answer = answer.unwrap_or_else(|error| Answer { is_error: true, ..Answer::text(error.message) });
    let content: Vec<Value> = answer
        .blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => json!({ "type": "text", "text": text }),
            Block::Image { mime, data } => json!({ "type": "image", "mime_type": mime, "data": base64(data) }),
        })
        .collect();
    let mut frame = json!({ "type": "tool_result", "id": id, "content": content, "is_error": answer.is_error });
    if let (Some(frame), Some(details)) = (frame.as_object_mut(), answer.details) {
        frame.insert("details".to_owned(), details);
    }
    frame
}

fn command_response(id: &str, reply: Result<Reply>) -> Value {
    let (action, text) = match reply {
        Ok(Reply::Nothing) => ("noop", String::new()),
        Ok(Reply::Display(text)) => ("display", text),
        Ok(Reply::Prompt(text)) => ("prompt", text),
        Ok(Reply::Insert(text)) => ("insert", text),
        Err(error) => {
            return json!({ "type": "command_response", "id": id, "action": "noop", "error": error.message });
        }
    };
    json!({ "type": "command_response", "id": id, "action": action, action: text })
}

/// The standard alphabet, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place)) & 63;
            let digit = ALPHABET.get(digit as usize).map_or('=', |digit| char::from(*digit));
            text.push(if place > chunk.len() { '=' } else { digit });
        }
    }
    text
}

fn field(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub(crate) fn log(level: &str, message: &str) {
    // Diagnostics: a line that the host does not take is no reason to fail.
    pipe::send(&json!({ "type": "log", "level": level, "message": message })).ok();
}

pub(crate) fn progress(message: &str) {
    if let Some(id) = pipe::current() {
        // As with the log.
        pipe::send(&json!({ "type": "progress", "id": id, "message": message })).ok();
    }
}

pub(crate) fn read(path: &str) -> Result<String> {
    Ok(field(&pipe::call("fs", json!({ "op": "read", "path": path }))?, "content"))
}

pub(crate) fn write(path: &str, text: &str) -> Result<()> {
    pipe::call("fs", json!({ "op": "write", "path": path, "content": text })).map(|_| ())
}

pub(crate) fn variable(name: &str) -> Result<Option<String>> {
    let answer = pipe::call("env", json!({ "name": name }))?;
    Ok(answer.get("value").and_then(Value::as_str).map(str::to_owned))
}

pub(crate) fn exec(command: &str, args: &[&str]) -> Result<Output> {
    let answer = pipe::call("exec", json!({ "command": command, "args": args }))?;
    let code = answer.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok()).unwrap_or(-1);
    Ok(Output { code, stdout: field(&answer, "stdout"), stderr: field(&answer, "stderr") })
}

pub(crate) fn fetch(url: &str) -> Result<Response> {
    let answer = pipe::call("http", json!({ "url": url }))?;
    let status = answer.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    Ok(Response { status: status.unwrap_or_default(), body: field(&answer, "body") })
}

pub(crate) fn call_other_tool(name: &str, args: &Value) -> Result<Answer> {
    let answer = pipe::call("tool", json!({ "name": name, "input": args }))?;
    let blocks = answer.get("content").and_then(Value::as_array).into_iter().flatten();
    let blocks = blocks.filter(|block| block.get("text").is_some()).map(|block| Block::Text(field(block, "text")));
    let is_error = answer.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    Ok(Answer { blocks: blocks.collect(), is_error, details: answer.get("details").cloned() })
}

pub(crate) fn notify(message: &str) -> Result<()> {
    pipe::call("ui", json!({ "op": "notify", "message": message })).map(|_| ())
}

pub(crate) fn confirm(title: &str, message: &str) -> Result<bool> {
    let answer = pipe::call("ui", json!({ "op": "confirm", "title": title, "message": message }))?;
    Ok(answer.get("confirmed").or_else(|| answer.get("value")).and_then(Value::as_bool).unwrap_or(false))
}

/// A file of its own in the directory that the host gives to the extension.
fn storage() -> std::path::PathBuf {
    std::env::var_os("JACKFIELD_DATA_DIR").map_or_else(|| ".".into(), std::path::PathBuf::from).join("storage.json")
}

fn read_storage() -> Result<Map<String, Value>> {
    let failed =
        |error: &dyn std::fmt::Display| Error::new("io", format!("cannot read {}: {error}", storage().display()));
    match std::fs::read_to_string(storage()) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Map::new()),
        Err(error) => Err(failed(&error)),
    }
}

pub(crate) fn stored(key: &str) -> Result<Option<Value>> {
    Ok(read_storage()?.remove(key))
}

pub(crate) fn store(key: &str, value: &Value) -> Result<()> {
    let mut all = read_storage()?;
    all.insert(key.to_owned(), value.clone());
    let failed = |error: io::Error| Error::new("io", format!("cannot write {}: {error}", storage().display()));
    // Beside it first, so that nobody reads half of it.
    let next = storage().with_extension("next");
    std::fs::write(&next, Value::Object(all).to_string()).map_err(failed)?;
    std::fs::rename(&next, storage()).map_err(failed)
}
