//! Programs that register tools while they are connected, over a WebSocket or the RPC. Each is an extension like any other:
//! calls of its tools are judged, recorded and hooked, and reach it as `tool_call_request`.
//!
//! How messages get to and fro is the face's matter: it gives a way out, and hands in what comes back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jackfield_host::{Attached, Host};
use jackfield_protocol::{
    CallError, Content, Contributions, ErrorCode, Event, Format, Launch, Manifest, Notice, RuntimeKind, ToolResult,
    ToolSpec,
};
use jackfield_runtime::{BoxFuture, CallCx, Exit, ExtensionCall, Instance, Registrations, Reply};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};

/// The longest name of a tool.
const LONGEST_NAME: usize = 256;

/// A tool that a client registers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ToolOffer {
    /// The client's own name for it.
    pub name: String,
    /// A title for people.
    #[serde(default)]
    pub label: Option<String>,
    /// For the model.
    #[serde(default)]
    pub description: String,
    /// A JSON Schema of the arguments; any object without it.
    #[serde(default)]
    pub parameters: Option<Value>,
}

/// What a client answers to a `tool_call_request`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ToolResponse {
    /// The id of the request.
    pub id: String,
    /// A text, or an object with `content`, `isError` and `details`.
    #[serde(default)]
    pub result: Option<Value>,
    /// Why there is no result.
    #[serde(default)]
    pub error: Option<Value>,
}

/// Takes a message for the client; false when it cannot be sent. Must not block.
pub type Send = Box<dyn Fn(Value) -> bool + std::marker::Send + Sync>;

/// A program that may register tools. Its tools go when it is dropped, and what waits for it fails at once.
pub struct Client {
    host: Host,
    name: String,
    line: Arc<ClientConnection>,
    registered: Mutex<Registered>,
}

#[derive(Default)]
struct Registered {
    tools: Vec<ToolSpec>,
    attached: Option<Attached>,
}

impl Client {
    /// One that is called `name` and that `send` reaches.
    pub fn new(host: Host, name: &str, send: Send) -> Self {
        let line = ClientConnection { send, pending: Mutex::default(), gone: watch::Sender::new(None) };
        Self { host, name: name.to_owned(), line: Arc::new(line), registered: Mutex::default() }
    }

    /// Registers a tool, in place of an earlier one of that name, and gives the name under which it is offered.
    ///
    /// # Errors
    /// `invalid_request` for one that cannot be offered.
    pub fn register(&self, offer: ToolOffer) -> Result<String, CallError> {
        let bad = |message: String| Err(CallError::new(ErrorCode::InvalidRequest, message));
        let name = offer.name.clone();
        if name.trim().is_empty() || name.len() > LONGEST_NAME {
            return bad("the name of a tool must have between 1 and 256 bytes".to_owned());
        }
        let parameters = match offer.parameters {
            None | Some(Value::Null) => json!({ "type": "object" }),
            Some(schema) if schema.is_object() => schema,
            Some(_) => return bad(format!("`parameters` of tool {name:?} must be a JSON Schema, an object")),
        };
        let spec = ToolSpec { label: offer.label, description: offer.description, parameters, ..ToolSpec::open(&name) };
        let mut registered = lock(&self.registered);
        let mut tools = registered.tools.clone();
        match tools.iter_mut().find(|known| known.name == name) {
            Some(known) => *known = spec,
            None => tools.push(spec),
        }
        let contributions = within_bounds(&tools)?;
        let id = match &registered.attached {
            Some(attached) => {
                attached.contribute(contributions);
                attached.id().clone()
            }
            None => {
                let attached = self.host.attach(self.manifest(), Arc::clone(&self.line) as _, contributions)?;
                let id = attached.id().clone();
                registered.attached = Some(attached);
                id
            }
        };
        registered.tools = tools;
        let snapshot = self.host.snapshot();
        let entry = snapshot.tools().find(|tool| tool.extension == id && tool.spec.name == name);
        match entry.map(|entry| (entry.name.clone(), entry.quarantine().map(str::to_owned))) {
            Some((public, None)) => Ok(public),
            Some((_, Some(problem))) => {
                self.remove(&mut registered, &name);
                bad(format!("`parameters` of tool {name:?} cannot be used: {problem}"))
            }
            None => {
                self.remove(&mut registered, &name);
                bad(format!("tool {name:?} cannot be offered: its name is too much like that of another of yours"))
            }
        }
    }

    /// Takes a tool back. Calls of it that are under way go on.
    ///
    /// # Errors
    /// `not_found` when it is not registered.
    pub fn unregister(&self, name: &str) -> Result<(), CallError> {
        let mut registered = lock(&self.registered);
        match self.remove(&mut registered, name) {
            true => Ok(()),
            false => Err(CallError::new(ErrorCode::NotFound, format!("you have not registered a tool {name:?}"))),
        }
    }

    fn remove(&self, registered: &mut Registered, name: &str) -> bool {
        let before = registered.tools.len();
        registered.tools.retain(|tool| tool.name != name);
        if let Some(attached) = &registered.attached {
            attached.contribute(within_bounds(&registered.tools).unwrap_or_default());
        }
        registered.tools.len() < before
    }

