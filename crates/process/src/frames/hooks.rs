//! Hooks in zot's words.

use jackfield_protocol::frames::FromExtension;
use jackfield_protocol::{CallError, ErrorCode, HookCall, HookPoint, HookVerdict};
use serde_json::{Map, Value};

use crate::core::Core;

/// The longest system prompt that an extension may put in place.
const LONGEST_PROMPT: usize = 1024 * 1024;

/// The event's name and fields; empty fields are left out. `None` for moments that this dialect does not have.
pub(crate) fn question(hook: HookCall) -> Option<(&'static str, Map<String, Value>)> {
    let (event, fields): (_, Vec<(&str, Value)>) = match hook {
        HookCall::BeforeToolCall { call_id, tool, arguments } => (
            "tool_call",
            vec![("tool_id", call_id.as_str().into()), ("tool_name", tool.into()), ("tool_args", arguments)],
        ),
        HookCall::TurnStart { step } => ("turn_start", vec![("step", step.into())]),
        HookCall::AssistantMessage { text } => ("assistant_message", vec![("text", text.into())]),
        HookCall::BeforeAgentStart { system_prompt, context } => {
            let mut data = context;
            for own in ["type", "id", "event"] {
                data.remove(own);
            }
            if !system_prompt.is_empty() {
                data.insert("system_prompt".to_owned(), system_prompt.into());
            }
            return Some(("before_agent_start", data));
        }
        HookCall::AfterToolCall { .. } | HookCall::BeforeMessage { .. } | HookCall::AfterMessage { .. } => return None,
    };
    let filled = |value: &Value| !(value.is_null() || value == "" || *value == 0);
    Some((
        event,
        fields.into_iter().filter(|(_, value)| filled(value)).map(|(key, value)| (key.to_owned(), value)).collect(),
    ))
}

/// What an `event_intercept_response` means at `point`.
///
/// # Errors
/// The arguments that it wants are none: a guard that answers nonsense must not count as one that agrees.
pub(crate) fn verdict(core: &Core, point: HookPoint, frame: FromExtension) -> Result<HookVerdict, CallError> {
    let FromExtension::EventInterceptResponse { block, reason, modified_args, replace_text, system_prompt, .. } = frame
    else {
        return Ok(HookVerdict::Continue);
    };
    let refusal = match point {
        HookPoint::BeforeToolCall => Some("tool call refused by extension guard"),
        HookPoint::TurnStart => Some("turn blocked by extension guard"),
        HookPoint::AssistantMessage => Some("message blocked by extension guard"),
        _ => None,
    };
    match refusal {
        Some(refusal) if block => {
            return Ok(HookVerdict::Block { reason: if reason.is_empty() { refusal.to_owned() } else { reason } });
        }
        None if block => core.log.note(&format!("block was ignored: {} cannot be blocked", point.as_str())),
        _ => {}
    }
    match point {
        HookPoint::BeforeToolCall => match modified_args {
            Some(value) if value.is_object() => return Ok(HookVerdict::Replace { value }),
            Some(value) if !value.is_null() => {
                core.log.note("modified_args was ignored: it is not an object");
                return Err(
                    core.error(ErrorCode::Protocol, "answered hook tool_call with modified_args that are no object")
                );
            }
            _ => {}
        },
        HookPoint::AssistantMessage => {
            if let Some(text) = replace_text.filter(|text| !text.is_empty()) {
                return Ok(HookVerdict::Replace { value: text.into() });
            }
        }
        HookPoint::BeforeAgentStart => match system_prompt {
            Some(prompt) if prompt.len() <= LONGEST_PROMPT => return Ok(HookVerdict::Replace { value: prompt.into() }),
            Some(_) => core.log.note("system_prompt was ignored: it is longer than 1 MiB"),
            None => {}
        },
        _ => {}
    }
    Ok(HookVerdict::Continue)
}
