//! `/ws`: the same requests over one connection, and tools that the client brings.
//!
//! A message is `{"id", "method", "params"}`; `{"id", "type", …}` with the parameters beside the type is the same. The
//! answer is `{"type":"response","id","ok",…}`. Requests overlap.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::{SinkExt, StreamExt};
use jackfield_protocol::CallError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::Api;
use super::call::{CallBody, Listening};
use super::catalog::{self, ToolList};
use super::error::ApiError;
use super::guard::Sender;
use super::tokens::Holder;
use crate::clients::{Client, ToolOffer, ToolResponse};

/// The longest message.
const LONGEST: usize = 16 * 1024 * 1024;
/// Messages that may wait for a client that reads slowly.
const QUEUE_MESSAGES: usize = 256;
/// Calls that one connection may have under way.
const MOST_CALLS: usize = 256;
/// How often a quiet client is asked for a sign of life.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// How many of those may stay without an answer.
const MOST_MISSED_PONGS: u32 = 3;
/// How long the last messages to a client may take when its connection ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct RequestFrame<'a> {
    #[serde(default)]
    id: Value,
    #[serde(alias = "type", borrow)]
    method: std::borrow::Cow<'a, str>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
}

/// `register_tool`.
#[derive(Deserialize)]
struct Register {
    tool: ToolOffer,
}

/// `unregister_tool`.
#[derive(Deserialize)]
struct Unregister {
    name: String,
}

/// `tool_call_progress`.
#[derive(Deserialize)]
struct Progress {
    id: String,
    #[serde(default)]
    message: String,
}

/// `cancel`.
#[derive(Deserialize)]
struct Cancel {
    target: Value,
}

/// `hello`.
#[derive(Deserialize)]
struct Hello {
    name: String,
}

pub(crate) async fn connect(
    State(api): State<Arc<Api>>,
    Extension(sender): Extension<Sender>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let holder = match sender.anyone() {
        Ok(holder) => Arc::clone(holder),
        Err(refusal) => return refusal.into_response(),
    };
    match upgrade {
        Ok(upgrade) => {
            let counted = api.sockets.enter();
            upgrade.max_message_size(LONGEST).max_frame_size(LONGEST).on_upgrade(move |socket| async move {
                let _counted = counted;
                Connection::new(api, holder).serve(socket).await;
            })
        }
        Err(_) => {
            let error = "this route takes WebSocket connections only";
            ApiError::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", error).into_response()
        }
    }
}

struct Connection {
    api: Arc<Api>,
    holder: Arc<Holder>,
    out: mpsc::Sender<Message>,
    queue: Option<mpsc::Receiver<Message>>,
    client: Option<Client>,
    name: String,
    calls: JoinSet<()>,
    under_way: Arc<Mutex<HashMap<String, AbortHandle>>>,
}

impl Connection {
    fn new(api: Arc<Api>, holder: Arc<Holder>) -> Self {
        let (out, queue) = mpsc::channel(QUEUE_MESSAGES);
        let name = format!("session-{}", holder.session);
        let (calls, under_way) = (JoinSet::new(), Arc::default());
        Self { api, holder, out, queue: Some(queue), client: None, name, calls, under_way }
    }

