//! `list` and `tools`.

use jackfield_gateway::forms::{extension_path, extension_row, listing, problems, tool_listing};
use jackfield_host::{Diagnostic, Host};
use jackfield_protocol::plain_text;
use serde_json::{Value, json};

use super::LEARN_ALL_TIMEOUT;
use crate::args::Global;
use crate::compose::{self, Scope};
use crate::exit;
use crate::output::{self, note};

pub(crate) fn list(global: &Global) -> anyhow::Result<u8> {
    let host = compose::open(global, Scope::All)?;
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
                let row = extension_row(&host, found);
                let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or("-").to_owned();
                let path = extension_path(found).display().to_string();
                [text("id"), text("version"), text("format"), text("state"), text("scope"), path]
            })
            .collect();
        output::table(["ID", "VERSION", "FORMAT", "STATE", "SCOPE", "PATH"], &rows)?;
    }
    tell(&report.diagnostics);
    for found in &report.extensions {
        if let Some(error) = extension_row(&host, found).get("error").and_then(Value::as_str) {
            note!("{}: {}", found.manifest.id, plain_text(error));
        }
    }
    Ok(exit::FINE)
}

pub(crate) async fn tools(global: &Global) -> anyhow::Result<u8> {
    let host = compose::open(global, Scope::All)?;
    host.learn(LEARN_ALL_TIMEOUT).await;
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
