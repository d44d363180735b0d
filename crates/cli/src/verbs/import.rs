//! `import`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use jackfield_install::{Import, ImportAgent, ImportOutcome, ImportPlaces, ImportReport, ImportRow};
use jackfield_protocol::{CallError, ErrorCode, plain_text};
use serde_json::{Value, json};

use crate::args::Global;
use crate::compose;
use crate::exit;
use crate::output::{self, note};

#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// claude, claude-code, codex, vscode, cursor, gemini, copilot, goose, windsurf, zed, opencode [default: all]
    #[arg(value_name = "AGENT")]
    agents: Vec<ImportAgent>,
    /// Only show what would be imported
    #[arg(long)]
    dry_run: bool,
    /// Write into the project's .mcp.json instead of the home's mcp.json
    #[arg(long)]
    project_file: bool,
    /// Replace servers of the same name that differ
    #[arg(long)]
    replace: bool,
    /// Copy secrets, too; without it a variable takes the place of each
    #[arg(long, conflicts_with = "project_file")]
    with_secrets: bool,
}

pub(crate) fn import(global: &Global, args: ImportArgs) -> anyhow::Result<u8> {
    let (home, project) = (compose::home(global)?, compose::project(global)?);
    let into = if args.project_file { project.join(".mcp.json") } else { home.mcp_servers() };
    let all = args.agents.is_empty();
    let agents = if all { ImportAgent::ALL.to_vec() } else { args.agents };
    let places = places(project)?;
    let import = Import { agents, places, into, replace: args.replace, with_secrets: args.with_secrets };
    let unusable = |error: jackfield_install::ImportError| CallError::new(ErrorCode::InvalidConfig, error.to_string());
    let mut report = import.run(!args.dry_run).map_err(unusable)?;
    if all {
        // Nobody uses all of them.
        report.notes.retain(|note| !note.contains("no configuration found"));
    }
    if global.json {
        output::json(&json!({ "ok": true, "dry_run": args.dry_run, "import": report }))?;
    } else {
        show(&report, args.dry_run)?;
    }
    Ok(exit::FINE)
}

fn places(project: PathBuf) -> anyhow::Result<ImportPlaces> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = variable("HOME").or_else(|| variable("USERPROFILE"));
    let Some(user) = user else {
        return Err(
            CallError::new(ErrorCode::InvalidConfig, "HOME is not set, so nobody's settings can be found").into()
        );
    };
    Ok(ImportPlaces {
        config: variable("XDG_CONFIG_HOME").unwrap_or_else(|| user.join(".config")),
        application_support: cfg!(target_os = "macos").then(|| user.join("Library/Application Support")),
        codex: variable("CODEX_HOME"),
        user,
        project,
    })
}

fn show(report: &ImportReport, dry_run: bool) -> anyhow::Result<()> {
    let word = |row: &ImportRow| match row.outcome {
        ImportOutcome::Added if dry_run => "would add",
        ImportOutcome::Replaced if dry_run => "would replace",
        ImportOutcome::Added => "added",
        ImportOutcome::Replaced => "replaced",
        ImportOutcome::Unchanged => "unchanged",
        ImportOutcome::Kept => "kept",
        ImportOutcome::Skipped => "skipped",
    };
    let line = |row: &ImportRow| {
        let what = row.error.clone().unwrap_or_else(|| row.server.as_ref().map(summary).unwrap_or_default());
        [row.name.clone(), row.agent.as_str().to_owned(), word(row).to_owned(), what]
    };
    let rows: Vec<[String; 4]> = report.servers.iter().map(line).collect();
    output::table(["SERVER", "AGENT", "RESULT", "WHAT"], &rows)?;
    for row in &report.servers {
        for warning in &row.warnings {
            note!("warn: {} ({}): {}", plain_text(&row.name), row.agent.as_str(), plain_text(warning));
        }
    }
    for text in &report.notes {
        note!("{}", plain_text(text));
    }
    let into = report.into.display();
    match (report.changed, dry_run) {
        (true, true) => output::plain(&format!("nothing was written; without --dry-run this goes into {into}")),
        (true, false) => output::plain(&format!("written to {into}")),
        (false, _) => output::plain(&format!("nothing new for {into}")),
    }
}

fn summary(server: &Value) -> String {
    let text = |key: &str| server.get(key).and_then(Value::as_str).unwrap_or_default();
    let args = server.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<&str> =
        [text("command"), text("url")].into_iter().chain(args).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}
