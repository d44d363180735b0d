//! The frames dialect: zot's JSON lines, with `host_call`, `host_result`, `host_cancel`, `progress`, `log`
//! and channels added.
//! One enum per direction; an extension that never heard of the additions works.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::lenient::{is_false, null_default};
use crate::{ChannelOp, Content, HostError, Panel};

mod parse;

pub use parse::NotAFrame;

/// The version that `hello_ack` carries.
pub const PROTOCOL_VERSION: u32 = 1;

/// A frame from the extension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromExtension {
    /// Must come first.
    Hello {
        /// Advisory: the manifest's name wins.
        name: String,
        /// The running version.
        #[serde(default, deserialize_with = "null_default")]
        version: String,
        /// What it can do beyond the base; `tool_cancel`, `cancel_answered`, `call_tool` and `host_call` matter.
        #[serde(default, deserialize_with = "null_default")]
        capabilities: Vec<String>,
    },
    /// In place of `hello`: it cannot start, and why.
    CannotStart {
        /// For people: what, where, and what to do.
        #[serde(default, deserialize_with = "null_default")]
        message: String,
    },
    /// Adds a slash command.
    RegisterCommand {
        /// Without the slash.
        #[serde(default, deserialize_with = "null_default")]
        name: String,
        /// For people.
        #[serde(default, deserialize_with = "null_default")]
        description: String,
    },
    /// Adds a tool.
    RegisterTool(Box<RegisterTool>),
    /// Adds a channel.
    RegisterChannel {
        /// Its name.
        #[serde(default, deserialize_with = "null_default")]
        name: String,
        /// For people.
        #[serde(default, deserialize_with = "null_default")]
        description: String,
    },
    /// Asks for events and hooks; may come several times.
    Subscribe {
        /// To be told.
        #[serde(default, deserialize_with = "null_default")]
        events: Vec<String>,
        /// To be asked.
        #[serde(default, deserialize_with = "null_default")]
        intercept: Vec<String>,
    },
    /// The end of the first registrations.
    Ready,
    /// Answers `tool_call`.
    ToolResult(ToolAnswer),
    /// Answers `channel_call`.
    ChannelResult(ChannelAnswer),
    /// Answers `command_invoked`.
    CommandResponse(Box<CommandResponse>),
    /// Answers `event_intercept`.
    EventInterceptResponse {
        /// Of the question.
        #[serde(default, deserialize_with = "null_default")]
        id: String,
        /// Refuse.
        #[serde(default, deserialize_with = "null_default")]
        block: bool,
        /// Why.
        #[serde(default, deserialize_with = "null_default")]
        reason: String,
        /// New arguments; `null` means none.
        #[serde(default)]
        modified_args: Option<Value>,
        /// New text.
        #[serde(default)]
        replace_text: Option<String>,
        /// New system prompt.
        #[serde(default)]
        system_prompt: Option<String>,
    },
    /// A note for the person.
    Notify {
        /// `info`, `success`, `warn` or `error`.
        #[serde(default, deserialize_with = "null_default")]
        level: String,
        /// Its text.
        #[serde(default, deserialize_with = "null_default")]
        message: String,
    },
    /// New content of a panel.
    PanelRender {
        /// Its id.
        #[serde(default, deserialize_with = "null_default")]
        panel_id: String,
        /// Empty keeps the old one.
        #[serde(default, deserialize_with = "null_default")]
        title: String,
        /// The lines.
        #[serde(default, deserialize_with = "null_default")]
        lines: Vec<String>,
        /// The last line.
        #[serde(default, deserialize_with = "null_default")]
        footer: String,
    },
    /// Closes a panel.
    PanelClose {
        /// Its id.
        #[serde(default, deserialize_with = "null_default")]
        panel_id: String,
    },
    /// Opens a panel without being asked.
    OpenPanel {
        /// Its first content.
        panel: Panel,
    },
    /// Submits a user message.
    Submit {
        /// The message.
        #[serde(default, deserialize_with = "null_default")]
        text: String,
    },
    /// Runs a slash command.
    SubmitSlash {
        /// Starts with `/`.
        #[serde(default, deserialize_with = "null_default")]
        text: String,
    },
    /// Takes back this extension's notes.
    ClearNotes,
    /// Calls a tool of the host; answered with `tool_result`.
    CallTool {
        /// Of this call.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        #[serde(default, deserialize_with = "null_default")]
        args: Value,
        /// The `tool_call` on whose behalf.
        #[serde(default)]
        parent_id: Option<String>,
    },
    /// Gives up a `call_tool`.
    CallToolCancel {
        /// Of the call.
        id: String,
    },
    /// A host call; answered with `host_result`.
    HostCall(Box<HostCallFrame>),
    /// Gives up a host call.
    HostCancel {
        /// Of the call.
        id: String,
    },
    /// News of a call under way.
    Progress {
        /// Of the `tool_call`.
        id: String,
        /// A status line.
        #[serde(default, deserialize_with = "null_default")]
        message: String,
    },
    /// A structured log line.
    Log {
        /// `debug`, `info`, `warn` or `error`.
        #[serde(default, deserialize_with = "null_default")]
        level: String,
        /// For people.
        #[serde(default, deserialize_with = "null_default")]
        message: String,
        /// For programs.
        #[serde(default, deserialize_with = "null_default")]
        data: Map<String, Value>,
    },
    /// Answers `shutdown`.
    ShutdownAck,
}

/// The fields of `tool_result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolAnswer {
    /// Of the call.
    #[serde(default, deserialize_with = "null_default")]
    pub id: String,
    /// Blocks, kept raw: a block that no one knows becomes a text that says so.
    #[serde(default, deserialize_with = "null_default")]
    pub content: Vec<Value>,
    /// The tool failed.
    #[serde(default, deserialize_with = "null_default")]
    pub is_error: bool,
    /// Data beside the text.
    #[serde(default, alias = "details")]
    pub structured_content: Option<Value>,
}

