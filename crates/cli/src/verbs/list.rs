//! `list` and `tools`.

use std::path::PathBuf;

use jackfield_host::{Diagnostic, Extent, Found, Host, Standing};
use jackfield_protocol::plain_text;
use serde_json::{Value, json};

use super::LEARN_ALL;
use super::ext::lock::locked_form;
use crate::args::Global;
use crate::compose::{self, Reach};
use crate::exit;
use crate::output::{self, note};

/// How many warnings of one extension a listing shows.
const SHOWN_WARNINGS: usize = 3;

pub(crate) fn list(global: &Global) -> anyhow::Result<u8> {
    let host = compose::open(global, Reach::All)?;
    let listing = listing(&host);
    if global.json {
        output::json(&listing)?;
        return Ok(exit::FINE);
    }
    let report = host.report();
    if report.extensions.is_empty() {
        output::line("no extensions found; install one with `jackfield ext install DIR` or try one with `-e DIR`")?;
    } else {
        let rows: Vec<[String; 6]> = report
            .extensions
            .iter()
            .map(|found| {
                let row = row(&host, found);
                let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or("-").to_owned();
                let path = path(found).display().to_string();
                [text("id"), text("version"), text("format"), text("state"), text("scope"), path]
            })
            .collect();
        output::table(["ID", "VERSION", "FORMAT", "STATE", "SCOPE", "PATH"], &rows)?;
    }
    tell(&report.diagnostics);
    for found in &report.extensions {
        if let Some(error) = row(&host, found).get("error").and_then(Value::as_str) {
            note!("{}: {}", found.manifest.id, plain_text(error));
        }
    }
    Ok(exit::FINE)
}

/// What `list --json` prints; the RPC answers with the same.
pub(crate) fn listing(host: &Host) -> Value {
    let report = host.report();
    let locked = host.locked();
    let extensions: Vec<Value> = report
        .extensions
        .iter()
        .map(|found| {
            let mut row = row(host, found);
            if let Some(row) = row.as_object_mut() {
                row.insert("lock".to_owned(), json!(locked(found).as_ref().map(locked_form)));
            }
            row
        })
        .collect();
    json!({ "extensions": extensions, "diagnostics": report.diagnostics })
}

/// Where an extension is: its directory, or its script where the directory holds others, too.
fn path(found: &Found) -> PathBuf {
    match found.extent {
        Extent::Directory => found.dir.clone(),
        Extent::Entry => found.place(),
    }
}

fn row(host: &Host, found: &Found) -> Value {
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
        "path": path(found),
        "scope": found.origin,
        "tools": tools,
        "commands": commands,
        "error": error,
    })
}

pub(crate) async fn tools(global: &Global) -> anyhow::Result<u8> {
    let host = compose::open(global, Reach::All)?;
    host.learn(LEARN_ALL).await;
    let listing = tool_listing(&host);
    if global.json {
        output::json(&listing)?;
    } else {
        let snapshot = host.snapshot();
        let rows: Vec<[String; 3]> = snapshot
            .tools()
            .filter(|tool| tool.quarantine().is_none())
            .map(|tool| [tool.name.clone(), tool.extension.to_string(), output::brief(&tool.description, 80)])
            .collect();
        if rows.is_empty() {
            output::line("no tools; see `jackfield list` for the extensions and `jackfield doctor` for problems")?;
        } else {
            output::table(["TOOL", "EXTENSION", "DESCRIPTION"], &rows)?;
        }
        tell_problems(&host);
    }
    host.shutdown().await;
    Ok(exit::FINE)
}

/// What `tools --json` prints; the RPC answers with the same.
pub(crate) fn tool_listing(host: &Host) -> Value {
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
    let costs = jackfield_gateway::costs(host).into_iter();
    Value::Object(costs.map(|(choice, cost)| (choice.to_owned(), json!(cost))).collect())
}

fn problems(host: &Host) -> Vec<Value> {
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

fn tell_problems(host: &Host) {
    for problem in problems(host) {
        let text = |key: &str| problem.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        note!("{}: {}", text("level"), plain_text(&text("message")));
    }
}

/// Shows diagnostics on stderr.
pub(crate) fn tell(diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let level = json!(diagnostic.level);
        let path = plain_text(&diagnostic.path.to_string_lossy());
        note!("{}: {path}: {}", level.as_str().unwrap_or("warn"), plain_text(&diagnostic.message));
    }
}
