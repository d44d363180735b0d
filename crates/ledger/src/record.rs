//! The records as types, and the writer that fills, redacts and serialises them.

use std::borrow::Cow;
use std::time::Duration;

use jackfield_protocol::{Correlation, Level, LogRecord, Power, Source, redact_value, redacted};
use jackfield_runtime::Secrets;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Begin, Kind, Outcome, RunIds, params_hash};

/// The longest name or id in a record; peers choose some of them.
const MAX_NAME: usize = 256;

/// The longest message in a record.
const MAX_MESSAGE: usize = 4 * 1024;

/// The most data of a note.
const MAX_DATA: usize = 64 * 1024;

/// One record, in the order of its members. The chain adds the member `chain` at its end.
#[derive(Debug, Serialize)]
struct Record<'a, D> {
    schema: &'static str,
    ts: String,
    level: Level,
    event: &'a str,
    message: &'a str,
    correlation: &'a Correlation,
    source: &'a Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<D>,
}

/// What the records of the start and the end of a call share.
#[derive(Debug, Clone)]
pub(super) struct Call {
    correlation: Correlation,
    data: CallData,
}

/// The member `data` of the record of a call's start.
#[derive(Debug, Clone, Serialize)]
struct CallData {
    params_hash: String,
    #[serde(flatten)]
    name: Name,
    #[serde(skip_serializing_if = "Option::is_none")]
    capability: Option<Power>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

/// The name of what is called, under the key that tells what it is.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
enum Name {
    Tool(String),
    Command(String),
    Hook(String),
    Method(String),
    Channel(String),
}

/// The member `data` of the record of a call's end.
#[derive(Debug, Serialize)]
struct EndData<'a> {
    #[serde(flatten)]
    call: &'a CallData,
    duration_ms: u64,
    duration_us: u64,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_bytes: Option<usize>,
    #[serde(flatten)]
    evidence: Evidence,
}

#[derive(Debug, Serialize)]
struct ErrorData<'a> {
    code: Cow<'a, str>,
    message: Cow<'a, str>,
}

/// What led to the outcome of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// What a host call needed, for instance `read src/a.rs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub need: Option<String>,
    /// The rule of the policy that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    /// The answer of the person who was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What an extension answered to a hook or event: `continue`, `replace`, `block` or `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'static str>,
    /// The hash of the answer to a message on a channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_hash: Option<String>,
    /// The size of that answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_bytes: Option<usize>,
}

/// How a line that was cut short came to end with a newline. A kill does not write one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Newline {
    /// The line had it.
    Found,
    /// The repair added it.
    Added,
}

/// Makes the records of one host.
#[derive(Debug)]
pub(super) struct Writer {
    secrets: Secrets,
    ids: RunIds,
    source: Source,
}

impl Writer {
    pub(super) fn new(ids: &RunIds, secrets: Secrets) -> Self {
        let source = Source { component: "runtime".to_owned(), host: None, pid: Some(std::process::id()) };
        Self { secrets, ids: ids.clone(), source }
    }

    pub(super) fn is_of(&self, call: &mut Call, extension: &str) {
        if call.correlation.extension_id != extension {
            call.correlation.extension_id = self.name(extension);
        }
    }

    /// What start and end of the call share.
    pub(super) fn call(&self, what: &Begin<'_>) -> Call {
        let id = Some(self.name(what.call_id));
        let name = self.name(what.name);
        let base = Correlation {
            extension_id: self.name(what.extension),
            trace_id: what.parent.map(|parent| self.name(parent)),
            ..Correlation::default()
        };
        let (mut correlation, name) = match what.kind {
            Kind::ToolCall => (Correlation { tool_call_id: id, ..base }, Name::Tool(name)),
            Kind::SlashCommand => (Correlation { slash_command_id: id, ..base }, Name::Command(name)),
            Kind::EventHook => (Correlation { event_id: id, ..base }, Name::Hook(name)),
            Kind::HostCall => (Correlation { host_call_id: id, ..base }, Name::Method(name)),
            Kind::ChannelMessage => (Correlation { event_id: id, ..base }, Name::Channel(name)),
            Kind::Relay => (Correlation { tool_call_id: id, ..base }, Name::Method(name)),
        };
        self.complete(&mut correlation);
        let data = CallData {
            params_hash: params_hash(what.name, what.params),
            name,
            capability: what.capability,
            caller: what.caller.map(|caller| self.name(caller)),
            timeout_ms: what.timeout_ms,
        };
        Call { correlation, data }
    }

