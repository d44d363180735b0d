//! `secret list`, `secret set`, `secret remove`: what a person keeps for extensions. Values come in and never go out.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Read, Write};

use clap::Subcommand;
use jackfield_host::{LONGEST_SECRET, SecretError, SecretPlaces, SecretStore};
use jackfield_protocol::{CallError, ErrorCode};
use jackfield_runtime::Secrets;
use serde_json::json;

use crate::args::Global;
use crate::compose;
use crate::exit;
use crate::output::{self, note};
use crate::unseen::{Unseen, typed};

/// What can be done about secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretVerb {
    /// List the names, and the `.env` file of those that stand in one; values are shown nowhere
    List,
    /// Keep a value, read from standard input or asked for without showing it
    ///
    /// An extension gets it as the variable NAME if its manifest says so in `requires.env`, through the host call `env` if it
    /// is granted, and as ${NAME} in the settings of MCP servers. A variable of that name in the environment comes first.
    Set {
        /// Letters, digits and _
        name: String,
    },
    /// Forget a value
    #[command(alias = "rm")]
    Remove {
        /// Which (see `jackfield secret list`)
        name: String,
    },
}

pub(crate) fn secret(global: &Global, verb: SecretVerb) -> anyhow::Result<u8> {
    let home = compose::home(global)?;
    match verb {
        SecretVerb::List => list(global, &SecretPlaces::of(&home, compose::project(global).ok().as_deref())),
        SecretVerb::Set { name } => set(global, &SecretStore::of(&home), &name),
        SecretVerb::Remove { name } => remove(global, &SecretStore::of(&home), &name),
    }
}

fn list(global: &Global, places: &SecretPlaces) -> anyhow::Result<u8> {
    let names = places.names().map_err(refused)?;
    // What cannot be used is listed all the same, so that it can be removed.
    let stored = names.iter().filter(|(_, file)| file.is_none());
    let mut problems: Vec<String> =
        stored.filter_map(|(name, _)| places.store().get(name).err()).map(|error| error.to_string()).collect();
    problems.extend(
        places.problems().into_iter().map(|problem| format!("{}: {}", problem.path.display(), problem.message)),
    );
    if let Some(file) = places.waiting() {
        let project = file.parent().unwrap_or(&file).display();
        problems.push(format!(
            "{} is not read until you trust this project: run 'jackfield trust {project}'",
            file.display()
        ));
    }
    for problem in &problems {
        note!("warn: {problem}");
    }
    if global.json {
        let all: Vec<&String> = names.keys().collect();
        let mut from = serde_json::Map::new();
        for (name, file) in &names {
            from.insert(
                name.clone(),
                file.as_ref().map_or_else(|| json!("store"), |file| json!(file.to_string_lossy())),
            );
        }
        output::json(&json!({ "secrets": all, "from": from, "problems": problems }))?;
        return Ok(exit::FINE);
    }
    if names.is_empty() {
        output::line("there are no secrets; keep one with `jackfield secret set NAME`")?;
    }
    for (name, file) in &names {
        match file {
            None => output::line(name)?,
            Some(file) => output::line(&format!("{name}  ({})", file.display()))?,
        }
    }
    Ok(exit::FINE)
}

fn set(global: &Global, store: &SecretStore, name: &str) -> anyhow::Result<u8> {
    // What is wrong with the name is said before anybody types a value.
    SecretStore::check_name(name).map_err(refused)?;
    let value = if std::io::stdin().is_terminal() { asked(name)? } else { piped()? };
    let replaced = store.set(name, &value).map_err(refused)?;
    if value.trim_end().chars().count() < Secrets::SHORTEST {
        let least = Secrets::SHORTEST;
        note!("warn: {name} has fewer than {least} characters: too few to be found and taken out of logs");
    }
    if global.json {
        output::json(&json!({ "ok": true, "secret": name, "replaced": replaced }))?;
    } else {
        output::line(&if replaced { format!("replaced {name}") } else { format!("kept {name}") })?;
    }
    Ok(exit::FINE)
}

fn remove(global: &Global, store: &SecretStore, name: &str) -> anyhow::Result<u8> {
    if !store.remove(name).map_err(refused)? {
        let message = format!("there is no secret {name} (see `jackfield secret list`)");
        return Err(CallError::new(ErrorCode::NotFound, message).into());
    }
    if global.json {
        output::json(&json!({ "ok": true, "secret": name }))?;
    } else {
        output::line(&format!("removed {name}"))?;
    }
    Ok(exit::FINE)
}

fn refused(error: SecretError) -> anyhow::Error {
    let code = match &error {
        SecretError::Name { .. } | SecretError::Value { .. } => ErrorCode::InvalidRequest,
        SecretError::Refused { .. } => ErrorCode::InvalidConfig,
        SecretError::Io { .. } => ErrorCode::Io,
    };
    CallError::new(code, error.to_string()).into()
}

/// All of standard input, as far as a secret can be long.
fn piped() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(LONGEST_SECRET as u64 + 3).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| {
        CallError::new(ErrorCode::InvalidRequest, "the value on standard input is not UTF-8 text".to_owned()).into()
    })
}

/// One line of the person at the terminal.
fn asked(name: &str) -> anyhow::Result<String> {
    let given_up = || CallError::new(ErrorCode::Cancelled, format!("no value for {name}; nothing was changed"));
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let unseen = Unseen::begin(&terminal)?;
    terminal.write_all(format!("value for {name} (it is not shown): ").as_bytes())?;
    let typed = typed(&mut terminal);
    drop(unseen);
    terminal.write_all(b"\n")?;
    let typed = typed?.ok_or_else(given_up)?;
    Ok(String::from_utf8(typed).map_err(|_| CallError::new(ErrorCode::InvalidRequest, "it is not UTF-8 text"))?)
}
