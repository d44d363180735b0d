//! What comes back for a POST.

use std::sync::Arc;

use jackfield_protocol::{CallError, ErrorCode};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::errors::{brief, described};
use super::events::Events;
use super::{IDLE_TIMEOUT, Inner, LONGEST, lock};
use crate::envelope::{self, Envelope, Kind, RpcError};
use crate::transport::{IncomingMessage, Outgoing};

/// What became of a message.
pub(super) enum Posted {
    /// There was nothing to send.
    Nothing,
    /// The server took it.
    Response {
        /// Its answer, of which only the headers have been read.
        response: Response,
        /// Whether the message was one of the modern era.
        modern: bool,
    },
    /// The server answered with a JSON-RPC error and a status that says the same.
    Error(String),
}

/// The longest complaint that is read.
const LONGEST_COMPLAINT: usize = 256 * 1024;

#[derive(Deserialize)]
struct Agreed {
    #[serde(rename = "protocolVersion")]
    version: String,
}

pub(super) fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

impl Inner {
    /// Reads what the server has to say to a message that it took.
    pub(super) async fn answered(self: &Arc<Self>, message: &Outgoing, posted: Posted) -> Result<(), CallError> {
        let (response, modern) = match posted {
            Posted::Nothing => return Ok(()),
            Posted::Error(text) => {
                self.pass_on(Some(message), text).await;
                return Ok(());
            }
            Posted::Response { response, modern } => (response, modern),
        };
        let status = response.status();
        match content_type(response.headers()).as_str() {
            "text/event-stream" => {
                let mut events = Events::new(LONGEST);
                if self.read_events(response, &mut events, Some(message)).await? || message.request.is_none() {
                    return Ok(());
                }
                if modern || events.last_id().is_none() {
                    return Err(self.broken("its stream ended before the answer came"));
                }
                self.resume(message, events).await
            }
            "application/json" => {
                let body = self.body(response, LONGEST).await?;
                let mut answered = false;
                for text in messages(body) {
                    answered |= self.pass_on(Some(message), text).await;
                }
                if answered || message.request.is_none() {
                    Ok(())
                } else {
                    Err(self.broken("its answer holds no answer"))
                }
            }
            _ if message.request.is_none() => Ok(()),
            kind => {
                let what = if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
                    format!("it took the request and gave no answer ({status})")
                } else {
                    format!("it answered with {kind:?}, not with JSON or a stream of events; is the url right?")
                };
                Err(self.broken(&what))
            }
        }
    }

    /// Hands a message on. Whether it answers the request that it came for.
    pub(super) async fn pass_on(&self, request: Option<&Outgoing>, text: String) -> bool {
        let mut answers = false;
        if let Some(request) = request
            && let Ok(Kind::Answer { id: Some(id), result }) = Envelope::read(&text)
            && request.request.as_ref() == Some(&id)
        {
            answers = true;
            match (request.method.as_deref(), result) {
                (Some("initialize"), Ok(result)) => {
                    let agreed = serde_json::from_str::<Agreed>(result.get()).ok();
                    let version = agreed.and_then(|agreed| HeaderValue::try_from(agreed.version).ok());
                    lock(&self.session).version = version;
                }
                (Some("tools/list"), Ok(result)) => lock(&self.annotations).learn(result.get()),
                _ => {}
            }
        }
        // Nobody listens any more: the session is gone.
        self.incoming.send(IncomingMessage::Message(text)).await.ok();
        answers
    }

    /// Says that a request will not be answered.
    pub(super) async fn fail(&self, message: &Outgoing, error: CallError) {
        if let Some(request) = message.request.clone() {
            // Nobody listens any more: the session is gone.
            self.incoming.send(IncomingMessage::Failed { request, error }).await.ok();
        }
    }

    /// Reads a whole body within a limit.
    pub(super) async fn body(&self, mut response: Response, limit: usize) -> Result<String, CallError> {
        let mut body = Vec::new();
        loop {
            match tokio::time::timeout(IDLE_TIMEOUT, response.chunk()).await {
                Err(_) => return Err(self.silent()),
                Ok(Err(error)) => {
                    let text = format!("MCP server {}: {}", self.name, described(&error));
                    return Err(CallError::new(ErrorCode::Unavailable, text));
                }
                Ok(Ok(None)) => break,
                Ok(Ok(Some(chunk))) if body.len() + chunk.len() > limit => {
                    return Err(self.too_long((body.len() + chunk.len()) as u64));
                }
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            }
        }
        String::from_utf8(body).map_err(|_| self.broken("its answer is not UTF-8"))
    }

    /// A status that says no: a JSON-RPC error in it is the answer, anything else is told.
    pub(super) async fn complaint(&self, message: &Outgoing, response: Response) -> Result<Posted, CallError> {
        let status = response.status();
        let json = content_type(response.headers()) == "application/json";
        let body = self.body(response, LONGEST_COMPLAINT).await.unwrap_or_default();
        if json
            && let Some(request) = &message.request
            && let Ok(Kind::Answer { id, result: Err(error) }) = Envelope::read(&body)
            && id.as_ref().is_none_or(|id| id == request)
        {
            // One that could not tell what it answers means this request.
            return Ok(Posted::Error(envelope::failure(Some(request), &error)));
        }
        if let (Some(request), Some("server/discover")) = (&message.request, message.method.as_deref()) {
            // Servers of the legacy era say no to it in many ways; what else is wrong shows when they are greeted.
            let no = RpcError::new(envelope::METHOD_NOT_FOUND, format!("the server answered {status}"));
            return Ok(Posted::Error(envelope::failure(Some(request), &no)));
        }
        let said = brief(&body);
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        let (code, next) = match status {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
                (ErrorCode::Unavailable, "; is the url right, and does the server speak streamable HTTP?")
            }
            StatusCode::TOO_MANY_REQUESTS => (ErrorCode::Unavailable, "; try again later"),
            _ if status.is_server_error() => (ErrorCode::Unavailable, ""),
            _ => (ErrorCode::Protocol, ""),
        };
        Err(CallError::new(code, format!("MCP server {} refused a message ({status}){said}{next}", self.name)))
    }
}

/// The messages of a body: one, or a list of them.
fn messages(body: String) -> Vec<String> {
    if body.trim_start().starts_with('[')
        && let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(&body)
    {
        return list.into_iter().map(|one| one.get().to_owned()).collect();
    }
    vec![body]
}
