//! Calls that go on between two requests. From 2026-07-28 a client is asked in the answer to its request and answers with
//! the next one, so the call of the extension waits in between, under a name that the client hands back sealed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackfield_mcp::envelope::{INVALID_PARAMS, RpcError};
use jackfield_protocol::Notice;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::exchange::Exchange;
use super::peer::{Caller, Teller};
use super::{Shared, lock, wire};

/// How long a call waits for its client to come back.
const CLIENT_RETURN_TIMEOUT: Duration = Duration::from_secs(300);
/// How many calls may wait; the oldest goes for the next one.
const MAX_PENDING_CALLS: usize = 256;
/// How long questions that belong together may take to come together.
const QUESTION_BATCH_WINDOW: Duration = Duration::from_millis(100);

/// What happens to a call under way.
pub(crate) enum CallEvent {
    /// Something for the client to know.
    Told(Notice),
    /// Something for the client to answer.
    Asked(Ask),
    /// It is over.
    Over(Result<String, RpcError>),
}

/// A question of an extension.
pub(crate) struct Ask {
    /// The extension's own name for it.
    pub(crate) key: Option<String>,
    /// How many belong together.
    pub(crate) of: usize,
    pub(crate) method: String,
    pub(crate) params: Value,
    pub(crate) answer: oneshot::Sender<Value>,
}

/// A call that may be asked about.
struct Running {
    events: mpsc::UnboundedReceiver<CallEvent>,
    open: Vec<(String, Ask)>,
    /// What the client gave that nobody has asked for yet.
    given: Map<String, Value>,
    /// What the request was, so that another one cannot take it over.
    about: String,
    /// Ends the call when nobody carries it on.
    _guard: DropGuard,
}

/// Calls whose clients are about to come back.
#[derive(Default)]
pub(crate) struct PendingInputs {
    calls: Mutex<HashMap<String, (SystemTime, Running)>>,
}

impl PendingInputs {
    fn put(&self, name: &str, running: Running) {
        let mut calls = lock(&self.calls);
        let since = SystemTime::now();
        calls.retain(|_, (began, _)| since.duration_since(*began).unwrap_or_default() < CLIENT_RETURN_TIMEOUT);
        if calls.len() >= MAX_PENDING_CALLS
            && let Some(oldest) = calls.iter().min_by_key(|(_, (began, _))| *began).map(|(name, _)| name.clone())
        {
            calls.remove(&oldest);
        }
        calls.insert(name.to_owned(), (since, running));
    }

    fn take(&self, name: &str) -> Option<Running> {
        lock(&self.calls).remove(name).map(|(_, running)| running)
    }
}

/// What a client hands back.
pub(crate) struct Again<'a> {
    pub(crate) state: Option<&'a str>,
    pub(crate) responses: Option<&'a str>,
}

