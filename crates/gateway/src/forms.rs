//! JSON forms of answers, which the command line and JSON lines share.

use std::path::PathBuf;
use std::time::Duration;

use jackfield_host::{CommandOutcome, Extent, Found, Host, HostEvent, Locked, Standing, ToolOutcome};
use jackfield_protocol::{CallError, Notice};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::Receiver;

/// How many warnings of one extension a listing shows.
const SHOWN_WARNINGS: usize = 3;

/// How long after an answer its late notices are waited for; each notice begins the time anew.
const LATE_NOTICE_WINDOW: Duration = Duration::from_millis(30);

/// What `list --json` prints; JSON lines answer with the same.
pub fn listing(host: &Host) -> Value {
    let report = host.report();
    let locked = host.locked();
    let extensions: Vec<Value> = report
        .extensions
        .iter()
        .map(|found| {
            let mut row = extension_row(host, found);
            if let Some(row) = row.as_object_mut() {
                row.insert("lock".to_owned(), json!(locked(found).as_ref().map(locked_form)));
            }
            row
        })
        .collect();
    json!({ "extensions": extensions, "diagnostics": report.diagnostics })
}

/// Where an extension is: its directory, or its script where the directory holds others, too.
pub fn extension_path(found: &Found) -> PathBuf {
    match found.extent {
        Extent::Directory => found.dir.clone(),
        Extent::Entry => found.place(),
    }
}

/// One extension in the listing.
pub fn extension_row(host: &Host, found: &Found) -> Value {
    let manifest = &found.manifest;
    let serves = found.standing == Standing::Active;
    let state = match host.state(&manifest.id) {
        Some(state) if serves => state.name(),
        _ => found.standing.name(),
    };
    let contributions = if serves { host.contributions(&manifest.id) } else { None };
    let (tools, commands) = match &contributions {
        Some((contributions, _)) => (
            contributions.tools.iter().map(|tool| tool.name.clone()).collect(),
            contributions.commands.iter().map(|command| command.name.clone()).collect(),
        ),
        None => (manifest.declared_tools.clone(), Vec::new()),
    };
    let error = if serves { host.trouble(&manifest.id) } else { found.standing.why_not() };
    json!({
        "id": manifest.id,
        "name": manifest.name,
        "version": manifest.version,
        "format": manifest.format,
        "runtime": manifest.runtime,
        "state": state,
        "path": extension_path(found),
        "scope": found.origin,
        "tools": tools,
        "commands": commands,
        "error": error,
    })
}

/// What `tools --json` prints; JSON lines answer with the same.
pub fn tool_listing(host: &Host) -> Value {
    let snapshot = host.snapshot();
    let tools: Vec<Value> = snapshot
        .tools()
        .filter(|tool| tool.quarantine().is_none())
        .map(|tool| {
            json!({
                "name": tool.name,
                "qualified_name": tool.qualified_name,
                "extension": tool.extension,
                "description": tool.description,
                "parameters": tool.parameters(),
            })
        })
        .collect();
    json!({ "tools": tools, "cost": cost(host), "diagnostics": problems(host) })
}

/// What each choice of `jackfield mcp --expose` costs a model's context.
fn cost(host: &Host) -> Value {
    let costs = crate::mcp::costs(host).into_iter();
    Value::Object(costs.map(|(choice, cost)| (choice.to_owned(), json!(cost))).collect())
}

/// What is wrong with the extensions and their tools.
pub fn problems(host: &Host) -> Vec<Value> {
    let mut problems: Vec<Value> = host.report().diagnostics.iter().map(|diagnostic| json!(diagnostic)).collect();
    let snapshot = host.snapshot();
    let own = |path: &str, message: &str| json!({ "level": "warn", "path": path, "message": message });
    problems.extend(snapshot.conflicts().iter().map(|conflict| own("", conflict)));
    for tool in snapshot.tools() {
        if let Some(reason) = tool.quarantine() {
            let message = format!("tool {} of {} is left out: {reason}", tool.name, tool.extension);
            problems.push(own("", &message));
        }
    }
    for found in &host.report().extensions {
        if found.standing == Standing::Active
            && let Some((contributions, _)) = host.contributions(&found.manifest.id)
        {
            let about = |text: &str| json!({ "level": "warn", "path": found.dir, "message": text });
            let warnings = &contributions.warnings;
            problems.extend(warnings.iter().take(SHOWN_WARNINGS).map(|warning| about(warning)));
            if let Some(more) = warnings.len().checked_sub(SHOWN_WARNINGS).filter(|more| *more > 0) {
                problems
                    .push(about(&format!("{more} more warnings of {}; see `jackfield inspect`", found.manifest.id)));
            }
        }
        if found.standing == Standing::Active
            && let Some(trouble) = host.trouble(&found.manifest.id)
        {
            let message = format!("extension {}: {trouble}", found.manifest.id);
            problems.push(json!({ "level": "error", "path": found.dir, "message": message }));
        }
    }
    problems
}

/// What `call --json` prints; JSON lines answer with the same.
pub fn tool_outcome(outcome: &ToolOutcome) -> Value {
    match &outcome.result {
        Ok(result) => json!({
            "ok": true,
            "tool": outcome.tool,
            "extension": outcome.extension,
            "call_id": outcome.call_id,
            "duration_ms": duration_ms(outcome.duration),
            "is_error": result.is_error,
            "content": result.content,
            "details": result.details,
        }),
        Err(error) => {
            json!({ "ok": false, "tool": outcome.tool, "call_id": outcome.call_id, "error": error_json(error) })
        }
    }
}

fn duration_ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

/// Runs a command and collects the notes that its extension sends meanwhile.
pub async fn run_command(host: &Host, command: &str, args: &str) -> (CommandOutcome, Vec<Value>) {
    let mut events = host.events();
    let outcome = host.run_command(command, args).await;
    let mut notes = Vec::new();
    if outcome.result.is_ok() {
        while let Ok(Some(event)) = tokio::time::timeout(LATE_NOTICE_WINDOW, next(&mut events)).await {
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

/// What `run --json` prints; JSON lines answer with the same.
pub fn command_outcome(outcome: &CommandOutcome, notes: &[Value]) -> Value {
    match &outcome.result {
        Err(error) => json!({
            "ok": false, "command": outcome.command, "call_id": outcome.call_id, "error": error_json(error), "notifications": notes,
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

/// The error as scripts get it: always with the extension, which is null where none is at fault.
pub fn error_json(error: &CallError) -> Value {
    let mut value = json!(error);
    if let Some(object) = value.as_object_mut() {
        object.entry("extension").or_insert(Value::Null);
    }
    value
}

/// JSON leaves some control characters as they are, and a terminal obeys them: they are written as escapes. They stand
/// only within strings, so the value stays the same.
pub fn terminal_safe(text: String) -> String {
    let unsafe_here = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(unsafe_here) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if unsafe_here(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// What is recorded of one extension, as JSON.
pub fn locked_form(locked: &Locked) -> Value {
    let granted: Vec<Value> = locked
        .granted
        .iter()
        .map(|granted| json!({ "capability": granted.capability.to_string(), "project": granted.project }))
        .collect();
    let requests: Vec<String> = locked.requests.iter().map(ToString::to_string).collect();
    json!({
        "source": locked.source,
        "version": locked.version,
        "sha256": locked.sha256,
        "requests": requests,
        "granted": granted,
    })
}
