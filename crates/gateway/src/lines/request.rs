//! Requests of a listener, and the form of the answers.

use jackfield_protocol::{CallError, ErrorCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::listeners::Answered;
use crate::api::NewToken;
use crate::clients::{ToolOffer, ToolResponse};
use crate::forms::error_json;

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Request {
    Ping,
    List,
    Tools,
    CallTool {
        #[serde(alias = "name")]
        tool: String,
        #[serde(default, alias = "params")]
        args: Value,
        timeout_ms: Option<u64>,
        #[serde(default)]
        caller: Who,
    },
    /// Gives up the request of that id.
    Cancel {
        target: Value,
    },
    RunCommand {
        #[serde(alias = "name")]
        command: String,
        #[serde(default)]
        args: String,
    },
    Reload {
        extension: Option<String>,
    },
    /// Asks the subscribers of an event.
    Ask {
        event: String,
        #[serde(default)]
        data: Map<String, Value>,
    },
    /// Tells the subscribers of an event.
    Emit {
        event: String,
        #[serde(default)]
        data: Map<String, Value>,
    },
    Shortcut {
        key: String,
    },
    /// Offers a tool for as long as the listener is there.
    RegisterTool {
        tool: ToolOffer,
    },
    UnregisterTool {
        name: String,
    },
    /// Answers a `tool_call_request`.
    ToolCallResponse(ToolResponse),
    ToolCallProgress {
        id: String,
        #[serde(default)]
        message: String,
    },
    /// Where the gateway of this host is, if it has one.
    Gateway,
    /// Makes a token for the gateway.
    CreateToken(NewToken),
    RevokeToken {
        token: String,
    },
    /// Answers a question of an extension.
    ExtensionUiResponse(Answered),
    Shutdown,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Who {
    #[default]
    Agent,
    Person,
}

/// Reads a line: its id, its type, and the request.
pub(super) fn read(line: &[u8]) -> Result<(Value, String, Request), Box<(Value, CallError)>> {
    let bad = |id: Value, message: String| Box::new((id, CallError::new(ErrorCode::InvalidRequest, message)));
    let value: Value = serde_json::from_slice(line).map_err(|error| bad(Value::Null, format!("not JSON: {error}")))?;
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    match serde_json::from_value(value) {
        Ok(request) => Ok((id, kind, request)),
        Err(error) => Err(bad(id, format!("bad request {kind:?}: {error}"))),
    }
}

pub(super) fn success(id: &Value, kind: &str, data: Value) -> String {
    json!({ "type": "response", "id": id, "command": kind, "success": true, "data": data }).to_string()
}

pub(super) fn failure(id: &Value, kind: &str, error: &CallError) -> String {
    json!({ "type": "response", "id": id, "command": kind, "success": false, "error": error_json(error) }).to_string()
}
