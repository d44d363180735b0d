//! `run`: a slash command.

use jackfield_gateway::forms::{command_outcome, run_command};
use jackfield_protocol::{CommandAction, plain_text};
use serde_json::Value;

use crate::args::Global;
use crate::compose::{self, Scope};
use crate::exit;
use crate::output::{self, note};

pub(crate) async fn run(global: &Global, command: &str, args: &str) -> anyhow::Result<u8> {
    let host = compose::open(global, Scope::All)?;
    let (outcome, notes) = run_command(&host, command, args).await;
    if global.json {
        output::json(&command_outcome(&outcome, &notes))?;
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