    async fn serve(mut self, socket: WebSocket) {
        let (mut sink, mut messages) = socket.split();
        let Some(mut queue) = self.queue.take() else { return };
        let writer = tokio::spawn(async move {
            while let Some(message) = queue.recv().await {
                if sink.send(message).await.is_err() {
                    return;
                }
            }
            sink.close().await.ok();
        });
        let mut revisions = self.api.revisions.clone();
        revisions.mark_unchanged();
        let (mut unanswered, mut ticks) = (0, tokio::time::interval(PING_INTERVAL));
        ticks.reset();
        let reason = loop {
            tokio::select! {
                message = messages.next() => match message {
                    Some(Ok(Message::Text(text))) => {
                        unanswered = 0;
                        self.take(text.as_str()).await;
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => unanswered = 0,
                    Some(Ok(Message::Binary(_))) => break (close_code::UNSUPPORTED, "messages are text"),
                    Some(Ok(Message::Close(_)) | Err(_)) | None => break (close_code::NORMAL, ""),
                },
                changed = revisions.changed() => {
                    if changed.is_err() {
                        break (close_code::AWAY, "the host has gone");
                    }
                    let revision = *revisions.borrow_and_update();
                    // One that reads too slowly asks when it wants to know.
                    self.out.try_send(text_of(&json!({ "type": "tools_changed", "revision": revision }))).ok();
                }
                _ = ticks.tick() => {
                    unanswered += 1;
                    if unanswered > MOST_MISSED_PONGS || writer.is_finished() {
                        break (close_code::AWAY, "no sign of life");
                    }
                    self.out.try_send(Message::Ping(Default::default())).ok();
                }
                Some(_) = self.calls.join_next() => {}
                () = self.holder.revoked.cancelled() => break (close_code::POLICY, "the token was revoked"),
                () = self.api.ended.cancelled() => break (close_code::AWAY, "the gateway is shutting down"),
            }
        };
        self.client = None;
        self.calls.shutdown().await;
        let (code, reason) = reason;
        let farewell = Message::Close(Some(CloseFrame { code, reason: Utf8Bytes::from_static(reason) }));
        self.out.try_send(farewell).ok();
        drop(self);
        let mut writer = writer;
        if tokio::time::timeout(CLOSE_TIMEOUT, &mut writer).await.is_err() {
            writer.abort();
        }
    }

    async fn take(&mut self, text: &str) {
        let asked: RequestFrame<'_> = match serde_json::from_str(text) {
            Ok(asked) => asked,
            Err(_) => {
                let refusal = ApiError::bad_request("a message must be a JSON object with `method` or `type`");
                return self.answer(&Value::Null, "", Err(refusal)).await;
            }
        };
        let (id, method) = (asked.id.clone(), asked.method.to_string());
        let params = asked.params.map_or(text.trim_ascii(), RawValue::get);
        if let Err(refusal) = self.api.admit(&self.holder) {
            return self.answer(&id, &method, Err(refusal)).await;
        }
        let done = match method.as_str() {
            "hello" => read::<Hello>(params).and_then(|hello| {
                if self.client.is_some() {
                    return Err(ApiError::bad_request("`hello` comes before the first `register_tool`"));
                }
                self.name = hello.name;
                Ok(json!({}))
            }),
            "tools.list" | "tools" => {
                self.api.met.cancelled().await;
                let revision = *self.api.revisions.borrow();
                Ok(json!(ToolList { revision, tools: catalog::groups(&self.api.host) }))
            }
            "tools.call" | "call_tool" => return self.call(id, method, params).await,
            "cancel" => read::<Cancel>(params).map(|cancel| json!({ "cancelled": self.cancel(&cancel.target) })),
            "register_tool" => self.register(params),
            "unregister_tool" => read::<Unregister>(params).and_then(|given| {
                let name = given.name;
                let none = || ApiError::not_found(format!("you have not registered a tool {name:?}"));
                let client = self.client.as_ref().ok_or_else(none)?;
                client.unregister(&name).map(|()| json!({})).map_err(refused)
            }),
            "tool_call_response" => {
                // Only what is wrong with one is answered.
                let none = || ApiError::not_found("you have not registered a tool");
                let responded = read::<ToolResponse>(params).and_then(|response| {
                    let client = self.client.as_ref().ok_or_else(none)?;
                    client.respond(response).map_err(refused)
                });
                match responded {
                    Ok(()) => return,
                    Err(refusal) => Err(refusal),
                }
            }
            "tool_call_progress" => match read::<Progress>(params) {
                Ok(progress) => {
                    if let Some(client) = &self.client {
                        client.progress(&progress.id, &progress.message);
                    }
                    return;
                }
                Err(refusal) => Err(refusal),
            },
            _ => Err(ApiError::not_found(
                "no such method; there are tools.list, tools.call, cancel, hello, register_tool, unregister_tool, \
                 tool_call_response and tool_call_progress",
            )),
        };
        self.answer(&id, &method, done).await;
    }

