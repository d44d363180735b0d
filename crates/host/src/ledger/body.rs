//! Writing records as JSON, redacted, without building them as values first.

use std::borrow::Cow;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jackfield_protocol::{Correlation, Decimal, Level, LogRecord, redact_value, redacted};
use jackfield_runtime::Secrets;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Begin, Kind, Outcome, RunIds, params_digest};

/// The longest name or id that is written; peers choose some of them.
const MAX_NAME: usize = 256;

/// The longest message that is written.
const MAX_MESSAGE: usize = 4 * 1024;

/// The largest buffer that is kept for the next record, and how many are.
const MAX_SPARE: usize = 16 * 1024;
const SPARES: usize = 8;

/// The most data that one record holds.
const MAX_DATA: usize = 64 * 1024;

/// How a line that was cut short came to end with a newline. One that has its own was not cut short by a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Newline {
    /// It was there.
    Found,
    /// The repair put it there.
    Added,
}

/// Makes the records of one host.
#[derive(Debug)]
pub(super) struct Writer {
    secrets: Secrets,
    ids: RunIds,
    /// `"scenario_id":…` to the end of the ids that all records share, as JSON members.
    shared: Vec<u8>,
    /// The member `source`.
    source: Vec<u8>,
    clock: Clock,
    spare: Spare,
}

/// The time as text; all but its fraction is kept as long as it holds.
#[derive(Debug, Default)]
struct Clock(Mutex<(i64, Vec<u8>)>);

impl Clock {
    fn push(&self, now: Timestamp, out: &mut Vec<u8>) {
        if now < Timestamp::UNIX_EPOCH {
            // Counted backwards; writing to memory does not fail.
            let _ = write!(out, "{now:.3}");
            return;
        }
        let (second, fraction) = (now.as_second(), now.subsec_millisecond().unsigned_abs());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 != second || kept.1.is_empty() {
            kept.1.clear();
            let _ = write!(kept.1, "{now:.0}");
            kept.1.pop();
            kept.0 = second;
        }
        out.extend_from_slice(&kept.1);
        let digit = |value: u32| b'0' + (value % 10) as u8;
        out.extend_from_slice(&[b'.', digit(fraction / 100), digit(fraction / 10), digit(fraction), b'Z']);
    }
}

/// Buffers of records that were written, for the next ones: each is too large for the allocator's short way.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Vec<Vec<u8>>>);

impl Spare {
    /// An empty buffer.
    pub(super) fn take(&self) -> Vec<u8> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| Vec::with_capacity(1536))
    }

    /// Keeps one that is not needed any more, unless it is large or there are enough.
    pub(super) fn give(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.capacity() <= MAX_SPARE && kept.len() < SPARES {
            kept.push(buffer);
        }
    }
}

impl Writer {
    pub(super) fn new(ids: &RunIds, secrets: Secrets) -> Self {
        let mut shared = b",\"scenario_id\":\"runtime\",\"session_id\":".to_vec();
        push(&mut shared, clip(&ids.session_id, MAX_NAME));
        shared.extend_from_slice(b",\"run_id\":");
        push(&mut shared, clip(&ids.run_id, MAX_NAME));
        let source = format!(",\"source\":{{\"component\":\"runtime\",\"pid\":{}}}", std::process::id());
        Self {
            secrets,
            ids: ids.clone(),
            shared,
            source: source.into_bytes(),
            clock: Clock::default(),
            spare: Spare::default(),
        }
    }

    /// What the start and the end of a call have in common: its correlation, the source, and the beginning of its data,
    /// which is left open.
    pub(super) fn frame(&self, what: &Begin<'_>) -> Vec<u8> {
        let (id, name) = match what.kind {
            Kind::ToolCall => ("tool_call_id", "tool"),
            Kind::SlashCommand => ("slash_command_id", "command"),
            Kind::EventHook => ("event_id", "hook"),
            Kind::HostCall => ("host_call_id", "method"),
            Kind::ChannelMessage => ("event_id", "channel"),
            Kind::Relay => ("tool_call_id", "method"),
        };
        let mut out = self.spare.take();
        out.extend_from_slice(b",\"correlation\":{\"extension_id\":");
        self.push_name(&mut out, what.extension);
        out.extend_from_slice(&self.shared);
        self.push_member(&mut out, id, what.call_id);
        if let Some(parent) = what.parent {
            self.push_member(&mut out, "trace_id", parent);
        }
        out.push(b'}');
        out.extend_from_slice(&self.source);
        out.extend_from_slice(b",\"data\":{\"params_hash\":\"");
        let mut scratch = self.spare.take();
        out.extend_from_slice(&params_digest(what.name, what.params, &mut scratch));
        self.spare.give(scratch);
        out.push(b'"');
        self.push_member(&mut out, name, what.name);
        if let Some(power) = what.capability {
            push_text(&mut out, ",\"capability\":");
            push(&mut out, power.as_str());
        }
        if let Some(caller) = what.caller {
            self.push_member(&mut out, "caller", caller);
        }
        if let Some(timeout) = what.timeout_ms {
            push_number(&mut out, ",\"timeout_ms\":", timeout);
        }
        out
    }

