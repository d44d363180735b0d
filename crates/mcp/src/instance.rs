//! A server that runs, as the host's supervisor sees it.

use std::sync::Arc;
use std::time::Duration;

use jackfield_protocol::{CallError, CallId, ErrorCode, Event, Wire};
use jackfield_runtime::{BoxFuture, CallCx, Exit, ExtensionCall, Instance, Reply};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::params::{Era, Members, take_token};
use crate::session::{Ask, Session, lock};
use crate::table::Call;
use crate::{envelope, lower};

/// How often a server may ask for more before it answers.
const MOST_ROUNDS: usize = 10;
/// The most questions in one answer.
const MOST_QUESTIONS: usize = 32;

/// A running server. Dropping it ends it.
pub(crate) struct McpInstance {
    session: Arc<Session>,
}

impl McpInstance {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self { session }
    }

    async fn tool(
        &self,
        call_id: CallId,
        name: &str,
        arguments: &str,
        mut meta: Arc<Map<String, Value>>,
        cx: &CallCx,
    ) -> Result<Wire, CallError> {
        let call = Call { id: call_id, token: take_token(&mut meta) };
        let session = &self.session;
        let room = name.len() + arguments.len() + 128;
        self.rounds("tools/call", Some(name), call, cx, room, |id, more, params| {
            params.push_str("{\"name\":");
            envelope::push_text(params, name);
            params.push_str(",\"arguments\":");
            params.push_str(arguments);
            if let Some(meta) = session.meta(&meta, Some(id)) {
                params.push_str(",\"_meta\":");
                params.push_str(&meta);
            }
            if let Some(Input { responses, state }) = more {
                params.push_str(",\"inputResponses\":");
                params.push_str(responses);
                if let Some(state) = state {
                    params.push_str(",\"requestState\":");
                    params.push_str(state);
                }
            }
            params.push('}');
        })
        .await
    }

    /// A request in MCP's own words.
    async fn relay(&self, call_id: CallId, method: &str, params: &Wire, cx: &CallCx) -> Result<Wire, CallError> {
        let session = &self.session;
        let members = Members::read(params.as_str()).map_err(|error| {
            session.error(ErrorCode::InvalidRequest, format_args!("is asked {method} with bad parameters: {error}"))
        })?;
        if let Some(answer) = self.answer_here(method, &members)? {
            return Ok(answer);
        }
        let mut meta = Arc::new(members.meta());
        let token = take_token(&mut meta);
        let wants_progress = token.is_some();
        let call = Call { id: call_id, token };
        let word = |key: &str| members.get(key).and_then(|value| serde_json::from_str::<String>(value.get()).ok());
        let subject = word("name").or_else(|| word("uri"));
        self.rounds(method, subject.as_deref(), call, cx, params.as_str().len(), |id, more, params| {
            let meta = session.meta(&meta, wants_progress.then_some(id));
            let mut added: Vec<(&str, &str)> = meta.iter().map(|meta| ("_meta", meta.as_str())).collect();
            if let Some(Input { responses, state }) = more {
                added.push(("inputResponses", responses));
                added.extend(state.as_ref().map(|state| ("requestState", state.as_str())));
            }
            params.push_str(&members.write(&["_meta", "inputResponses", "requestState"], &added));
        })
        .await
    }

    /// What the newer era has no request for is done here.
    fn answer_here(&self, method: &str, members: &Members<'_>) -> Result<Option<Wire>, CallError> {
        let word = |key: &str| members.get(key).and_then(|value| serde_json::from_str::<String>(value.get()).ok());
        let done = || Ok(Some(Wire::new("{}")));
        if method == "ping" {
            return done();
        }
        if self.session.era() == Era::Legacy {
            return Ok(None);
        }
        match method {
            "logging/setLevel" => {
                *lock(&self.session.level) = word("level");
                done()
            }
            "resources/subscribe" | "resources/unsubscribe" => {
                let uri = word("uri").unwrap_or_default();
                if !self.session.changes.subscribe(&uri, method == "resources/subscribe") {
                    let text = "has too many subscriptions to resources; end one first";
                    return Err(self.session.error(ErrorCode::InvalidRequest, text));
                }
                done()
            }
            _ => Ok(None),
        }
    }

    /// Asks, and as long as the server wants to know more, has its caller answer and asks again.
    async fn rounds(
        &self,
        method: &str,
        subject: Option<&str>,
        call: Call,
        cx: &CallCx,
        room: usize,
        params: impl Fn(u64, Option<&Input>, &mut String),
    ) -> Result<Wire, CallError> {
        let session = &self.session;
        let mut input: Option<Input> = None;
        for _ in 0..=MOST_ROUNDS {
            let ask = Ask { method, subject, call: Some(call.clone()) };
            let wire = match session.request_written(ask, room, |id, line| params(id, input.as_ref(), line), cx).await?
            {
                Ok(wire) => wire,
                Err(error) => {
                    let what = subject.map_or_else(|| method.to_owned(), |subject| format!("{method} {subject:?}"));
                    let mut refusal = session.refusal(&what, &error);
                    refusal.message = session.server.clean(&refusal.message);
                    return Err(refusal);
                }
            };
            if session.era() == Era::Legacy || !wants_input(&wire) {
                return Ok(wire);
            }
            input = Some(self.gather(method, &wire, &call, cx).await?);
        }
        let text = format!("asked for more input {MOST_ROUNDS} times and did not answer {method}");
        Err(session.error(ErrorCode::Protocol, text))
    }

    /// Has the caller answer what the server wants to know.
    async fn gather(&self, method: &str, wire: &Wire, call: &Call, cx: &CallCx) -> Result<Input, CallError> {
        let odd = |text: &str| {
            let text = format!("wants more input for {method}, and {text}");
            self.session.error(ErrorCode::Protocol, text)
        };
        let members = Members::read(wire.as_str()).map_err(|error| odd(&error))?;
        let state = members.get("requestState").map(|state| state.get().to_owned());
        let questions: Map<String, Value> = match members.get("inputRequests") {
            Some(questions) => serde_json::from_str(questions.get()).map_err(|error| odd(&error.to_string()))?,
            None => Map::new(),
        };
        if questions.is_empty() && state.is_none() {
            return Err(odd("does not say which"));
        }
        if questions.len() > MOST_QUESTIONS {
            return Err(odd(&format!("has more than {MOST_QUESTIONS} questions")));
        }
        // All at once: a face of the newer era puts them to its client together, under the names that the server gave.
        let of = questions.len();
        let mut asking = JoinSet::new();
        for (key, question) in questions {
            let asked = question.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut params = question.get("params").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
            if let Some(params) = params.as_object_mut()
                && let Some(meta) = params.entry("_meta").or_insert_with(|| json!({})).as_object_mut()
            {
                meta.insert("jackfield/input".to_owned(), json!({ "key": key, "of": of }));
            }
            let (session, within, cancel) = (Arc::clone(&self.session), call.id.clone(), cx.cancel.child_token());
            asking.spawn(async move { (key, session.ask_host(asked, params, Some(within), cancel).await) });
        }
        let mut responses = Map::new();
        loop {
            let answer = tokio::select! {
                answer = asking.join_next() => answer,
                () = tokio::time::sleep_until(cx.deadline.into()) => {
                    let text = "waited too long for the caller's answers";
                    return Err(self.session.error(ErrorCode::Cancelled, text));
                }
            };
            match answer {
                Some(Ok((key, answer))) => drop(responses.insert(key, answer?)),
                Some(Err(_)) => return Err(self.session.error(ErrorCode::Internal, "lost a question inside the host")),
                None => break,
            }
        }
        Ok(Input { responses: Value::Object(responses).to_string(), state })
    }
}

