//! What extensions are told, and what faces are told of them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use jackfield_protocol::{Contributions, Correlation, Event, ExtensionId, LogRecord};
use serde_json::{Map, Value, json};

use super::{HostEvent, Inner, LogLine};
use crate::registry::Snapshot;
use crate::supervisor::{Running, State, Supervised};

impl Inner {
    /// The session begins with the first call or question to the host. A look at listings begins none.
    pub(crate) fn begin_session(&self) {
        if self.evidence.begun.load(Ordering::Relaxed) || self.evidence.begun.swap(true, Ordering::SeqCst) {
            return;
        }
        for extension in self.extensions.all.load().values() {
            if let Some(running) = extension.running() {
                self.greet(&running);
            }
        }
    }

    /// Tells an instance, once, that the session has begun.
    pub(crate) fn greet(&self, running: &Running) {
        if !self.evidence.begun.load(Ordering::SeqCst) || running.greeted.swap(true, Ordering::SeqCst) {
            return;
        }
        if running.contributions.load().wants_event("session_start") {
            let event = self.event("session_start", json!({ "reason": "startup" }));
            running.instance.notify(&event);
        }
    }

    /// Tells those who run and want to know. The data is made only if there is an extension to tell.
    pub(crate) fn emit(&self, snapshot: &Snapshot, name: &str, data: impl FnOnce() -> Value) {
        self.emit_where(snapshot, name, |_| true, data);
    }

    /// Tells those among them that `concerns` picks.
    pub(crate) fn emit_where(
        &self,
        snapshot: &Snapshot,
        name: &str,
        concerns: impl Fn(&Supervised) -> bool,
        data: impl FnOnce() -> Value,
    ) {
        let wants = |contributions: &Contributions| match name.strip_prefix("bus:") {
            Some(channel) => contributions.bus.iter().any(|listened| listened == channel || listened == "*"),
            None => contributions.wants_event(name),
        };
        let told: Vec<Arc<Running>> = snapshot
            .subscribers()
            .iter()
            .filter(|extension| concerns(extension))
            .filter_map(|extension| extension.running())
            .filter(|running| wants(&running.contributions.load()))
            .collect();
        if told.is_empty() {
            return;
        }
        // The lock is held while everybody is told, so that all see the same order.
        let mut sequence = self.evidence.sequence.lock().unwrap_or_else(PoisonError::into_inner);
        *sequence += 1;
        let event = self.numbered(name, data(), *sequence);
        for running in told {
            running.instance.notify(&event);
        }
    }

    fn event(&self, name: &str, data: Value) -> Event {
        let mut sequence = self.evidence.sequence.lock().unwrap_or_else(PoisonError::into_inner);
        *sequence += 1;
        self.numbered(name, data, *sequence)
    }

    fn numbered(&self, name: &str, data: Value, sequence: u64) -> Event {
        let mut fields = match data {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        fields.insert("session_id".to_owned(), json!(self.evidence.session_id));
        fields.insert("cwd".to_owned(), json!(self.project.to_string_lossy()));
        Event { event: name.to_owned(), sequence, data: fields }
    }

    /// Shows a line of an extension's log to those who look on; without any, nothing is done.
    pub(crate) fn logged(&self, extension: &ExtensionId, record: &LogRecord) {
        if self.faces.log_lines.receiver_count() > 0 {
            let message = self.clean(&record.message);
            // A reader that does not keep up misses lines; the host does not wait.
            self.faces.log_lines.send(LogLine { extension: extension.clone(), level: record.level, message }).ok();
        }
    }

    pub(crate) fn publish(&self, event: HostEvent) {
        let mut published = self.faces.published.lock().unwrap_or_else(PoisonError::into_inner);
        *published += 1;
        // It is fine if no face listens.
        self.faces.events.send(event).ok();
    }

    pub(crate) fn state_changed(&self, id: &ExtensionId, state: &State) {
        let reason = match state {
            State::Restarting { reason, .. } | State::Failed { reason } => Some(reason.as_str()),
            State::Idle | State::Spawning | State::Ready | State::Shutdown => None,
        };
        if let Some(reason) = reason {
            let event = format!("extension.{}", state.name());
            // State changes are told to faces below; a ledger that cannot be written stops the next call anyway.
            let correlation = Correlation { extension_id: id.to_string(), ..Correlation::default() };
            self.ledger_note(&event, correlation, reason, json!({})).ok();
        }
        self.publish(HostEvent::State { extension: id.clone(), state: state.clone() });
    }
}
