//! What the host tells extensions afterwards.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A thing that happened. Extensions that subscribed to its name are told, in order, and cannot change it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// For instance `session_start`, `tool_call`, `tool_result`.
    pub event: String,
    /// Rises by one with every event of a host.
    pub sequence: u64,
    /// The fields of this event, in the peers' own names.
    #[serde(flatten)]
    pub data: Map<String, Value>,
}
