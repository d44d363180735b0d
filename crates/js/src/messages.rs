//! What passes between an engine and its keeper in the host. The same on a channel between threads and, as lines of JSON, on
//! the pipes of a child process.

use std::sync::Arc;

use jackfield_protocol::{CallError, CallId};
use jackfield_runtime::{ExtensionCall, Reply};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// To the engine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "to_js", rename_all = "snake_case")]
pub(crate) enum ToJs {
    /// Run this tool. What most calls are needs no message around it.
    Tool {
        id: u64,
        call_id: CallId,
        name: String,
        #[serde(with = "shared")]
        args: Arc<Value>,
    },
    /// A call, which wants an answer.
    Call { id: u64, message: Value },
    /// The answer to this is not wanted any more.
    Cancel { call_id: String },
    /// A notification, which wants none.
    Notify { message: Value },
    /// A host call is over.
    HostDone { id: u64, outcome: Outcome },
    /// A piece of a streamed host call.
    HostChunk { id: u64, value: Value },
    /// Say [`ToHost::Pong`], to show that script yields.
    Ping,
    /// Run the extension's handlers for its end; answered like a call.
    Shutdown { id: u64, reason: String },
    /// The engine is to end now, without a word to the script.
    Stop { reason: String },
}

/// A value that somebody else holds too, as if it were one's own.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(value: &Arc<Value>, to: S) -> Result<S::Ok, S::Error> {
        Value::serialize(value, to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Value>, D::Error> {
        Value::deserialize(from).map(Arc::new)
    }
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

/// What a call is to be answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Tool,
    Command,
    Hook,
    Asked,
    Nothing,
}

/// A call as the library reads it, under the number `id`; what it wants, and its id if it can be cancelled.
pub(crate) fn message_of(id: u64, call: ExtensionCall) -> (ToJs, Wanted, Option<CallId>) {
    let (wanted, call_id, message) = match call {
        ExtensionCall::Tool { call_id, name, args, .. } => {
            return (ToJs::Tool { id, call_id: call_id.clone(), name, args }, Wanted::Tool, Some(call_id));
        }
        ExtensionCall::Command { call_id, name, args } => {
            let message = json!({ "kind": "command", "call_id": call_id, "name": name, "args": args });
            (Wanted::Command, Some(call_id), message)
        }
        ExtensionCall::Hook { call_id, hook } => {
            let message = json!({ "kind": "hook", "call_id": call_id, "hook": hook });
            (Wanted::Hook, Some(call_id), message)
        }
        ExtensionCall::Ask { call_id, event, asked } => {
            let message = json!({ "kind": "ask", "call_id": call_id, "event": event, "asked": asked });
            (Wanted::Asked, Some(call_id), message)
        }
        ExtensionCall::Shortcut { call_id, key } => {
            let message = json!({ "kind": "shortcut", "call_id": call_id, "key": key });
            (Wanted::Nothing, Some(call_id), message)
        }
        ExtensionCall::PanelKey { panel_id, key, text } => {
            let message = json!({ "kind": "panel_key", "panel_id": panel_id, "key": key, "text": text });
            (Wanted::Nothing, None, message)
        }
        _ => (Wanted::Nothing, None, json!({ "kind": "unknown" })),
    };
    (ToJs::Call { id, message }, wanted, call_id)
}

/// What the library answered to a call.
///
/// # Errors
/// Where the answer is none.
pub(crate) fn reply_of(wanted: Wanted, value: Value) -> Result<Reply, String> {
    let bad = |error: serde_json::Error| format!("its answer cannot be read: {error}");
    Ok(match wanted {
        Wanted::Tool => Reply::Tool(serde_json::from_value(value).map_err(bad)?),
        Wanted::Command => Reply::Command(serde_json::from_value(value).map_err(bad)?),
        Wanted::Hook => Reply::Hook(serde_json::from_value(value).map_err(bad)?),
        Wanted::Asked => Reply::Asked(serde_json::from_value(value).map_err(bad)?),
        Wanted::Nothing => Reply::Done,
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
