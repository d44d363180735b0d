//! One client: what it said about itself, what is under way for it, and what it was asked.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::FutureExt as _;
use jackfield_mcp::envelope::{self, Envelope, INVALID_REQUEST, Kind, PARSE_ERROR, RpcError};
use jackfield_runtime::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::catalog::Lists;
use super::exchange::{CAPABILITIES, Level};
use super::out::{Out, RpcResponse};
use super::{Expose, Shared, dispatch, lock};

/// How many requests of one client may be under way.
const MOST_REQUESTS: usize = 4096;

/// A client for as long as it is connected, or for one request where every request stands for itself.
pub(crate) struct Client {
    pub(crate) face: Arc<Shared>,
    pub(crate) expose: Expose,
    /// Whose requests these are, where several may come the same way.
    pub(crate) principal: String,
    /// Where goes what belongs to no request.
    pub(crate) general: Out,
    legacy: OnceLock<Legacy>,
    level: Mutex<Option<Level>>,
    /// The lists as it saw them last.
    pub(crate) seen: Mutex<Option<Arc<Lists>>>,
    calls: Mutex<HashMap<String, CancellationToken>>,
    questions: Mutex<HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>>,
    pub(crate) subscriptions: Mutex<BTreeSet<String>>,
    /// PendingInputs while the person behind the client is asked for permission.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
    /// Cancelled when the client has gone.
    pub(crate) gone: CancellationToken,
}

/// What a client said in its handshake.
pub(crate) struct Legacy {
    pub(crate) version: &'static str,
    pub(crate) capabilities: Arc<Value>,
    /// What goes with its requests that bring nothing of their own.
    pub(crate) meta: Arc<Map<String, Value>>,
}

impl Legacy {
    /// A client that can do this.
    pub(crate) fn new(version: &'static str, capabilities: Value) -> Self {
        let meta = Map::from_iter([(CAPABILITIES.to_owned(), capabilities.clone())]);
        Self { version, capabilities: Arc::new(capabilities), meta: Arc::new(meta) }
    }
}

/// What a message turned out to be.
pub(crate) enum Taken {
    /// A request; whoever drives the client runs it.
    Request(Waiting),
    /// To be sent back.
    Refused(Box<(Option<Value>, RpcError)>),
    /// Nothing is to be sent back.
    Done,
}

/// A request that was read and not answered yet. It can be cancelled from now on.
pub(crate) struct Waiting {
    pub(crate) client: Arc<Client>,
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: String,
    pub(crate) cancel: CancellationToken,
}

impl Client {
    /// A client that has just connected.
    pub(crate) fn new(face: &Arc<Shared>, expose: Expose, principal: String, general: Out) -> Arc<Self> {
        let client = Arc::new(Self {
            face: Arc::clone(face),
            expose,
            principal,
            general,
            legacy: OnceLock::new(),
            level: Mutex::default(),
            seen: Mutex::default(),
            calls: Mutex::default(),
            questions: Mutex::default(),
            subscriptions: Mutex::default(),
            turn: Arc::default(),
            gone: CancellationToken::new(),
        });
        face.add(&client);
        client
    }

    /// What it said in its handshake, once there was one.
    pub(crate) fn legacy(&self) -> Option<&Legacy> {
        self.legacy.get()
    }

    /// Shakes hands; false when that has happened before.
    pub(crate) fn greet(&self, legacy: Legacy) -> bool {
        let is_new = self.legacy.set(legacy).is_ok();
        if is_new {
            *lock(&self.seen) = Some(self.face.lists());
        }
        is_new
    }

    /// The least of what it wants to be told, if it said so.
    pub(crate) fn level(&self) -> Option<Level> {
        *lock(&self.level)
    }

    /// It says so.
    pub(crate) fn set_level(&self, level: Level) {
        *lock(&self.level) = Some(level);
    }

