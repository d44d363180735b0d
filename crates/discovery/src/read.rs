//! Reading one manifest, whatever its form.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_files::{self as files, ReadError};
use jackfield_protocol::{Format, Launch, Manifest, RuntimeKind};
use serde_json::Value;

use super::parse::{self, Parsed};
use super::report::{Diagnostic, Extent, Found, Origin, Standing};
use super::{mcp_servers, native, nexo, pi, zot};

/// The files that make a directory an extension; the first one that is there counts.
pub const MANIFEST_NAMES: [&str; 3] = ["extension.toml", "extension.json", "plugin.toml"];

/// The names, for messages.
pub fn manifest_names() -> String {
    MANIFEST_NAMES.join(", ")
}

/// The manifest of a directory that is one, or of a file that is its manifest.
pub fn locate(path: &Path) -> Result<(PathBuf, PathBuf), String> {
    let metadata = std::fs::metadata(path).map_err(|error| format!("cannot find {}: {error}", path.display()))?;
    if metadata.is_dir() {
        let manifest = MANIFEST_NAMES.iter().map(|name| path.join(name)).find(|manifest| {
            // Whatever stands under the name is the manifest, even if it cannot be read.
            manifest.symlink_metadata().is_ok()
        });
        return match manifest {
            Some(manifest) => Ok((path.to_owned(), manifest)),
            None => Err(format!("no manifest in {}: looked for {}", path.display(), manifest_names())),
        };
    }
    let is_manifest = path.file_name().is_some_and(|name| MANIFEST_NAMES.iter().any(|known| name == *known));
    match path.parent() {
        Some(dir) if is_manifest => Ok((dir.to_owned(), path.to_owned())),
        _ => Err(format!("{} is not a manifest: expected a directory or one of {}", path.display(), manifest_names())),
    }
}

/// Reads the manifest at `path`. One that cannot be used is found as invalid, and an error says why.
pub fn found(dir: &Path, path: &Path, origin: Origin, diagnostics: &mut Vec<Diagnostic>) -> Found {
    let (manifest, standing) = match manifest(dir, path, diagnostics) {
        Ok(manifest) => {
            let standing = match &manifest.launch {
                Launch::Unsupported { reason } => Standing::Unsupported { reason: reason.clone() },
                Launch::Process { .. }
                | Launch::Js { .. }
                | Launch::Python { .. }
                | Launch::Wasm { .. }
                | Launch::Mcp(_) => Standing::Active,
            };
            (manifest, standing)
        }
        Err(error) => {
            let diagnostic = Diagnostic::error(path, error);
            let standing = Standing::Invalid { error: diagnostic.message.clone() };
            diagnostics.push(diagnostic);
            (unreadable(dir, path, &standing), standing)
        }
    };
    let extent = Extent::Directory;
    Found {
        manifest: Arc::new(manifest),
        dir: dir.to_owned(),
        manifest_path: path.to_owned(),
        origin,
        standing,
        extent,
    }
}

/// What stands in a flag's place when there is nothing to read.
pub fn nothing(path: &Path, error: &str) -> Found {
    let standing = Standing::Invalid { error: error.to_owned() };
    Found {
        manifest: Arc::new(unreadable(path, path, &standing)),
        dir: path.to_owned(),
        manifest_path: path.to_owned(),
        origin: Origin::Flag,
        standing,
        extent: Extent::Directory,
    }
}

fn manifest(dir: &Path, path: &Path, diagnostics: &mut Vec<Diagnostic>) -> Result<Manifest, String> {
    let text = files::read_text(path, files::MAX_TEXT)
        .map_err(|error| format!("read manifest: {}: {error}", path.display()))?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parsed = match name {
        "plugin.toml" => nexo::read(&text),
        "extension.json" => json(&text, dir),
        _ => native::read(&text),
    };
    let Parsed { mut manifest, warnings } = parsed?;
    diagnostics.extend(warnings.iter().map(|warning| Diagnostic::warn(path, warning)));
    if manifest.format == Format::Nexo && manifest.mcp_servers.is_empty() {
        manifest.mcp_servers = sidecar(&dir.join(mcp_servers::SIDECAR), diagnostics);
    }
    Ok(manifest)
}

fn json(text: &str, dir: &Path) -> Result<Parsed, String> {
    let object = parse::json_object(text).map_err(|error| format!("parse manifest: {error}"))?;
    if object.get("schema").and_then(Value::as_str) == Some(pi::SCHEMA) {
        pi::read(&object, text, dir)
    } else {
        zot::read(&object, text)
    }
}

fn sidecar(path: &Path, diagnostics: &mut Vec<Diagnostic>) -> BTreeMap<String, Value> {
    let mut warnings = Vec::new();
    let servers = match files::read_text(path, files::MAX_TEXT) {
        Ok(text) => mcp_servers::read_sidecar(&text, &mut warnings),
        Err(ReadError::Missing) => BTreeMap::new(),
        Err(error) => {
            warnings.push(format!("failed to parse sidecar MCP file: {error}"));
            BTreeMap::new()
        }
    };
    diagnostics.extend(warnings.iter().map(|warning| Diagnostic::warn(path, warning)));
    servers
}

/// A manifest for the listing of what has none that can be read.
fn unreadable(dir: &Path, path: &Path, standing: &Standing) -> Manifest {
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let format = match path.file_name().and_then(|name| name.to_str()) {
        Some("plugin.toml") => Format::Nexo,
        Some("extension.json") => Format::Zot,
        _ => Format::Native,
    };
    let reason = match standing {
        Standing::Invalid { error } => error.clone(),
        _ => String::new(),
    };
    Manifest::plain(&name, format, RuntimeKind::Process, Launch::Unsupported { reason })
}
