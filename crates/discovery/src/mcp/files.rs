//! `mcp/*.yaml`: every file in a folder `mcp` below a search directory is one server that is reached over HTTP.
//!
//! ```yaml
//! url: https://example.org/mcp
//! headers:
//!   Authorization: Bearer ${EXAMPLE_TOKEN}
//! ```

use std::path::Path;

use jackfield_protocol::{ExtensionId, Format, Launch, Manifest};
use serde_json::Value;

use super::super::loose::{self, LooseRoot};
use super::super::report::{Diagnostic, Found, Origin};
use super::super::{parse, settings, yaml};
use super::{lower, texts};

const FOLDER: &str = "mcp";
const ENDINGS: [&str; 2] = ["yaml", "yml"];

/// What is understood; the rest of what `mcp.json` knows is about programs.
const KEYS: [&str; 10] = [
    "url",
    "headers",
    "description",
    "enabled",
    "disabled",
    "prefix",
    "protocol",
    "timeout",
    "call_timeout_ms",
    "startup_timeout_ms",
];

/// All files below a search directory.
pub(crate) fn search(place: &LooseRoot<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Found> {
    folder(place, &place.root.join(FOLDER), diagnostics)
}

/// The files of a directory on the command line, which may be the folder itself.
pub fn named_by_flag(dir: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<Found> {
    let place = LooseRoot { root: dir, links_lead_out: true, origin: Origin::Flag };
    if dir.file_name().is_some_and(|name| name == FOLDER) {
        return folder(&place, dir, diagnostics);
    }
    search(&place, diagnostics)
}

fn folder(place: &LooseRoot<'_>, dir: &Path, diagnostics: &mut Vec<Diagnostic>) -> Vec<Found> {
    let files = place.files(dir, "files with MCP servers", is_ours, diagnostics);
    files.iter().map(|file| of_file(file, place.origin, diagnostics)).collect()
}

/// Whether a file is called like a server.
pub(super) fn is_ours(path: &Path) -> bool {
    loose::is_named(path, &ENDINGS)
}

/// Whether an extension is a file of this kind.
pub fn is_one(found: &Found) -> bool {
    found.manifest.format == Format::Mcp && is_ours(&found.manifest_path)
}

/// The server that a file describes. One that cannot be used is found as invalid, and an error says why.
pub(super) fn of_file(path: &Path, origin: Origin, diagnostics: &mut Vec<Diagnostic>) -> Found {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut warnings = Vec::new();
    let read = manifest(path, &stem, &mut warnings);
    let warnings = warnings.iter().map(|warning| Diagnostic::warn(path, format!("{}: {warning}", path.display())));
    diagnostics.extend(warnings);
    let read = read.map_err(|error| format!("the MCP server in {} is left out: {error}", path.display()));
    super::found(&stem, read, super::EntrySource { dir, file: path, origin }, diagnostics)
}

fn manifest(path: &Path, stem: &str, warnings: &mut Vec<String>) -> Result<Manifest, String> {
    let text = texts::read_text(path, texts::MAX_TEXT).map_err(|error| error.to_string())?;
    let mut entry = match yaml::read(&text).map_err(|error| settings::placed(path, &error))? {
        Value::Object(entry) => entry,
        Value::Null => return Err("missing `url`: the file is empty".to_owned()),
        other => return Err(format!("it must hold `url: …`, found {}", parse::kind(&other))),
    };
    entry.retain(|key, _| {
        let is_known = KEYS.contains(&key.as_str());
        if !is_known {
            warnings.push(format!("`{key}` is not understood and has no effect; there are {}", KEYS.join(", ")));
        }
        is_known
    });
    match entry.get("url") {
        None | Some(Value::Null) => return Err("missing `url`, the address of the server".to_owned()),
        Some(Value::String(url)) if url.trim().is_empty() => return Err("its `url` is empty".to_owned()),
        Some(_) => {}
    }
    let id = ExtensionId::sanitized(stem).ok_or("its name has no letter or digit; rename it")?;
    let mut manifest = lower::manifest(id, stem, &Value::Object(entry), warnings)?;
    if let Launch::Mcp(server) = &mut manifest.launch
        && server.prefix.is_none()
    {
        server.prefix = Some(format!("{FOLDER}_{stem}_"));
    }
    Ok(manifest)
}
