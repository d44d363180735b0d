//! `run`: a slash command.

use std::time::Duration;

use jackfield_host::{CommandOutcome, Host, HostEvent};
use jackfield_protocol::{CommandAction, Notice, plain_text};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::Receiver;

use crate::args::Global;
use crate::compose::{self, Reach};
use crate::exit;
use crate::output::{self, note};

/// How long notes that follow on the heels of an answer are waited for.
const AFTERMATH: Duration = Duration::from_millis(30);

pub(crate) async fn run(global: &Global, command: &str, args: &str) -> anyhow::Result<u8> {
    let host = compose::open(global, Reach::All)?;
    let (outcome, notes) = run_command(&host, command, args).await;
    if global.json {
        output::json(&outcome_json(&outcome, &notes))?;
    } else {
        for note in &notes {
            let text = |key: &str| note.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let extension = outcome.extension.as_ref().map_or("-", |extension| extension.as_str());
            note!("{}", output::said_by(extension, &format!("{}: {}", text("level"), text("message"))));
        }
    }
    let code = match &outcome.result {
        Err(error) => {
            if !global.json {
                note!("error: {}", plain_text(&error.message));
            }
            exit::code_of(error)
        }
        Ok(reply) => {
            if !global.json {
                show(&reply.action)?;
                if let Some(error) = &reply.error {
                    note!("error: extension /{}: {}", outcome.command, plain_text(error));
                }
            }
            if reply.error.is_some() { exit::ERROR } else { exit::FINE }
        }
    };
    host.shutdown().await;
    Ok(code)
}

/// Runs a command and collects the notes that its extension sends meanwhile.
pub(crate) async fn run_command(host: &Host, command: &str, args: &str) -> (CommandOutcome, Vec<Value>) {
    let mut events = host.events();
    let outcome = host.run_command(command, args).await;
    let mut notes = Vec::new();
    if outcome.result.is_ok() {
        while let Ok(Some(event)) = tokio::time::timeout(AFTERMATH, next(&mut events)).await {
            if let HostEvent::Notice { extension, notice: Notice::Notify { level, message } } = event
                && Some(&extension) == outcome.extension.as_ref()
            {
                notes.push(json!({ "level": level, "message": message }));
            }
        }
    }
    (outcome, notes)
}

async fn next(events: &mut Receiver<HostEvent>) -> Option<HostEvent> {
    loop {
        match events.recv().await {
            Ok(event) => return Some(event),
            Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
            Err(tokio::sync::broadcast::error::RecvError::Closed) => return None,
        }
    }
}

/// What `run --json` prints; the RPC answers with the same.
pub(crate) fn outcome_json(outcome: &CommandOutcome, notes: &[Value]) -> Value {
    match &outcome.result {
        Err(error) => json!({
            "ok": false, "command": outcome.command, "call_id": outcome.call_id, "error": exit::error_json(error), "notifications": notes,
        }),
        Ok(reply) => {
            let mut object = Map::new();
            object.insert("ok".to_owned(), json!(true));
            object.insert("command".to_owned(), json!(outcome.command));
            object.insert("extension".to_owned(), json!(outcome.extension));
            object.insert("call_id".to_owned(), json!(outcome.call_id));
            if let Ok(Value::Object(reply)) = serde_json::to_value(reply) {
                object.extend(reply);
            }
            object.insert("notifications".to_owned(), json!(notes));
            Value::Object(object)
        }
    }
}

fn show(action: &CommandAction) -> anyhow::Result<()> {
    match action {
        CommandAction::Prompt { prompt } => output::plain(&format!("prompt: {prompt}")),
        CommandAction::Insert { insert } => output::plain(&format!("insert: {insert}")),
        CommandAction::Display { display } => output::plain(display),
        CommandAction::ToolPrompt { prompt, tool_name, .. } => {
            output::plain(&format!("prompt ({tool_name}): {prompt}"))
        }
        CommandAction::OpenPanel { panel } => {
            output::plain(&format!("── {} ──", panel.title))?;
            for line in &panel.lines {
                output::plain(line)?;
            }
            if panel.footer.is_empty() { Ok(()) } else { output::plain(&panel.footer) }
        }
        CommandAction::Noop => Ok(()),
    }
}