    fn register(&mut self, params: &str) -> Result<Value, ApiError> {
        if !self.holder.may_register {
            return Err(ApiError::forbidden("this token may not register tools; ask for one with `registerTools`"));
        }
        let Register { tool } = read(params)?;
        let client = self.client.get_or_insert_with(|| {
            let out = self.out.clone();
            let send = Box::new(move |message: Value| out.try_send(text_of(&message)).is_ok());
            Client::new(self.api.host.clone(), &self.name, send)
        });
        client.register(tool).map(|name| json!({ "name": name })).map_err(refused)
    }

    async fn call(&mut self, id: Value, method: String, params: &str) {
        if self.calls.len() >= MOST_CALLS {
            let refusal = ApiError::too_many("256 calls are under way on this connection", 1);
            return self.answer(&id, &method, Err(refusal)).await;
        }
        let wanted =
            CallBody::read(params.as_bytes()).and_then(|body| body.check(&self.api, Some(Arc::clone(&self.holder))));
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(refusal) => return self.answer(&id, &method, Err(refusal)).await,
        };
        let (api, out, under_way) = (Arc::clone(&self.api), self.out.clone(), Arc::clone(&self.under_way));
        let key = id.to_string();
        let own = key.clone();
        let task = self.calls.spawn(async move {
            let (peer, mut notices) = Listening::new();
            let calling = api.call(wanted, Some(peer));
            tokio::pin!(calling);
            let outcome = loop {
                tokio::select! {
                    biased;
                    Some(mut notice) = notices.recv() => {
                        if let Some(notice) = notice.as_object_mut() {
                            notice.insert("id".to_owned(), id.clone());
                        }
                        out.try_send(text_of(&notice)).ok();
                    }
                    outcome = &mut calling => break outcome,
                }
            };
            under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&own);
            out.send(response(&id, &method, outcome)).await.ok();
        });
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).insert(key, task);
    }

    /// Gives up a call; it is recorded as such.
    fn cancel(&self, target: &Value) -> bool {
        let task = self.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&target.to_string());
        task.map(|task| task.abort()).is_some()
    }

    async fn answer(&self, id: &Value, method: &str, outcome: Result<Value, ApiError>) {
        // Waits for a client that reads slowly, but not for one that does not read at all.
        self.out.send_timeout(response(id, method, outcome), CLOSE_TIMEOUT).await.ok();
    }
}

fn response<T: serde::Serialize>(id: &Value, method: &str, outcome: Result<T, ApiError>) -> Message {
    #[derive(serde::Serialize)]
    struct Response<'a, T> {
        r#type: &'a str,
        id: &'a Value,
        method: &'a str,
        ok: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<T>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Value>,
    }
    let (result, error) = match outcome {
        Ok(result) => (Some(result), None),
        Err(refusal) => {
            let mut error = json!(*refusal.refusal);
            if let Some(error) = error.as_object_mut() {
                error.insert("status".to_owned(), json!(refusal.status.as_u16()));
            }
            (None, Some(error))
        }
    };
    let response = Response { r#type: "response", id, method, ok: error.is_none(), result, error };
    Message::text(serde_json::to_string(&response).unwrap_or_default())
}

fn text_of(value: &Value) -> Message {
    Message::text(value.to_string())
}

fn read<T: DeserializeOwned>(params: &str) -> Result<T, ApiError> {
    // A list would be taken for the fields in their order.
    if !params.starts_with('{') {
        return Err(ApiError::bad_request("the parameters must be a JSON object"));
    }
    serde_json::from_str(params).map_err(|error| ApiError::bad_request(format!("the parameters do not fit: {error}")))
}

fn refused(error: CallError) -> ApiError {
    ApiError::of_call(error, None)
}
