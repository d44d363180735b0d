//! Whoever waits for a call, as the host sees it: told of progress and log lines, asked what an extension wants to know.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jackfield_host::{Answer, Peer, Question};
use jackfield_mcp::envelope::{self, INTERNAL_ERROR, METHOD_NOT_FOUND, RpcError};
use jackfield_protocol::{CallError, ErrorCode, Notice};
use jackfield_runtime::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::approve;
use super::client::Client;
use super::exchange::{Era, Exchange, Level, MISSING_CAPABILITY, can};
use super::out::Out;
use super::pending_input::{Ask, CallEvent};

/// Whoever waits for one call.
pub(crate) struct Caller {
    client: Arc<Client>,
    era: Era,
    capabilities: Arc<Value>,
    route: Route,
}

/// How to reach it.
enum Route {
    /// On the stream that is open to the client.
    Open(Teller),
    /// Through whichever request carries the call at the moment.
    Held(mpsc::UnboundedSender<CallEvent>),
}

/// Puts notices into a client's words.
pub(crate) struct Teller {
    out: Out,
    era: Era,
    token: Option<Value>,
    level: Option<Level>,
    told: AtomicU64,
}

impl Teller {
    /// For what belongs to a request.
    pub(crate) fn of(exchange: &Exchange) -> Self {
        Self {
            out: exchange.out.clone(),
            era: exchange.era,
            token: exchange.token.clone(),
            level: exchange.level,
            told: AtomicU64::new(0),
        }
    }

    /// Says it, if the client wants to know.
    pub(crate) fn tell(&self, notice: &Notice) {
        if let Some((method, params)) = self.words(notice) {
            self.out.tell(envelope::notification(method, Some(&params.to_string())));
        }
    }

    fn words<'a>(&self, notice: &'a Notice) -> Option<(&'a str, Value)> {
        match notice {
            Notice::Progress { message, .. } => {
                let count = self.told.fetch_add(1, Ordering::Relaxed) + 1;
                let params = json!({ "progressToken": self.token.as_ref()?, "progress": count, "message": message });
                Some(("notifications/progress", params))
            }
            Notice::Mcp { method, params, .. } if method == "notifications/progress" => {
                let mut params = params.clone();
                *params.as_object_mut()?.entry("progressToken").or_insert(Value::Null) = self.token.clone()?;
                Some((method, params))
            }
            Notice::Mcp { method, params, .. } if method == "notifications/message" => {
                wants_log(self.era, self.level, params).then(|| (method.as_str(), params.clone()))
            }
            Notice::Mcp { method, params, .. } => Some((method, params.clone())),
            _ => None,
        }
    }
}

/// Whether a log line is for a client with this level.
pub(crate) fn wants_log(era: Era, level: Option<Level>, params: &Value) -> bool {
    let said = params.get("level").and_then(Value::as_str).and_then(Level::parse);
    match (era, level) {
        // Whoever said nothing was told everything up to 2025-11-25, and nothing since.
        (Era::Legacy, None) => true,
        (Era::Modern, None) => false,
        (_, Some(least)) => said.is_some_and(|said| said >= least),
    }
}

impl Caller {
    /// Whoever waits for a call that nobody interrupts.
    pub(crate) fn open(exchange: &Exchange) -> Self {
        Self::of(exchange, Route::Open(Teller::of(exchange)))
    }

    /// Whoever waits for a call that goes on between two requests.
    pub(crate) fn held(exchange: &Exchange, events: mpsc::UnboundedSender<CallEvent>) -> Self {
        Self::of(exchange, Route::Held(events))
    }

    fn of(exchange: &Exchange, route: Route) -> Self {
        let client = Arc::clone(&exchange.client);
        Self { client, era: exchange.era, capabilities: Arc::clone(&exchange.capabilities), route }
    }