    /// The record that a call begins.
    pub(super) fn start(&self, kind: Kind, call: &Call) -> Vec<u8> {
        let (event, message) = match kind {
            Kind::ToolCall => ("tool_call.start", "tool call started"),
            Kind::SlashCommand => ("slash_command.start", "slash command started"),
            Kind::EventHook => ("event_hook.start", "hook started"),
            Kind::HostCall => ("host_call.start", "host call started"),
            Kind::ChannelMessage => ("channel_message.start", "message taken up"),
            Kind::Relay => ("relay.start", "request passed on"),
        };
        self.serialised(Level::Info, event, message, &call.correlation, Some(&call.data))
    }

    /// The record that a call has ended.
    pub(super) fn end(&self, kind: Kind, call: &Call, took: Duration, outcome: Outcome<'_>) -> Vec<u8> {
        let (event, fine, failed) = match kind {
            Kind::ToolCall => ("tool_call.end", "tool call ended", "tool call failed"),
            Kind::SlashCommand => ("slash_command.end", "slash command ended", "slash command failed"),
            Kind::EventHook => ("event_hook.end", "hook ended", "hook failed"),
            Kind::HostCall => ("host_call.end", "host call ended", "host call failed"),
            Kind::ChannelMessage => ("channel_message.end", "message answered", "message not answered"),
            Kind::Relay => ("relay.end", "request answered", "request failed"),
        };
        let (level, message) = if outcome.is_error { (Level::Warn, failed) } else { (Level::Info, fine) };
        let mut evidence = outcome.evidence.cloned().unwrap_or_default();
        evidence.need = evidence.need.map(|need| self.clean(&need).into_owned());
        let data = EndData {
            call: &call.data,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            duration_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            is_error: outcome.is_error,
            error: outcome.error.map(|(code, message)| ErrorData {
                code: self.clean(clip(code, MAX_NAME)),
                message: self.clean(clip(message, MAX_MESSAGE)),
            }),
            output_bytes: outcome.output_bytes,
            evidence,
        };
        self.serialised(level, event, message, &call.correlation, Some(&data))
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
        self.complete(&mut correlation);
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
            *id = self.name(id);
        }
        let data = (!data.is_empty()).then(|| {
            let mut data = Value::Object(data);
            redact_value(&mut data, &self.secrets.now());
            let bytes = serde_json::to_vec(&data).map_or(0, |text| text.len());
            if bytes > MAX_DATA { json!({ "omitted_bytes": bytes }) } else { data }
        });
        let message = self.clean(clip(message, MAX_MESSAGE));
        self.serialised(level, clip(event, MAX_NAME), &message, &correlation, data)
    }

    /// The record that a line before it was cut short.
    pub(super) fn repair(&self, torn_sha256: &str, torn_bytes: u64, newline: Newline) -> Vec<u8> {
        let data = Map::from_iter([
            ("torn_sha256".to_owned(), torn_sha256.into()),
            ("torn_bytes".to_owned(), torn_bytes.into()),
            ("newline".to_owned(), json!(newline)),
        ]);
        let message = "the line before was cut short when a process was killed or a write failed";
        self.note("ledger.repair", Level::Warn, message, Correlation::default(), data)
    }

    /// Fills in the ids that every record has.
    fn complete(&self, correlation: &mut Correlation) {
        if correlation.extension_id.is_empty() {
            "host".clone_into(&mut correlation.extension_id);
        }
        if correlation.scenario_id.is_empty() {
            "runtime".clone_into(&mut correlation.scenario_id);
        }
        correlation.session_id.get_or_insert_with(|| clip(&self.ids.session_id, MAX_NAME).to_owned());
        correlation.run_id.get_or_insert_with(|| clip(&self.ids.run_id, MAX_NAME).to_owned());
    }

    fn serialised<D: Serialize>(
        &self,
        level: Level,
        event: &str,
        message: &str,
        correlation: &Correlation,
        data: Option<D>,
    ) -> Vec<u8> {
        let ts = format!("{:.3}", Timestamp::now());
        let schema = LogRecord::SCHEMA;
        let record = Record { schema, ts, level, event, message, correlation, source: &self.source, data };
        // Every member is text, a number or a map with text keys, so serialising to memory does not fail.
        serde_json::to_vec(&record).unwrap_or_default()
    }

    /// A name or id without secrets, cut to its limit.
    fn name(&self, text: &str) -> String {
        self.clean(clip(text, MAX_NAME)).into_owned()
    }

    fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        redacted(text, &self.secrets.now())
    }
}

/// The beginning of `text`, at most `most` bytes.
fn clip(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
