//! The envelope dialect: `{id, version, type, payload}`, the protocol that pi's Rust port published.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::frames::Chunk;
use crate::lenient::null_default;
use crate::{CapabilityManifest, HostError};

/// The only version there is.
pub const VERSION: &str = "1.0";

/// One line, either way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    /// Joins a request and its answer.
    pub id: String,
    /// See [`VERSION`].
    pub version: String,
    /// What it says.
    #[serde(flatten)]
    pub message: Message,
}

impl Envelope {
    /// An envelope of the current version.
    pub fn new(id: impl Into<String>, message: Message) -> Self {
        Self { id: id.into(), version: VERSION.to_owned(), message }
    }
}

/// What an envelope says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "payload", rename_all = "snake_case")]
pub enum Message {
    /// Extension → host, first: what it contributes.
    Register(Register),
    /// Host → extension.
    ToolCall {
        /// Of this call.
        call_id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        input: Value,
        /// Agent and session.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        context: Map<String, Value>,
    },
    /// Extension → host.
    ToolResult {
        /// Of the call.
        call_id: String,
        /// Anything; `content` in it is read as blocks.
        output: Value,
        /// The tool failed.
        is_error: bool,
    },
    /// Host → extension.
    SlashCommand {
        /// Without the slash.
        name: String,
        /// Split at white space.
        #[serde(default)]
        args: Vec<String>,
        /// Named input.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        input: Map<String, Value>,
    },
    /// Extension → host.
    SlashResult {
        /// Anything; a `command_response`'s fields in it are read as such.
        output: Value,
        /// The command failed.
        is_error: bool,
    },
    /// Host → extension: an event, or a hook when the extension registered one for it, which it answers with an
    /// `event_hook` of the same id.
    EventHook {
        /// Its name.
        event: String,
        /// Its fields, or the answer.
        #[serde(default, deserialize_with = "null_default")]
        data: Map<String, Value>,
    },
    /// Extension → host.
    HostCall {
        /// Of this call.
        call_id: String,
        /// Must be what the host derives.
        capability: String,
        /// The connector.
        method: String,
        /// What it takes.
        params: Value,
        /// The most it may take.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        /// Free-form; never used to decide.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        context: Map<String, Value>,
    },
    /// Host → extension.
    HostResult {
        /// Of the call.
        call_id: String,
        /// What came of it.
        output: Value,
        /// Whether it failed.
        is_error: bool,
        /// Why; there exactly when `is_error`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<HostError>,
        /// Where this piece belongs, when the result is streamed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chunk: Option<Chunk>,
    },
    /// Either way: a record of `pi.ext.log.v1`, or at least level and message.
    Log(Map<String, Value>),
    /// Either way.
    Error {
        /// A code.
        code: String,
        /// For people.
        message: String,
        /// For programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
}

/// The payload of `register`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Register {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The protocol version it was written for; its major must be 1.
    pub api_version: String,
    /// The old, flat list.
    #[serde(default, deserialize_with = "null_default")]
    pub capabilities: Vec<String>,
    /// What it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_manifest: Option<CapabilityManifest>,
    /// Objects with `name`, `description`, `parameters` or `input_schema`.
    #[serde(default, deserialize_with = "null_default")]
    pub tools: Vec<Value>,
    /// Objects with `name` and `description`.
    #[serde(default, deserialize_with = "null_default")]
    pub slash_commands: Vec<Value>,
    /// The events it wants; those that are hooks are asked.
    #[serde(default, deserialize_with = "null_default")]
    pub event_hooks: Vec<String>,
}

impl Envelope {
    /// Reads one line; the text says why it is not an envelope.
    ///
    /// # Errors
    /// Not JSON, not an envelope, another version, or a payload that does not fit its type.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let envelope: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if envelope.version != VERSION {
            return Err(format!("version {:?} is not {VERSION:?}", envelope.version));
        }
        Ok(envelope)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_wire_form() {
        let call = Envelope::new(
            "1",
            Message::ToolCall { call_id: "c".into(), name: "t".into(), input: json!({}), context: Map::new() },
        );
        let line = r#"{"id":"1","version":"1.0","type":"tool_call","payload":{"call_id":"c","name":"t","input":{}}}"#;
        assert_eq!(serde_json::to_string(&call).expect("serialises"), line);
        assert_eq!(Envelope::parse(line.as_bytes()), Ok(call));
    }

    #[test]
    fn bad_envelopes_are_refused() {
        for line in [
            "noise",
            r#"{"id":"1","version":"2.0","type":"error","payload":{"code":"x","message":"y"}}"#,
            r#"{"id":"1","version":"1.0","type":"nonsense","payload":{}}"#,
            r#"{"id":"1","version":"1.0","type":"tool_result","payload":{"call_id":"c"}}"#,
            r#"{"id":1,"version":"1.0","type":"error","payload":{"code":"x","message":"y"}}"#,
        ] {
            assert!(Envelope::parse(line.as_bytes()).is_err(), "{line}");
        }
    }
}