/// What a server wanted to know, for the next round.
struct Input {
    responses: String,
    state: Option<String>,
}

fn wants_input(wire: &Wire) -> bool {
    // Cheap first: hardly any answer says so.
    wire.as_str().contains("input_required")
        && Members::read(wire.as_str())
            .is_ok_and(|members| members.get("resultType").is_some_and(|kind| kind.get() == "\"input_required\""))
}

impl Instance for McpInstance {
    fn call(&self, call: ExtensionCall, cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        Box::pin(async move {
            match call {
                ExtensionCall::Tool { call_id, name, args, wire, meta } => {
                    let written;
                    let arguments = match &wire {
                        Some(wire) => wire.as_str(),
                        None => {
                            written = if args.is_null() { "{}".to_owned() } else { args.to_string() };
                            &written
                        }
                    };
                    let wire = self.tool(call_id, &name, arguments, meta, &cx).await?;
                    Ok(Reply::Tool(lower::tool_result(wire)))
                }
                ExtensionCall::Mcp { call_id, method, params } => {
                    self.relay(call_id, &method, &params, &cx).await.map(Reply::Mcp)
                }
                _ => Err(self
                    .session
                    .error(ErrorCode::Unsupported, "cannot do this: MCP servers have tools, prompts and resources")),
            }
        })
    }

    fn notify(&self, _event: &Event) {}

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Exit> {
        self.session.server.stop(grace)
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        self.session.server.exited()
    }

    fn is_gone(&self) -> bool {
        self.session.server.is_gone()
    }

    fn pid(&self) -> Option<u32> {
        self.session.server.pid()
    }
}

impl Drop for McpInstance {
    fn drop(&mut self) {
        self.session.server.abandon();
    }
}
