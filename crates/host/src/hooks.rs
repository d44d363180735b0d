//! Hooks: extensions are asked one after another, in a fixed order; the first block wins; replacements chain.

use std::time::{Duration, Instant};

use jackfield_ledger::{Begin, Kind};
use jackfield_policy::{Delivery, Mode};
use jackfield_protocol::{CallError, ErrorCode, HookCall, HookPoint, HookVerdict, OnFailure, ToolResult};
use jackfield_runtime::{CallCx, ExtensionCall, Reply};
use serde_json::Value;

use crate::host::{HostEvent, Inner};
use crate::registry::{HookEntry, Snapshot};

/// How long a hook may think when its manifest does not say.
const HOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// What came of asking everybody.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "made once a question, and taken apart at once")]
#[non_exhaustive]
pub enum HookOutcome {
    /// Go on with this: the call as the last one left it.
    Continue(HookCall),
    /// A guard stopped the call.
    Block {
        /// The id of the guard.
        extension: String,
        /// The reason that the guard gave.
        reason: String,
    },
}

impl Inner {
    /// Asks every extension that hooks this moment.
    pub(crate) async fn ask_hooks(&self, snapshot: &Snapshot, mut call: HookCall) -> Result<HookOutcome, CallError> {
        let point = call.point();
        for hook in snapshot.hooks(point) {
            match self.ask_one(hook, &call).await? {
                HookVerdict::Continue => {}
                HookVerdict::Replace { value } => {
                    if let Err(problem) = apply(&mut call, value) {
                        let error = CallError::new(ErrorCode::Protocol, problem);
                        if let HookVerdict::Block { reason } = self.after_failure(hook, point, &error) {
                            return Ok(HookOutcome::Block { extension: hook.owner.id.to_string(), reason });
                        }
                    }
                }
                HookVerdict::Block { .. } if !may_block(point) => {
                    self.hook_failed(hook, point, "it asked to block what has already happened");
                }
                HookVerdict::Block { reason } => {
                    return Ok(HookOutcome::Block { extension: hook.owner.id.to_string(), reason });
                }
            }
        }
        Ok(HookOutcome::Continue(call))
    }

    /// Asks one extension. Its silence, death or nonsense is decided by its `on_failure`, never by chance.
    async fn ask_one(&self, hook: &HookEntry, call: &HookCall) -> Result<HookVerdict, CallError> {
        let timeout = hook.timeout_ms.map_or(HOOK_TIMEOUT, Duration::from_millis);
        let call_id = self.next_call_id();
        let params = serde_json::to_value(call).unwrap_or(Value::Null);
        let parent = match call {
            HookCall::BeforeToolCall { call_id, .. } | HookCall::AfterToolCall { call_id, .. } => {
                Some(call_id.as_str())
            }
            _ => None,
        };
        let mut recording = self.begin_recording(Begin {
            parent,
            timeout_ms: Some(timeout.as_millis() as u64),
            ..Begin::new(Kind::EventHook, call_id.as_str(), hook.owner.id.as_str(), call.point().as_str(), &params)
        })?;
        let deadline = Instant::now() + timeout;
        let cx = CallCx { deadline, cancel: self.cancel.child_token() };
        let permit = self.permit_delivery(&hook.owner.id, Delivery::Hook(call.point().as_str()))?;
        let question = ExtensionCall::Hook { call_id: call_id.clone(), hook: call.clone() };
        let asked = match hook.owner.deliver(&permit, question, cx).await {
            Ok(Reply::Hook(verdict)) => Ok(verdict),
            Ok(other) => Err(CallError::new(ErrorCode::Protocol, format!("answered a hook with {other:?}"))),
            Err(error) => Err(error),
        };
        let verdict = match &asked {
            Ok(verdict) => verdict.clone(),
            Err(error) => self.after_failure(hook, call.point(), error),
        };
        recording.evidence.verdict = Some(verdict_name(&verdict));
        recording.end_with(asked.as_ref().err(), asked.is_err())?;
        Ok(verdict)
    }

    fn after_failure(&self, hook: &HookEntry, point: HookPoint, error: &CallError) -> HookVerdict {
        self.hook_failed(hook, point, &error.message);
        // Unmodified guards of every format fail open, as their contracts say; strict mode turns that round.
        let rule = match hook.on_failure {
            _ if self.authority.policy.mode == Mode::Strict => OnFailure::Deny,
            Some(rule) => rule,
            None => OnFailure::Allow,
        };
        match rule {
            OnFailure::Allow => HookVerdict::Continue,
            OnFailure::Deny if !may_block(point) => HookVerdict::Continue,
            OnFailure::Deny => HookVerdict::Block {
                reason: format!("guard {} failed and is set to deny on failure: {}", hook.owner.id, error.message),
            },
        }
    }

    fn hook_failed(&self, hook: &HookEntry, point: HookPoint, problem: &str) {
        self.publish(HostEvent::HookFailed {
            extension: hook.owner.id.clone(),
            hook: point,
            reason: self.clean(problem),
        });
    }
}

fn verdict_name(verdict: &HookVerdict) -> &'static str {
    match verdict {
        HookVerdict::Continue => "continue",
        HookVerdict::Replace { .. } => "replace",
        HookVerdict::Block { .. } => "block",
    }
}

fn may_block(point: HookPoint) -> bool {
    match point {
        HookPoint::BeforeToolCall | HookPoint::TurnStart | HookPoint::AssistantMessage | HookPoint::BeforeMessage => {
            true
        }
        HookPoint::AfterToolCall | HookPoint::AfterMessage | HookPoint::BeforeAgentStart => false,
    }
}

/// Puts a replacement into the call; what does not fit is refused with the reason.
fn apply(call: &mut HookCall, value: Value) -> Result<(), String> {
    let text = |value: Value| match value {
        Value::String(text) => Ok(text),
        other => Err(format!("its replacement is not a text but {other}")),
    };
    match call {
        HookCall::BeforeToolCall { arguments, .. } => match value {
            Value::Object(_) => *arguments = value,
            other => return Err(format!("its replacement for the arguments is not an object but {other}")),
        },
        HookCall::AfterToolCall { result, .. } => {
            *result = serde_json::from_value::<ToolResult>(value)
                .map_err(|error| format!("its replacement is not a tool result: {error}"))?;
        }
        HookCall::AssistantMessage { text: old } | HookCall::BeforeMessage { text: old, .. } => *old = text(value)?,
        HookCall::BeforeAgentStart { system_prompt, .. } => *system_prompt = text(value)?,
        HookCall::TurnStart { .. } | HookCall::AfterMessage { .. } => {
            return Err("there is nothing to replace at this moment".to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replacements_must_fit() {
        let mut call = HookCall::BeforeToolCall { call_id: "1".into(), tool: "t".into(), arguments: json!({"a": 1}) };
        for nonsense in [json!(null), json!([]), json!("text"), json!(7)] {
            assert!(apply(&mut call, nonsense).is_err());
        }
        assert_eq!(apply(&mut call, json!({"a": 2})), Ok(()));
        assert!(matches!(call, HookCall::BeforeToolCall { arguments, .. } if arguments == json!({"a": 2})));
        let mut message = HookCall::AssistantMessage { text: "x".into() };
        assert!(apply(&mut message, json!({})).is_err());
        assert_eq!(apply(&mut message, json!("y")), Ok(()));
    }
}
