//! `POST /api/tools/call` and its like: from a body to a call of the host and back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jackfield_host::{Peer, ToolCall, ToolOutcome};
use jackfield_protocol::{CallError, Content, ErrorCode, Notice, ToolResult, Wire};
use jackfield_runtime::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Api;
use super::error::ApiError;
use super::tokens::{Holder, whole};

/// The longest name of a tool that is looked up.
const LONGEST_NAME: usize = 1024;
/// The most that a caller may ask for.
const LONGEST_CALL: Duration = Duration::from_secs(24 * 3600);
/// How many notices of one call may wait for a caller that reads slowly.
const WAITING_NOTICES: usize = 256;

/// A call. The tool is named by `toolName` or `tool`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("oneOf" = [
    { "required": ["toolName"], "properties": { "toolName": { "type": "string", "minLength": 1 } } },
    { "required": ["tool"], "properties": { "tool": { "type": "string", "minLength": 1 } } },
]))]
pub(crate) struct CallBody {
    /// The public or qualified name of the tool.
    #[schemars(with = "Option<String>", length(max = 1024))]
    tool_name: Option<Value>,
    /// The same.
    #[schemars(with = "Option<String>", length(max = 1024))]
    tool: Option<Value>,
    /// Its arguments, an object.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    params: Option<Box<RawValue>>,
    /// Must be the session of the token, if it is given and not empty.
    #[schemars(with = "Option<String>")]
    session_key: Option<Value>,
    /// The token, where it is not in the `Authorization` header.
    #[schemars(with = "Option<String>")]
    token: Option<Value>,
    /// The process that calls; a token belongs to the first one that names itself.
    #[schemars(with = "Option<u32>", range(min = 0, max = 4_294_967_295_u64))]
    pid: Option<Value>,
    /// Give up after this many milliseconds; the extension's own limit otherwise.
    #[schemars(with = "Option<u64>", range(min = 1, max = 86_400_000))]
    timeout_ms: Option<Value>,
}

/// A tool's answer. What an MCP server answered is passed on as it was written and may hold more.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "ToolResult")]
#[expect(dead_code, reason = "describes what `result_json` makes")]
pub(crate) struct ResultShape {
    /// The blocks in order, for instance `{"type":"text","text":…}` or `{"type":"image","mimeType":…,"data":…}`.
    content: Vec<serde_json::Map<String, Value>>,
    /// Whether the tool says that it failed, or threw.
    #[serde(rename = "isError")]
    is_error: Option<bool>,
    /// Structured data beside the text.
    details: Option<Value>,
}

/// What came of a call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallAnswer {
    /// Always true: the tool answered, also if it says that it failed.
    ok: bool,
    /// As it was asked for.
    tool_name: String,
    /// The session of the token.
    session_key: String,
    /// The ledger's name for the call.
    call_id: String,
    /// Who answered.
    extension: Option<String>,
    /// From the ask to the answer.
    duration_ms: u64,
    /// The answer.
    #[schemars(with = "ResultShape")]
    result: Box<RawValue>,
}

/// A call that may be made.
pub(crate) struct Wanted {
    pub(crate) tool: String,
    args: Value,
    wire: Option<Wire>,
    timeout: Option<Duration>,
    pub(crate) holder: Arc<Holder>,
}

