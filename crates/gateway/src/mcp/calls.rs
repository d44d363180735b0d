//! `tools/call`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use jackfield_host::{Host, Peer, ToolCall, ToolEntry, ToolOutcome};
use jackfield_mcp::envelope::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use jackfield_protocol::{CallError, Content, ErrorCode, ToolResult, Wire};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::catalog::has_output_schema;
use super::dispatch::met;
use super::exchange::{Era, Exchange, Params};
use super::pending_input::{self, Again};
use super::{search, wire};

/// How long a call may take whose client may be asked meanwhile: persons take their time.
const WITH_QUESTIONS: Duration = Duration::from_secs(600);

/// Calls a tool, or one of those that find others.
pub(crate) async fn call(exchange: &Exchange, params: &Params<'_>) -> Result<String, RpcError> {
    let name = params.name()?;
    let (name, text) = match search::own(&exchange.client.expose, name) {
        Some(own) => match search::answer(exchange, own, params.arguments.map(|it| it.get()))? {
            search::Answered::Here(result) => return Ok(result),
            search::Answered::Call(name, arguments) => (Cow::Owned(name), Cow::Owned(arguments)),
        },
        None => (Cow::Borrowed(name), Cow::Borrowed(params.arguments.map_or("{}", |it| it.get()))),
    };
    let face = Arc::clone(&exchange.client.face);
    if face.host.snapshot().tool(&name).is_none() {
        // It may be a tool of an extension that has not said yet what it offers.
        met(exchange).await;
    }
    let unknown = || RpcError::new(INVALID_PARAMS, format!("no tool named {name:?}; tools/list says which there are"));
    let tool = face.host.snapshot().tool(&name).cloned().filter(|tool| exchange.client.expose.offers(&tool.name));
    let tool = tool.ok_or_else(unknown)?;
    let args: Value = serde_json::from_str(&text)
        .ok()
        .filter(|args: &Value| args.is_object() || args.is_null())
        .ok_or_else(|| RpcError::new(INVALID_PARAMS, "params.arguments is no object"))?;
    // Only what the newer era asks can be carried on by another request.
    let about = match exchange.era {
        Era::Legacy => String::new(),
        Era::Modern => wire::digest(&["tools/call", &tool.name, &text]),
    };
    let again = Again { state: params.request_state.as_deref(), responses: params.input_responses.map(|it| it.get()) };
    let (meta, era) = (Arc::clone(&exchange.meta), exchange.era);
    let timeout = exchange.can_anything().then(|| patience(&face.host, &tool));
    let wire = (!args.is_null()).then(|| Wire::new(text));
    pending_input::run(exchange, &about, again, move |peer, cancel| {
        let mut call = ToolCall::by_agent(tool.name.clone(), args);
        (call.wire, call.meta, call.timeout, call.cancel) = (wire, meta, timeout, cancel);
        call.peer = Some(peer);
        run(face.host.clone(), call, tool, era)
    })
    .await
}

async fn run(host: Host, call: ToolCall, tool: Arc<ToolEntry>, era: Era) -> Result<String, RpcError> {
    let outcome = host.call_tool(call).await;
    finish(outcome, &tool, era)
}

/// A person may take longer than the extension is given, so whoever can be asked gets more time.
fn patience(host: &Host, tool: &ToolEntry) -> Duration {
    let report = host.report();
    let found = report.extensions.iter().find(|found| found.manifest.id == tool.extension);
    let own = found.and_then(|found| found.manifest.limits.call_timeout_ms).map(Duration::from_millis);
    own.unwrap_or_default().max(WITH_QUESTIONS)
}

/// The result in MCP's words.
fn finish(outcome: ToolOutcome, tool: &ToolEntry, era: Era) -> Result<String, RpcError> {
    match outcome.result {
        Ok(result) => Ok(match &result.wire {
            Some(text) => text.as_str().to_owned(),
            None => built(result, has_output_schema(tool)),
        }),
        Err(error) => match rpc_error(&error, era) {
            Some(error) => Err(error),
            // The model is told what went wrong, so that it can do something about it.
            None => Ok(built(ToolResult::error(error.message), false)),
        },
    }
}

/// The error of a server as it was, or what is an error of the protocol and not of the tool.
pub(crate) fn rpc_error(error: &CallError, era: Era) -> Option<RpcError> {
    if let Some(rpc) = error.details.as_ref().and_then(|details| details.get("rpc"))
        && let Ok(mut rpc) = serde_json::from_value::<RpcError>(rpc.clone())
    {
        // What was "resource not found" is an invalid parameter since.
        if era == Era::Modern && rpc.code == -32002 {
            rpc.code = INVALID_PARAMS;
        }
        return Some(rpc);
    }
    let code = match error.code {
        ErrorCode::NotFound => INVALID_PARAMS,
        ErrorCode::Internal => INTERNAL_ERROR,
        _ => return None,
    };
    Some(RpcError::new(code, error.message.clone()))
}

/// The same for requests that know no other errors.
pub(crate) fn any_error(error: &CallError, era: Era) -> RpcError {
    rpc_error(error, era).unwrap_or_else(|| {
        let code = if error.code == ErrorCode::InvalidRequest { INVALID_PARAMS } else { INTERNAL_ERROR };
        let mut rpc = RpcError::new(code, error.message.clone());
        rpc.data = Some(json!({ "code": error.code, "extension": error.extension }));
        rpc
    })
}

/// A result of an extension that does not speak MCP.
pub(crate) fn built(result: ToolResult, structured: bool) -> String {
    let content: Vec<Value> = result
        .content
        .iter()
        .map(|block| match block {
            Content::Text { text, .. } => json!({ "type": "text", "text": text }),
            Content::Image { mime_type, data } => json!({ "type": "image", "data": data, "mimeType": mime_type }),
        })
        .collect();
    let mut built = Map::new();
    built.insert("content".to_owned(), Value::Array(content));
    if let Some(details) = result.details.filter(|details| structured && details.is_object()) {
        built.insert("structuredContent".to_owned(), details);
    }
    if result.is_error {
        built.insert("isError".to_owned(), json!(true));
    }
    Value::Object(built).to_string()
}

/// What a relay of a request needs beside its method and parameters.
pub(crate) struct RelayContext {
    pub(crate) peer: Arc<dyn Peer>,
    pub(crate) cancel: CancellationToken,
}
