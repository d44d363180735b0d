//! Reading lines from an extension.

use serde_json::Value;

use super::FromExtension;

/// Why a line is not a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAFrame {
    /// Not a JSON object: noise.
    Noise,
    /// A `type` from another time.
    Unknown(String),
    /// A known `type` with fields that do not fit.
    Invalid {
        /// The type.
        kind: String,
        /// What does not fit.
        reason: String,
    },
}

const KNOWN: [&str; 27] = [
    "hello",
    "cannot_start",
    "register_command",
    "register_tool",
    "register_channel",
    "subscribe",
    "ready",
    "tool_result",
    "channel_result",
    "command_response",
    "event_intercept_response",
    "notify",
    "panel_render",
    "panel_close",
    "open_panel",
    "submit",
    "submit_slash",
    "clear_notes",
    "call_tool",
    "call_tool_cancel",
    "host_call",
    "host_cancel",
    "progress",
    "log",
    "shutdown_ack",
    "host_result",
    "error",
];

impl FromExtension {
    /// Reads one line.
    ///
    /// # Errors
    /// Says whether the line is noise, an unknown frame or a broken one; none of these is fatal after the handshake.
    pub fn parse(line: &[u8]) -> Result<Self, NotAFrame> {
        // Answers are what there is most of, and most are written with the type first: they are read in one go.
        if line.starts_with(br#"{"type":"tool_result","#)
            && let Ok(answer) = serde_json::from_slice(line)
        {
            return Ok(Self::ToolResult(answer));
        }
        let value: Value = serde_json::from_slice(line).map_err(|_| NotAFrame::Noise)?;
        let Value::Object(object) = &value else { return Err(NotAFrame::Noise) };
        let kind = match object.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            _ => return Err(NotAFrame::Unknown(String::new())),
        };
        if !KNOWN.contains(&kind.as_str()) {
            return Err(NotAFrame::Unknown(kind));
        }
        serde_json::from_value(value).map_err(|error| NotAFrame::Invalid { kind, reason: error.to_string() })
    }
}