    async fn question(&self, method: &str, mut params: Value) -> Result<Value, CallError> {
        let (key, of) = place(&mut params);
        if method == "roots/list" && can(&self.capabilities, method, &params).is_err() {
            let project = self.client.face.host.project();
            let name = project.file_name().map(|name| name.to_string_lossy().into_owned());
            return Ok(json!({ "roots": [{ "uri": format!("file://{}", project.display()), "name": name }] }));
        }
        if let Err(required) = can(&self.capabilities, method, &params) {
            return Err(self.cannot(method, &required));
        }
        match &self.route {
            Route::Open(teller) if self.era == Era::Legacy => {
                self.client.ask(&teller.out, method, &params).await.map_err(|error| refused(method, &error))
            }
            Route::Open(_) => Err(self.cannot(method, &json!({}))),
            Route::Held(events) => {
                let (answer, answered) = oneshot::channel();
                let ask = Ask { key, of, method: method.to_owned(), params, answer };
                let gone = || {
                    let message = format!("nobody came back with an answer to {method}");
                    CallError::new(ErrorCode::Cancelled, message)
                };
                events.send(CallEvent::Asked(ask)).map_err(|_| gone())?;
                answered.await.map_err(|_| gone())
            }
        }
    }

    fn cannot(&self, method: &str, required: &Value) -> CallError {
        let message = format!("the agent cannot answer {method}: it does not say that it can");
        let error = match self.era {
            Era::Modern => RpcError {
                code: MISSING_CAPABILITY,
                message: message.clone(),
                data: Some(json!({ "requiredCapabilities": required })),
            },
            Era::Legacy => RpcError::new(METHOD_NOT_FOUND, message.clone()),
        };
        CallError::new(ErrorCode::Unsupported, message).with_details(json!({ "rpc": error }))
    }
}

/// Under which name an extension asks, and how many questions it asks at once.
fn place(params: &mut Value) -> (Option<String>, usize) {
    let Some(meta) = params.get_mut("_meta").and_then(Value::as_object_mut) else { return (None, 1) };
    let place = meta.remove("jackfield/input");
    let empty = meta.is_empty();
    if empty && let Some(params) = params.as_object_mut() {
        params.remove("_meta");
    }
    let key = place.as_ref().and_then(|place| place.get("key")?.as_str().map(str::to_owned));
    let of = place.as_ref().and_then(|place| place.get("of")?.as_u64()).unwrap_or(1);
    (key, usize::try_from(of).unwrap_or(1))
}

fn refused(method: &str, error: &RpcError) -> CallError {
    let code = if error.code == INTERNAL_ERROR { ErrorCode::Unavailable } else { ErrorCode::Denied };
    let message = format!("the agent did not answer {method}: {}", error.message);
    CallError::new(code, message).with_details(json!({ "rpc": error }))
}

impl Peer for Caller {
    fn tell(&self, notice: &Notice) {
        match &self.route {
            Route::Open(teller) => teller.tell(notice),
            // Whoever carried the call has gone.
            Route::Held(events) => drop(events.send(CallEvent::Told(notice.clone()))),
        }
    }

    fn ask(&self, method: &str, params: Value) -> BoxFuture<'_, Result<Value, CallError>> {
        let method = method.to_owned();
        Box::pin(async move { self.question(&method, params).await })
    }

    fn approve(&self, question: Question) -> BoxFuture<'_, Option<Answer>> {
        Box::pin(async move {
            let answer = self.question("elicitation/create", approve::form(&question)).await;
            answer.ok().map(|answer| approve::answer(&answer))
        })
    }

    fn turn(&self) -> Option<Arc<tokio::sync::Mutex<()>>> {
        let can = can(&self.capabilities, "elicitation/create", &json!({})).is_ok();
        can.then(|| Arc::clone(&self.client.turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_question_is_not_passed_on() {
        let mut params = json!({ "message": "?", "_meta": { "jackfield/input": { "key": "k", "of": 3 } } });
        assert_eq!(place(&mut params), (Some("k".to_owned()), 3));
        assert_eq!(params, json!({ "message": "?" }));
        let mut params = json!({ "_meta": { "other": 1 } });
        assert_eq!(place(&mut params), (None, 1));
        assert_eq!(params, json!({ "_meta": { "other": 1 } }));
    }

    #[test]
    fn logs_are_for_those_who_want_them() {
        let line = json!({ "level": "info", "data": "x" });
        assert!(wants_log(Era::Legacy, None, &line) && !wants_log(Era::Modern, None, &line));
        assert!(wants_log(Era::Modern, Level::parse("debug"), &line));
        assert!(!wants_log(Era::Legacy, Level::parse("error"), &line));
    }
}
