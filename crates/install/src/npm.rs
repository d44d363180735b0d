//! Fetching a package with npm, from the registry that the user has configured, with its dependencies and without giving
//! any of them a chance to run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jackfield_discovery::js::{PACKAGE_JSON, RECORD, npm_name};
use jackfield_files as files;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::program::{self, Ran};
use super::{InstallError, Staging};

/// An installation that takes longer is given up.
const TIMEOUT: Duration = Duration::from_secs(300);
/// A lock larger than this describes no extension.
const MAX_LOCK: u64 = 64 << 20;

/// What npm is told: nothing runs, nothing but the package and what it needs is fetched, all of it inside the package's own
/// directory, and what the host itself provides is not.
const ARGUMENTS: [&str; 11] = [
    "install",
    "--ignore-scripts",
    "--omit=dev",
    "--legacy-peer-deps",
    "--install-strategy=nested",
    "--no-bin-links",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--save-exact",
    "--loglevel=error",
];

/// What is kept of where an installed extension came from, in the file [`RECORD`] beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// As it was given.
    pub(super) source: String,
    /// Of a package: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// Of a package: its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    /// Of a package: the hash that npm checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) integrity: Option<String>,
    /// Version and hash of every dependency, by its place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) dependencies: BTreeMap<String, Pinned>,
}

/// A dependency as it was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pinned {
    version: Option<String>,
    integrity: Option<String>,
}

impl Record {
    /// Of something that came from a path.
    pub(super) fn of_path(source: &str) -> Self {
        Self { source: source.to_owned(), name: None, version: None, integrity: None, dependencies: BTreeMap::new() }
    }

    /// Writes it beside the extension in `dir`.
    pub(super) fn write(&self, dir: &Path) -> Result<(), InstallError> {
        let file = dir.join(RECORD);
        let failed = |error: io::Error| InstallError::io("write", &file)(error);
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        bytes.push(b'\n');
        files::write_atomic(&file, &bytes, files::WriteOptions::durable(0o644)).map(drop).map_err(failed)
    }
}

/// What a source asks npm for: `npm:NAME[@VERSION]`, or a tarball as `npm pack` makes it. Nothing for other sources.
pub(super) fn spec_of(source: &str) -> Option<Result<String, InstallError>> {
    let failed = |reason: String| InstallError::Source { source_text: source.to_owned(), reason };
    if let Some(spec) = source.strip_prefix("npm:") {
        let fits = npm_name(spec).is_some_and(|name| {
            let version = spec.get(name.len()..).unwrap_or_default().trim_start_matches('@');
            version.chars().all(|c| c.is_ascii_alphanumeric() || ".+-^~<>=*_".contains(c)) && !spec.ends_with('@')
        });
        let reason = "expected npm:NAME or npm:NAME@VERSION".to_owned();
        return Some(if fits { Ok(spec.to_owned()) } else { Err(failed(reason)) });
    }
    if !source.ends_with(".tgz") || !Path::new(source).is_file() {
        return None;
    }
    Some(fs::canonicalize(source).map_err(InstallError::io("find", Path::new(source))).and_then(|path| {
        path.to_str().map(str::to_owned).ok_or_else(|| failed("its path is not UTF-8; rename it".to_owned()))
    }))
}

/// Fetches `spec` into `staging` and gives the directory of the package, complete with its dependencies and a record.
pub(super) fn fetch(spec: &str, source: &str, staging: &Staging) -> Result<PathBuf, InstallError> {
    let failed = |reason: String| InstallError::Source { source_text: source.to_owned(), reason };
    let work = staging.path().join("npm");
    fs::create_dir(&work).map_err(InstallError::io("create", &work))?;
    // npm writes crooked paths into its lock when a link leads to where it works.
    let work = fs::canonicalize(&work).map_err(InstallError::io("find", &work))?;
    let project = work.join(PACKAGE_JSON);
    let empty = json!({ "name": "jackfield-install", "private": true }).to_string();
    fs::write(&project, empty).map_err(InstallError::io("write", &project))?;
    let mut command = Command::new("npm");
    // Where it works is also where it looks for settings, so those of a project have no say.
    command.args(ARGUMENTS).arg("--prefix").arg(&work).arg("--").arg(spec).current_dir(&work);
    let Ran { status, said } = program::run(&mut command, &work.with_extension("log"), TIMEOUT)?;
    match status {
        Ok(Some(status)) if status.success() => {}
        Ok(Some(_)) => return Err(failed(format!("npm install failed: {}", said.trim()))),
        Ok(None) => return Err(failed(format!("npm install took longer than {} s", TIMEOUT.as_secs()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let reason =
                "npm is not on PATH; install Node.js, which brings it, to fetch packages (extensions run without it)";
            return Err(failed(reason.to_owned()));
        }
        Err(error) => return Err(failed(format!("cannot run npm: {error}"))),
    }
    let name = wanted(&project).ok_or_else(|| failed("npm installed nothing".to_owned()))?;
    let place = format!("node_modules/{name}");
    let dir = work.join(&place);
    if !dir.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(failed(format!("npm did not install {name} where it was told to; is npm older than 8.19?")));
    }
    record(&work, source, &name, &place).write(&dir)?;
    Ok(dir)
}

/// The one package that npm was asked for.
fn wanted(project: &Path) -> Option<String> {
    let text = files::read_text(project, files::MAX_TEXT).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    let name = value.get("dependencies")?.as_object()?.keys().next()?.clone();
    (npm_name(&name) == Some(name.as_str())).then_some(name)
}

fn record(work: &Path, source: &str, name: &str, place: &str) -> Record {
    let lock = files::read_text(&work.join("package-lock.json"), MAX_LOCK).unwrap_or_default();
    let lock: Value = serde_json::from_str(&lock).unwrap_or_default();
    let mut record = Record { name: Some(name.to_owned()), ..Record::of_path(source) };
    let Some(packages) = lock.get("packages").and_then(Value::as_object) else { return record };
    for (path, package) in packages {
        let text = |key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
        let pinned = Pinned { version: text("version"), integrity: text("integrity") };
        if path == place {
            record.version = pinned.version;
            record.integrity = pinned.integrity;
        } else if let Some(below) = path.strip_prefix(place) {
            record.dependencies.insert(below.trim_start_matches('/').to_owned(), pinned);
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_npm_may_be_asked_for() {
        let spec = |source: &str| spec_of(source).map(|spec| spec.ok());
        let some = |text: &str| Some(Some(text.to_owned()));
        assert_eq!(spec("npm:foo"), some("foo"));
        assert_eq!(spec("npm:@a/foo@^1.2.0-beta.1"), some("@a/foo@^1.2.0-beta.1"));
        assert_eq!(spec("npm:foo@latest"), some("foo@latest"));
        for refused in [
            "npm:",
            "npm:--global",
            "npm:foo@",
            "npm:foo@file:../x",
            "npm:foo@https://h/x",
            "npm:a b",
            "npm:../x",
            "npm:foo@1 -g",
        ] {
            assert_eq!(spec(refused), Some(None), "{refused}");
        }
        for other in ["./dir", "missing.tgz", "https://h/x.tgz"] {
            assert_eq!(spec(other), None, "{other}");
        }
    }
}