/// Runs a call for a request: directly where its client cannot be asked or is asked meanwhile, and with questions in the
/// answers where they belong there.
pub(crate) async fn run<F, W>(exchange: &Exchange, about: &str, again: Again<'_>, work: F) -> Result<String, RpcError>
where
    F: FnOnce(Arc<Caller>, CancellationToken) -> W,
    W: Future<Output = Result<String, RpcError>> + Send + 'static,
{
    if exchange.era == super::exchange::Era::Legacy || (again.state.is_none() && !exchange.can_anything()) {
        return work(Arc::new(Caller::open(exchange)), exchange.cancel.clone()).await;
    }
    let responses = match again.responses {
        None | Some("null") => Map::new(),
        Some(text) => serde_json::from_str(text)
            .map_err(|error| RpcError::new(INVALID_PARAMS, format!("params.inputResponses is no object: {error}")))?,
    };
    let about = wire::digest(&[about, &exchange.client.principal]);
    let mut running = match again.state {
        Some(state) => resume(&exchange.client.face, state, &about)?,
        None => begin(exchange, &about, work),
    };
    // Only objects can answer anything.
    running.given.extend(responses.into_iter().filter(|(_, response)| response.is_object()));
    carry_on(exchange, running).await
}

fn begin<F, W>(exchange: &Exchange, about: &str, work: F) -> Running
where
    F: FnOnce(Arc<Caller>, CancellationToken) -> W,
    W: Future<Output = Result<String, RpcError>> + Send + 'static,
{
    let (sender, events) = mpsc::unbounded_channel();
    // The call outlives the request, so it is not the request's to cancel.
    let cancel = exchange.client.gone.child_token();
    let work = work(Arc::new(Caller::held(exchange, sender.clone())), cancel.clone());
    tokio::spawn(async move {
        let result = work.await;
        sender.send(CallEvent::Over(result)).ok();
    });
    Running { events, open: Vec::new(), given: Map::new(), about: about.to_owned(), _guard: cancel.drop_guard() }
}

fn resume(face: &Shared, state: &str, about: &str) -> Result<Running, RpcError> {
    let bad = |why: &str| {
        RpcError::new(INVALID_PARAMS, format!("params.requestState {why}; make the request anew without it"))
    };
    let sealed = face.seal.open(state).ok_or_else(|| bad("is not as it was given"))?;
    let text = |name: &str| sealed.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("about") != about {
        return Err(bad("belongs to another request"));
    }
    if sealed.get("until").and_then(Value::as_u64).is_none_or(|until| until < now()) {
        return Err(bad("is too old"));
    }
    face.held.take(text("call")).ok_or_else(|| bad("was used before, or its call is over"))
}

async fn carry_on(exchange: &Exchange, mut running: Running) -> Result<String, RpcError> {
    let teller = Teller::of(exchange);
    let resumed = !running.open.is_empty();
    running.settle();
    if resumed && !running.open.is_empty() {
        return Ok(wait(exchange, running));
    }
    loop {
        let wanted = running.open.iter().map(|(_, ask)| ask.of).max().unwrap_or(0);
        if wanted > 0 && running.open.len() >= wanted {
            return Ok(wait(exchange, running));
        }
        let happening = tokio::select! {
            biased;
            happening = running.events.recv() => happening,
            () = exchange.cancel.cancelled() => return Err(RpcError::new(INVALID_PARAMS, "cancelled")),
            () = tokio::time::sleep(QUESTION_BATCH_WINDOW), if wanted > 0 => return Ok(wait(exchange, running)),
        };
        match happening {
            Some(CallEvent::Told(notice)) => teller.tell(&notice),
            Some(CallEvent::Asked(ask)) => running.asked(ask),
            Some(CallEvent::Over(result)) => return result,
            None => return Err(RpcError::new(jackfield_mcp::envelope::INTERNAL_ERROR, "the call was lost")),
        }
    }
}

impl Running {
    /// Somebody asks: what the client gave beforehand answers at once.
    fn asked(&mut self, ask: Ask) {
        if let Some(given) = ask.key.as_ref().and_then(|key| self.given.remove(key)) {
            ask.answer.send(given).ok();
            // Those that belong with it are one less.
            self.open.iter_mut().for_each(|(_, open)| open.of = open.of.saturating_sub(1));
            return;
        }
        let taken = |key: &str| self.open.iter().any(|(open, _)| open == key);
        let key = ask.key.clone().filter(|key| !taken(key)).unwrap_or_else(|| format!("input_{}", self.open.len() + 1));
        self.open.push((key, ask));
    }

    /// Hands over what the client gave.
    fn settle(&mut self) {
        let open = std::mem::take(&mut self.open);
        for (key, ask) in open {
            match self.given.remove(&key) {
                // Whoever asked may have gone.
                Some(given) => drop(ask.answer.send(given)),
                None => self.open.push((key, ask)),
            }
        }
    }
}

/// Lets a call wait and gives the answer that says what for.
fn wait(exchange: &Exchange, running: Running) -> String {
    let face = &exchange.client.face;
    let requests: Map<String, Value> = running
        .open
        .iter()
        .map(|(key, ask)| (key.clone(), json!({ "method": ask.method, "params": ask.params })))
        .collect();
    let call = wire::unguessable();
    let until = now() + CLIENT_RETURN_TIMEOUT.as_secs();
    let state = face.seal.close(&json!({ "call": call, "about": running.about, "until": until }));
    face.held.put(&call, running);
    let (weak, name) = (Arc::downgrade(face), call);
    tokio::spawn(async move {
        tokio::time::sleep(CLIENT_RETURN_TIMEOUT).await;
        if let Some(face) = weak.upgrade() {
            face.held.take(&name);
        }
    });
    json!({ "resultType": "input_required", "inputRequests": requests, "requestState": state }).to_string()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
