//! A call on record: begun in the ledger before its work, ended before its answer.

use jackfield_ledger::{Begin, Entry, Evidence, LedgerError, Outcome};
use jackfield_protocol::{CallError, ErrorCode, ExtensionId};

use crate::host::Inner;

/// A call whose start is in the ledger. One that is dropped without an end is recorded as abandoned.
#[must_use = "a recording that is dropped is recorded as abandoned"]
pub struct Recording {
    entry: Entry,
    /// What led to the outcome; the work fills it in.
    pub evidence: Evidence,
}

impl Inner {
    /// Records that a call begins. Everything that the call causes comes after it.
    ///
    /// # Errors
    /// The ledger cannot be written; the call must not be made.
    pub(crate) fn begin_recording(&self, what: Begin<'_>) -> Result<Recording, CallError> {
        let entry = self.evidence.ledger.begin(what).map_err(no_evidence)?;
        Ok(Recording { entry, evidence: Evidence::default() })
    }
}

impl Recording {
    /// The extension that the call goes to, where the record of the start could not know it.
    pub(crate) fn is_of(&mut self, extension: &ExtensionId) {
        self.entry.is_of(extension.as_str());
    }

    /// Records how the call ended and gives its result back.
    ///
    /// # Errors
    /// The result's own error, or that the ledger cannot be written; the answer must not be given then.
    pub fn end<T>(self, result: Result<T, CallError>) -> Result<T, CallError> {
        self.end_with(result.as_ref().err(), result.is_err())?;
        result
    }

    /// Records an end whose failure does not become the caller's, for instance a guard that did not answer, or an answer
    /// that is itself an error.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn end_with(self, error: Option<&CallError>, is_error: bool) -> Result<(), CallError> {
        let error = error.map(|error| (error.code.as_str(), error.message.as_str()));
        let outcome = Outcome { is_error, error, evidence: Some(&self.evidence), ..Outcome::default() };
        self.entry.end(outcome).map_err(no_evidence)
    }
}

/// The error of a call that cannot be recorded.
pub(crate) fn no_evidence(error: LedgerError) -> CallError {
    CallError::new(ErrorCode::Io, format!("nothing runs without evidence: {error}"))
}
