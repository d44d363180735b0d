//! What passes between an engine and its keeper in the host. The same on a channel between threads and, as lines of JSON, on
//! the pipes of a child process.

use jackfield_protocol::CallError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