    /// The record that a call begins.
    pub(super) fn start(&self, kind: Kind, frame: &[u8]) -> Vec<u8> {
        let (event, message) = match kind {
            Kind::ToolCall => ("tool_call.start", "tool call started"),
            Kind::SlashCommand => ("slash_command.start", "slash command started"),
            Kind::EventHook => ("event_hook.start", "hook started"),
            Kind::HostCall => ("host_call.start", "host call started"),
            Kind::ChannelMessage => ("channel_message.start", "message taken up"),
            Kind::Relay => ("relay.start", "request passed on"),
        };
        let mut out = self.head(Level::Info, event, message);
        out.extend_from_slice(frame);
        out.extend_from_slice(b"}}");
        out
    }

    /// The record that a call has ended.
    pub(super) fn end(&self, kind: Kind, frame: &[u8], took: Duration, outcome: Outcome<'_>) -> Vec<u8> {
        let (event, fine, failed) = match kind {
            Kind::ToolCall => ("tool_call.end", "tool call ended", "tool call failed"),
            Kind::SlashCommand => ("slash_command.end", "slash command ended", "slash command failed"),
            Kind::EventHook => ("event_hook.end", "hook ended", "hook failed"),
            Kind::HostCall => ("host_call.end", "host call ended", "host call failed"),
            Kind::ChannelMessage => ("channel_message.end", "message answered", "message not answered"),
            Kind::Relay => ("relay.end", "request answered", "request failed"),
        };
        let (level, message) = if outcome.is_error { (Level::Warn, failed) } else { (Level::Info, fine) };
        let mut out = self.head(level, event, message);
        out.extend_from_slice(frame);
        push_number(&mut out, ",\"duration_ms\":", u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        push_number(&mut out, ",\"duration_us\":", u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        push_text(&mut out, if outcome.is_error { ",\"is_error\":true" } else { ",\"is_error\":false" });
        if let Some((code, message)) = outcome.error {
            push_text(&mut out, ",\"error\":{\"code\":");
            self.push_name(&mut out, code);
            push_text(&mut out, ",\"message\":");
            push(&mut out, &self.clean(clip(message, MAX_MESSAGE)));
            out.push(b'}');
        }
        if let Some(bytes) = outcome.output_bytes {
            push_number(&mut out, ",\"output_bytes\":", bytes as u64);
        }
        for (key, value) in outcome.data.into_iter().flatten() {
            out.push(b',');
            self.push_name(&mut out, key);
            out.push(b':');
            if let Value::String(text) = value {
                push(&mut out, self.clean(text).as_ref());
                continue;
            }
            let mut value = value.clone();
            redact_value(&mut value, &self.secrets.now());
            push(&mut out, &value);
        }
        out.extend_from_slice(b"}}");
        out
    }

    /// A record that is about no call.
    pub(super) fn note(
        &self,
        event: &str,
        level: Level,
        message: &str,
        mut correlation: Correlation,
        data: Map<String, Value>,
    ) -> Vec<u8> {
        let fill = |id: &mut String, default: &str| {
            if id.is_empty() {
                default.clone_into(id);
            }
        };
        fill(&mut correlation.extension_id, "host");
        fill(&mut correlation.scenario_id, "runtime");
        correlation.session_id.get_or_insert_with(|| self.ids.session_id.clone());
        correlation.run_id.get_or_insert_with(|| self.ids.run_id.clone());
        let Correlation {
            extension_id,
            scenario_id,
            session_id,
            run_id,
            artifact_id,
            tool_call_id,
            slash_command_id,
            event_id,
            host_call_id,
            rpc_id,
            trace_id,
            span_id,
        } = &mut correlation;
        let optional = [
            session_id,
            run_id,
            artifact_id,
            tool_call_id,
            slash_command_id,
            event_id,
            host_call_id,
            rpc_id,
            trace_id,
            span_id,
        ];
        for id in [extension_id, scenario_id].into_iter().chain(optional.into_iter().flatten()) {
            if let Cow::Owned(clean) = self.clean(clip(id, MAX_NAME)) {
                *id = clean;
            } else if id.len() > MAX_NAME {
                *id = clip(id, MAX_NAME).to_owned();
            }
        }
        let mut out = self.head(level, clip(event, MAX_NAME), &self.clean(clip(message, MAX_MESSAGE)));
        push_text(&mut out, ",\"correlation\":");
        push(&mut out, &correlation);
        out.extend_from_slice(&self.source);
        if !data.is_empty() {
            let mut data = Value::Object(data);
            redact_value(&mut data, &self.secrets.now());
            push_text(&mut out, ",\"data\":");
            let before = out.len();
            push(&mut out, &data);
            let bytes = out.len() - before;
            if bytes > MAX_DATA {
                out.truncate(before);
                push(&mut out, &json!({ "omitted_bytes": bytes }));
            }
        }
        out.push(b'}');
        out
    }

    /// The record that a line before it was cut short.
    pub(super) fn repair(&self, torn_sha256: &str, torn_bytes: u64, newline: Newline) -> Vec<u8> {
        let data = Map::from_iter([
            ("torn_sha256".to_owned(), torn_sha256.into()),
            ("torn_bytes".to_owned(), torn_bytes.into()),
            ("newline".to_owned(), if newline == Newline::Found { "found" } else { "added" }.into()),
        ]);
        let message = "the line before was cut short when a process was killed or a write failed";
        self.note("ledger.repair", Level::Warn, message, Correlation::default(), data)
    }

    fn push_member(&self, out: &mut Vec<u8>, key: &str, value: &str) {
        for part in [",\"", key, "\":"] {
            push_text(out, part);
        }
        self.push_name(out, value);
    }

    fn push_name(&self, out: &mut Vec<u8>, name: &str) {
        push(out, self.clean(clip(name, MAX_NAME)).as_ref());
    }

    fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        redacted(text, &self.secrets.now())
    }

    /// A record up to its message, left open.
    fn head(&self, level: Level, event: &str, message: &str) -> Vec<u8> {
        let mut out = self.spare.take();
        push_text(&mut out, "{\"schema\":\"");
        push_text(&mut out, LogRecord::SCHEMA);
        push_text(&mut out, "\",\"ts\":\"");
        self.clock.push(Timestamp::now(), &mut out);
        push_text(
            &mut out,
            match level {
                Level::Debug => "\",\"level\":\"debug\",\"event\":",
                Level::Info => "\",\"level\":\"info\",\"event\":",
                Level::Warn => "\",\"level\":\"warn\",\"event\":",
                Level::Error => "\",\"level\":\"error\",\"event\":",
            },
        );
        push(&mut out, event);
        push_text(&mut out, ",\"message\":");
        push(&mut out, message);
        out
    }

    /// Takes back the buffer of a record that was written.
    pub(super) fn spent(&self, buffer: Vec<u8>) {
        self.spare.give(buffer);
    }
}

/// Adds a value as JSON.
pub(super) fn push<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    // Strings, maps with string keys and numbers always have a JSON form; what had none would leave no half of it.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn push_number(out: &mut Vec<u8>, key: &str, number: u64) {
    push_text(out, key);
    push_text(out, Decimal::of(number).as_str());
}

/// The beginning of `text`, at most `most` bytes.
fn clip(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_they_always_did() {
        let clock = Clock::default();
        let seconds = [0, 1, 1_793_875_199, 1_793_875_200, 1_793_875_199, -5];
        for (second, nanosecond) in
            seconds.into_iter().flat_map(|second| [(second, 0), (second, 7_999_999), (second, 999_999_999)])
        {
            let now = Timestamp::new(second, nanosecond).expect("a time");
            let mut text = Vec::new();
            clock.push(now, &mut text);
            assert_eq!(String::from_utf8(text).expect("text"), format!("{now:.3}"));
        }
    }

    #[test]
    fn buffers_are_used_again_and_large_ones_are_not_kept() {
        let spare = Spare::default();
        let mut buffer = spare.take();
        buffer.extend_from_slice(b"something");
        spare.give(buffer);
        spare.give(Vec::with_capacity(MAX_SPARE + 1));
        assert!(spare.take().is_empty(), "nothing of the record before is left");
        assert!(spare.take().capacity() <= MAX_SPARE);
    }
}
