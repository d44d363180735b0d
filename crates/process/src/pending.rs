//! Calls that wait for their answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackfield_protocol::jsonrpc::RpcError;
use jackfield_protocol::{CallError, CallId, envelope, frames};
use serde_json::Value;
use tokio::sync::oneshot;

/// What was asked; an answer to something else does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuestionKind {
    Tool,
    Command,
    Channel,
    Hook,
    /// `initialize` and `shutdown`.
    Control,
}

/// An answer in the words of its dialect.
#[derive(Debug)]
pub(crate) enum DialectAnswer {
    Frame(frames::FromExtension),
    Rpc(Result<Value, RpcError>),
    Envelope(envelope::Message),
}

pub(crate) type Outcome = Result<DialectAnswer, CallError>;

struct Entry {
    asked: QuestionKind,
    call_id: Option<CallId>,
    answer: oneshot::Sender<Outcome>,
}

/// The calls under way of one instance.
#[derive(Default)]
pub(crate) struct Pending {
    last_id: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: HashMap<u64, Entry>,
    closed: Option<CallError>,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, Table> {
        // A panic elsewhere cannot leave this half changed.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that nothing on this instance has had.
    pub(crate) fn fresh_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Waits for the answer to `id`.
    ///
    /// # Errors
    /// The instance has gone.
    pub(crate) fn wait_for(
        &self,
        id: u64,
        asked: QuestionKind,
        call_id: Option<CallId>,
    ) -> Result<oneshot::Receiver<Outcome>, CallError> {
        let mut table = self.lock();
        if let Some(error) = &table.closed {
            return Err(error.clone());
        }
        let (answer, receiver) = oneshot::channel();
        table.entries.insert(id, Entry { asked, call_id, answer });
        Ok(receiver)
    }

    /// Hands an answer to whoever waits for it; false when nobody does.
    pub(crate) fn resolve(&self, id: u64, kinds: &[QuestionKind], outcome: Outcome) -> bool {
        let entry = {
            let mut table = self.lock();
            if !table.entries.get(&id).is_some_and(|entry| kinds.contains(&entry.asked)) {
                return false;
            }
            table.entries.remove(&id)
        };
        entry.is_some_and(|entry| entry.answer.send(outcome).is_ok())
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.lock().entries.len()
    }

    /// What `id` asked, if it still waits.
    pub(crate) fn asked(&self, id: u64) -> Option<QuestionKind> {
        self.lock().entries.get(&id).map(|entry| entry.asked)
    }

    /// The host's name for a call under way.
    pub(crate) fn call_id(&self, id: u64) -> Option<CallId> {
        self.lock().entries.get(&id).and_then(|entry| entry.call_id.clone())
    }

    /// Stops waiting; true if `id` was still waited for.
    pub(crate) fn forget(&self, id: u64) -> bool {
        self.lock().entries.remove(&id).is_some()
    }

    /// Fails all that wait.
    pub(crate) fn fail_all(&self, error: &CallError) {
        let entries = std::mem::take(&mut self.lock().entries);
        for entry in entries.into_values() {
            // Whoever asked may have stopped waiting; that is its right.
            entry.answer.send(Err(error.clone())).ok();
        }
    }

    /// Fails all that wait and all that come.
    pub(crate) fn close(&self, error: &CallError) {
        self.lock().closed.get_or_insert_with(|| error.clone());
        self.fail_all(error);
    }
}

/// Reads a number as [`Pending::fresh_id`] gives it and the host writes it; nothing else is an id of the host.
pub(crate) fn read_id(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use jackfield_protocol::ErrorCode;

    use super::*;

    #[test]
    fn only_the_host_s_own_spelling_is_an_id() {
        for (text, id) in [("1", Some(1)), ("18446744073709551615", Some(u64::MAX)), ("42", Some(42))] {
            assert_eq!(read_id(text), id, "{text}");
        }
        for text in ["", "0", "01", "+1", "-1", " 1", "1 ", "1.0", "18446744073709551616", "x"] {
            assert_eq!(read_id(text), None, "{text}");
        }
    }

    #[test]
    fn answers_find_their_call_once_and_death_ends_all() {
        let pending = Pending::default();
        let mut first = pending.wait_for(1, QuestionKind::Tool, Some("call-1".into())).expect("open");
        let mut second = pending.wait_for(2, QuestionKind::Hook, None).expect("open");
        assert_eq!(pending.call_id(1), Some("call-1".into()));
        let answer = || Ok(DialectAnswer::Rpc(Ok(Value::Null)));
        assert!(!pending.resolve(1, &[QuestionKind::Hook], answer()), "of another kind");
        assert!(!pending.resolve(7, &[QuestionKind::Tool], answer()), "unknown");
        assert!(pending.resolve(1, &[QuestionKind::Tool], answer()));
        assert!(!pending.resolve(1, &[QuestionKind::Tool], answer()), "twice");
        assert!(matches!(first.try_recv(), Ok(Ok(DialectAnswer::Rpc(Ok(Value::Null))))));
        let gone = CallError::new(ErrorCode::Unavailable, "gone");
        pending.close(&gone);
        assert!(matches!(second.try_recv(), Ok(Err(error)) if error == gone));
        assert_eq!(pending.wait_for(3, QuestionKind::Tool, None).err(), Some(gone));
    }
}
