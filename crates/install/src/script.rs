//! Installing one script: it and what it imports become a directory with a manifest.

use std::fs;
use std::path::{Path, PathBuf};

use jackfield_discovery::{self as discovery, Extent, js};
use serde_json::json;

use super::{InstallError, Staging};

/// The script that a source means, if it means one. A script that its package lists is not one: the package is.
pub(super) fn named(source: &str) -> Result<Option<PathBuf>, InstallError> {
    let path = Path::new(source);
    if !js::is_script(path) || !path.is_file() {
        return Ok(None);
    }
    let real = fs::canonicalize(path).map_err(InstallError::io("find", path))?;
    let is_loose = discovery::check_one(&real).0.is_some_and(|found| found.extent == Extent::Entry);
    Ok(is_loose.then_some(real))
}

/// Puts the script and its imports into a directory in `staging`.
pub(super) fn stage(script: &Path, source: &str, staging: &Staging) -> Result<PathBuf, InstallError> {
    let failed = |reason: String| InstallError::Source { source_text: source.to_owned(), reason };
    let (found, _) = discovery::check_one(script);
    let found = found.ok_or_else(|| failed("it cannot be read".to_owned()))?;
    let dir = script.parent().unwrap_or(Path::new("/"));
    let staged = staging.path().join("new");
    fs::create_dir(&staged).map_err(InstallError::io("create", &staged))?;
    for file in js::reached(script) {
        let Ok(below) = file.strip_prefix(dir) else {
            let reason =
                format!("it imports {}, which lies outside its directory; install the directory", file.display());
            return Err(failed(reason));
        };
        let target = staged.join(below);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(InstallError::io("create", parent))?;
        }
        fs::copy(&file, &target).map_err(InstallError::io("copy", &file))?;
    }
    let entry = script.file_name().and_then(|name| name.to_str());
    let entry = entry.ok_or_else(|| failed("its name is not UTF-8; rename it".to_owned()))?;
    let manifest = staged.join("extension.json");
    let text = json!({
        "schema": "pi.ext.manifest.v1", "id": found.manifest.id, "name": found.manifest.name, "entry": entry,
        "version": found.manifest.version, "description": found.manifest.description,
        "capabilities": found.manifest.capabilities,
    });
    let text = serde_json::to_string_pretty(&text).map_err(|error| failed(error.to_string()))?;
    fs::write(&manifest, text + "\n").map_err(InstallError::io("write", &manifest))?;
    Ok(staged)
}
