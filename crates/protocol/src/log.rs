//! The structured log record `pi.ext.log.v1`, one JSON object per line.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::lenient::null_default;

/// How bad a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For authors.
    Debug,
    /// For the curious.
    Info,
    /// Something is off.
    Warn,
    /// Something failed.
    Error,
}

impl Level {
    /// The level as it appears in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// The ids that join records. `extension_id` and `scenario_id` are required; the rest stand where they are known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Correlation {
    /// The extension.
    pub extension_id: String,
    /// The scenario of a test, or `runtime`.
    pub scenario_id: String,
    /// The conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The host process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The content hash of what ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<String>,
    /// The tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The slash command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slash_command_id: Option<String>,
    /// The hook or event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    /// The host call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_call_id: Option<String>,
    /// The request of a face.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc_id: Option<String>,
    /// A chain of calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// One link of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
}

/// Who wrote a record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// `capture`, `harness`, `runtime` or `extension`.
    pub component: String,
    /// The machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogRecord {
    /// Always `pi.ext.log.v1`.
    pub schema: String,
    /// RFC 3339.
    pub ts: String,
    /// How bad it is.
    pub level: Level,
    /// A stable name, for instance `tool_call.start`.
    pub event: String,
    /// For people.
    pub message: String,
    /// The ids that join records.
    pub correlation: Correlation,
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// For programs.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
}

impl LogRecord {
    /// The only schema there is.
    pub const SCHEMA: &'static str = "pi.ext.log.v1";
}

/// Replaces what differs from run to run by placeholders, so that records can be compared with a fixture: times, process
/// and machine, the ids that are drawn at random, and absolute paths below `cwd`.
pub fn normalize_log(record: &mut Value, cwd: &str) {
    const VOLATILE: [&str; 8] = ["ts", "pid", "host", "run_id", "session_id", "artifact_id", "trace_id", "span_id"];
    match record {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                if VOLATILE.contains(&key.as_str()) && !value.is_null() && !value.is_object() {
                    *value = Value::String(format!("<{key}>"));
                } else {
                    normalize_log(value, cwd);
                }
            }
        }
        Value::Array(array) => array.iter_mut().for_each(|value| normalize_log(value, cwd)),
        Value::String(text) if !cwd.is_empty() && text.contains(cwd) => *text = text.replace(cwd, "<cwd>"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn normalising_keeps_what_is_stable() {
        let mut record = json!({
            "ts": "2026-02-03T03:01:02Z", "event": "tool_call.start", "source": {"pid": 7, "host": "x"},
            "correlation": {"extension_id": "e", "session_id": "s", "scenario_id": "scn-001"},
            "data": {"path": "/home/x/p/a.rs", "list": ["/home/x/p"]},
        });
        normalize_log(&mut record, "/home/x/p");
        assert_eq!(
            record,
            json!({
                "ts": "<ts>", "event": "tool_call.start", "source": {"pid": "<pid>", "host": "<host>"},
                "correlation": {"extension_id": "e", "session_id": "<session_id>", "scenario_id": "scn-001"},
                "data": {"path": "<cwd>/a.rs", "list": ["<cwd>"]},
            })
        );
    }

    #[test]
    fn the_required_fields_are_required() {
        let full = json!({"schema": "pi.ext.log.v1", "ts": "t", "level": "info", "event": "e", "message": "m",
            "correlation": {"extension_id": "x", "scenario_id": "s"}});
        assert!(serde_json::from_value::<LogRecord>(full.clone()).is_ok());
        for field in ["schema", "ts", "level", "event", "message", "correlation"] {
            let mut partial = full.clone();
            partial.as_object_mut().expect("an object").remove(field);
            assert!(serde_json::from_value::<LogRecord>(partial).is_err(), "{field} is required");
        }
    }
}
