//! Hooks in nexo's words.

use jackfield_protocol::jsonrpc::HookReply;
use jackfield_protocol::{CallError, ErrorCode, HookCall, HookPoint, HookVerdict};
use serde_json::{Map, Value, json};

use crate::content;
use crate::core::Core;

/// The method and its parameters. `None` for moments that this dialect does not have.
pub(super) fn question(hook: HookCall) -> Option<(&'static str, Value)> {
    let (method, fields) = match hook {
        HookCall::BeforeMessage { text, source } => ("hooks/before_message", json!({ "text": text, "source": source })),
        HookCall::AfterMessage { text_in, text_out } => {
            ("hooks/after_message", json!({ "text_in": text_in, "text_out": text_out }))
        }
        HookCall::BeforeToolCall { call_id: _, tool, arguments } => {
            ("hooks/before_tool_call", json!({ "tool_name": tool, "arguments": arguments }))
        }
        HookCall::AfterToolCall { call_id: _, tool, arguments: _, duration_ms, result, error } => (
            "hooks/after_tool_call",
            json!({ "tool_name": tool, "duration_ms": duration_ms, "result": result, "error": error }),
        ),
        HookCall::TurnStart { .. } | HookCall::AssistantMessage { .. } | HookCall::BeforeAgentStart { .. } => {
            return None;
        }
    };
    let mut params = json!({ "agent_id": "jackfield", "session_id": null });
    if let (Value::Object(params), Value::Object(fields)) = (&mut params, fields) {
        params.extend(fields);
    }
    Some((method, params))
}

/// What a reply means at `point`.
///
/// # Errors
/// The reply cannot be read: a guard that answers nonsense must not count as one that agrees.
pub(super) fn verdict(core: &Core, point: HookPoint, reply: Value) -> Result<HookVerdict, CallError> {
    if reply.is_null() {
        return Ok(HookVerdict::Continue);
    }
    let reply: HookReply = serde_json::from_value(reply).map_err(|error| {
        core.error(ErrorCode::Protocol, format_args!("answered hook {} with nonsense: {error}", point.as_str()))
    })?;
    if reply.abort || reply.decision == "block" {
        if matches!(point, HookPoint::BeforeToolCall | HookPoint::BeforeMessage) {
            let reason = if reply.reason.is_empty() { "(no reason)".to_owned() } else { reply.reason };
            return Ok(HookVerdict::Block { reason });
        }
        core.log.note(&format!("abort was ignored: {} cannot be stopped", point.as_str()));
    }
    let overrides = reply.overrides.unwrap_or_default();
    if point == HookPoint::BeforeToolCall
        && overrides.get("arguments").is_some_and(|arguments| !arguments.is_object() && !arguments.is_null())
    {
        return Err(core.error(ErrorCode::Protocol, "answered hook before_tool_call with arguments that are no object"));
    }
    Ok(replacement(core, point, overrides, reply.transformed_body)
        .map_or(HookVerdict::Continue, |value| HookVerdict::Replace { value }))
}

fn replacement(
    core: &Core,
    point: HookPoint,
    mut overrides: Map<String, Value>,
    body: Option<String>,
) -> Option<Value> {
    let ignored = |what: &str| {
        core.log.note(&format!("override.{what} was ignored at {}: it has the wrong type", point.as_str()));
        None
    };
    match point {
        HookPoint::BeforeToolCall => match overrides.remove("arguments") {
            Some(value @ Value::Object(_)) => Some(value),
            None | Some(Value::Null) => None,
            Some(_) => ignored("arguments"),
        },
        HookPoint::BeforeMessage => match overrides.remove("text") {
            Some(value @ Value::String(_)) => Some(value),
            None | Some(Value::Null) => body.map(Value::String),
            Some(_) => ignored("text"),
        },
        HookPoint::AfterToolCall => match overrides.remove("result") {
            None | Some(Value::Null) => None,
            Some(value) => serde_json::to_value(content::free_result(core.id.as_str(), "result", value)).ok(),
        },
        HookPoint::AfterMessage | HookPoint::TurnStart | HookPoint::AssistantMessage | HookPoint::BeforeAgentStart => {
            None
        }
    }
}
