//! What an extension asks to be there before it starts.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use jackfield_protocol::Requires;

use super::DiscoveryInput;
use super::report::Standing;

/// `None` when all is there.
pub(crate) fn missing(requires: &Requires, dir: &Path, input: &DiscoveryInput) -> Option<Standing> {
    let bins: Vec<String> =
        requires.bins.iter().filter(|bin| !is_there(bin, dir, input.path_env.as_deref())).cloned().collect();
    let mut env = Vec::new();
    for name in &requires.env {
        let is_set = input.is_set(name);
        if !is_set {
            env.push(name.clone());
        }
    }
    (!bins.is_empty() || !env.is_empty()).then_some(Standing::MissingRequirements { bins, env })
}

/// In words, for the diagnostic.
pub(crate) fn describe(bins: &[String], env: &[String]) -> String {
    let bins = bins.iter().map(|bin| format!("missing program `{bin}`"));
    let env = env.iter().map(|name| format!("missing variable `{name}`"));
    let parts: Vec<String> = bins.chain(env).collect();
    format!("extension skipped: declared preconditions not satisfied: {}", parts.join(", "))
}

fn is_there(bin: &str, dir: &Path, path_env: Option<&OsStr>) -> bool {
    if bin.is_empty() {
        return false;
    }
    let is_program = |path: PathBuf| is_program(&path);
    if bin.contains(std::path::MAIN_SEPARATOR) || bin.contains('/') {
        // An absolute path stands for itself, any other is the extension's own.
        return is_program(dir.join(bin));
    }
    let Some(path_env) = path_env else { return false };
    // A relative entry would make the answer depend on where the host happens to stand.
    std::env::split_paths(path_env).filter(|entry| entry.is_absolute()).any(|entry| is_program(entry.join(bin)))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && is_executable(&metadata))
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &fs::Metadata) -> bool {
    true
}
