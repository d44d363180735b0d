//! Events of a host, as lines.

use jackfield_host::{Host, HostEvent};
use jackfield_protocol::{ExtensionId, Notice};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::outgoing::{Gone, Owed, Way};

/// Tells a listener what happens, and what it is owed at its place among that. One that does not keep up misses events
/// and is told how many once there is room. Ends when nothing more can be owed, or the listener has gone.
pub(super) async fn pass_on(host: Host, way: Way, mut owed: mpsc::Receiver<Owed>) {
    use tokio::sync::broadcast::error::RecvError;
    let (mut events, mut told) = host.events_numbered();
    let mut missed = 0_u64;
    let mut next: Option<Owed> = None;
    loop {
        if next.as_ref().is_some_and(|next| next.after <= told)
            && let Some(Owed { text, .. }) = next.take()
            && way.put(text).await.is_err()
        {
            return;
        }
        if missed > 0 {
            match way.offer(json!({ "type": "events_missed", "count": missed }).to_string()) {
                Ok(true) => missed = 0,
                Ok(false) => {}
                Err(Gone) => return,
            }
        }
        let event = tokio::select! {
            // First what is owed: an event after it must not come before it, and it knows which ones it waits for.
            biased;
            line = owed.recv(), if next.is_none() => match line {
                Some(line) => {
                    next = Some(line);
                    continue;
                }
                None => return,
            },
            event = events.recv() => event,
            () = way.room(), if missed > 0 => continue,
        };
        told += match &event {
            Err(RecvError::Lagged(count)) => *count,
            _ => 1,
        };
        match event {
            Ok(_) if missed > 0 => missed += 1,
            Ok(event) => match way.offer(event_json(&event).to_string()) {
                Ok(true) => {}
                Ok(false) => missed += 1,
                Err(Gone) => return,
            },
            Err(RecvError::Lagged(count)) => missed += count,
            Err(RecvError::Closed) => return,
        }
    }
}

/// An event of the host as a line.
pub fn event_json(event: &HostEvent) -> Value {
    match event {
        HostEvent::Notice { extension, notice } => match notice {
            Notice::Notify { level, message } => {
                json!({ "type": "ext_notify", "extension": extension, "level": level, "message": message })
            }
            Notice::Progress { call_id, message } => {
                json!({ "type": "ext_progress", "extension": extension, "call_id": call_id, "message": message })
            }
            Notice::Mcp { call_id, method, params } => {
                json!({ "type": "ext_mcp", "extension": extension, "call_id": call_id, "method": method, "params": params })
            }
            Notice::Submit { text } => json!({ "type": "ext_submit", "extension": extension, "text": text }),
            Notice::SubmitSlash { text } => json!({ "type": "ext_submit_slash", "extension": extension, "text": text }),
            Notice::ClearNotes => json!({ "type": "ext_clear_notes", "extension": extension }),
            Notice::OpenPanel { panel } => {
                json!({ "type": "ext_panel", "extension": extension, "open": true, "panel": panel })
            }
            Notice::RenderPanel { panel } => json!({ "type": "ext_panel", "extension": extension, "panel": panel }),
            Notice::ClosePanel { id } => json!({ "type": "ext_panel_close", "extension": extension, "panel_id": id }),
            Notice::SetStatus { key, text } => {
                ui(extension, "setStatus", json!({ "statusKey": key, "statusText": text }))
            }
            Notice::SetWidget { key, lines, placement } => ui(
                extension,
                "setWidget",
                json!({ "widgetKey": key, "widgetLines": lines, "widgetPlacement": placement }),
            ),
            Notice::SetTitle { title } => ui(extension, "setTitle", json!({ "title": title })),
            Notice::SetEditorText { text } => ui(extension, "set_editor_text", json!({ "text": text })),
        },
        HostEvent::State { extension, state } => {
            let mut line = json!({ "type": "ext_state", "extension": extension });
            if let (Some(line), Ok(Value::Object(state))) = (line.as_object_mut(), serde_json::to_value(state)) {
                line.extend(state);
            }
            line
        }
        HostEvent::RegistryChanged => json!({ "type": "tools_changed" }),
        HostEvent::HookFailed { extension, hook, reason } => {
            json!({ "type": "ext_hook_failed", "extension": extension, "hook": hook, "reason": reason })
        }
        HostEvent::AskFailed { extension, event, reason } => {
            json!({ "type": "ext_hook_failed", "extension": extension, "hook": event, "reason": reason })
        }
        HostEvent::SessionEntry { extension, entry } => {
            json!({ "type": "session_entry", "extension": extension, "entry": entry })
        }
        HostEvent::ActiveTools { extension, tools } => {
            json!({ "type": "active_tools", "extension": extension, "tools": tools })
        }
        HostEvent::Waiting { extensions } => json!({ "type": "waiting", "extensions": extensions }),
        HostEvent::Reloaded(reloaded) => json!({ "type": "ext_reloaded", "reload": reloaded }),
        other => json!({ "type": "host_event", "data": other }),
    }
}

/// Something for the screen that wants no answer, in pi's field names.
fn ui(extension: &ExtensionId, method: &str, fields: Value) -> Value {
    let mut line = json!({ "type": "extension_ui_request", "extension": extension, "method": method });
    if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
        line.extend(fields);
    }
    line
}