    /// Reads one message.
    pub(crate) fn take(self: &Arc<Self>, text: &str) -> Taken {
        let refused = |id, code, message: String| Taken::Refused(Box::new((id, RpcError::new(code, message))));
        match Envelope::read(text) {
            Ok(Kind::Request { id, method, params }) => {
                let mut calls = lock(&self.calls);
                if calls.len() >= MOST_REQUESTS {
                    let message = format!("{MOST_REQUESTS} requests are under way already; wait for answers");
                    return refused(Some(id), envelope::INTERNAL_ERROR, message);
                }
                let cancel = CancellationToken::new();
                match calls.entry(key_of(&id)) {
                    Entry::Vacant(place) => drop(place.insert(cancel.clone())),
                    Entry::Occupied(taken) => {
                        let key = taken.key();
                        let message = format!("the id {key} belongs to a request that is under way; take another one");
                        return refused(Some(id), INVALID_REQUEST, message);
                    }
                }
                // Within the lock: whoever leaves cancels what stands there.
                if self.gone.is_cancelled() {
                    cancel.cancel();
                }
                drop(calls);
                let params = params.map_or_else(|| "{}".to_owned(), |params| params.get().to_owned());
                Taken::Request(Waiting { client: Arc::clone(self), id, method, params, cancel })
            }
            Ok(Kind::Notification { method, params }) => {
                self.told(&method, params.map_or("{}", |params| params.get()));
                Taken::Done
            }
            Ok(Kind::Answer { id, result }) => {
                let result = match result {
                    Ok(text) => {
                        serde_json::from_str(text.get()).map_err(|error| RpcError::new(PARSE_ERROR, error.to_string()))
                    }
                    Err(error) => Err(error),
                };
                // An answer to nothing we asked is nobody's.
                if let Some(question) =
                    id.as_ref().and_then(Value::as_u64).and_then(|id| lock(&self.questions).remove(&id))
                {
                    question.send(result).ok();
                }
                Taken::Done
            }
            Err(problem) => match serde_json::from_str::<Value>(text) {
                Err(error) => refused(None, PARSE_ERROR, format!("not JSON: {error}")),
                Ok(Value::Array(_)) => {
                    refused(None, INVALID_REQUEST, "batches are not supported: send one message at a time".to_owned())
                }
                Ok(value) => {
                    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
                    refused(id, INVALID_REQUEST, format!("not a JSON-RPC message: {problem}"))
                }
            },
        }
    }

    fn told(&self, method: &str, params: &str) {
        if method == "notifications/cancelled" {
            let params: Value = serde_json::from_str(params).unwrap_or_default();
            if let Some(id) = params.get("requestId")
                && let Some(cancel) = lock(&self.calls).get(&key_of(id))
            {
                cancel.cancel();
            }
        }
    }

    /// The request is over; its id may be used again.
    pub(crate) fn finished(&self, id: &Value) {
        lock(&self.calls).remove(&key_of(id));
    }

    /// Puts a question to the client, as servers could up to 2025-11-25. When the future is dropped the question is
    /// taken back.
    pub(crate) async fn ask(self: &Arc<Self>, out: &Out, method: &str, params: &Value) -> Result<Value, RpcError> {
        let (answer, answered) = oneshot::channel();
        let id = self.face.number();
        lock(&self.questions).insert(id, answer);
        let mut open = Open { client: Arc::clone(self), out: out.clone(), id: Some(id) };
        out.push(envelope::request(&json!(id), method, Some(&params.to_string())));
        let answer = tokio::select! {
            answer = answered => answer,
            () = self.gone.cancelled() => return Err(RpcError::new(envelope::INTERNAL_ERROR, "the client has gone")),
        };
        open.id = None;
        answer.unwrap_or_else(|_| Err(RpcError::new(envelope::INTERNAL_ERROR, "the client did not answer")))
    }

    /// The client has gone: nothing is done for it any more.
    pub(crate) fn leave(&self) {
        self.gone.cancel();
        for cancel in lock(&self.calls).values() {
            cancel.cancel();
        }
        lock(&self.questions).clear();
    }
}

/// An id as JSON, which is how requests under way are found.
fn key_of(id: &Value) -> String {
    let mut key = String::with_capacity(20);
    envelope::push_id(&mut key, id);
    key
}

/// A question that was not answered yet.
struct Open {
    client: Arc<Client>,
    out: Out,
    id: Option<u64>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            lock(&self.client.questions).remove(&id);
            let params = json!({ "requestId": id, "reason": "nobody waits for the answer any more" });
            self.out.tell(envelope::notification("notifications/cancelled", Some(&params.to_string())));
        }
    }
}

impl Waiting {
    /// Does what is asked and sends the answer, unless the client gave it up.
    pub(crate) async fn run(self, out: Out) {
        if let Some(answer) = self.answer(&out).await {
            out.answer(answer).await;
        }
    }

    /// The same, for whoever does other things beside it: a fault in a request ends that request and nothing else.
    pub(crate) async fn run_guarded(self, out: Out) {
        AssertUnwindSafe(self.run(out)).catch_unwind().await.ok();
    }

    /// The same for a task. Boxed, because it is large and moved several times on its way there.
    pub(crate) fn serve(self, out: Out) -> BoxFuture<'static, ()> {
        Box::pin(self.run(out))
    }

    async fn answer(self, out: &Out) -> Option<RpcResponse> {
        let done = Finished { client: Arc::clone(&self.client), id: self.id.clone() };
        let cancel = self.cancel.clone();
        let result = dispatch::respond(&self, out).await;
        drop(done);
        if cancel.is_cancelled() {
            return None;
        }
        Some(RpcResponse::of(Some(&self.id), &result))
    }
}

struct Finished {
    client: Arc<Client>,
    id: Value,
}

impl Drop for Finished {
    fn drop(&mut self) {
        self.client.finished(&self.id);
    }
}
