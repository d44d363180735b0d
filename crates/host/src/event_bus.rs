//! Events that extensions emit to one another: bounded in size and rate, and never in the host's own name.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackfield_protocol::{CallError, ErrorCode, ExtensionId};
use serde_json::{Value, json};

use crate::host::Inner;

/// Events per extension and window; what is more is refused.
const EVENTS_PER_WINDOW: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);
/// The most that the data of an event may take as JSON, in bytes.
const LARGEST_DATA: usize = 64 * 1024;
/// The longest name of an event, in bytes.
const LONGEST_NAME: usize = 256;
/// Events that only the host emits, so that an extension that hears one can believe it.
const HOST_EVENTS: [&str; 9] = [
    "session_start",
    "session_end",
    "turn_start",
    "turn_end",
    "tool_call",
    "tool_result",
    "assistant_message",
    "user_prompt_submit",
    "shutdown",
];

/// Counts the events of each extension.
#[derive(Debug, Default)]
pub(crate) struct Emits {
    counts: Mutex<HashMap<ExtensionId, (Instant, u32)>>,
}

impl Emits {
    /// Whether one more is within the rate.
    fn admit(&self, extension: &ExtensionId, now: Instant) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, said) = counts.entry(extension.clone()).or_insert((now, 0));
        if now.duration_since(*since) >= WINDOW {
            (*since, *said) = (now, 0);
        }
        *said = said.saturating_add(1);
        *said <= EVENTS_PER_WINDOW
    }
}

impl Inner {
    /// Tells the extensions that want to know what one of them has to say.
    pub(crate) fn emit_for(&self, extension: &ExtensionId, event: &str, data: &Value) -> Result<(), CallError> {
        check(event, data).map_err(|problem| CallError::new(ErrorCode::InvalidRequest, problem))?;
        if !self.faces.flood.emits.admit(extension, Instant::now()) {
            let message = format!("too many events: an extension may emit {EVENTS_PER_WINDOW} per second; emit fewer");
            return Err(CallError::new(ErrorCode::Denied, message));
        }
        let snapshot = self.snapshot();
        let told = || json!({ "data": data, "origin_extension": extension });
        self.emit(&snapshot, event, told);
        // Its own listeners have heard it where it was said.
        self.emit_where(&snapshot, &format!("bus:{event}"), |other| other.id != *extension, told);
        Ok(())
    }
}

fn check(event: &str, data: &Value) -> Result<(), String> {
    if event.len() > LONGEST_NAME {
        return Err(format!("the name of an event may have {LONGEST_NAME} bytes, not {}", event.len()));
    }
    if event.starts_with("bus:") || event.is_empty() {
        return Err(format!("{event:?} is no name of an event: it is empty, or begins with \"bus:\""));
    }
    if HOST_EVENTS.contains(&event) {
        return Err(format!("event {event:?} is the host's own; emit it under another name"));
    }
    let size = data.to_string().len();
    if size > LARGEST_DATA {
        return Err(format!("the data of event {event:?} takes {size} bytes; the most is {LARGEST_DATA}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_data_and_the_hosts_own_names_are_refused() {
        assert_eq!(check("deployed", &json!({ "to": "staging" })), Ok(()));
        assert!(check("deployed", &json!("x".repeat(LARGEST_DATA))).is_err());
        assert!(check("tool_result", &Value::Null).is_err());
        assert!(check(&"x".repeat(LONGEST_NAME + 1), &Value::Null).is_err());
    }

    #[test]
    fn the_rate_is_per_extension_and_window() {
        let (emits, now) = (Emits::default(), Instant::now());
        let loud = ExtensionId::from("loud");
        let admitted = (0..1_000).filter(|_| emits.admit(&loud, now)).count();
        assert_eq!(admitted, 100);
        assert!(emits.admit(&ExtensionId::from("quiet"), now), "others are not held back");
        assert!(emits.admit(&loud, now + WINDOW));
    }
}
