//! `connect`: tells another agent of jackfield, and takes it back.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jackfield_protocol::{CallError, ErrorCode, plain_text};
use serde_json::json;

use super::bridge;
use crate::approve;
use crate::args::Global;
use crate::compose;
use crate::connect::difference::difference;
use crate::connect::kept::{self, Backup, Record};
use crate::connect::{Agent, ENTRY};
use crate::exit;
use crate::output;

/// How `connect` is to be done.
pub(crate) struct Wish {
    pub(crate) undo: bool,
    pub(crate) dry_run: bool,
    pub(crate) in_project: bool,
}

/// A file and what is to become of it.
struct Plan {
    /// As the agent names it.
    shown: PathBuf,
    /// What is written: the file behind links.
    file: PathBuf,
    before: Option<Vec<u8>>,
    /// Nothing: the file goes.
    after: Option<Vec<u8>>,
}

impl Plan {
    fn difference(&self) -> String {
        let text = |bytes: &Option<Vec<u8>>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
        difference(&self.shown.display().to_string(), &text(&self.before), &text(&self.after))
    }
}

pub(crate) async fn connect(global: &Global, agent: Agent, wish: Wish) -> anyhow::Result<u8> {
    let shown = if wish.in_project {
        agent.project_file(&compose::project(global)?)
    } else {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        agent.user_file(&variable).context("no home directory is set, so the agent's files cannot be found")?
    };
    // A configuration that is a link, into a folder of dotfiles for instance, stays one.
    let file = fs::canonicalize(&shown).unwrap_or_else(|_| shown.clone());
    let before = match fs::read(&file) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(agent, &shown, &error)),
    };
    let kept = Backup::of(&compose::home(global)?.connect(), agent.word(), &file);
    let mut plan = Plan { shown, file, before, after: None };
    if wish.undo {
        return undo(global, agent, &wish, plan, &kept);
    }
    plan.after = Some(match agent {
        Agent::Pi => bridge::text(global).await?.into_bytes(),
        _ => {
            let text = text_of(agent, &plan, plan.before.as_deref().unwrap_or_default())?;
            let edited = agent.put(text, &command(global)?);
            edited.map_err(|why| not_understood(agent, &plan.shown, &why))?.into_bytes()
        }
    });
    if plan.after == plan.before {
        return said(global, agent, &plan, "unchanged", "it uses jackfield already", None);
    }
    if !agreed(global, agent, &wish, &plan)? {
        return said(global, agent, &plan, "unchanged", "nothing was changed", None);
    }
    if wish.dry_run {
        return said(global, agent, &plan, "dry_run", "nothing was changed (--dry-run)", None);
    }
    let record = Record { file: plan.file.clone(), existed: plan.before.is_some(), made: missing_folders(&plan.file) };
    let after = plan.after.as_deref().unwrap_or_default();
    kept.keep(&record, plan.before.as_deref().unwrap_or_default(), after)
        .with_context(|| format!("cannot keep a backup of {} in {}", plan.shown.display(), kept.backup().display()))?;
    apply(&plan).map_err(|error| failed(agent, &plan.shown, &error))?;
    let words = format!("{} uses jackfield now; {}", agent.title(), agent.next_step());
    said(global, agent, &plan, "connected", &words, plan.before.as_ref().map(|_| kept.backup()))
}

fn undo(global: &Global, agent: Agent, wish: &Wish, mut plan: Plan, kept: &Backup) -> anyhow::Result<u8> {
    let record = kept.record();
    let is_as_left = kept.after().is_ok_and(|left| plan.before.as_deref() == Some(left.as_slice()));
    match &record {
        Some(record) if is_as_left => {
            let before =
                || kept.before().with_context(|| format!("cannot read the backup {}", kept.backup().display()));
            plan.after = if record.existed { Some(before()?) } else { None };
        }
        // Somebody else wrote it meanwhile: the entry goes, what they wrote stays.
        _ => {
            let removed = match &plan.before {
                Some(bytes) => {
                    let text = text_of(agent, &plan, bytes)?;
                    agent.remove(text).map_err(|why| not_understood(agent, &plan.shown, &why))?
                }
                None => None,
            };
            match removed {
                Some(text) => plan.after = Some(text.into_bytes()),
                None if record.is_some() && plan.before.is_some() && agent == Agent::Pi => {
                    let message = format!(
                        "{} was changed since jackfield wrote it; remove it by hand, or put back {}",
                        plan.shown.display(),
                        kept.backup().display()
                    );
                    return Err(CallError::new(ErrorCode::InvalidConfig, message).into());
                }
                None => {
                    if record.is_some() {
                        kept.forget().ok();
                    }
                    return said(global, agent, &plan, "unchanged", "it does not use jackfield", None);
                }
            }
        }
    }
    if !agreed(global, agent, wish, &plan)? {
        return said(global, agent, &plan, "unchanged", "nothing was changed", None);
    }
    if wish.dry_run {
        return said(global, agent, &plan, "dry_run", "nothing was changed (--dry-run)", None);
    }
    apply(&plan).map_err(|error| failed(agent, &plan.shown, &error))?;
    for folder in record.iter().flat_map(|record| &record.made) {
        // One that holds something else by now stays.
        fs::remove_dir(folder).ok();
    }
    kept.forget().ok();
    let words = if is_as_left { "it is as it was before" } else { "the entry is gone, later changes of others stayed" };
    said(global, agent, &plan, "restored", words, None)
}

