//! `session`, `ui` and `agent`: the conversation, the person in it and the agent that leads it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Power;
use crate::lenient::{null_default, whole};

/// `session`, by `op`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum SessionOp {
    /// Id, working directory, provider and model.
    Info,
    /// A value that this extension set earlier.
    Get {
        /// Its name.
        key: String,
    },
    /// Keeps a value for this extension and session.
    Set {
        /// Its name.
        key: String,
        /// The value; `null` removes it.
        value: Value,
    },
    /// What the session holds so far, seen by all extensions.
    Entries,
    /// Adds an entry.
    Append {
        /// With its `type`; the host gives it an id, a parent and a time.
        entry: Map<String, Value>,
    },
    /// The session's name.
    Name,
    /// Names the session.
    SetName {
        /// The name; `null` takes it away.
        name: Option<String>,
    },
    /// Marks an entry.
    SetLabel {
        /// Which.
        id: String,
        /// The mark; `null` takes it away.
        #[serde(default)]
        label: Option<String>,
    },
    /// The tools there are, and those that the agent may use.
    Tools,
    /// Says which tools the agent may use.
    SetTools {
        /// Their public names.
        names: Vec<String>,
    },
    /// The slash commands there are.
    Commands,
}

/// `ui`, by `op`. Questions are answered with `value` or `confirmed`, or `cancelled`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum UiOp {
    /// A note.
    Notify {
        /// `info`, `success`, `warn` or `error`.
        #[serde(default, alias = "notifyType")]
        level: Option<String>,
        /// Its text.
        message: String,
    },
    /// A question with yes and no.
    Confirm {
        /// What it is about.
        #[serde(default, deserialize_with = "null_default", skip_serializing_if = "String::is_empty")]
        title: String,
        /// The question.
        #[serde(default, deserialize_with = "null_default")]
        message: String,
        /// How long it stands, in milliseconds.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// A question with several answers.
    Select {
        /// The question.
        title: String,
        /// The answers.
        options: Vec<String>,
        /// How long it stands, in milliseconds.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// A question for a line of text.
    Input {
        /// The question.
        title: String,
        /// What an answer may look like.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        placeholder: Option<String>,
        /// How long it stands, in milliseconds.
        #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// A question for a longer text.
    Editor {
        /// The question.
        title: String,
        /// The text to begin with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
    },
    /// A word in the status line.
    SetStatus {
        /// Names it within the extension.
        key: String,
        /// The word; `null` takes it away.
        #[serde(default)]
        text: Option<String>,
    },
    /// Lines beside the editor.
    SetWidget {
        /// Names them within the extension.
        key: String,
        /// The lines; `null` takes them away.
        #[serde(default)]
        lines: Option<Vec<String>>,
        /// `aboveEditor` or `belowEditor`.
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

/// `agent`: something for the agent that leads the conversation, in its own words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentParams {
    /// What is asked.
    pub op: String,
    /// With what.
    #[serde(flatten)]
    pub params: Map<String, Value>,
}

/// What only looks at the agent. Everything else makes it do something.
const LOOKS: [&str; 20] = [
    "active_tools",
    "auth_status",
    "context_usage",
    "get_model",
    "has_pending",
    "is_idle",
    "model",
    "models",
    "models_error",
    "provider",
    "scoped_models",
    "settings",
    "signal",
    "system_prompt",
    "system_prompt_options",
    "thinking",
    "thinking_level",
    "tools",
    "trusted",
    "wait_idle",
];

impl AgentParams {
    /// To look at the agent is part of the session; to make it speak or act is a power of its own.
    pub(crate) fn power(&self) -> Power {
        if LOOKS.contains(&self.op.as_str()) { Power::Session } else { Power::Agent }
    }
}

/// `mcp`: what an MCP server asks of its client, in MCP's words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct McpParams {
    /// For instance `elicitation/create`.
    pub method: String,
    /// With what.
    #[serde(default)]
    pub params: Value,
}

impl McpParams {
    /// To see where the session works is part of it, to have a model answer is to use the agent, everything else is a
    /// question to the person.
    pub(crate) fn power(&self) -> Power {
        match self.method.as_str() {
            "roots/list" => Power::Session,
            "sampling/createMessage" => Power::Agent,
            _ => Power::Ui,
        }
    }
}
