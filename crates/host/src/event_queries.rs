//! Questions to all subscribers of an event, one after another, and keyboard shortcuts. The extension's own format knows
//! how the answers of its handlers are merged; the host carries the question from one extension to the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_ledger::{Begin, Kind};
use jackfield_policy::Delivery;
use jackfield_protocol::{Asked, CallError, ErrorCode};
use jackfield_runtime::{CallCx, ExtensionCall, Reply};
use serde_json::{Map, Value, json};

use crate::host::{HostEvent, Inner};
use crate::registry::{HookEntry, Snapshot};
use crate::supervisor::Supervised;

/// How long an extension may think; it may be asking a person meanwhile.
const ASK_TIMEOUT: Duration = Duration::from_secs(600);
/// How long what a shortcut starts may take.
const SHORTCUT_TIMEOUT: Duration = Duration::from_secs(600);
/// Where a handler that fails must not be taken for one that agrees.
const FAIL_CLOSED: [&str; 2] = ["tool_call", "user_bash"];

impl Inner {
    /// Asks every subscriber of `event` in the order of hooks; each sees what those before it made of the question.
    pub(crate) async fn ask(
        &self,
        snapshot: &Snapshot,
        event: &str,
        data: Map<String, Value>,
    ) -> Result<Asked, CallError> {
        // Children are told as of any event: their dialects have no word for the question.
        self.emit_where(snapshot, event, |owner| !is_asked(owner), || Value::Object(data.clone()));
        let mut asked = Asked { data, result: Value::Null, stop: false };
        for entry in snapshot.askers().iter().filter(|entry| is_asked(&entry.owner) && wants(&entry.owner, event)) {
            asked = self.ask_subscriber(entry, event, asked).await?;
            if asked.stop {
                break;
            }
        }
        Ok(asked)
    }

    async fn ask_subscriber(&self, entry: &HookEntry, event: &str, asked: Asked) -> Result<Asked, CallError> {
        let extension = &entry.owner.id;
        let timeout = entry.timeout_ms.map_or(ASK_TIMEOUT, Duration::from_millis);
        let call_id = self.next_call_id();
        let params = serde_json::to_value(&asked).unwrap_or(Value::Null);
        let mut recording = self.begin_recording(Begin {
            timeout_ms: Some(timeout.as_millis() as u64),
            ..Begin::new(Kind::EventHook, call_id.as_str(), extension.as_str(), event, &params)
        })?;
        let permit = self.permit_delivery(extension, Delivery::Event(event))?;
        let question = ExtensionCall::Ask { call_id, event: event.to_owned(), asked: asked.clone() };
        let cx = CallCx { deadline: Instant::now() + timeout, cancel: self.cancel.child_token() };
        let answer = match entry.owner.deliver(&permit, question, cx).await {
            Ok(Reply::Asked(answer)) => Ok(answer),
            Ok(other) => Err(CallError::new(ErrorCode::Protocol, format!("answered a question with {other:?}"))),
            Err(error) => Err(error),
        };
        let failure = answer.as_ref().err().cloned();
        let next = match answer {
            Ok(answer) => answer,
            Err(error) => self.after_silence(entry, event, asked.clone(), &error),
        };
        let verdict = match &next {
            next if next.stop => "stop",
            next if *next == asked => "continue",
            _ => "replace",
        };
        recording.evidence.verdict = Some(verdict);
        recording.end_with(failure.as_ref(), failure.is_some())?;
        Ok(next)
    }

    /// What becomes of a question that an extension did not answer: the next one gets it as it was, except where silence
    /// would be consent.
    fn after_silence(&self, entry: &HookEntry, event: &str, mut asked: Asked, error: &CallError) -> Asked {
        let extension = &entry.owner.id;
        let reason = self.clean(&error.message);
        self.publish(HostEvent::AskFailed {
            extension: extension.clone(),
            event: event.to_owned(),
            reason: reason.clone(),
        });
        if FAIL_CLOSED.contains(&event) {
            let reason = format!("extension {extension} failed at {event}, so it does not happen: {reason}");
            asked.result = json!({ "block": true, "reason": reason });
            asked.stop = true;
        }
        asked
    }

    /// Does what the extension that registered a shortcut does when it is pressed.
    pub(crate) async fn press(&self, key: &str) -> Result<(), CallError> {
        let snapshot = Arc::clone(&self.snapshot());
        let found = snapshot.shortcut(key);
        let Some((owner, registered)) = found else {
            let message = format!("no extension has a shortcut {key:?} (see `jackfield inspect`)");
            return Err(CallError::new(ErrorCode::NotFound, message));
        };
        let call_id = self.next_call_id();
        let params = json!({ "key": registered });
        let recording = self.begin_recording(Begin {
            timeout_ms: Some(SHORTCUT_TIMEOUT.as_millis() as u64),
            ..Begin::new(Kind::SlashCommand, call_id.as_str(), owner.id.as_str(), &format!("shortcut {key}"), &params)
        })?;
        let permit = self.permit_delivery(&owner.id, Delivery::Shortcut(key))?;
        let call = ExtensionCall::Shortcut { call_id, key: registered };
        let cx = CallCx { deadline: Instant::now() + SHORTCUT_TIMEOUT, cancel: self.cancel.child_token() };
        let outcome = match owner.deliver(&permit, call, cx).await {
            Ok(Reply::Done) => Ok(()),
            Ok(other) => Err(CallError::new(ErrorCode::Protocol, format!("answered a shortcut with {other:?}"))),
            Err(error) => Err(error),
        };
        recording.end(outcome).map_err(|error| self.clean_error(error.of(&owner.id)))
    }
}

/// Whether questions can be put to it.
fn is_asked(owner: &Supervised) -> bool {
    owner.traits().takes_questions
}

fn wants(owner: &Arc<Supervised>, event: &str) -> bool {
    owner.known_or_previous().is_some_and(|known| known.contributions.wants_event(event))
}

#[cfg(test)]
mod tests;
