//! `inspect`: start one extension and show all that it registers.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackfield_host::{Diagnostic, Found};
use jackfield_protocol::{CallError, Contributions, ErrorCode};
use serde_json::{Value, json};

use crate::args::Global;
use crate::compose::{self, Scope};
use crate::exit;
use crate::output::{self, note};

pub(crate) async fn inspect(global: &Global, path: PathBuf, entry: Option<usize>) -> anyhow::Result<u8> {
    exists(&path)?;
    let mut global = global.clone();
    global.ext = vec![path.clone()];
    let host = compose::open(&global, Scope::Named)?;
    let report = host.report();
    if report.extensions.is_empty() {
        let message = match report.diagnostics.first() {
            Some(diagnostic) => format!("{}: {}", diagnostic.path.display(), diagnostic.message),
            None => format!("{} holds no extension", path.display()),
        };
        return Err(CallError::new(ErrorCode::InvalidConfig, message).into());
    }
    let (found, others) = chosen(&report.extensions, &path, entry)?;
    let id = &found.manifest.id;
    let limit =
        found.manifest.limits.start_timeout_ms.map_or(Duration::from_secs(15), |ms| Duration::from_millis(ms + 5_000));
    host.start(id, limit).await?;
    let (contributions, hash) = host.contributions(id).unwrap_or_default();
    let code = host.code(id);
    let mut diagnostics: Vec<Value> = report.diagnostics.iter().map(|diagnostic| json!(diagnostic)).collect();
    diagnostics.extend(others.map(|others| json!(others)));
    let own = |message: &str| json!({ "level": "warn", "path": found.dir, "message": message });
    diagnostics.extend(contributions.warnings.iter().map(|warning| own(warning)));
    for tool in host.snapshot().tools() {
        if let Some(reason) = tool.quarantine() {
            diagnostics.push(own(&format!("tool {} is left out: {reason}", tool.name)));
        }
    }
    diagnostics.extend(host.snapshot().conflicts().iter().map(|conflict| own(conflict)));
    // Discovery and the start may both say the same.
    let mut said = HashSet::new();
    diagnostics.retain(|diagnostic| said.insert(diagnostic.get("message").map(Value::to_string)));
    let mut shown = inspection(found, &contributions, &hash, &diagnostics);
    if let (Some(code), Some(shown)) = (code, shown.as_object_mut()) {
        shown.insert("code".to_owned(), code);
    }
    host.shutdown().await;
    if global.json {
        output::json(&shown)?;
    } else {
        show(found, &contributions, &hash, &diagnostics)?;
    }
    Ok(exit::FINE)
}

/// The extension that is meant, and a word about the others of the same package.
pub(crate) fn chosen<'a>(
    extensions: &'a [Found],
    path: &Path,
    entry: Option<usize>,
) -> Result<(&'a Found, Option<Diagnostic>), CallError> {
    let number = entry.unwrap_or(1);
    let found = number.checked_sub(1).and_then(|at| extensions.get(at)).ok_or_else(|| {
        let count = extensions.len();
        let message = format!("{} holds {count} extensions; there is no number {number}", path.display());
        CallError::new(ErrorCode::NotFound, message)
    })?;
    let others: Vec<String> = (1..)
        .zip(extensions)
        .filter(|(other, _)| *other != number)
        .map(|(other, found)| format!("{} (--entry {other})", found.manifest.id))
        .collect();
    let message = format!("the package has other extensions: {}", others.join(", "));
    Ok((found, (!others.is_empty()).then(|| Diagnostic::warn(&found.manifest_path, message))))
}

/// A path that leads nowhere is told apart from one that leads to a broken extension.
pub(crate) fn exists(path: &Path) -> Result<(), CallError> {
    if path.to_str().is_some_and(|path| path.starts_with("npm:")) {
        return Ok(());
    }
    path.metadata().map(|_| ()).map_err(|error| {
        CallError::new(ErrorCode::NotFound, format!("cannot find the extension {}: {error}", path.display()))
    })
}

