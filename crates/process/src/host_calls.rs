//! Host calls under way: what a child asked of the host and has not been answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackfield_protocol::{CallError, CallId, ErrorCode, HostCall};
use jackfield_runtime::HostCallCx;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::core::{Core, lock};
use crate::outbox::NotSent;

/// How many host calls of one child may be under way; more are refused.
const MAX_HOST_CALLS: usize = 64;
/// Pieces of a stream that may wait for the child.
const STREAM_QUEUE: usize = 16;
/// How long an answer waits for a child that does not read.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct HostCalls {
    running: Mutex<HashMap<String, CancellationToken>>,
}

/// What a child asks of the host.
pub(crate) struct Demand {
    /// Names the call among those of this child, with its kind in front.
    pub(crate) key: String,
    pub(crate) call: Result<HostCall, CallError>,
    pub(crate) within: Option<CallId>,
    pub(crate) claimed: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
}

/// A part of the answer to a [`Demand`].
pub(crate) enum Part {
    /// A piece of a stream.
    Piece { index: u64, value: Value },
    /// The end of it; the index is there when pieces came before, or could have.
    End { outcome: Result<Value, CallError>, index: Option<u64> },
}

impl HostCalls {
    fn begin(&self, key: &str, gone: &CancellationToken) -> Result<CancellationToken, CallError> {
        let mut running = lock(&self.running);
        let refuse = |text: String| Err(CallError::new(ErrorCode::InvalidRequest, text));
        if running.contains_key(key) {
            return refuse(format!("a call with the id {key:?} is under way; use a fresh one"));
        }
        if running.len() >= MAX_HOST_CALLS {
            return refuse(format!("{MAX_HOST_CALLS} calls are under way; wait for one to end"));
        }
        let cancel = gone.child_token();
        running.insert(key.to_owned(), cancel.clone());
        Ok(cancel)
    }

    /// The child gives up a call.
    pub(crate) fn cancel(&self, key: &str) {
        if let Some(cancel) = lock(&self.running).get(key) {
            cancel.cancel();
        }
    }

    fn end(&self, key: &str) {
        lock(&self.running).remove(key);
    }
}

/// Serves a demand in a task of its own. `write` makes lines of the parts of the answer.
pub(crate) fn serve(
    core: &Arc<Core>,
    demand: Demand,
    write: impl Fn(Part) -> Result<Vec<u8>, CallError> + Send + Sync + 'static,
) {
    let begun = match demand.call {
        Ok(call) => core.host_calls.begin(&demand.key, &core.gone).map(|cancel| (call, cancel)),
        Err(error) => Err(error),
    };
    let (call, cancel) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            let sent = write(Part::End { outcome: Err(error), index: None })
                .and_then(|line| core.outbox.send(line).map_err(|why| core.not_sent(why)));
            if let Err(error) = sent {
                core.log.note(&format!("the answer to {} was not sent: {error}", demand.key));
            }
            return;
        }
    };
    let streams = matches!(&call, HostCall::Exec(exec) if exec.stream);
    let (sender, pieces) = mpsc::channel(STREAM_QUEUE);
    let cx = HostCallCx {
        within: demand.within,
        claimed: demand.claimed,
        timeout: demand.timeout_ms.map(Duration::from_millis),
        cancel: Arc::new(cancel.clone()),
        chunks: streams.then_some(sender),
        input: None,
    };
    let serving = Serving { core: Arc::clone(core), key: demand.key, cancel };
    let pieces = streams.then_some(pieces);
    core.tasks.spawn(async move { serving.run(call, cx, pieces, write).await });
}

struct Serving {
    core: Arc<Core>,
    key: String,
    cancel: CancellationToken,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.core.host_calls.end(&self.key);
    }
}

impl Serving {
    async fn run(
        self,
        call: HostCall,
        cx: HostCallCx,
        pieces: Option<mpsc::Receiver<Value>>,
        write: impl Fn(Part) -> Result<Vec<u8>, CallError>,
    ) {
        let host = Arc::clone(&self.core.host);
        let mut answering = host.call(call, cx);
        let mut index = 0;
        let streams = pieces.is_some();
        let outcome = match pieces {
            None => answering.await,
            Some(mut pieces) => {
                let outcome = loop {
                    tokio::select! {
                        biased;
                        Some(value) = pieces.recv() => self.piece(&write, &mut index, value).await,
                        outcome = &mut answering => break outcome,
                    }
                };
                while let Ok(value) = pieces.try_recv() {
                    self.piece(&write, &mut index, value).await;
                }
                outcome
            }
        };
        let index = streams.then_some(index);
        let mut sent = self.send(write(Part::End { outcome, index })).await;
        if sent == Err(NotSent::TooLarge) {
            let error = CallError::new(ErrorCode::Io, "the answer is too large to be sent; ask for less");
            sent = self.send(write(Part::End { outcome: Err(error), index })).await;
        }
        if let Err(why) = sent
            && !self.core.gone.is_cancelled()
        {
            let error = self.core.not_sent(why);
            self.core.log.note(&format!("the answer to {} was not sent: {error}", self.key));
        }
    }

    async fn piece(&self, write: &impl Fn(Part) -> Result<Vec<u8>, CallError>, index: &mut u64, value: Value) {
        if self.cancel.is_cancelled() {
            return;
        }
        if self.send(write(Part::Piece { index: *index, value })).await.is_err() {
            // A stream with a hole is worth nothing.
            self.cancel.cancel();
        }
        *index += 1;
    }

    async fn send(&self, line: Result<Vec<u8>, CallError>) -> Result<(), NotSent> {
        match line {
            Ok(line) => self.core.outbox.send_when_room(&line, REPLY_TIMEOUT).await,
            Err(error) => {
                self.core.log.note(&format!("the answer to {} was not sent: {error}", self.key));
                Ok(())
            }
        }
    }
}