impl CallBody {
    /// Reads a body.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ApiError> {
        let value: &RawValue = serde_json::from_slice(bytes).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            ApiError::bad_request(format!("the body is not JSON ({place})"))
        })?;
        if !value.get().starts_with('{') {
            return Err(ApiError::bad_request("the body must be a JSON object with `toolName` and `params`"));
        }
        serde_json::from_str(value.get()).map_err(|_| ApiError::bad_request("a key of the body stands there twice"))
    }

    /// Finds out who calls, where the header did not say, and whether this is theirs to call.
    pub(crate) fn check(self, api: &Api, header: Option<Arc<Holder>>) -> Result<Wanted, ApiError> {
        let named = match text("token", self.token)? {
            None => None,
            // Whose it is must not be found out by trying.
            Some(token) => Some(api.tokens.holder(&token).ok_or_else(|| {
                ApiError::forbidden(
                    "the `token` in the body is not valid; it may have been revoked, or the gateway restarted",
                )
            })?),
        };
        let holder = match (header, named) {
            (Some(header), Some(named)) if header.id != named.id => {
                return Err(ApiError::forbidden("the `token` in the body is not the one in the header"));
            }
            (Some(holder), _) => holder,
            (None, Some(holder)) => {
                api.admit(&holder)?;
                holder
            }
            (None, None) => return Err(ApiError::unauthorized()),
        };
        let pid = match self.pid {
            None | Some(Value::Null) => None,
            Some(pid) => {
                let number = whole(&pid).and_then(|pid| u32::try_from(pid).ok());
                Some(number.ok_or_else(|| ApiError::bad_request("`pid` must be the number of a process"))?)
            }
        };
        if pid.is_some_and(|pid| !holder.is_of(pid)) {
            return Err(ApiError::forbidden("the token belongs to another process than `pid`"));
        }
        if text("sessionKey", self.session_key)?.is_some_and(|key| !key.is_empty() && key != holder.session) {
            return Err(ApiError::forbidden("`sessionKey` is not the session of this token"));
        }
        let name = |key, value| text(key, value).map(|text| text.filter(|text| !text.is_empty()));
        let tool = match (name("toolName", self.tool_name)?, name("tool", self.tool)?) {
            (Some(one), Some(other)) if one != other => {
                return Err(ApiError::bad_request("`toolName` and `tool` name different tools"));
            }
            (Some(tool), _) | (None, Some(tool)) => tool,
            (None, None) => return Err(ApiError::bad_request("toolName is required")),
        };
        if tool.chars().count() > LONGEST_NAME {
            return Err(ApiError::bad_request("toolName is longer than 1024 characters"));
        }
        let timeout = match self.timeout_ms {
            None | Some(Value::Null) => None,
            Some(value) => {
                let most = LONGEST_CALL.as_millis() as u64;
                let ms = whole(&value).filter(|ms| (1..=most).contains(ms));
                let ms = ms.ok_or_else(|| ApiError::bad_request("`timeoutMs` must be between 1 and 86400000"))?;
                Some(Duration::from_millis(ms))
            }
        };
        let wire = self.params.map(|params| Wire::new(params.get()));
        let args = match &wire {
            // Read before, as a part of the body.
            Some(wire) => serde_json::from_str(wire.as_str())
                .map_err(|_| ApiError::bad_request("`params` cannot be read: numbers or nesting beyond bounds"))?,
            None => json!({}),
        };
        let wire = wire.filter(|_| args.is_object());
        Ok(Wanted { tool, args, wire, timeout, holder })
    }
}

/// A text, or nothing.
fn text(key: &str, value: Option<Value>) -> Result<Option<String>, ApiError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ApiError::bad_request(format!("`{key}` must be a string"))),
    }
}

impl Api {
    /// Makes the call and waits for it. It is given up when the future is dropped, and still recorded to its end.
    pub(crate) async fn call(
        self: &Arc<Self>,
        wanted: Wanted,
        peer: Option<Arc<dyn Peer>>,
    ) -> Result<CallAnswer, ApiError> {
        if self.closing.is_cancelled() {
            return Err(ApiError::closing());
        }
        let cancel = self.hurry.child_token();
        let _given_up = cancel.clone().drop_guard();
        let (tool, session) = (wanted.tool.clone(), wanted.holder.session.clone());
        let api = Arc::clone(self);
        let calling = self.calls.spawn(Box::pin(async move { api.run(wanted, peer, cancel).await }));
        let outcome = calling.await.map_err(|_| {
            ApiError::of_call(CallError::new(ErrorCode::Internal, "the call ended before it was answered"), None)
        })?;
        let call_id = outcome.call_id.to_string();
        match outcome.result {
            Ok(result) => Ok(CallAnswer {
                ok: true,
                tool_name: tool,
                session_key: session,
                call_id,
                extension: outcome.extension.map(|id| id.to_string()),
                duration_ms: outcome.duration.as_millis() as u64,
                result: result_json(&result),
            }),
            Err(error) => Err(ApiError::of_call(error, Some(call_id))),
        }
    }

