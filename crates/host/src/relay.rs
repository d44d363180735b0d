//! What faces and extensions say to each other in MCP's words, beyond tools: prompts, resources and completion one way,
//! questions to the caller the other way. Recorded and judged like any other call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_ledger::{Begin, Kind};
use jackfield_policy::{Caller, Subject};
use jackfield_protocol::{CallError, CallId, ErrorCode, ExtensionId, McpParams, Need, Notice, Power, Resource, Wire};
use jackfield_runtime::{CallCx, ExtensionCall, HostCallCx, Reply};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::face::{AgentCall, Dialog, DialogAnswer, DialogAsk, Peer};
use crate::gate::CallContext;
use crate::host::{ActiveCall, Host, Inner};

/// How long a request may take when its caller does not say.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A request in MCP's words to one extension.
#[derive(Clone)]
pub struct Relay {
    /// The extension that gets the request.
    pub extension: ExtensionId,
    /// The method of MCP, for instance `prompts/get`.
    pub method: String,
    /// Its parameters, passed on as they are.
    pub params: Wire,
    /// The caller that policy judges.
    pub caller: Caller,
    /// How long the request may take.
    pub timeout: Option<Duration>,
    /// Resolves when the caller gives up.
    pub cancel: CancellationToken,
    /// The connection of the caller, where a face can ask and tell it something meanwhile.
    pub peer: Option<Arc<dyn Peer>>,
}

impl Host {
    /// Puts a request in MCP's words to an extension that speaks it, and gives its result as it was written.
    ///
    /// # Errors
    /// What policy, the extension or the way to it says; what a server answered as an error is in the details.
    pub async fn relay(&self, relay: Relay) -> Result<Wire, CallError> {
        self.inner.begin_session();
        self.inner.relay(relay).await
    }
}

impl Inner {
    async fn relay(self: &Arc<Self>, relay: Relay) -> Result<Wire, CallError> {
        let owner = self.extension(&relay.extension).ok_or_else(|| {
            let message = format!("no extension named {} (see `jackfield list`)", relay.extension);
            CallError::new(ErrorCode::NotFound, message)
        })?;
        let call_id = self.next_call_id();
        let timeout = relay.timeout.unwrap_or(TIMEOUT);
        let params = json!({ "params": relay.params.as_str() });
        let mut recording = self.begin_recording(Begin {
            caller: Some(relay.caller.as_str()),
            timeout_ms: Some(timeout.as_millis() as u64),
            ..Begin::new(Kind::Relay, call_id.as_str(), relay.extension.as_str(), &relay.method, &params)
        })?;
        let result = async {
            let name = format!("{}:{}", relay.extension, relay.method);
            let need = Need { power: Power::Tool, method: "tool", resource: Resource::Tool(name.clone()) };
            let context = CallContext { call_id: &call_id, within: None, tool: Some(&name), act: None };
            let subject = Subject::Caller(relay.caller);
            let extension = relay.extension.clone();
            let call = ActiveCall { extension, tool: name.clone(), parent: None, peer: relay.peer };
            let _active = self.note_active(&call_id, call);
            let permit = self.authorize(&relay.extension, subject, need, context, &mut recording.evidence).await?;
            let call = ExtensionCall::Mcp { call_id: call_id.clone(), method: relay.method, params: relay.params };
            match owner
                .deliver(&permit, call, CallCx { deadline: Instant::now() + timeout, cancel: relay.cancel })
                .await?
            {
                Reply::Mcp(result) => Ok(result),
                other => Err(CallError::new(ErrorCode::Protocol, format!("answered {name} with {other:?}"))),
            }
        }
        .await;
        recording.end(result).map_err(|error| self.clean_error(error.of(&relay.extension)))
    }

    /// The peer that waits for the call that a notice is about, if that is a call of this extension.
    pub(crate) fn peer_of(&self, extension: &ExtensionId, notice: &Notice) -> Option<Arc<dyn Peer>> {
        let call_id = match notice {
            Notice::Progress { call_id, .. } => call_id,
            Notice::Mcp { call_id, .. } => call_id.as_ref()?,
            _ => return None,
        };
        let active = self.active();
        let call = active.get(&CallId::new(call_id.as_str())).filter(|call| call.extension == *extension)?;
        call.peer.clone()
    }