/// The manifest's version, as everywhere else; where it names none, what the extension said when it started.
fn version<'a>(found: &'a Found, contributions: &'a Contributions) -> Option<&'a str> {
    found.manifest.version.as_deref().or(contributions.version.as_deref())
}

fn inspection(found: &Found, contributions: &Contributions, hash: &str, diagnostics: &[Value]) -> Value {
    let manifest = &found.manifest;
    let mut events: BTreeMap<&str, usize> = BTreeMap::new();
    for event in &contributions.events {
        *events.entry(event).or_default() += 1;
    }
    let tools: Vec<Value> = contributions
        .tools
        .iter()
        .map(|tool| {
            let label = tool.label.clone().unwrap_or_else(|| tool.name.clone());
            json!({ "name": tool.name, "label": label, "description": tool.description, "parameters": tool.parameters })
        })
        .collect();
    let mut shown = json!({
        "id": manifest.id,
        "format": manifest.format,
        "runtime": manifest.runtime,
        "version": version(found, contributions),
        "hash": hash,
        "tools": tools,
        "commands": contributions.commands,
        "events": events,
        "hooks": contributions.hooks,
        "flags": contributions.flags,
        "shortcuts": contributions.shortcuts,
        "providers": contributions.providers,
        "channels": contributions.channels,
        "bus": contributions.bus,
        "capabilities": manifest.capabilities,
        "diagnostics": diagnostics,
    });
    if let Some(shown) = shown.as_object_mut() {
        if !contributions.bus.is_empty() {
            shown.insert("busChannels".to_owned(), json!(contributions.bus));
        }
        // What the format registers in its own words stands beside the rest, and never in its place.
        for (key, value) in &contributions.extra {
            if key == "busChannels" || !shown.contains_key(key) {
                shown.insert(key.clone(), value.clone());
            }
        }
    }
    shown
}

fn show(found: &Found, contributions: &Contributions, hash: &str, diagnostics: &[Value]) -> anyhow::Result<()> {
    let manifest = &found.manifest;
    output::plain(&format!(
        "{} {} ({}, {} runtime, {})",
        manifest.id,
        version(found, contributions).unwrap_or("-"),
        manifest.format.as_str(),
        manifest.runtime.as_str(),
        output::short(hash)
    ))?;
    for tool in &contributions.tools {
        output::plain(&format!("tool     {}  {}", tool.name, output::brief(&tool.description, 90)))?;
    }
    for command in &contributions.commands {
        output::plain(&format!("command  /{}  {}", command.name, output::brief(&command.description, 90)))?;
    }
    for channel in &contributions.channels {
        output::plain(&format!("channel  {}  {}", channel.name, output::brief(&channel.description, 90)))?;
    }
    for hook in &contributions.hooks {
        output::plain(&format!("hook     {}", hook.as_str()))?;
    }
    if !contributions.events.is_empty() {
        output::plain(&format!("events   {}", contributions.events.join(", ")))?;
    }
    for shortcut in &contributions.shortcuts {
        output::plain(&format!("shortcut {}", output::brief(&shortcut.to_string(), 90)))?;
    }
    if !contributions.bus.is_empty() {
        output::plain(&format!("bus      {}", contributions.bus.join(", ")))?;
    }
    for (key, value) in &contributions.extra {
        let is_empty = match value {
            Value::Array(list) => list.is_empty(),
            value => *value == json!(0) || *value == json!(false) || value.is_null(),
        };
        // The commands stand above already.
        if !is_empty && key != "commands" {
            output::plain(&format!("{key}  {value}"))?;
        }
    }
    for capability in &manifest.capabilities {
        output::plain(&format!("asks for {capability}"))?;
    }
    for diagnostic in diagnostics {
        let message = diagnostic.get("message").and_then(Value::as_str).unwrap_or_default();
        note!("warn: {}", jackfield_protocol::plain_text(message));
    }
    Ok(())
}