    async fn run(
        self: Arc<Self>,
        wanted: Wanted,
        peer: Option<Arc<dyn Peer>>,
        cancel: CancellationToken,
    ) -> ToolOutcome {
        let began = Instant::now();
        self.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        let Wanted { tool, args, wire, timeout, .. } = wanted;
        let mut call = ToolCall::by_agent(tool.clone(), args);
        (call.wire, call.timeout, call.peer, call.cancel) = (wire, timeout, peer, cancel);
        let outcome = self.host.call_tool(call).await;
        self.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        let said = match &outcome.result {
            Ok(result) if result.is_error => "tool_error",
            Ok(_) => "ok",
            Err(error) => error.code.as_str(),
        };
        let known = self.host.snapshot().tool(&tool).map(|entry| entry.name.clone());
        self.metrics.called(known.as_deref(), said, began.elapsed());
        outcome
    }
}

/// A tool's answer in the words of this API.
pub(crate) fn result_json(result: &ToolResult) -> Box<RawValue> {
    if let Some(wire) = &result.wire
        && let Ok(raw) = serde_json::from_str::<Box<RawValue>>(wire.as_str())
    {
        return raw;
    }
    let blocks: Vec<Value> = result
        .content
        .iter()
        .map(|block| match block {
            Content::Text { text, format: None } => json!({ "type": "text", "text": text }),
            Content::Text { text, format } => json!({ "type": "text", "text": text, "format": format }),
            Content::Image { mime_type, data } => json!({ "type": "image", "mimeType": mime_type, "data": data }),
        })
        .collect();
    let mut answer = json!({ "content": blocks, "isError": result.is_error });
    if let (Some(answer), Some(details)) = (answer.as_object_mut(), &result.details) {
        answer.insert("details".to_owned(), details.clone());
    }
    // What was made of values can be written.
    serde_json::value::to_raw_value(&answer).unwrap_or_default()
}

/// Hands on what happens to a call while it is waited for.
pub(crate) struct Listening(mpsc::Sender<Value>);

impl Listening {
    pub(crate) fn new() -> (Arc<Self>, mpsc::Receiver<Value>) {
        let (sender, receiver) = mpsc::channel(WAITING_NOTICES);
        (Arc::new(Self(sender)), receiver)
    }
}

impl Peer for Listening {
    fn tell(&self, notice: &Notice) {
        let value = match notice {
            Notice::Progress { message, .. } => json!({ "type": "progress", "message": message }),
            Notice::Mcp { method, params, .. } => json!({ "type": "notification", "method": method, "params": params }),
            other => json!(other),
        };
        // Whoever reads too slowly misses progress, and nothing else.
        self.0.try_send(value).ok();
    }

    fn ask(&self, method: &str, _params: Value) -> BoxFuture<'_, Result<Value, CallError>> {
        let message = format!("the caller came over HTTP and cannot be asked {method}; call the tool over MCP instead");
        Box::pin(std::future::ready(Err(CallError::new(ErrorCode::Unsupported, message))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_keep_what_servers_wrote() {
        let wire = r#"{"content":[{"type":"new","n":12345678901234567890123}],"z":1,"a":2}"#;
        let result = ToolResult { wire: Some(Wire::new(wire)), ..ToolResult::text("x") };
        assert_eq!(result_json(&result).get(), wire);
        let image = Content::Image { mime_type: "image/png".into(), data: "AA==".into() };
        let result = ToolResult { content: vec![image], details: Some(json!({ "n": 1 })), ..ToolResult::error("") };
        let expected =
            r#"{"content":[{"type":"image","mimeType":"image/png","data":"AA=="}],"isError":true,"details":{"n":1}}"#;
        assert_eq!(result_json(&result).get(), expected);
    }

    #[test]
    fn bodies_that_are_none() {
        let status = |body: &str| CallBody::read(body.as_bytes()).err().map(|error| error.status.as_u16());
        assert_eq!(status("{"), Some(400));
        assert_eq!(status("[1]"), Some(400));
        assert_eq!(status("\"x\""), Some(400));
        assert_eq!(status(r#"{"tool":"a","tool":"b"}"#), Some(400));
        assert_eq!(status(r#"{"tool":"a","else":1}"#), None);
        assert_eq!(status(r#" {"tool":7} "#), None, "its kind is looked at when it is known who calls");
    }
}
