//! `call`.

use std::io::{ErrorKind, Read};
use std::time::Duration;

use anyhow::Context;
use jackfield_gateway::forms::tool_outcome;
use jackfield_host::{HostEvent, ToolCall, ToolOutcome};
use jackfield_protocol::{CallError, Content, ErrorCode, Notice, plain_text};
use serde_json::{Map, Value, json};

use crate::args::Global;
use crate::compose::{self, Scope};
use crate::exit;
use crate::output::{self, note};

pub(crate) async fn call(
    global: &Global,
    tool: String,
    pairs: Vec<String>,
    args: Option<String>,
    timeout_ms: Option<u64>,
) -> anyhow::Result<u8> {
    let args = match args {
        Some(text) => read_json(&text)?,
        None => from_pairs(&pairs)?,
    };
    let host = compose::open(global, Scope::All)?;
    let mut events = host.events();
    let mut call = ToolCall::by_person(tool, args);
    call.timeout = timeout_ms.map(Duration::from_millis);
    let pending = host.call_tool(call.clone());
    tokio::pin!(pending);
    let outcome = loop {
        tokio::select! {
            outcome = &mut pending => break outcome,
            event = events.recv() => if let Ok(event) = event { tell(&event) },
            _ = tokio::signal::ctrl_c() => call.cancel.cancel(),
        }
    };
    while let Ok(event) = events.try_recv() {
        tell(&event);
    }
    let code = show(global, &outcome)?;
    host.shutdown().await;
    Ok(code)
}

/// What extensions say meanwhile goes to stderr.
pub(super) fn tell(event: &HostEvent) {
    match event {
        HostEvent::Notice { extension, notice: Notice::Notify { level, message } } => {
            let level = json!(level);
            let text = format!("{}: {message}", level.as_str().unwrap_or("info"));
            note!("{}", output::said_by(extension.as_str(), &text));
        }
        HostEvent::Notice { extension, notice: Notice::Progress { message, .. } } => {
            note!("{}", output::said_by(extension.as_str(), &format!("… {message}")));
        }
        HostEvent::HookFailed { extension, hook, reason } => {
            let reason = plain_text(reason).replace('\n', " ");
            note!("warn: hook {} of {extension} failed: {reason}", hook.as_str());
        }
        HostEvent::Waiting { extensions } => {
            let names: Vec<&str> = extensions.iter().map(|id| id.as_str()).collect();
            note!("waiting for {}, which was never seen and may have a say in this call", names.join(", "));
        }
        _ => {}
    }
}

pub(super) fn show(global: &Global, outcome: &ToolOutcome) -> anyhow::Result<u8> {
    if global.json {
        output::json(&tool_outcome(outcome))?;
    }
    match &outcome.result {
        Err(error) => {
            if !global.json {
                note!("error: {}", plain_text(&error.message));
                note!("call {}; `jackfield why {}` shows how it was decided", outcome.call_id, outcome.call_id);
            }
            Ok(exit::code_of(error))
        }
        Ok(result) => {
            if !global.json {
                for block in &result.content {
                    match block {
                        Content::Text { text, .. } => output::plain(text)?,
                        Content::Image { mime_type, data } => {
                            output::plain(&format!(
                                "[image {mime_type}, {} bytes of base64; use --json to get it]",
                                data.len()
                            ))?;
                        }
                    }
                }
            }
            Ok(if result.is_error { exit::ERROR } else { exit::FINE })
        }
    }
}

fn bad(message: String) -> anyhow::Error {
    CallError::new(ErrorCode::InvalidRequest, message).into()
}

/// JSON itself, `@file`, or `-` for standard input.
fn read_json(text: &str) -> anyhow::Result<Value> {
    let (source, text) = match text.strip_prefix('@') {
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|error| {
                let code = if error.kind() == ErrorKind::NotFound { ErrorCode::NotFound } else { ErrorCode::Io };
                CallError::new(code, format!("cannot read the arguments from {file}: {error}"))
            })?;
            (file.to_owned(), text)
        }
        None if text == "-" => {
            let mut input = String::new();
            std::io::stdin().read_to_string(&mut input).context("cannot read standard input")?;
            ("standard input".to_owned(), input)
        }
        None => ("--args".to_owned(), text.to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| bad(format!("{source} is not JSON: {error}")))
}

/// `key=value` pairs; a value that reads as JSON is JSON, `key:=text` is always text. Or one JSON object.
pub(super) fn from_pairs(pairs: &[String]) -> anyhow::Result<Value> {
    if let [whole] = pairs
        && whole.starts_with('{')
    {
        return serde_json::from_str(whole).map_err(|error| bad(format!("the arguments are not JSON: {error}")));
    }
    let mut object = Map::new();
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(bad(format!("{pair:?} is not KEY=VALUE; use --args for JSON")));
        };
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (key, Value::String(value.to_owned())),
            None => (key, serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()))),
        };
        object.insert(key.to_owned(), value);
    }
    Ok(Value::Object(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs() {
        let pairs = ["a=1", "b=text", "c:=1", "d={\"x\":[]}", "e=", "f=x=y"].map(str::to_owned);
        assert_eq!(
            from_pairs(&pairs).expect("pairs"),
            json!({"a": 1, "b": "text", "c": "1", "d": {"x": []}, "e": "", "f": "x=y"})
        );
        assert!(from_pairs(&["novalue".to_owned()]).is_err());
        assert_eq!(from_pairs(&[r#"{"a":[1]}"#.to_owned()]).expect("JSON"), json!({ "a": [1] }));
        assert!(from_pairs(&["{broken".to_owned()]).is_err());
    }
}
