//! What tools and commands answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Wire;
use crate::lenient::{is_false, null_default};
use crate::notice::Panel;

/// One block of a tool's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text for the model.
    Text {
        /// The text itself.
        #[serde(default, deserialize_with = "null_default")]
        text: String,
        /// `markdown`, where the extension says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<String>,
    },
    /// A picture.
    Image {
        /// For instance `image/png`.
        #[serde(default, alias = "mimeType", deserialize_with = "null_default")]
        mime_type: String,
        /// Standard base64.
        #[serde(default, deserialize_with = "null_default")]
        data: String,
    },
}

impl Content {
    /// A plain text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), format: None }
    }
}

/// What a tool answered. An answer with `is_error` is still an answer: the extension works.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// The blocks in order; never empty once a runtime has lowered it.
    #[serde(default, deserialize_with = "null_default")]
    pub content: Vec<Content>,
    /// Whether the tool says that it failed.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// Structured data beside the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The answer exactly as the extension wrote it, for faces that speak its protocol; gone once something was changed.
    #[serde(skip)]
    pub wire: Option<Wire>,
}

impl ToolResult {
    /// One text block, no error.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], is_error: false, details: None, wire: None }
    }

    /// One text block that says what went wrong.
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], is_error: true, details: None, wire: None }
    }
}

/// What the host does after a slash command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum CommandAction {
    /// Submit as a user message.
    Prompt {
        /// The message.
        prompt: String,
    },
    /// Put into the editor without submitting.
    Insert {
        /// The text.
        insert: String,
    },
    /// Show once; not part of the transcript.
    Display {
        /// The text.
        display: String,
    },
    /// Open a panel that the extension owns.
    OpenPanel {
        /// Its first content.
        panel: Panel,
    },
    /// Submit a message and have the model call this tool.
    ToolPrompt {
        /// The message.
        prompt: String,
        /// The tool to call.
        tool_name: String,
        /// Its arguments.
        tool_args: Value,
    },
    /// Nothing: the extension has dealt with it.
    Noop,
}

/// The answer to a slash command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandReply {
    /// What to do.
    #[serde(flatten)]
    pub action: CommandAction,
    /// Shown as an error whatever the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