    /// Takes the answer to a request.
    ///
    /// # Errors
    /// `not_found` when nobody waits for it: it was given up, took too long, or was answered before.
    pub fn respond(&self, response: ToolResponse) -> Result<(), CallError> {
        let waiting = lock(&self.line.pending).remove(&response.id);
        let answer = answer_of(response.result, response.error);
        let taken = waiting.is_some_and(|waiting| waiting.send(answer).is_ok());
        match taken {
            true => Ok(()),
            false => {
                let message = format!("nobody waits for an answer to {:?}: it was given up or answered", response.id);
                Err(CallError::new(ErrorCode::NotFound, message))
            }
        }
    }

    /// Passes on how far a call is.
    pub fn progress(&self, call_id: &str, message: &str) {
        if let Some(attached) = &lock(&self.registered).attached {
            attached.tell(Notice::Progress { call_id: call_id.to_owned(), message: message.to_owned() });
        }
    }

    fn manifest(&self) -> Manifest {
        let reason = "a client's tools are there while it is connected".to_owned();
        let name = if self.name.trim().is_empty() { "unnamed" } else { &self.name };
        let launch = Launch::Unsupported { reason };
        let description = Some("A program that is connected and registered its tools.".to_owned());
        Manifest { description, ..Manifest::plain(name, Format::Native, RuntimeKind::Client, launch) }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.line.end("the client that offers it has gone");
        // First nobody is there, then nothing is offered: a call in between fails at once.
        lock(&self.registered).attached = None;
    }
}

/// What these tools are together, unless they are beyond bounds.
fn within_bounds(tools: &[ToolSpec]) -> Result<Contributions, CallError> {
    let mut registrations = Registrations::default();
    for tool in tools {
        registrations.tool(tool.clone());
    }
    let contributions = registrations.finish();
    match contributions.warnings.last() {
        Some(warning) => Err(CallError::new(ErrorCode::InvalidRequest, warning.clone())),
        None => Ok(contributions),
    }
}

/// The way to a client.
struct ClientConnection {
    send: Send,
    pending: Mutex<HashMap<String, oneshot::Sender<Result<ToolResult, CallError>>>>,
    /// Why it has gone, once it has.
    gone: watch::Sender<Option<Exit>>,
}

impl ClientConnection {
    fn end(&self, reason: &str) {
        let exit = Exit { reason: reason.to_owned(), stderr: String::new(), wanted: true };
        self.gone.send_if_modified(|gone| {
            let first = gone.is_none();
            gone.get_or_insert(exit);
            first
        });
        // Whoever waits for an answer sees that it cannot come.
        lock(&self.pending).clear();
    }

    async fn call_tool(&self, id: String, name: &str, args: Value, cx: CallCx) -> Result<Reply, CallError> {
        let gone = |undelivered: bool| {
            let message = format!("the client that registered tool {name} has gone; it must connect again");
            let error = CallError::new(ErrorCode::Unavailable, message);
            if undelivered { error.undelivered() } else { error }
        };
        let (sender, answer) = oneshot::channel();
        lock(&self.pending).insert(id.clone(), sender);
        let _forget = Forget { line: self, id: &id };
        if self.gone.borrow().is_some() {
            return Err(gone(true));
        }
        let left = cx.deadline.saturating_duration_since(Instant::now());
        let request = json!({
            "type": "tool_call_request", "id": id, "tool": name, "params": args, "timeoutMs": left.as_millis() as u64,
        });
        if !(self.send)(request) {
            let message = format!("the client that registered tool {name} does not read what it is sent");
            return Err(CallError::new(ErrorCode::Unavailable, message));
        }
        let given_up = |why: &str| {
            // One that cannot be told finds out when it answers.
            (self.send)(json!({ "type": "tool_call_cancel", "id": id, "reason": why }));
        };
        tokio::select! {
            biased;
            answered = answer => match answered {
                Ok(result) => result.map(Reply::Tool),
                Err(_) => Err(gone(false)),
            },
            () = cx.cancel.cancelled() => {
                given_up("cancelled");
                Err(CallError::new(ErrorCode::Cancelled, format!("the call of tool {name} was given up")))
            }
            () = tokio::time::sleep(left) => {
                given_up("timeout");
                let message = format!("the client did not answer tool {name} within {} ms", left.as_millis());
                Err(CallError::new(ErrorCode::Timeout, message))
            }
        }
    }
}

/// Takes a call off the list of those that wait, however it ends.
struct Forget<'a> {
    line: &'a ClientConnection,
    id: &'a str,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(&self.line.pending).remove(self.id);
    }
}

impl Instance for ClientConnection {
    fn call(&self, call: ExtensionCall, cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        Box::pin(async move {
            match call {
                ExtensionCall::Tool { call_id, name, args, .. } => {
                    self.call_tool(call_id.to_string(), &name, Arc::unwrap_or_clone(args), cx).await
                }
                other => {
                    let message = format!("a client that registers tools takes no other calls than theirs: {other:?}");
                    Err(CallError::new(ErrorCode::Unsupported, message))
                }
            }
        })
    }

