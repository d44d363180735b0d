//! From a script to the one manifest, and names that stay apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use jackfield_protocol::{ExtensionId, Format, Launch, Manifest, RuntimeKind};
use sha2::{Digest, Sha256};

use super::super::fingerprint::hex;
use super::super::report::{Diagnostic, Found, Origin, Standing};
use super::entries::Entry;
use super::package::Own;

/// The most missing dependencies that one message names.
const SHOWN_DEPENDENCIES: usize = 8;

/// The extension that a script is.
pub(crate) fn found(entry: &Entry, origin: Origin, diagnostics: &mut Vec<Diagnostic>) -> Found {
    let package = entry.package.as_deref();
    let manifest_path = package.map_or_else(|| entry.file.clone(), |package| package.file.clone());
    let mut standing = Standing::Active;
    let mut own = Own::default();
    if let Some(package) = package {
        diagnostics.extend(package.warnings.iter().map(|warning| Diagnostic::warn(&package.file, warning)));
        match &package.own {
            Ok(table) => own = table.clone(),
            Err(error) => {
                let diagnostic = Diagnostic::error(&package.file, error);
                standing = Standing::Invalid { error: diagnostic.message.clone() };
                diagnostics.push(diagnostic);
            }
        }
        let missing = package.missing_dependencies();
        if !missing.is_empty() {
            diagnostics.push(Diagnostic::warn(&package.file, not_installed(&missing, &package.dir)));
        }
    }
    let name = name(entry);
    let relative = entry.file.strip_prefix(&entry.dir).unwrap_or(&entry.file);
    let launch = match relative.to_str() {
        Some(path) => Launch::Js { entry: path.to_owned() },
        None => {
            let reason = "the path of its script is not UTF-8; rename it".to_owned();
            standing = Standing::Unsupported { reason: reason.clone() };
            Launch::Unsupported { reason }
        }
    };
    let manifest = Manifest {
        id: ExtensionId::sanitized(&name).unwrap_or_else(|| ExtensionId::new("unnamed")),
        name,
        version: package.and_then(|package| package.version.clone()),
        description: package.and_then(|package| package.description.clone()),
        format: Format::Pi,
        runtime: RuntimeKind::Js,
        launch,
        enabled: own.enabled,
        capabilities: own.capabilities,
        requires: own.requires,
        limits: own.limits,
        on_failure: own.on_failure,
        isolation: own.isolation,
        priority: own.priority,
        context_passthrough: false,
        declared_tools: Vec::new(),
        mcp_servers: BTreeMap::new(),
    };
    Found {
        manifest: Arc::new(manifest),
        dir: entry.dir.clone(),
        manifest_path,
        origin,
        standing,
        extent: entry.extent,
    }
}

fn not_installed(missing: &[String], dir: &Path) -> String {
    let shown = missing.iter().take(SHOWN_DEPENDENCIES).cloned().collect::<Vec<_>>().join(", ");
    let more = missing.len().saturating_sub(SHOWN_DEPENDENCIES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "dependencies are not installed: {shown}{more}; run `npm install --omit=dev --ignore-scripts --prefix {}`",
        dir.display()
    )
}

/// What an extension is called: its package's name, with the script's where the package has several; else the script's.
fn name(entry: &Entry) -> String {
    let package = entry.package.as_deref().and_then(|package| package.name.clone());
    let stem = stem(entry);
    let is_index = entry.file.file_stem().is_some_and(|stem| stem == "index");
    match package {
        Some(package) if entry.several => format!("{package}-{stem}"),
        // A script beside a package that does not list it is not the package, unless it is its index.
        Some(package) if entry.extent == super::super::report::Extent::Directory || is_index => package,
        _ => stem,
    }
}

/// The script's name; that of its directory for an index.
fn stem(entry: &Entry) -> String {
    let text = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let stem = text(entry.file.file_stem()).unwrap_or_default();
    let inside_package = entry.several && entry.file.parent() == Some(&entry.dir);
    if stem != "index" || inside_package {
        return stem;
    }
    text(entry.file.parent().and_then(Path::file_name)).filter(|dir| !dir.is_empty()).unwrap_or(stem)
}

/// Gives every script and Python file in `found` an id that neither `taken` nor an earlier one has. The addition comes from the script's
/// place, so that it stays the same whatever else comes and goes.
pub(crate) fn keep_apart<'a>(found: impl Iterator<Item = &'a mut Found>, taken: &mut BTreeSet<ExtensionId>) {
    for found in found {
        let (Launch::Js { entry } | Launch::Python { entry, .. }) = &found.manifest.launch else {
            taken.insert(found.manifest.id.clone());
            continue;
        };
        if !taken.insert(found.manifest.id.clone()) {
            let is_package = found.manifest_path.file_name().is_some_and(|name| name == super::PACKAGE_JSON);
            let place = if is_package { Path::new(entry).to_owned() } else { found.dir.join(entry) };
            let hash = hex(&Sha256::digest(place.as_os_str().as_encoded_bytes()));
            let base: String = found.manifest.id.as_str().chars().take(57).collect();
            let apart = |addition: &str| ExtensionId::new(format!("{base}-{addition}"));
            let mut id = apart(hash.get(..6).unwrap_or(&hash));
            let mut count = 2;
            while !taken.insert(id.clone()) {
                id = apart(&count.to_string());
                count += 1;
            }
            Arc::make_mut(&mut found.manifest).id = id;
        }
    }
}
