//! Installing one WASM component: it becomes a directory with a manifest.

use std::fs;
use std::path::{Path, PathBuf};

use jackfield_discovery::{self as discovery, wasm};

use super::{InstallError, Staging};

/// The component that a source means, if it means one.
pub(super) fn named(source: &str) -> Result<Option<PathBuf>, InstallError> {
    let path = Path::new(source);
    if !wasm::is_component(path) || !path.is_file() {
        return Ok(None);
    }
    fs::canonicalize(path).map(Some).map_err(InstallError::io("find", path))
}

/// Puts the component into a directory in `staging`.
pub(super) fn stage(component: &Path, source: &str, staging: &Staging) -> Result<PathBuf, InstallError> {
    let failed = |reason: String| InstallError::Source { source_text: source.to_owned(), reason };
    let (found, _) = discovery::check_one(component);
    let found = found.ok_or_else(|| failed("it cannot be read".to_owned()))?;
    let name = component.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| failed("its name is not UTF-8; rename it".to_owned()))?;
    let staged = staging.path().join("new");
    fs::create_dir(&staged).map_err(InstallError::io("create", &staged))?;
    let target = staged.join(name);
    fs::copy(component, &target).map_err(InstallError::io("copy", component))?;
    let mut manifest = toml::Table::new();
    manifest.insert("id".to_owned(), found.manifest.id.as_str().into());
    manifest.insert("runtime".to_owned(), "wasm".into());
    let run = toml::Table::from_iter([("component".to_owned(), name.into())]);
    manifest.insert("run".to_owned(), run.into());
    let text = toml::to_string(&manifest).map_err(|error| failed(error.to_string()))?;
    let place = staged.join("extension.toml");
    fs::write(&place, text).map_err(InstallError::io("write", &place))?;
    Ok(staged)
}