/// The command that an agent runs: this very program, with the home if another than the usual one is in use.
fn command(global: &Global) -> anyhow::Result<Vec<String>> {
    let mut command = bridge::ourselves(global)?;
    command.push("mcp".to_owned());
    Ok(command)
}

fn text_of<'b>(agent: Agent, plan: &Plan, bytes: &'b [u8]) -> anyhow::Result<&'b str> {
    std::str::from_utf8(bytes).map_err(|_| not_understood(agent, &plan.shown, "it is not UTF-8"))
}

fn not_understood(agent: Agent, file: &Path, why: &str) -> anyhow::Error {
    let message = format!(
        "cannot edit {} of {}: {why}; nothing was changed. Put it right, or add the server {ENTRY:?} by hand (the command \
         is `jackfield mcp`)",
        file.display(),
        agent.title()
    );
    CallError::new(ErrorCode::InvalidConfig, message).into()
}

fn failed(agent: Agent, file: &Path, error: &io::Error) -> anyhow::Error {
    let message = format!("cannot change {} of {}: {error}", file.display(), agent.title());
    CallError::new(ErrorCode::Io, message).into()
}

/// Shows the difference and asks.
fn agreed(global: &Global, agent: Agent, wish: &Wish, plan: &Plan) -> anyhow::Result<bool> {
    if !global.json {
        output::plain(&plan.difference())?;
    }
    if wish.dry_run || global.yes {
        return Ok(true);
    }
    let question = format!("Change {} of {}? [y/N] ", plan.shown.display(), agent.title());
    match approve::yes_or_no(&plain_text(&question)) {
        Some(answer) => Ok(answer),
        None => {
            let message = "nobody can be asked here; look at the difference with --dry-run, then say --yes";
            Err(CallError::new(ErrorCode::Denied, message).into())
        }
    }
}

fn missing_folders(file: &Path) -> Vec<PathBuf> {
    file.ancestors().skip(1).take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect()
}

fn apply(plan: &Plan) -> io::Result<()> {
    // Whoever changed it while the person looked at the difference must not lose what they wrote.
    let now = match fs::read(&plan.file) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if now != plan.before {
        return Err(io::Error::other("it was changed by somebody else a moment ago; try again"));
    }
    match &plan.after {
        None => fs::remove_file(&plan.file),
        Some(after) => {
            let mode = fs::metadata(&plan.file).map_or(0o600, |about| about.permissions().mode() & 0o7777);
            if let Some(folder) = plan.file.parent() {
                fs::create_dir_all(folder)?;
            }
            kept::write(&plan.file, after, mode)
        }
    }
}

fn said(
    global: &Global,
    agent: Agent,
    plan: &Plan,
    status: &str,
    words: &str,
    backup: Option<PathBuf>,
) -> anyhow::Result<u8> {
    if global.json {
        let change = (status != "unchanged").then(|| plan.difference());
        output::json(&json!({
            "ok": true, "agent": agent.word(), "file": plan.shown, "status": status, "difference": change,
            "backup": backup,
        }))?;
    } else {
        output::plain(&format!("{}: {words}", plan.shown.display()))?;
        if let Some(backup) = backup {
            output::plain(&format!("as it was: {} (`jackfield connect {} --undo`)", backup.display(), agent.word()))?;
        }
    }
    Ok(exit::FINE)
}
