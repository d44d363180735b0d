//! MCP servers as extensions: every entry of a `.mcp.json` or `mcp.json` is one, and every one that a `plugin.toml` or an
//! Agent Plugin brings, and every file in a folder `mcp`. Nothing is run to find them, and no variable in them is filled in here.

pub mod files;
mod jsonc;
mod lower;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_files::{self as texts, ReadError};
use jackfield_protocol::{ExtensionId, Format, Launch, Manifest, RuntimeKind};
use serde_json::{Map, Value};

use super::parse;
use super::report::{Diagnostic, Extent, Found, Origin, Standing};

/// The files whose entries are servers, in the order in which they are read.
pub const FILES: [&str; 2] = [".mcp.json", "mcp.json"];
/// The manifest of an Agent Plugin, beside its `mcp.json`.
const PLUGIN: &str = "plugin.json";
/// Where the servers stand in a file; the first one that is there counts.
const KEYS: [&str; 5] = ["mcpServers", "servers", "mcp_servers", "context_servers", "mcp"];
/// The most servers in one file.
const MAX_SERVERS: usize = 500;

/// Reads an object that may have comments in it.
pub fn read_jsonc(text: &str) -> Result<Map<String, Value>, String> {
    jsonc::object(text).map(|(object, _)| object)
}

/// Whether a file is called like one with servers.
pub fn is_list(path: &Path) -> bool {
    path.file_name().is_some_and(|name| FILES.iter().any(|known| name == *known))
}

/// The servers of both files in `dir`.
pub fn in_dir(dir: &Path, origin: Origin, diagnostics: &mut Vec<Diagnostic>) -> Vec<Found> {
    let mut found = Vec::new();
    for name in FILES {
        let file = dir.join(name);
        if file.symlink_metadata().is_ok() {
            found.extend(in_file(&file, origin, diagnostics));
        }
    }
    found
}

