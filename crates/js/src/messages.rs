//! What passes between an engine and its keeper in the host. The same on a channel between threads and, as lines of JSON, on
//! the pipes of a child process.

use jackfield_protocol::{CallError, CallId};
use jackfield_runtime::{ExtensionCall, Reply};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// To the engine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "to_js", rename_all = "snake_case")]
pub(crate) enum ToJs {
    /// Answer this.
    Call { id: u64, message: Value },
    /// The answer to this is not wanted any more.
    Cancel { call_id: String },
    /// This happened.
    Notify { message: Value },
    /// A host call is over.
    HostDone { id: u64, outcome: Outcome },
    /// A piece of a streamed host call.
    HostChunk { id: u64, value: Value },
    /// Say [`ToHost::Pong`], to show that script yields.
    Ping,
    /// Let the extension say goodbye, answered like a call.
    Shutdown { id: u64, reason: String },
    /// End.
    Stop { reason: String },
}

/// How a host call ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// With a value.
    Value(Value),
    /// With an error.
    Error(CallError),
}

/// From the engine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "to_host", rename_all = "snake_case")]
pub(crate) enum ToHost {
    /// The answer to a call; a thrown error as [`Thrown`].
    Reply { id: u64, outcome: Result<Value, Thrown> },
    /// A host call.
    HostCall { id: u64, method: String, params: Value, stream: bool, timeout_ms: Option<u64> },
    /// Input for a streamed host call.
    HostInput { id: u64, value: Value },
    /// A host call is not wanted any more.
    HostCancel { id: u64 },
    /// A line for the extension's log.
    Log { level: String, message: String },
    /// Progress of a call.
    Progress { call_id: String, message: String },
    /// What the extension registers has changed.
    Contribute { contributions: Value },
    /// To [`ToJs::Ping`].
    Pong,
    /// What the start took; comes before its answer.
    Loaded(Loaded),
    /// The engine has ended; nothing follows.
    Gone { reason: String },
}

/// An error that script threw.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Thrown {
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) stack: String,
    pub(crate) code: Option<String>,
}

/// How the code of an extension came into its engine, the host's modules included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Loaded {
    /// Files whose compiled form was there.
    pub(crate) cached: u32,
    /// Files that had to be compiled.
    pub(crate) compiled: u32,
    /// What was not used, and why.
    pub(crate) notes: Vec<String>,
}

impl Loaded {
    /// One file more.
    pub(crate) fn count(&mut self, compiled: bool) {
        if compiled { self.compiled += 1 } else { self.cached += 1 }
    }
}

/// A call as the library reads it, and its id if it can be cancelled.
pub(crate) fn message_of(call: &ExtensionCall) -> (Option<CallId>, Value) {
    match call {
        ExtensionCall::Tool { call_id, name, args, .. } => {
            let args = args.as_ref();
            (Some(call_id.clone()), json!({ "kind": "tool", "call_id": call_id, "name": name, "args": args }))
        }
        ExtensionCall::Command { call_id, name, args } => {
            (Some(call_id.clone()), json!({ "kind": "command", "call_id": call_id, "name": name, "args": args }))
        }
        ExtensionCall::Hook { call_id, hook } => {
            (Some(call_id.clone()), json!({ "kind": "hook", "call_id": call_id, "hook": hook }))
        }
        ExtensionCall::Ask { call_id, event, asked } => {
            (Some(call_id.clone()), json!({ "kind": "ask", "call_id": call_id, "event": event, "asked": asked }))
        }
        ExtensionCall::Shortcut { call_id, key } => {
            (Some(call_id.clone()), json!({ "kind": "shortcut", "call_id": call_id, "key": key }))
        }
        ExtensionCall::PanelKey { panel_id, key, text } => {
            (None, json!({ "kind": "panel_key", "panel_id": panel_id, "key": key, "text": text }))
        }
        _ => (None, json!({ "kind": "unknown" })),
    }
}

/// What the library answered to a call.
///
/// # Errors
/// Where the answer is none.
pub(crate) fn reply_of(call: &ExtensionCall, value: Value) -> Result<Reply, String> {
    let bad = |error: serde_json::Error| format!("its answer cannot be read: {error}");
    Ok(match call {
        ExtensionCall::Tool { .. } => Reply::Tool(serde_json::from_value(value).map_err(bad)?),
        ExtensionCall::Command { .. } => Reply::Command(serde_json::from_value(value).map_err(bad)?),
        ExtensionCall::Hook { .. } => Reply::Hook(serde_json::from_value(value).map_err(bad)?),
        ExtensionCall::Ask { .. } => Reply::Asked(serde_json::from_value(value).map_err(bad)?),
        _ => Reply::Done,
    })
}

/// A thrown error for people: the message, and the first place that its author knows.
pub(crate) fn in_words(thrown: &Thrown) -> String {
    let place = thrown.stack.lines().map(str::trim).find(|line| line.starts_with("at ") && line.contains('/'));
    match place {
        Some(place) => format!("{} ({place})", thrown.message),
        None => thrown.message.clone(),
    }
}
