//! What the host gives to parts of an agent that live in crates of their own, such as channels. Nothing here reaches an
//! extension: that takes a permit, which only this crate's call paths make.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use jackfield_ledger::Begin;
use jackfield_protocol::{CallError, CallId, Correlation, ExecParams, ExtensionId, Level};
use jackfield_services::Ran;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::host::{Host, Inner};
use crate::recording::Recording;
use crate::secrets::SecretError;

/// A handle that does not keep the host alive, for what the host itself holds.
#[derive(Clone)]
pub struct WeakHost {
    inner: Weak<Inner>,
}

impl WeakHost {
    /// The host, unless it has ended.
    pub fn upgrade(&self) -> Option<Host> {
        self.inner.upgrade().map(|inner| Host { inner })
    }
}

/// Called at the end of [`Host::learn`].
pub(crate) type AfterLearn = Arc<dyn Fn() + Send + Sync>;

impl Host {
    /// A handle that does not keep the host alive.
    pub fn downgrade(&self) -> WeakHost {
        WeakHost { inner: Arc::downgrade(&self.inner) }
    }

    /// Has `refresh` called at the end of every [`Host::learn`], as long as the host lives. For parts whose own tools
    /// depend on what extensions contribute. `refresh` must not block, and must hold the host weakly.
    pub fn after_learn(&self, refresh: impl Fn() + Send + Sync + 'static) {
        self.inner.extensions.after_learn.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(refresh));
    }

    pub(crate) fn refresh_parts(&self) {
        let parts = self.inner.extensions.after_learn.lock().unwrap_or_else(PoisonError::into_inner).clone();
        parts.iter().for_each(|refresh| refresh());
    }

    /// The environment that the host was opened with.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.inner.env
    }

    /// A secret of the person: the variable of that name, or else what is stored. The host redacts its value from then on.
    ///
    /// # Errors
    /// The stored secret cannot be read.
    pub fn secret(&self, name: &str) -> Result<Option<String>, SecretError> {
        self.inner.authority.secret_source.value(name)
    }

    /// The text without control sequences and secrets.
    pub fn redact(&self, text: &str) -> String {
        self.inner.clean(text)
    }

    /// An id for a call that is to be recorded.
    pub fn next_call_id(&self) -> CallId {
        self.inner.next_call_id()
    }

    /// Records in the ledger that a call begins. Everything that the call causes comes after it.
    ///
    /// # Errors
    /// The ledger cannot be written; the call must not be made.
    pub fn begin_recording(&self, what: Begin<'_>) -> Result<Recording, CallError> {
        self.inner.begin_recording(what)
    }

    /// Writes an event into the ledger; `data` is an object.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn ledger_note(
        &self,
        event: &str,
        correlation: Correlation,
        message: &str,
        data: Value,
    ) -> Result<(), CallError> {
        self.inner.ledger_note(event, correlation, message, data)
    }

    /// Writes a line into the log of an extension.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn write_log(
        &self,
        extension: &ExtensionId,
        level: Level,
        message: &str,
        data: Value,
    ) -> Result<(), CallError> {
        self.inner.write_log(extension, level, message, data)
    }

    /// Runs a program of the owner, not of an extension, with no other environment than the given one.
    ///
    /// # Errors
    /// The program cannot be run, or takes longer than `limit`.
    pub async fn run_program(
        &self,
        params: ExecParams,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Ran, CallError> {
        self.inner.authority.services.run_program(params, limit, cancel).await
    }

    /// Reads a file of the project, of at most `most` bytes. Blocks.
    ///
    /// # Errors
    /// `denied` for an absolute path, `..`, a link or a file of the host's own; or that the file cannot be read.
    pub fn read_project_file(&self, path: &str, most: usize) -> Result<Vec<u8>, CallError> {
        self.inner.authority.services.read_inside(path, most)
    }
}