/// The fields of `channel_result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelAnswer {
    /// Of the call.
    #[serde(default, deserialize_with = "null_default")]
    pub id: String,
    /// What a `receive` received, see [`crate::ChannelMessage`]; `null` means nothing. Kept raw: what is not a message is
    /// reported, not lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Value>,
    /// Why it failed: a text, or an object with a `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

/// The fields of `register_tool`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegisterTool {
    /// Its name.
    #[serde(default, deserialize_with = "null_default")]
    pub name: String,
    /// For the model.
    #[serde(default, deserialize_with = "null_default")]
    pub description: String,
    /// A JSON Schema; missing or `null` means any object.
    #[serde(default)]
    pub schema: Option<Value>,
    /// A JSON Schema of the structured result.
    #[serde(default)]
    pub output_schema: Option<Value>,
    /// Waits for a person.
    #[serde(default, deserialize_with = "null_default")]
    pub interactive: bool,
    /// `namespace`, `exposure`, `deferred`, `replay` and what may come.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The fields of `command_response`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandResponse {
    /// Of the command.
    #[serde(default, deserialize_with = "null_default")]
    pub id: String,
    /// `prompt`, `insert`, `display`, `open_panel`, `tool_prompt`, `noop` or empty.
    #[serde(default, deserialize_with = "null_default")]
    pub action: String,
    /// For `prompt` and `tool_prompt`.
    #[serde(default, deserialize_with = "null_default")]
    pub prompt: String,
    /// For `insert`.
    #[serde(default, deserialize_with = "null_default")]
    pub insert: String,
    /// For `display`.
    #[serde(default, deserialize_with = "null_default")]
    pub display: String,
    /// For `open_panel`.
    #[serde(default)]
    pub open_panel: Option<Panel>,
    /// For `tool_prompt`.
    #[serde(default, deserialize_with = "null_default")]
    pub tool_name: String,
    /// For `tool_prompt`.
    #[serde(default, deserialize_with = "null_default")]
    pub tool_args: Value,
    /// Shown whatever the action.
    #[serde(default, deserialize_with = "null_default")]
    pub error: String,
}

/// The fields of `host_call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostCallFrame {
    /// Of this call.
    #[serde(alias = "call_id")]
    pub id: String,
    /// `tool`, `exec`, `fs`, `http`, `env`, `session`, `ui`, `events` or `log`.
    pub method: String,
    /// What the method takes.
    #[serde(default, deserialize_with = "null_default")]
    pub params: Value,
    /// What the extension believes it needs; refused when it is not what the host derives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// The most it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The `tool_call` it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// Where a piece of a streamed result belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chunk {
    /// Counts from zero.
    pub index: u64,
    /// Nothing follows.
    pub is_last: bool,
}

/// A frame from the host. The tag is written first and the JSON is compact, because extensions in shell match on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToExtension {
    /// Answers `hello`; nothing is sent before it.
    HelloAck {
        /// See [`PROTOCOL_VERSION`].
        protocol_version: u32,
        /// The version of this host, under the name that zot's extensions read.
        zot_version: String,
        /// The provider of the agent's model.
        provider: String,
        /// The agent's model.
        model: String,
        /// The project.
        cwd: String,
        /// Where the extension lives.
        extension_dir: String,
        /// Where the extension may keep its data.
        data_dir: String,
        /// What this host can do beyond the base.
        capabilities: Vec<String>,
    },
    /// A slash command was run.
    CommandInvoked {
        /// Of this command.
        id: String,
        /// Its registered spelling.
        name: String,
        /// Trimmed; left out when empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        args: String,
    },
    /// A tool is called.
    ToolCall {
        /// Of this call.
        id: String,
        /// The extension's own name for the tool.
        name: String,
        /// Always an object.
        args: Value,
    },
    /// A channel is to do something; answered with `channel_result`. A `receive` may stay open for ever.
    ChannelCall {
        /// Of this call.
        id: String,
        /// The extension's own name for the channel.
        channel: String,
        /// What.
        #[serde(flatten)]
        op: ChannelOp,
    },
    /// The caller gave up; only to those who advertised `tool_cancel`. An open `receive` is still answered: with the message
    /// that came meanwhile, or with none.
    ToolCancel {
        /// Of the call.
        id: String,
    },
    /// Something happened.
    Event {
        /// Its name.
        event: String,
        /// Its fields.
        #[serde(flatten)]
        data: Map<String, Value>,
    },
    /// May it happen?
    EventIntercept {
        /// Of this question.
        id: String,
        /// What.
        event: String,
        /// Its fields.
        #[serde(flatten)]
        data: Map<String, Value>,
    },
    /// A key was pressed in a panel.
    PanelKey {
        /// The panel.
        panel_id: String,
        /// The key's name, `rune` for a character.
        key: String,
        /// The character.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// The panel was closed.
    PanelClose {
        /// The panel.
        panel_id: String,
    },
    /// Answers `call_tool`.
    ToolResult {
        /// Of the call.
        id: String,
        /// The tool.
        name: String,
        /// What it answered.
        content: Vec<Content>,
        /// The tool failed.
        #[serde(default, skip_serializing_if = "is_false")]
        is_error: bool,
        /// The answer was cut.
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
    },
    /// Answers `host_call`.
    HostResult {
        /// Of the call.
        id: String,
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
    /// Finish and go; standard input is closed after it.
    Shutdown,
}

#[cfg(test)]
mod tests;