/// What a path on the command line means when it is a file with servers, or a directory with one.
pub fn named_by_flag(path: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<Found>> {
    let found = if path.is_dir() {
        let mut found = files::named_by_flag(path, diagnostics);
        found.extend(in_dir(path, Origin::Flag, diagnostics));
        found
    } else if files::is_ours(path) {
        vec![files::of_file(path, Origin::Flag, diagnostics)]
    } else if path.extension().is_some_and(|end| end == "json") && (is_list(path) || holds_servers(path)) {
        in_file(path, Origin::Flag, diagnostics)
    } else {
        return None;
    };
    (!found.is_empty()).then_some(found)
}

/// Whether a file of another name has servers where they usually stand.
fn holds_servers(path: &Path) -> bool {
    let read = texts::read_text(path, texts::MAX_TEXT).ok().and_then(|text| jsonc::object(&text).ok());
    read.is_some_and(|(object, _)| KEYS.iter().any(|key| object.get(*key).is_some_and(Value::is_object)))
}

/// The servers of one file. One that cannot be read has none, and an error says why.
pub fn in_file(file: &Path, origin: Origin, diagnostics: &mut Vec<Diagnostic>) -> Vec<Found> {
    let Some(dir) = file.parent() else { return Vec::new() };
    let read = texts::read_text(file, texts::MAX_TEXT).map_err(|error| error.to_string());
    let (object, doubled) = match read.and_then(|text| jsonc::object(&text)) {
        Ok(read) => read,
        Err(error) => {
            let message = format!("the MCP servers in {} cannot be read: {error}", file.display());
            diagnostics.push(Diagnostic::error(file, message));
            return Vec::new();
        }
    };
    if let Some(doubled) = doubled {
        diagnostics.push(Diagnostic::warn(file, format!("{doubled}; the last one counts")));
    }
    let Some(servers) = servers_of(&object) else {
        let message = format!("no MCP servers in {}: expected an object `mcpServers`", file.display());
        diagnostics.push(Diagnostic::warn(file, message));
        return Vec::new();
    };
    let plugin = plugin_beside(dir, diagnostics);
    let mut found: Vec<Found> = Vec::new();
    for (name, value) in servers.iter().take(MAX_SERVERS) {
        let id = id_of(plugin.as_deref(), name);
        found.push(of_entry(&id, name, value, EntrySource { dir, file, origin }, diagnostics));
    }
    if servers.len() > MAX_SERVERS {
        let message = format!("only the first {MAX_SERVERS} of {} MCP servers are used", servers.len());
        diagnostics.push(Diagnostic::warn(file, message));
    }
    found
}

/// The table of servers, also where the whole file is one.
fn servers_of(object: &Map<String, Value>) -> Option<&Map<String, Value>> {
    if let Some(servers) = KEYS.iter().find_map(|key| object.get(*key)) {
        return servers.as_object();
    }
    let is_server =
        |value: &Value| ["command", "url", "httpUrl", "serverUrl"].iter().any(|key| value.get(key).is_some());
    let bare = object.values().all(Value::is_object) && object.values().any(is_server);
    (bare || object.is_empty()).then_some(object)
}

/// The name of the Agent Plugin in `dir`, if it is one.
fn plugin_beside(dir: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<String> {
    let file = dir.join(PLUGIN);
    let text = match texts::read_text(&file, texts::MAX_TEXT) {
        Ok(text) => text,
        Err(ReadError::Missing) => return None,
        Err(error) => {
            diagnostics.push(Diagnostic::warn(&file, format!("cannot read {}: {error}", file.display())));
            return None;
        }
    };
    match jsonc::object(&text) {
        Ok((plugin, _)) => plugin.get("name").and_then(Value::as_str).map(str::to_owned),
        Err(error) => {
            diagnostics.push(Diagnostic::warn(&file, format!("cannot read {}: {error}", file.display())));
            None
        }
    }
}

/// What a server is called: its own name, with that of the extension that brings it in front.
fn id_of(owner: Option<&str>, name: &str) -> String {
    match owner {
        Some(owner) if owner != name => format!("{owner}.{name}"),
        _ => name.to_owned(),
    }
}

/// Where an entry stands.
#[derive(Clone, Copy)]
struct EntrySource<'a> {
    dir: &'a Path,
    file: &'a Path,
    origin: Origin,
}

/// One entry. A bad one is found as invalid; its siblings do not care.
fn of_entry(id: &str, name: &str, value: &Value, place: EntrySource<'_>, diagnostics: &mut Vec<Diagnostic>) -> Found {
    let mut warnings = Vec::new();
    let read = ExtensionId::sanitized(id)
        .ok_or_else(|| format!("the name {name:?} of an MCP server has no letter or digit"))
        .and_then(|id| lower::manifest(id, name, value, &mut warnings));
    let warn = |warning: &String| Diagnostic::warn(place.file, format!("MCP server {name:?}: {warning}"));
    diagnostics.extend(warnings.iter().map(warn));
    found(id, read.map_err(|error| format!("MCP server {name:?} is left out: {error}")), place, diagnostics)
}

/// What was read of a server, or why it cannot be used.
fn found(id: &str, read: Result<Manifest, String>, place: EntrySource<'_>, diagnostics: &mut Vec<Diagnostic>) -> Found {
    let (manifest, standing) = match read {
        Ok(manifest) => {
            let standing = match &manifest.launch {
                Launch::Unsupported { reason } => Standing::Unsupported { reason: reason.clone() },
                _ => Standing::Active,
            };
            (manifest, standing)
        }
        Err(error) => {
            let diagnostic = Diagnostic::error(place.file, &error);
            let standing = Standing::Invalid { error: diagnostic.message.clone() };
            diagnostics.push(diagnostic);
            let reason = error;
            (Manifest::plain(id, Format::Mcp, RuntimeKind::Mcp, Launch::Unsupported { reason }), standing)
        }
    };
    Found {
        manifest: Arc::new(manifest),
        dir: place.dir.to_owned(),
        manifest_path: place.file.to_owned(),
        origin: place.origin,
        standing,
        extent: Extent::Entry,
    }
}

/// The servers that an extension's manifest brings, each an extension of its own.
pub fn brought_by(owner: &Found, diagnostics: &mut Vec<Diagnostic>) -> Vec<Found> {
    if !owner.is_active() {
        return Vec::new();
    }
    let id = owner.manifest.id.as_str();
    let place = EntrySource { dir: &owner.dir, file: &owner.manifest_path, origin: owner.origin };
    let servers = owner.manifest.mcp_servers.iter();
    servers.map(|(name, value)| of_entry(&id_of(Some(id), name), name, value, place, diagnostics)).collect()
}

/// A server that an extension brings runs only if the extension may.
pub fn follow_owners(extensions: &mut [Found]) {
    let is_server = |found: &Found| found.manifest.format == Format::Mcp;
    let idle: Vec<(PathBuf, ExtensionId)> = extensions
        .iter()
        .filter(|found| !is_server(found) && !found.is_active() && !found.manifest.mcp_servers.is_empty())
        .map(|owner| (owner.manifest_path.clone(), owner.manifest.id.clone()))
        .collect();
    for found in extensions.iter_mut().filter(|found| is_server(found) && found.is_active()) {
        if let Some((_, owner)) = idle.iter().find(|(path, _)| *path == found.manifest_path) {
            found.standing = Standing::Disabled { reason: format!("extension {owner}, which brings it, does not run") };
        }
    }
}

/// Where an extension that is an entry of a file stands: the file, with the name of the entry.
pub fn entry_of(found: &Found) -> Option<PathBuf> {
    let is_server = found.manifest.format == Format::Mcp;
    is_server.then(|| found.manifest_path.join(found.manifest.id.as_str()))
}

/// What tells whether a server is still the same: how it is reached. Its programs are not its own files.
pub fn identity(found: &Found) -> Option<String> {
    let is_server = found.manifest.format == Format::Mcp;
    is_server.then(|| serde_json::to_string(&*found.manifest).unwrap_or_default())
}

#[cfg(test)]
mod tests;
