//! The words that jackfield's host, its runtimes and its extensions share: manifests, capabilities, contributions,
//! the frames of every dialect, host calls, hooks, events, errors and the log record.
//!
//! This crate does no I/O, keeps no time, starts no tasks and depends on serde alone. It decides nothing: whether a call
//! may happen is the host's business, how it travels is a runtime's.

mod canonical;
mod capability;
mod channel;
mod contribution;
pub mod envelope;
mod error;
mod event;
pub mod frames;
mod glob;
mod hex;
mod hook;
mod host_call;
mod id;
pub mod jsonrpc;
mod lenient;
mod log;
mod manifest;
mod notice;
mod redact;
mod result;
mod text;
mod wire;

pub use canonical::{canonical_json, write_canonical};
pub use capability::{Capability, CapabilityManifest, Need, Power, Resource, Scope};
pub use channel::{ChannelMessage, ChannelOp, ChannelSpec};
pub use contribution::{CommandSpec, ContributionChange, Contributions, ToolSpec};
pub use error::{CallError, ErrorCode, HostError, HostErrorCode};
pub use event::Event;
pub use glob::{glob_escaped, glob_matches};
pub use hex::hex;
pub use hook::{Asked, HookCall, HookPoint, HookVerdict, OnFailure};
pub use host_call::{
    AgentParams, EnvParams, EventsOp, ExecParams, FsOp, Headers, HostCall, HttpParams, LogParams, McpParams, NetOp,
    Redirect, SessionOp, ToolParams, UiOp, WriteFlag,
};
pub use id::{CallId, ExtensionId, SessionId, short_tool_name};
pub use log::{Correlation, Level, LogRecord, Source, normalize_log};
pub use manifest::{
    Dialect, Format, Isolation, Launch, Limits, Manifest, McpEra, McpServer, McpTransport, PythonRole, Requires,
    RuntimeKind,
};
pub use notice::{Notice, NoticeLevel, Panel};
pub use redact::{REDACTED, is_secret_name, redact_text, redact_value, redacted};
pub use result::{CommandAction, CommandReply, Content, ToolResult};
pub use text::{plain_text, visible_text};
pub use wire::Wire;
