//! Channels in frames.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_protocol::frames::{ChannelAnswer, FromExtension, ToExtension};
use jackfield_protocol::{CallError, CallId, ChannelMessage, ChannelOp, ErrorCode, plain_text};
use jackfield_runtime::{CallCx, Reply};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::mixed_up;
use crate::core::{Core, Question, to_line};
use crate::pending::{DialectAnswer, QuestionKind};

/// How long a `receive` that was cancelled is listened to: longer than a replaced instance lives, because what it waits for may
/// come until then.
const LATE_RECEIVE_TIMEOUT: Duration = Duration::from_secs(40);
/// The longest error that is passed on, in characters.
const LONGEST_ERROR: usize = 4096;

/// Has a channel do something.
pub(super) async fn call(
    core: &Arc<Core>,
    can_cancel: bool,
    call_id: CallId,
    name: String,
    op: ChannelOp,
    cx: CallCx,
) -> Result<Reply, CallError> {
    let (word, channel) = (op.as_str(), name.clone());
    let what = format!("{word} of channel {name}");
    let id = core.pending.fresh_id();
    let question = Question { asked: QuestionKind::Channel, what: &what, call_id: Some(call_id), id: Some(id) };
    let receives = op == ChannelOp::Receive;
    let message = |id: u64| to_line(&ToExtension::ChannelCall { id: id.to_string(), channel: name, op });
    let cancel = || {
        if can_cancel {
            core.send_or_note(&ToExtension::ToolCancel { id: id.to_string() });
        }
    };
    let answer = if receives {
        // A message that is on its way when the host gives up must not be lost: the host says that it gives up and goes on
        // listening for the last word.
        let patient = CallCx { deadline: cx.deadline, cancel: CancellationToken::new() };
        let asking = core.ask(question, &patient, message, |_| {});
        tokio::pin!(asking);
        tokio::select! {
            biased;
            answer = &mut asking => answer?,
            () = cx.cancel.cancelled() => {
                cancel();
                match tokio::time::timeout_at((Instant::now() + LATE_RECEIVE_TIMEOUT).into(), &mut asking).await {
                    Ok(answer) => answer?,
                    Err(_) => return Err(core.error(ErrorCode::Cancelled, format_args!("did not end {what}"))),
                }
            }
        }
    } else {
        core.ask(question, &cx, message, |_| cancel()).await?
    };
    let DialectAnswer::Frame(FromExtension::ChannelResult(answer)) = answer else { return Err(mixed_up(core)) };
    read(core, &what, &channel, receives, answer).map(Reply::Channel)
}

fn read(
    core: &Core,
    what: &str,
    channel: &str,
    receives: bool,
    answer: ChannelAnswer,
) -> Result<Option<ChannelMessage>, CallError> {
    if let Some(error) = answer.error.filter(|error| !error.is_null() && *error != Value::Bool(false)) {
        let said = error.as_str().or_else(|| error.get("message").and_then(Value::as_str)).map(str::to_owned);
        let said = plain_text(&said.unwrap_or_else(|| error.to_string()));
        let said: String = said.chars().take(LONGEST_ERROR).collect();
        let said = if said.trim().is_empty() { "it did not say why" } else { said.trim() };
        return Err(core.error(ErrorCode::Io, format_args!("failed in {what}: {said}")));
    }
    match answer.message {
        Some(message) if receives && !message.is_null() => message_of(channel, message)
            .map(Some)
            .map_err(|why| core.error(ErrorCode::Protocol, format_args!("answered {what} with no message: {why}"))),
        _ => Ok(None),
    }
}

