//! Starting and ending.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_protocol::{Contributions, Manifest};

use crate::{Instance, Secrets};

/// Everything a runtime needs to start an extension. Made by the host.
#[derive(Debug, Clone)]
pub struct StartSpec {
    /// What to run.
    pub manifest: Arc<Manifest>,
    /// Where it lives; also its working directory.
    pub dir: PathBuf,
    /// Where it may keep data; exists.
    pub data_dir: PathBuf,
    /// The file for its stderr; the folder exists.
    pub log_file: PathBuf,
    /// The whole environment of a child, already filtered.
    pub env: Vec<(String, String)>,
    /// The project that the host works on.
    pub project: PathBuf,
    /// The provider of the agent's model, empty without an agent.
    pub provider: String,
    /// The agent's model, empty without an agent.
    pub model: String,
    /// How long the handshake may take.
    pub start_timeout: Duration,
    /// The most memory it may use, where the runtime can hold it to that.
    pub max_memory_mb: Option<u64>,
    /// How long script may run without a pause, where the runtime can hold it to that.
    pub cpu_slice: Option<Duration>,
    /// Values that must not appear in logs and errors.
    pub secrets: Secrets,
}

/// A started extension.
pub struct Started {
    /// The extension.
    pub instance: Arc<dyn Instance>,
    /// What it contributes.
    pub contributions: Contributions,
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").field("contributions", &self.contributions).finish_non_exhaustive()
    }
}

/// Why an extension did not start. Nothing of it is left running.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The program is not there or cannot be run.
    #[error("{0}")]
    NotRunnable(String),
    /// The handshake did not end in time.
    #[error("no {awaited} within {} ms{}", .after.as_millis(), tail(.stderr))]
    HandshakeTimeout {
        /// What the host waited for.
        awaited: String,
        /// How long.
        after: Duration,
        /// The last lines of stderr.
        stderr: String,
    },
    /// The handshake went wrong.
    #[error("{reason}{}", tail(.stderr))]
    BadHandshake {
        /// What was wrong.
        reason: String,
        /// The last lines of stderr.
        stderr: String,
    },
    /// It went before the handshake was over.
    #[error("exited before {awaited} ({exit}){}", tail(.stderr))]
    EarlyExit {
        /// What the host waited for.
        awaited: String,
        /// How it went.
        exit: Exit,
        /// The last lines of stderr.
        stderr: String,
    },
    /// This runtime cannot run it.
    #[error("{0}")]
    Unsupported(String),
}

fn tail(stderr: &str) -> String {
    if stderr.trim().is_empty() { String::new() } else { format!("; stderr ends: {}", stderr.trim()) }
}

/// How an instance went.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    /// For people: `exit status 1`, `signal 9 (SIGKILL)`, `interrupted: out of memory`.
    pub reason: String,
    /// The last lines of stderr, redacted.
    pub stderr: String,
    /// Whether the host asked it to.
    pub wanted: bool,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}
