//! The states of an extension's life.

use serde::Serialize;

/// Where an extension stands, as listings show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// It was not started yet. The first call starts it.
    Idle,
    /// Its handshake is under way.
    Spawning,
    /// It runs.
    Ready,
    /// It died and will be started again.
    Restarting {
        /// Counts from one.
        attempt: u32,
        /// Why it died.
        reason: String,
    },
    /// Quarantined until it changes or a person reloads it.
    Failed {
        /// Why it does not run.
        reason: String,
    },
    /// Stopped for good.
    Shutdown,
}

impl State {
    /// The state's name alone.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Spawning => "spawning",
            Self::Ready => "ready",
            Self::Restarting { .. } => "restarting",
            Self::Failed { .. } => "failed",
            Self::Shutdown => "shutdown",
        }
    }
}
