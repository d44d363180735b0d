//! Hooks in envelopes: an `event_hook` that is answered by one of the same id.

use jackfield_protocol::{CallError, ErrorCode, HookCall, HookPoint, HookVerdict};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::content;
use crate::core::Core;

/// The moment that a name in `event_hooks` stands for; other names are events.
pub(super) fn point(name: &str) -> Option<HookPoint> {
    Some(match name {
        "tool_call" | "before_tool_call" => HookPoint::BeforeToolCall,
        "tool_result" | "after_tool_call" => HookPoint::AfterToolCall,
        "turn_start" => HookPoint::TurnStart,
        "assistant_message" => HookPoint::AssistantMessage,
        "before_agent_start" => HookPoint::BeforeAgentStart,
        "before_message" => HookPoint::BeforeMessage,
        _ => return None,
    })
}

pub(super) fn question(hook: HookCall) -> Map<String, Value> {
    let data = match hook {
        HookCall::BeforeToolCall { call_id, tool, arguments } => {
            json!({ "tool_id": call_id, "tool_name": tool, "tool_args": arguments })
        }
        HookCall::AfterToolCall { call_id, tool, arguments: _, duration_ms, result, error } => {
            json!({ "tool_id": call_id, "tool_name": tool, "duration_ms": duration_ms, "result": result, "error": error })
        }
        HookCall::TurnStart { step } => json!({ "step": step }),
        HookCall::AssistantMessage { text } => json!({ "text": text }),
        HookCall::BeforeAgentStart { system_prompt, mut context } => {
            context.insert("system_prompt".to_owned(), system_prompt.into());
            return context;
        }
        HookCall::BeforeMessage { text, source } => json!({ "text": text, "source": source }),
        HookCall::AfterMessage { text_in, text_out } => json!({ "text_in": text_in, "text_out": text_out }),
    };
    match data {
        Value::Object(data) => data,
        _ => Map::new(),
    }
}

/// The `data` of an answer.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Verdict {
    block: Option<bool>,
    reason: Option<String>,
    modified_args: Option<Value>,
    replace_text: Option<String>,
    system_prompt: Option<String>,
    result: Option<Value>,
}

/// What an answer means at `point`.
///
/// # Errors
/// The answer cannot be read: a guard that answers nonsense must not count as one that agrees.
pub(super) fn verdict(core: &Core, point: HookPoint, data: Map<String, Value>) -> Result<HookVerdict, CallError> {
    let verdict: Verdict = serde_json::from_value(Value::Object(data)).map_err(|error| {
        core.error(ErrorCode::Protocol, format_args!("answered hook {} with nonsense: {error}", point.as_str()))
    })?;
    if verdict.block == Some(true) {
        if matches!(point, HookPoint::AfterToolCall | HookPoint::BeforeAgentStart | HookPoint::AfterMessage) {
            core.log.note(&format!("block was ignored: {} cannot be blocked", point.as_str()));
        } else {
            let reason = verdict.reason.filter(|reason| !reason.is_empty());
            let reason = reason.unwrap_or_else(|| format!("{} blocked by extension {}", point.as_str(), core.id));
            return Ok(HookVerdict::Block { reason });
        }
    }
    let value = match point {
        HookPoint::BeforeToolCall => match verdict.modified_args {
            Some(value) if value.is_object() => Some(value),
            Some(value) if !value.is_null() => {
                let text = format_args!("answered hook {} with modified_args that are no object", point.as_str());
                return Err(core.error(ErrorCode::Protocol, text));
            }
            Some(_) => None,
            None => None,
        },
        HookPoint::AfterToolCall => verdict
            .result
            .and_then(|value| serde_json::to_value(content::free_result(core.id.as_str(), "result", value)).ok()),
        HookPoint::AssistantMessage | HookPoint::BeforeMessage => verdict.replace_text.map(Value::String),
        HookPoint::BeforeAgentStart => verdict.system_prompt.or(verdict.replace_text).map(Value::String),
        HookPoint::TurnStart | HookPoint::AfterMessage => None,
    };
    Ok(value.map_or(HookVerdict::Continue, |value| HookVerdict::Replace { value }))
}
