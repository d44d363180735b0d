//! Python files as extensions: every `tools/*.py` and `channels/*.py` below a search directory is one. The file system is the
//! registry; nothing is run to find them.

mod metadata;
mod reach;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::loose::{self, LooseRoot};
use super::report::{Diagnostic, Extent, Found, Origin, Standing};

use jackfield_files::real_path;
use jackfield_protocol::{ExtensionId, Format, Launch, Manifest, PythonRole, RuntimeKind};
pub use reach::reached;

/// Tools of MCP servers are called so, and nothing else may be.
const RESERVED: &str = "MCP__";

const ROLES: [PythonRole; 2] = [PythonRole::Tool, PythonRole::Channel];

/// All files of both kinds.
pub(crate) fn search(place: &LooseRoot<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Found> {
    let folders = ROLES.into_iter();
    folders.flat_map(|role| folder(place, &place.root.join(role.folder()), role, diagnostics)).collect()
}

fn folder(place: &LooseRoot<'_>, dir: &Path, role: PythonRole, diagnostics: &mut Vec<Diagnostic>) -> Vec<Found> {
    let files = place.files(dir, "Python files", is_ours, diagnostics);
    files.iter().filter_map(|file| of_file(file, role, place.origin, diagnostics)).collect()
}

/// Whether the name is that of an extension: not a helper, not what editors leave behind.
fn is_ours(path: &Path) -> bool {
    loose::is_named(path, &["py"])
}

/// What a path on the command line means when it is neither a manifest nor a script: a Python file, or a directory with
/// `tools` or `channels`, or one of these.
pub fn named_by_flag(path: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<Found>> {
    let role_of = |dir: &Path| ROLES.into_iter().find(|role| dir.file_name().is_some_and(|name| name == role.folder()));
    if path.is_dir() {
        let place = LooseRoot { root: path, links_lead_out: true, origin: Origin::Flag };
        let found = match role_of(path) {
            Some(role) => folder(&place, path, role, diagnostics),
            None => search(&place, diagnostics),
        };
        return (!found.is_empty()).then_some(found);
    }
    if path.extension().is_none_or(|ending| ending != "py") {
        return None;
    }
    let role = path.parent().and_then(role_of).unwrap_or_else(|| reach::role_of(path));
    of_file(path, role, Origin::Flag, diagnostics).map(|found| vec![found])
}

/// The extension that a file is.
fn of_file(path: &Path, role: PythonRole, origin: Origin, diagnostics: &mut Vec<Diagnostic>) -> Option<Found> {
    // A file that is a link is called what the link is called, and lives where it leads.
    let real = real_path(path).ok()?;
    let dir = real.parent()?.to_owned();
    let stem = path.file_stem()?.to_string_lossy().into_owned();
    let mut standing = Standing::Active;
    let own = match metadata::read(&real) {
        Ok((own, warnings)) => {
            diagnostics.extend(warnings.iter().map(|warning| Diagnostic::warn(path, warning)));
            own
        }
        Err(error) => {
            standing = invalid(path, &error, diagnostics);
            Default::default()
        }
    };
    if role == PythonRole::Tool && stem.starts_with(RESERVED) {
        let error =
            format!("names that begin with {RESERVED} belong to the tools of MCP servers; rename {}", path.display());
        standing = invalid(path, &error, diagnostics);
    }
    let launch = match real.file_name().and_then(|name| name.to_str()).filter(|_| real.to_str().is_some()) {
        Some(entry) => Launch::Python { entry: entry.to_owned(), role },
        None => {
            let reason = format!("the path {} is not UTF-8; rename it", path.display());
            standing = Standing::Unsupported { reason: reason.clone() };
            Launch::Unsupported { reason }
        }
    };
    let id = ExtensionId::sanitized(&format!("{}.{stem}", role.folder()))?;
    let manifest = Manifest {
        id,
        name: stem,
        version: None,
        description: None,
        format: Format::Python,
        runtime: RuntimeKind::Process,
        launch,
        enabled: own.enabled,
        capabilities: own.capabilities,
        requires: own.requires,
        limits: own.limits,
        on_failure: own.on_failure,
        isolation: None,
        priority: own.priority,
        context_passthrough: false,
        declared_tools: Vec::new(),
        mcp_servers: BTreeMap::new(),
    };
    Some(Found { manifest: Arc::new(manifest), dir, manifest_path: real, origin, standing, extent: Extent::Entry })
}

fn invalid(path: &Path, error: &str, diagnostics: &mut Vec<Diagnostic>) -> Standing {
    let diagnostic = Diagnostic::error(path, error);
    let standing = Standing::Invalid { error: diagnostic.message.clone() };
    diagnostics.push(diagnostic);
    standing
}

/// The file of an extension that is one.
pub fn entry_of(found: &Found) -> Option<PathBuf> {
    match &found.manifest.launch {
        Launch::Python { entry, .. } => Some(found.dir.join(entry)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
