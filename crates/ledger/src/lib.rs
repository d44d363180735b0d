//! jackfield's ledger: evidence of every call, as lines of `pi.ext.log.v1` in one hash chain over all runs and processes.
//!
//! The crate decides nothing and needs no host: an auditor reads and verifies a folder with it alone. It never writes
//! parameters, only their hash. When a function that writes returns `Ok`, the operating system has the line.
//!
//! Each line is a log record with one member added at its end: `"chain":{"seq":…,"prev":…,"hash":…}`. `hash` is the
//! SHA-256 of the hash before it, as text, followed by the record without that member.
//!
//! Modules in reading order:
//! - `lib`: what begins and ends a record.
//! - `record`: the records as types, redacted.
//! - `line`, `chain`, `segments`: a line, the chain that several processes append to, its files.
//! - `read`, `verify`: reads records back; checks the chain.

mod chain;
mod line;
mod read;
mod record;
mod segments;
#[cfg(test)]
mod tests;
mod verify;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use jackfield_protocol::{Correlation, Level, Power, write_canonical};
use jackfield_runtime::Secrets;
use serde_json::{Map, Value};

use self::chain::Chain;
pub use self::read::{Filter, read};
pub use self::record::Evidence;
use self::record::{Call, Writer};
pub use self::verify::{Problem, VerifyReport, verify};

/// Why a record could not be written. The caller must not go on as if it had been.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A file cannot be read or written.
    #[error("cannot {action} the ledger at {}: {source}", file.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        file: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Another process holds the lock for too long.
    #[error(
        "cannot write to the ledger at {}: another process has held its lock for {seconds} s; end or resume that process",
        file.display()
    )]
    Busy {
        /// The segment.
        file: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
}

/// The ids that all records of one host have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIds {
    /// The host process.
    pub run_id: String,
    /// The conversation.
    pub session_id: String,
}

/// What kind of call is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A tool of an extension.
    ToolCall,
    /// A slash command of an extension.
    SlashCommand,
    /// A hook that an extension is asked about.
    EventHook,
    /// A call of an extension to the host.
    HostCall,
    /// A message that came in on a channel, from its receipt to its answer.
    ChannelMessage,
    /// A request in MCP's words to an extension that speaks it.
    Relay,
}

#[cfg(test)]
impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::ToolCall, Self::SlashCommand, Self::EventHook, Self::HostCall, Self::ChannelMessage, Self::Relay];

    /// What the names of its events begin with.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolCall => "tool_call",
            Self::SlashCommand => "slash_command",
            Self::EventHook => "event_hook",
            Self::HostCall => "host_call",
            Self::ChannelMessage => "channel_message",
            Self::Relay => "relay",
        }
    }
}

/// A call that begins.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    /// What kind of call.
    pub kind: Kind,
    /// Its id.
    pub call_id: &'a str,
    /// The extension that is called, or that calls.
    pub extension: &'a str,
    /// The tool, command, hook point or connector method.
    pub name: &'a str,
    /// The power it needs, for a host call.
    pub capability: Option<Power>,
    /// Its parameters: hashed, never written.
    pub params: &'a Value,
    /// Its deadline.
    pub timeout_ms: Option<u64>,
    /// Who asks, for instance `person` or `agent`.
    pub caller: Option<&'a str>,
    /// The call in whose course it happens.
    pub parent: Option<&'a str>,
}

impl<'a> Begin<'a> {
    /// A call of which no more is known than who, what and with which parameters.
    pub fn new(kind: Kind, call_id: &'a str, extension: &'a str, name: &'a str, params: &'a Value) -> Self {
        Self { kind, call_id, extension, name, capability: None, params, timeout_ms: None, caller: None, parent: None }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome<'a> {
    /// Whether the answer is an error, the extension's own or the host's.
    pub is_error: bool,
    /// The code and message, where there are.
    pub error: Option<(&'a str, &'a str)>,
    /// The size of the answer.
    pub output_bytes: Option<usize>,
    /// What led to it, for instance the rule that decided.
    pub evidence: Option<&'a Evidence>,
}

impl<'a> Outcome<'a> {
    /// An answer of this size.
    #[cfg(test)]
    pub fn ok(output_bytes: usize) -> Self {
        Self { is_error: false, error: None, output_bytes: Some(output_bytes), evidence: None }
    }