/// Reads a message; forgiving about what does not matter.
fn message_of(channel: &str, message: Value) -> Result<ChannelMessage, String> {
    let Value::Object(mut message) = message else {
        return Err(format!("it is {}, not an object with a text", kind(&message)));
    };
    let text = match message.remove("text") {
        Some(Value::String(text)) => text,
        None | Some(Value::Null) => String::new(),
        Some(other) => return Err(format!("its text is {}, not a string", kind(&other))),
    };
    let sender = match message.remove("sender") {
        Some(Value::String(sender)) => sender,
        None | Some(Value::Null) => String::new(),
        // Many services number their users.
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => return Err(format!("its sender is {}, not a string", kind(&other))),
    };
    let metadata = match message.remove("metadata") {
        Some(Value::Object(metadata)) => Some(metadata),
        _ => None,
    };
    let raw = message.remove("raw").filter(|raw| !raw.is_null());
    Ok(ChannelMessage { text, sender, channel: channel.to_owned(), metadata, raw })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A `channel_result` that is JSON but for bytes that are not UTF-8 or halves of characters: people send such things, and
/// nobody else would ever answer the `receive` that stays open.
pub(super) fn mended(line: &[u8]) -> Option<FromExtension> {
    const MARK: &[u8] = b"\"channel_result\"";
    if !line.windows(MARK.len()).any(|part| part == MARK) {
        return None;
    }
    let text = without_halves(&String::from_utf8_lossy(line));
    match FromExtension::parse(text.as_bytes()) {
        Ok(frame @ FromExtension::ChannelResult(_)) => Some(frame),
        _ => None,
    }
}

/// The same JSON with U+FFFD in place of every escaped half of a surrogate pair.
fn without_halves(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit = |text: &str| text.strip_prefix("\\u").and_then(|t| u16::from_str_radix(t.get(..4)?, 16).ok());
        let (taken, lone) = match unit(escape) {
            Some(0xD800..=0xDBFF) => match escape.get(6..).and_then(unit) {
                Some(0xDC00..=0xDFFF) => (12, false),
                _ => (6, true),
            },
            Some(0xDC00..=0xDFFF) => (6, true),
            Some(_) => (6, false),
            // Another escape: the backslash and what it escapes.
            None => (1 + escape.chars().nth(1).map_or(0, char::len_utf8), false),
        };
        let (taken, after) = escape.split_at_checked(taken).unwrap_or((escape, ""));
        out.push_str(if lone { "\\ufffd" } else { taken });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_read_with_patience() {
        let read = |message: Value| message_of("c", message);
        let full = json!({"text": "hi", "sender": 7, "channel": "x", "metadata": {"a": 1}, "raw": [1]});
        let message = read(full).expect("a message");
        assert_eq!((message.text.as_str(), message.sender.as_str(), message.channel.as_str()), ("hi", "7", "c"));
        assert_eq!((message.metadata.map(|m| m.len()), message.raw), (Some(1), Some(json!([1]))));
        assert_eq!(read(json!({})).map(|message| message.text), Ok(String::new()));
        assert_eq!(read(json!({"text": "a", "metadata": 3})).map(|message| message.metadata), Ok(None));
        for bad in [json!(7), json!("hi"), json!([]), json!({"text": 7}), json!({"text": "a", "sender": {}})] {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_people_send_is_mended() {
        let text = |line: &[u8]| match mended(line) {
            Some(FromExtension::ChannelResult(answer)) => answer.message.and_then(|m| Some(m.get("text")?.clone())),
            _ => None,
        };
        let line = |text: &[u8]| {
            let head = br#"{"type":"channel_result","id":"1","message":{"text":""#;
            [head.as_slice(), text, br#""}}"#.as_slice()].concat()
        };
        assert_eq!(text(&line(b"a\xffb")), Some(json!("a\u{fffd}b")));
        assert_eq!(text(&line(br"a\ud800b")), Some(json!("a\u{fffd}b")));
        assert_eq!(text(&line(br"a\udc00\ud83d\ude00")), Some(json!("a\u{fffd}\u{1f600}")));
        assert_eq!(text(&line(br"a\\ud800\n")), Some(json!("a\\ud800\n")));
        assert_eq!(text(br#"{"type":"channel_result","id":"1","message":{"text":"a"#), None, "cut off");
        assert_eq!(text(b"channel_result \xff"), None, "noise");
    }
}