    /// The peer that waits for a call, or for the call around it.
    pub(crate) fn peer_above(&self, call_id: &CallId) -> Option<Arc<dyn Peer>> {
        let active = self.active();
        let mut call = active.get(call_id)?;
        loop {
            if let Some(peer) = &call.peer {
                return Some(Arc::clone(peer));
            }
            call = active.get(call.parent.as_ref()?)?;
        }
    }

    /// Serves `mcp`: the caller's peer answers. Without a peer, the person or the agent of this host does.
    pub(crate) async fn ask_caller(
        &self,
        extension: &ExtensionId,
        within: Option<CallId>,
        asked: McpParams,
        cx: &HostCallCx,
    ) -> Result<Value, CallError> {
        let peer = within.and_then(|call_id| self.peer_above(&call_id));
        let answering = async {
            match peer {
                Some(peer) => peer.ask(&asked.method, asked.params).await,
                None => self.answer_for_caller(extension, asked, cx).await,
            }
        };
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                Err(CallError::new(ErrorCode::Cancelled, "the question was taken back by its extension"))
            }
            answer = answering => answer,
        }
    }

    async fn answer_for_caller(
        &self,
        extension: &ExtensionId,
        asked: McpParams,
        cx: &HostCallCx,
    ) -> Result<Value, CallError> {
        match asked.method.as_str() {
            "roots/list" => {
                let name = self.project.file_name().map(|name| name.to_string_lossy().into_owned());
                Ok(json!({ "roots": [{ "uri": format!("file://{}", self.project.display()), "name": name }] }))
            }
            "elicitation/create" => self.elicit(extension, &asked.params).await,
            "sampling/createMessage" => {
                let params = match asked.params {
                    Value::Object(params) => params,
                    _ => Map::new(),
                };
                let call = AgentCall {
                    extension: extension.clone(),
                    op: "sample".to_owned(),
                    params,
                    chunks: None,
                    input: None,
                    cancel: (*cx.cancel).clone(),
                };
                self.faces.agent.serve(call).await
            }
            method => {
                let message = format!("extension {extension} asks {method}, which nobody here can answer");
                Err(CallError::new(ErrorCode::Unsupported, message))
            }
        }
    }

    /// Puts a form to the person, one question per property.
    async fn elicit(&self, extension: &ExtensionId, params: &Value) -> Result<Value, CallError> {
        if !self.faces.face.is_there() {
            let message = format!("extension {extension} asks the person, and nobody is there to answer");
            return Err(CallError::new(ErrorCode::Unsupported, message));
        }
        let about = self.clean(params.get("message").and_then(Value::as_str).unwrap_or_default());
        let properties = params.pointer("/requestedSchema/properties").and_then(Value::as_object);
        let ask = |ask| self.faces.face.dialog(Dialog { extension: extension.clone(), ask, timeout_ms: None });
        let mut content = Map::new();
        for (name, schema) in properties.into_iter().flatten() {
            let title = schema.get("title").and_then(Value::as_str).unwrap_or(name);
            let title = self.clean(&format!("{about}\n{title}"));
            let kind = schema.get("type").and_then(Value::as_str).unwrap_or("string");
            let options: Vec<String> = schema
                .get("enum")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(|option| option.as_str().map(|text| self.clean(text)))
                .collect();
            let question = match kind {
                "boolean" => DialogAsk::Confirm { title: self.clean(name), message: title },
                _ if !options.is_empty() => DialogAsk::Select { title, options },
                _ => {
                    let placeholder = schema.get("default").map(|value| self.clean(&value.to_string()));
                    DialogAsk::Input { title, placeholder, secret: false }
                }
            };
            let value = match ask(question).await {
                DialogAnswer::Confirmed(yes) => json!(yes),
                DialogAnswer::Value(text) => match kind {
                    "number" | "integer" => {
                        let number: serde_json::Number = text.trim().parse().map_err(|_| {
                            CallError::new(ErrorCode::InvalidRequest, format!("{name}: {text:?} is not a number"))
                        })?;
                        Value::Number(number)
                    }
                    _ => json!(text),
                },
                DialogAnswer::Cancelled | DialogAnswer::Unanswered => return Ok(json!({ "action": "cancel" })),
            };
            content.insert(name.clone(), value);
        }
        if content.is_empty() {
            let question = DialogAsk::Confirm { title: extension.to_string(), message: about };
            if ask(question).await != DialogAnswer::Confirmed(true) {
                return Ok(json!({ "action": "decline" }));
            }
        }
        Ok(json!({ "action": "accept", "content": content }))
    }
}

#[cfg(test)]
mod tests;
