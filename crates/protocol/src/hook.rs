//! Hooks: the moments at which an extension is asked and may change or stop what happens.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CallId, ToolResult};

/// A moment at which extensions are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// Before a tool runs: may replace its arguments or block it.
    BeforeToolCall,
    /// After a tool ran: may replace its result.
    AfterToolCall,
    /// Before the model is asked: may block.
    TurnStart,
    /// Before an answer of the model is used: may replace its text or block it.
    AssistantMessage,
    /// Before an agent run: may replace the system prompt; never blocks.
    BeforeAgentStart,
    /// Before a message of the user is used: may replace its text or block it.
    BeforeMessage,
    /// After a reply was produced.
    AfterMessage,
}

impl HookPoint {
    /// The name as it appears in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeToolCall => "before_tool_call",
            Self::AfterToolCall => "after_tool_call",
            Self::TurnStart => "turn_start",
            Self::AssistantMessage => "assistant_message",
            Self::BeforeAgentStart => "before_agent_start",
            Self::BeforeMessage => "before_message",
            Self::AfterMessage => "after_message",
        }
    }
}

/// What a hook is asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "hook", rename_all = "snake_case")]
pub enum HookCall {
    /// See [`HookPoint::BeforeToolCall`].
    BeforeToolCall {
        /// The tool call that waits.
        call_id: CallId,
        /// Its public name.
        tool: String,
        /// Its arguments so far.
        arguments: Value,
    },
    /// See [`HookPoint::AfterToolCall`].
    AfterToolCall {
        /// The tool call.
        call_id: CallId,
        /// Its public name.
        tool: String,
        /// The arguments it ran with.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        arguments: Value,
        /// How long it took.
        duration_ms: u64,
        /// What it answered.
        result: ToolResult,
        /// Why it failed, if the extension gave no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// See [`HookPoint::TurnStart`].
    TurnStart {
        /// Counts from one.
        step: u64,
    },
    /// See [`HookPoint::AssistantMessage`].
    AssistantMessage {
        /// The text so far.
        text: String,
    },
    /// See [`HookPoint::BeforeAgentStart`].
    BeforeAgentStart {
        /// The prompt so far.
        system_prompt: String,
        /// Session, provider and model, in the peers' own names.
        #[serde(default)]
        context: Map<String, Value>,
    },
    /// See [`HookPoint::BeforeMessage`].
    BeforeMessage {
        /// The text so far.
        text: String,
        /// Where it came from.
        source: String,
    },
    /// See [`HookPoint::AfterMessage`].
    AfterMessage {
        /// What was asked.
        text_in: String,
        /// What was answered.
        text_out: String,
    },
}

impl HookCall {
    /// The moment this call belongs to.
    pub fn point(&self) -> HookPoint {
        match self {
            Self::BeforeToolCall { .. } => HookPoint::BeforeToolCall,
            Self::AfterToolCall { .. } => HookPoint::AfterToolCall,
            Self::TurnStart { .. } => HookPoint::TurnStart,
            Self::AssistantMessage { .. } => HookPoint::AssistantMessage,
            Self::BeforeAgentStart { .. } => HookPoint::BeforeAgentStart,
            Self::BeforeMessage { .. } => HookPoint::BeforeMessage,
            Self::AfterMessage { .. } => HookPoint::AfterMessage,
        }
    }
}

/// What a hook answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum HookVerdict {
    /// Go on unchanged.
    Continue,
    /// Go on with this instead: arguments (an object) before a tool call, a [`ToolResult`] after one, a text (a string)
    /// for messages and prompts.
    Replace {
        /// The replacement.
        value: Value,
    },
    /// Stop here.
    Block {
        /// Shown to the model and the user.
        reason: String,
    },
}

/// What a question to all subscribers of an event has become on its way through them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// The event's fields, as the handlers so far have changed them.
    #[serde(default)]
    pub data: Map<String, Value>,
    /// What the handlers so far answered together; `null` where none did.
    #[serde(default)]
    pub result: Value,
    /// Nobody further is asked.
    #[serde(default)]
    pub stop: bool,
}

/// What a hook's silence, crash or error means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Go on, and say that the hook failed.
    Allow,
    /// Stop.
    Deny,
}
