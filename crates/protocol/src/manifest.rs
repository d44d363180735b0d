//! The one manifest into which every format is lowered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Capability, ExtensionId, OnFailure};

/// Where a manifest comes from. Decides the naming rule and the defaults of its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Our own `extension.toml`.
    Native,
    /// zot's `extension.json`.
    Zot,
    /// nexo's `plugin.toml`.
    Nexo,
    /// `extension.json` with `"schema": "pi.ext.manifest.v1"`.
    Pi,
    /// A Python file without a manifest.
    Python,
    /// An entry of an `mcp.json`.
    Mcp,
}

impl Format {
    /// The name as it appears in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Zot => "zot",
            Self::Nexo => "nexo",
            Self::Pi => "pi",
            Self::Python => "python",
            Self::Mcp => "mcp",
        }
    }
}

/// The runtimes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuntimeKind {
    /// A child process.
    Process,
    /// TypeScript or JavaScript in an embedded engine.
    Js,
    /// A WASM component.
    Wasm,
    /// An MCP server.
    Mcp,
    /// A program that connected by itself and registered tools; nothing starts it.
    Client,
}

impl RuntimeKind {
    /// The name as it appears in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Js => "js",
            Self::Wasm => "wasm",
            Self::Mcp => "mcp",
            Self::Client => "client",
        }
    }
}

/// What a child process speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// zot's JSON lines, extended.
    Frames,
    /// nexo's JSON-RPC.
    JsonRpc,
    /// `{id, version, type, payload}`.
    Envelope,
}

/// How to run an extension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Launch {
    /// A child process.
    Process {
        /// A bare word is looked up on PATH; anything with a separator is relative to the extension.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// What it speaks.
        dialect: Dialect,
    },
    /// TypeScript or JavaScript in the embedded engine.
    Js {
        /// The file with the factory, relative to the extension.
        entry: String,
    },
    /// A Python file, run by the worker that the host brings.
    Python {
        /// The file, relative to the extension's directory.
        entry: String,
        /// What it is for.
        role: PythonRole,
    },
    /// A WASM component.
    Wasm {
        /// The file, relative to the extension.
        component: String,
    },
    /// An MCP server.
    Mcp(McpServer),
    /// A kind of extension that no runtime of this build can run.
    Unsupported {
        /// Why, for the listing.
        reason: String,
    },
}

/// How to reach an MCP server, and what is made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct McpServer {
    /// Where it is.
    #[serde(flatten)]
    pub transport: McpTransport,
    /// Which era of the protocol it is spoken to in.
    #[serde(default)]
    pub era: McpEra,
    /// What stands before the names of its tools; its id and two underscores where nothing is said, and nothing at all
    /// for an empty text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// The ways to an MCP server. Values may name variables as `${NAME}`; they are filled in when the server starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "transport", rename_all = "snake_case")]
pub enum McpTransport {
    /// A child process.
    Stdio {
        /// A bare word is looked up on PATH; anything with a separator is relative to the extension.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Variables on top of the usual environment.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
        /// Where it runs; the extension's directory without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Sent with every request.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
    },
}

/// The eras of MCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum McpEra {
    /// Whichever the server speaks.
    #[default]
    Auto,
    /// With a handshake, up to 2025-11-25.
    Legacy,
    /// Without, from 2026-07-28.
    Modern,
}

/// What a Python file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PythonRole {
    /// It defines `run`.
    Tool,
    /// It defines `connect`, `recv` and `send`.
    Channel,
}

impl PythonRole {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Channel => "channel",
        }
    }

    /// The directory in which such files are looked for.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Tool => "tools",
            Self::Channel => "channels",
        }
    }
}

/// Where an embedded engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// On a thread of the host: fastest, for extensions that their user trusts.
    Thread,
    /// In a child process of our own binary, which can be killed whatever it does.
    Process,
}

/// What must be there before an extension starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Requires {
    /// Programs on PATH.
    pub bins: Vec<String>,
    /// Variables that must be set; they are passed on, also when their names look secret.
    pub env: Vec<String>,
}

/// Limits of one extension; `None` means the host's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// The most a tool call may take.
    pub call_timeout_ms: Option<u64>,
    /// The most the handshake may take.
    pub start_timeout_ms: Option<u64>,
    /// The most a hook may take.
    pub hook_timeout_ms: Option<u64>,
    /// How long a polite stop may take.
    pub stop_grace_ms: Option<u64>,
}

/// An extension as the host knows it, whatever format it came in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Manifest {
    /// Unique within a host.
    pub id: ExtensionId,
    /// As the author wrote it.
    pub name: String,
    /// As the author wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// One line for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it came from.
    pub format: Format,
    /// Which runtime runs it.
    pub runtime: RuntimeKind,
    /// How.
    pub launch: Launch,
    /// Whether its author or owner switched it on.
    pub enabled: bool,
    /// What it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// What must be there first.
    #[serde(default)]
    pub requires: Requires,
    /// Its limits.
    #[serde(default)]
    pub limits: Limits,
    /// What its hooks' silence means; `None` means the format's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// Where its engine runs, where its user or author chose; `None` means the host's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Hooks of lower priority are asked first.
    #[serde(default)]
    pub priority: i32,
    /// Wants `_meta` with agent and session in its tool arguments.
    #[serde(default)]
    pub context_passthrough: bool,
    /// Tools its manifest promises, for comparison with what it registers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared_tools: Vec<String>,
    /// MCP servers it brings, in the sidecar's form.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp_servers: BTreeMap<String, Value>,
}

impl Manifest {
    /// A manifest that says no more than how to run the extension of that name.
    pub fn plain(name: &str, format: Format, runtime: RuntimeKind, launch: Launch) -> Self {
        Self {
            id: ExtensionId::sanitized(name).unwrap_or_else(|| ExtensionId::new("unnamed")),
            name: name.to_owned(),
            version: None,
            description: None,
            format,
            runtime,
            launch,
            enabled: true,
            capabilities: Vec::new(),
            requires: Requires::default(),
            limits: Limits::default(),
            on_failure: None,
            isolation: None,
            priority: 0,
            context_passthrough: false,
            declared_tools: Vec::new(),
            mcp_servers: BTreeMap::new(),
        }
    }
}