    fn notify(&self, _event: &Event) {}

    fn stop(&self, _grace: Duration) -> BoxFuture<'_, Exit> {
        self.end("the host stopped");
        self.exited()
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        let mut gone = self.gone.subscribe();
        Box::pin(async move {
            match gone.wait_for(Option::is_some).await {
                Ok(exit) => exit.clone().unwrap_or_default(),
                Err(_) => Exit::default(),
            }
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a client's answer says.
fn answer_of(result: Option<Value>, error: Option<Value>) -> Result<ToolResult, CallError> {
    if let Some(error) = error.filter(|error| !error.is_null()) {
        let text = error.as_str().or_else(|| error.get("message")?.as_str()).map(str::to_owned);
        return Ok(ToolResult::error(text.unwrap_or_else(|| error.to_string())));
    }
    let object = match result {
        Some(Value::Object(object)) => object,
        Some(Value::String(text)) => return Ok(ToolResult::text(text)),
        None | Some(Value::Null) => return Ok(ToolResult::text("")),
        Some(other) => return Ok(ToolResult { details: Some(other.clone()), ..ToolResult::text(other.to_string()) }),
    };
    let is_error = ["isError", "is_error"].iter().any(|key| object.get(*key) == Some(&Value::Bool(true)));
    let details = ["details", "structuredContent"].iter().find_map(|key| object.get(*key)).cloned();
    let content = match object.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().map(block).collect(),
        Some(Value::String(text)) => vec![Content::text(text)],
        _ => vec![Content::text(Value::Object(without_marks(&object)).to_string())],
    };
    Ok(ToolResult { content, is_error, details, wire: None })
}

fn without_marks(object: &Map<String, Value>) -> Map<String, Value> {
    let mut rest = object.clone();
    rest.retain(|key, _| !matches!(key.as_str(), "isError" | "is_error"));
    rest
}

/// A block of an answer; one of an unknown kind is shown as it is.
fn block(value: &Value) -> Content {
    match value {
        Value::String(text) => Content::text(text),
        _ => Content::deserialize(value).unwrap_or_else(|_| Content::text(value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_in_all_forms() {
        let text = |result: Value| answer_of(Some(result), None).expect("an answer");
        assert_eq!(text(json!("hi")), ToolResult::text("hi"));
        assert_eq!(text(json!({ "content": "hi", "isError": true })), ToolResult::error("hi"));
        assert_eq!(text(json!({ "content": [{ "type": "text", "text": "hi" }] })), ToolResult::text("hi"));
        let image = text(json!({ "content": [{ "type": "image", "mimeType": "image/png", "data": "AA==" }] }));
        assert_eq!(image.content, [Content::Image { mime_type: "image/png".into(), data: "AA==".into() }]);
        assert_eq!(
            text(json!({ "content": [{ "type": "new", "x": 1 }] })),
            ToolResult::text(r#"{"type":"new","x":1}"#)
        );
        assert_eq!(text(json!({ "n": 1 })), ToolResult::text(r#"{"n":1}"#));
        assert_eq!(text(json!(7)).details, Some(json!(7)));
        assert_eq!(answer_of(None, Some(json!("no"))).expect("an answer"), ToolResult::error("no"));
        assert_eq!(answer_of(None, Some(json!({ "message": "no" }))).expect("an answer"), ToolResult::error("no"));
        assert_eq!(answer_of(None, None).expect("an answer"), ToolResult::text(""));
    }

    #[tokio::test]
    async fn a_line_answers_once_and_fails_at_once_when_it_is_gone() {
        let line =
            |send: Send| Arc::new(ClientConnection { send, pending: Mutex::default(), gone: watch::Sender::new(None) });
        let deaf = line(Box::new(|_| false));
        let cx = || CallCx::within(Duration::from_secs(30));
        let error = deaf.call_tool("1".into(), "t", json!({}), cx()).await.expect_err("not sent");
        assert_eq!(error.code, ErrorCode::Unavailable);

        let silent = line(Box::new(|_| true));
        let waiting = tokio::spawn({
            let silent = Arc::clone(&silent);
            async move { silent.call_tool("1".into(), "t", json!({}), CallCx::within(Duration::from_secs(30))).await }
        });
        while lock(&silent.pending).is_empty() {
            tokio::task::yield_now().await;
        }
        silent.end("gone");
        let error = waiting.await.expect("ran").expect_err("gone");
        assert!(error.code == ErrorCode::Unavailable && !error.is_undelivered(), "{error:?}");
        let error = silent.call_tool("2".into(), "t", json!({}), cx()).await.expect_err("gone");
        assert!(error.is_undelivered());

        let slow = line(Box::new(|_| true));
        let short = CallCx::within(Duration::from_millis(5));
        let error = slow.call_tool("1".into(), "t", json!({}), short).await.expect_err("too slow");
        assert_eq!(error.code, ErrorCode::Timeout);
        assert!(lock(&slow.pending).is_empty());
    }
}
