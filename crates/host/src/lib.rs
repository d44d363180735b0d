//! jackfield's host: finds extensions, starts them in the runtime that fits, watches over them, judges and records what
//! they ask for, and offers what they contribute to any face.
//!
//! The host runs no extension code and speaks no wire format: runtimes do. It opens no socket and draws nothing: faces do.
//! Start at [`Host`], then read `call.rs`: it is the whole path of a tool call.

mod approver;
mod attach;
mod call;
mod channel;
mod config;
mod event_bus;
mod event_queries;
mod face;
mod gate;
mod hooks;
mod host;
mod log_sink;
mod not_found;
mod parts;
mod pins;
mod recording;
mod registry;
mod relay;
mod reload;
mod schema;
mod secrets;
mod soul;
mod supervisor;
#[cfg(test)]
pub(crate) mod testing;
mod ui_messages;
mod watch;

pub use approver::{Answer, Approver, NoApprover, Question, YesToAll};
pub use attach::Attached;
pub use call::{CommandOutcome, ToolCall, ToolOutcome};
pub use channel::{ChannelEndpoint, ChannelInstance};
pub use config::{PythonSettings, ScriptSettings};
pub use face::{Agent, AgentCall, Dialog, DialogAnswer, DialogAsk, Face, NoAgent, NoFace, Peer};
pub use gate::grant_words;
pub use hooks::HookOutcome;
pub use host::{Host, HostEvent, HostOptions, LogLine, OpenError, Why};
pub use jackfield_discovery::{
    Change, Diagnostic, DiagnosticLevel, DiscoveryInput, DiscoverySettings, Extent, Found, Granted, Grants,
    GrantsError, LockError, LockFile, Locked, Origin, Report, Standing, Trust, TrustError, TrustState, discover,
    discover_named,
};
pub use jackfield_files::Home;
pub use jackfield_ledger::{
    Filter as LedgerFilter, LedgerError, Problem, VerifyReport, params_hash, read as read_ledger,
    verify as verify_ledger,
};
pub use jackfield_policy::{Caller, Decision, Effect, Grant, Mode, NewGrant, Policy, PolicyError, Step, Verdict};
pub use parts::WeakHost;
pub use pins::{PinnedServer, ToolChange};
pub use recording::Recording;
pub use registry::{BUILT_IN_CHANNELS, ChannelEntry, CommandEntry, Snapshot, ToolEntry};
pub use relay::Relay;
pub use reload::{Reloaded, Which};
pub use secrets::{LONGEST_SECRET, SecretError, SecretPlaces, SecretStore};
pub use supervisor::State;
pub use watch::Watching;
