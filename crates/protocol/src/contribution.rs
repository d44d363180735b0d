//! What an extension contributes: tools, commands, hooks, events and the rest.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::lenient::is_false;
use crate::{Capability, ChannelSpec, HookPoint, Wire};

/// A tool, as the extension registered it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolSpec {
    /// The extension's own name for it.
    pub name: String,
    /// For people, where the format has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// For the model.
    #[serde(default)]
    pub description: String,
    /// A JSON Schema of the arguments; an open object where the extension gave none.
    pub parameters: Value,
    /// A JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Waits for a person: has no deadline, and a headless host refuses it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interactive: bool,
    /// What the format says beyond this (namespace, exposure, replay), in its own words.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// The definition exactly as the extension wrote it, where faces speak its protocol too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
}

impl ToolSpec {
    /// A tool that takes any object.
    pub fn open(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            label: None,
            description: String::new(),
            parameters: json!({ "type": "object" }),
            output_schema: None,
            interactive: false,
            extra: Map::new(),
            wire: None,
        }
    }
}

/// A slash command, without the slash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandSpec {
    /// Its name.
    pub name: String,
    /// For people.
    #[serde(default)]
    pub description: String,
}

/// All that an instance contributes at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Contributions {
    /// The version the running extension gave, which may differ from its manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// In order of registration.
    pub tools: Vec<ToolSpec>,
    /// In order of registration.
    pub commands: Vec<CommandSpec>,
    /// The moments at which it wants to be asked.
    pub hooks: Vec<HookPoint>,
    /// The events it wants to be told; `*` stands for all. A name may stand more than once.
    pub events: Vec<String>,
    /// Keyboard shortcuts, in the format's own form.
    pub shortcuts: Vec<Value>,
    /// Command line flags, in the format's own form.
    pub flags: Vec<Value>,
    /// Model providers, in the format's own form.
    pub providers: Vec<Value>,
    /// In order of registration.
    pub channels: Vec<ChannelSpec>,
    /// Channels of the event bus between extensions that it listens to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bus: Vec<String>,
    /// What the format registers beyond this (renderers, virtual models, MCP servers), in its own words.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// What it asks for at run time, on top of the manifest.
    pub capabilities: Vec<Capability>,
    /// What was wrong with its registrations.
    pub warnings: Vec<String>,
}

impl Contributions {
    /// Whether an event of this name is wanted.
    pub fn wants_event(&self, name: &str) -> bool {
        self.events.iter().any(|wanted| wanted == name || wanted == "*")
    }
}

/// A change of what a running instance contributes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ContributionChange {
    /// Everything it contributes now, in place of what it did before.
    All(Contributions),
}
