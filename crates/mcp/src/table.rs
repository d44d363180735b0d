//! Requests that wait for their answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackfield_protocol::{CallError, CallId, Wire};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::envelope::RpcError;

/// What became of a request: what the server answered, or why it did not.
pub(crate) type RpcAnswer = Result<Result<Wire, RpcError>, CallError>;

/// The call of the host that a request belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    /// The caller's own name for its progress; ours is on the wire.
    pub(crate) token: Option<Value>,
}

/// Which calls of the host are under way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnderWay {
    None,
    One(CallId),
    Several(usize),
}

struct Entry {
    call: Option<Call>,
    answer: oneshot::Sender<RpcAnswer>,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<u64, Entry>,
    closed: Option<CallError>,
}

/// The requests under way on one session.
#[derive(Default)]
pub(crate) struct Table {
    last: AtomicU64,
    inner: Mutex<Inner>,
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere cannot leave this half changed.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no request on this session has had, and the place where its answer arrives.
    ///
    /// # Errors
    /// The session is over.
    pub(crate) fn open(&self, call: Option<Call>) -> Result<(u64, oneshot::Receiver<RpcAnswer>), CallError> {
        let mut inner = self.lock();
        if let Some(error) = &inner.closed {
            return Err(error.clone());
        }
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, receiver) = oneshot::channel();
        inner.entries.insert(id, Entry { call, answer });
        Ok((id, receiver))
    }

    /// Hands an answer to whoever waits for it; false when nobody does.
    pub(crate) fn resolve(&self, id: u64, answer: RpcAnswer) -> bool {
        let entry = self.lock().entries.remove(&id);
        entry.is_some_and(|entry| entry.answer.send(answer).is_ok())
    }

    /// The only request that waits, if there is just one. Subscriptions and the like count only among themselves.
    pub(crate) fn only(&self) -> Option<u64> {
        let inner = self.lock();
        let calls = inner.entries.values().filter(|entry| entry.call.is_some()).count();
        let mut waiting = inner.entries.iter().filter(|(_, entry)| calls == 0 || entry.call.is_some());
        match (waiting.next(), waiting.next()) {
            (Some((id, _)), None) => Some(*id),
            _ => None,
        }
    }

    /// The call that a request belongs to.
    pub(crate) fn call_of(&self, id: u64) -> Option<Call> {
        self.lock().entries.get(&id)?.call.clone()
    }

    /// The calls of the host that wait.
    pub(crate) fn under_way(&self) -> UnderWay {
        let inner = self.lock();
        let mut calls: Vec<&CallId> =
            inner.entries.values().filter_map(|entry| Some(&entry.call.as_ref()?.id)).collect();
        calls.sort_unstable();
        calls.dedup();
        match calls.as_slice() {
            [] => UnderWay::None,
            [one] => UnderWay::One((*one).clone()),
            more => UnderWay::Several(more.len()),
        }
    }

    /// Stops waiting; true if the request was still waited for.
    pub(crate) fn forget(&self, id: u64) -> bool {
        self.lock().entries.remove(&id).is_some()
    }

    /// Fails all that wait; how many those were.
    pub(crate) fn fail_all(&self, error: impl Fn(u64) -> CallError) -> usize {
        let entries = std::mem::take(&mut self.lock().entries);
        let count = entries.len();
        for (id, entry) in entries {
            // Whoever asked may have stopped waiting; that is its right.
            entry.answer.send(Err(error(id))).ok();
        }
        count
    }

    /// Fails all that wait and all that come. What comes never reaches the server.
    pub(crate) fn close(&self, error: &CallError, never_got: impl Fn(u64) -> bool) {
        self.lock().closed.get_or_insert_with(|| error.clone().undelivered());
        self.fail_all(|id| if never_got(id) { error.clone().undelivered() } else { error.clone() });
    }
}

#[cfg(test)]
mod tests {
    use jackfield_protocol::ErrorCode;

    use super::*;

    #[test]
    fn answers_find_their_request_once_and_the_end_is_the_end_of_all() {
        let table = Table::default();
        let call = |id: &str| Some(Call { id: id.into(), token: None });
        let (first, mut one) = table.open(call("a")).expect("open");
        assert_eq!(table.under_way(), UnderWay::One("a".into()));
        let (second, mut two) = table.open(call("b")).expect("open");
        assert_eq!(table.under_way(), UnderWay::Several(2));
        let answer = || Ok(Ok(Wire::new("{}")));
        assert!(table.resolve(first, answer()));
        assert!(!table.resolve(first, answer()), "twice");
        assert!(!table.resolve(99, answer()), "unknown");
        assert_eq!(one.try_recv().expect("answered"), answer());
        let gone = CallError::new(ErrorCode::Unavailable, "gone");
        table.close(&gone, |id| id == second);
        let failed = two.try_recv().expect("told").expect_err("failed");
        assert!(failed.is_undelivered());
        assert!(table.open(None).expect_err("closed").is_undelivered());
        assert_eq!(table.under_way(), UnderWay::None);
    }
}
