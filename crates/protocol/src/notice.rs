//! What an extension tells the host's faces without being asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lenient::null_default;

/// How a note is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// Plain.
    #[default]
    Info,
    /// Something worked.
    Success,
    /// Something is off.
    Warn,
    /// Something failed.
    Error,
}

impl NoticeLevel {
    /// Reads a level as extensions write it; what is unknown is plain.
    pub fn parse(text: &str) -> Self {
        match text {
            "success" => Self::Success,
            "warn" | "warning" => Self::Warn,
            "error" => Self::Error,
            _ => Self::Info,
        }
    }
}

/// Lines that an extension owns on the screen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Panel {
    /// Names the panel within its extension.
    #[serde(default, deserialize_with = "null_default")]
    pub id: String,
    /// Empty keeps the old title.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The content.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// A last line, for instance the keys that work.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "String::is_empty")]
    pub footer: String,
}

/// One thing that an extension says to whoever is watching.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    /// A note below the transcript.
    Notify {
        /// Its colour.
        level: NoticeLevel,
        /// Its text.
        message: String,
    },
    /// Progress of a call under way.
    Progress {
        /// The call, as the host numbered it.
        call_id: String,
        /// Text so far or a status line.
        message: String,
    },
    /// What an MCP server tells its client, in MCP's words: progress, a log line, a resource that changed.
    Mcp {
        /// The call it belongs to, as the host numbered it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// For instance `notifications/message`.
        method: String,
        /// With what.
        #[serde(default)]
        params: Value,
    },
    /// Submit this as a user message.
    Submit {
        /// The message.
        text: String,
    },
    /// Run this slash command.
    SubmitSlash {
        /// Starts with `/`.
        text: String,
    },
    /// Take back this extension's notes.
    ClearNotes,
    /// Open a panel.
    OpenPanel {
        /// Its first content.
        panel: Panel,
    },
    /// New content for an open panel.
    RenderPanel {
        /// The content.
        panel: Panel,
    },
    /// Close a panel.
    ClosePanel {
        /// Its id.
        id: String,
    },
    /// A word in the status line.
    SetStatus {
        /// Names it within its extension.
        key: String,
        /// The word; nothing takes it away.
        #[serde(default)]
        text: Option<String>,
    },
    /// Lines beside the editor.
    SetWidget {
        /// Names them within their extension.
        key: String,
        /// The lines; nothing takes them away.
        #[serde(default)]
        lines: Option<Vec<String>>,
        /// Above or below, in the format's own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        placement: Option<String>,
    },
    /// The title of the window.
    SetTitle {
        /// The title.
        title: String,
    },
    /// What stands in the editor.
    SetEditorText {
        /// The text.
        text: String,
    },
}
