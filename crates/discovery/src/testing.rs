//! A home and a project for tests of discovery and installation, and short checks of a report.

#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    clippy::new_without_default,
    missing_docs,
    reason = "only tests use it"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jackfield_files::Home;
use tempfile::TempDir;

use crate::trust::Trust;
use crate::{DiagnosticLevel, DiscoveryInput, Report, Standing, discover};

/// A home and a project in a directory of their own.
pub struct Place {
    _dir: TempDir,
    pub home: PathBuf,
    pub project: PathBuf,
    pub input: DiscoveryInput,
}

impl Place {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let (home, project) = (root.join("home"), root.join("project"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&project).unwrap();
        let input = DiscoveryInput {
            home: Home::at(&home),
            project: project.clone(),
            ext: Vec::new(),
            path_env: None,
            env: BTreeMap::new(),
            secrets: BTreeSet::new(),
        };
        Self { _dir: dir, home, project, input }
    }

    pub fn discover(&self) -> Report {
        discover(&self.input)
    }

    pub fn trust(&self) {
        Trust::load(&self.input.home).trust(&self.project).unwrap();
    }

    /// A zot extension in the user's directory.
    pub fn global(&self, dir: &str, manifest: &str) -> PathBuf {
        let dir = self.home.join("extensions").join(dir);
        write(&dir.join("extension.json"), manifest);
        dir
    }

    /// A zot extension in the project's `.zot`.
    pub fn zot(&self, dir: &str, manifest: &str) -> PathBuf {
        let dir = self.project.join(".zot/extensions").join(dir);
        write(&dir.join("extension.json"), manifest);
        dir
    }

    /// A nexo extension in the project's `extensions`.
    pub fn nexo(&self, dir: &str, id: &str) -> PathBuf {
        let dir = self.project.join("extensions").join(dir);
        write(&dir.join("plugin.toml"), nexo_manifest(id));
        dir
    }
}

pub fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn zot_manifest(name: &str) -> String {
    format!(r#"{{"name": "{name}", "version": "1.0.0", "exec": "./run.sh"}}"#)
}

pub fn nexo_manifest(id: &str) -> String {
    format!(
        "[plugin]\nid = \"{id}\"\nversion = \"1.0.0\"\n[capabilities]\ntools = [\"ping\"]\n\
         [transport]\nkind = \"stdio\"\ncommand = \"./main.py\"\n"
    )
}

/// `origin id standing` of each, in order.
pub fn standings(report: &Report) -> Vec<String> {
    let word = |standing: &Standing| match standing {
        Standing::Active => "active",
        Standing::Disabled { .. } => "disabled",
        Standing::Untrusted => "untrusted",
        Standing::Changed { .. } => "changed",
        Standing::Shadowed { .. } => "shadowed",
        Standing::MissingRequirements { .. } => "missing",
        Standing::Unsupported { .. } => "unsupported",
        Standing::Invalid { .. } => "invalid",
    };
    let line =
        |found: &super::Found| format!("{} {} {}", found.origin.as_str(), found.manifest.id, word(&found.standing));
    report.extensions.iter().map(line).collect()
}

#[track_caller]
pub fn check(report: &Report, expected: &[&str]) {
    assert_eq!(standings(report), expected, "{:#?}", report.diagnostics);
}

/// Exactly one diagnostic of that level about that path says `text`.
#[track_caller]
pub fn says(report: &Report, level: DiagnosticLevel, path: &Path, text: &str) {
    let count =
        report.diagnostics.iter().filter(|d| d.level == level && d.path == path && d.message.contains(text)).count();
    assert_eq!(count, 1, "{level:?} {} {text}: {:#?}", path.display(), report.diagnostics);
}