    /// A failure.
    pub fn failed(code: &'a str, message: &'a str) -> Self {
        Self { is_error: true, error: Some((code, message)), output_bytes: None, evidence: None }
    }
}

/// The ledger of one home. Cheap to clone; several, also in several processes, may write to the same folder.
#[derive(Debug, Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    chain: Chain,
    writer: Writer,
}

impl Ledger {
    /// Opens the ledger in `dir`, which is made if there is none. Texts in `secrets` never reach it.
    ///
    /// # Errors
    /// When the folder cannot be made or written to.
    pub fn open(dir: &Path, ids: RunIds, secrets: Secrets) -> Result<Self, LedgerError> {
        Self::open_with(dir, ids, secrets, chain::SEGMENT_BYTES)
    }

    fn open_with(dir: &Path, ids: RunIds, secrets: Secrets, limit: u64) -> Result<Self, LedgerError> {
        let chain = Chain::open(dir, limit)?;
        Ok(Self { inner: Arc::new(Inner { chain, writer: Writer::new(&ids, secrets) }) })
    }

    /// Records that a call begins. To be called before the call is made.
    ///
    /// # Errors
    /// When the record cannot be written: the call must not be made.
    pub fn begin(&self, what: Begin<'_>) -> Result<Entry, LedgerError> {
        let writer = &self.inner.writer;
        let call = writer.call(&what);
        self.inner.append(writer.start(what.kind, &call))?;
        Ok(Entry {
            inner: Arc::clone(&self.inner),
            kind: what.kind,
            call,
            started: Instant::now(),
            state: EntryState::Open,
        })
    }

    /// Records something that is not a call: a decision, a restart, trust. What `correlation` leaves open of
    /// `scenario_id`, `session_id` and `run_id` is filled in; without an extension it is the `host`.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn note(
        &self,
        event: &str,
        level: Level,
        message: &str,
        correlation: Correlation,
        data: Map<String, Value>,
    ) -> Result<(), LedgerError> {
        let body = self.inner.writer.note(event, level, message, correlation, data);
        self.inner.append(body)
    }
}

impl Inner {
    fn append(&self, record: Vec<u8>) -> Result<(), LedgerError> {
        tracing::trace!(bytes = record.len(), "writes a record");
        self.chain.append(record, &self.writer)
    }
}

/// A call that has begun. Ends with [`Entry::end`]; one that is dropped ends as `abandoned`.
#[derive(Debug)]
#[must_use = "an entry that is dropped is recorded as abandoned"]
pub struct Entry {
    inner: Arc<Inner>,
    kind: Kind,
    call: Call,
    started: Instant,
    state: EntryState,
}

#[derive(Debug, PartialEq, Eq)]
enum EntryState {
    Open,
    Ended,
}

impl Entry {
    /// Names the extension in the record of the end. For a call whose owner was found only after the call had begun.
    pub fn is_of(&mut self, extension: &str) {
        self.inner.writer.is_of(&mut self.call, extension);
    }

    /// Records how the call ended. To be called before the answer is given.
    ///
    /// # Errors
    /// When the record cannot be written: the answer must not be given.
    pub fn end(mut self, outcome: Outcome<'_>) -> Result<(), LedgerError> {
        self.finish(outcome)
    }

    fn finish(&mut self, outcome: Outcome<'_>) -> Result<(), LedgerError> {
        // Also when writing fails: the caller knows then, and the drop that follows must not claim something else.
        self.state = EntryState::Ended;
        let body = self.inner.writer.end(self.kind, &self.call, self.started.elapsed(), outcome);
        self.inner.append(body)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.state == EntryState::Open {
            let outcome = Outcome::failed("abandoned", "the call was given up before it was answered");
            // No caller is left to be told. Without this record `verify` lists the call as open, which is true.
            let _ = self.finish(outcome);
        }
    }
}

/// The SHA-256, in hex, of the canonical JSON of `{"method":…,"params":…}`.
pub fn params_hash(method: &str, params: &Value) -> String {
    let mut text = b"{\"method\":".to_vec();
    write_canonical(&Value::from(method), &mut text);
    text.extend_from_slice(b",\"params\":");
    write_canonical(params, &mut text);
    text.push(b'}');
    line::text(&line::hash(&text)).to_owned()
}
