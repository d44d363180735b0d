//! The place where a script is played: a project, a home and room for temporary files, all thrown away afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::Script;

/// A fresh place.
pub(super) struct Project {
    place: PathBuf,
    before: BTreeMap<String, String>,
}

/// The variables that programs find; nothing else is passed on.
const PASSED_ON: [&str; 2] = ["LANG", "LC_ALL"];

impl Project {
    /// Prepares the place for a script.
    pub(super) fn new(script: &Script, side: &str) -> anyhow::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let place = std::env::temp_dir().join(format!("jackfield-behaviour-{}-{number}-{side}", std::process::id()));
        std::fs::create_dir_all(&place)?;
        let place = place.canonicalize()?;
        let mut project = Self { place, before: BTreeMap::new() };
        for dir in [project.dir(), project.home(), project.temp()] {
            std::fs::create_dir_all(dir)?;
        }
        for (root, key) in [(project.dir(), "files"), (project.home(), "home")] {
            for (path, content) in script.content.get(key).and_then(Value::as_object).into_iter().flatten() {
                let file = root.join(path);
                std::fs::create_dir_all(file.parent().unwrap_or(&root))?;
                std::fs::write(&file, content.as_str().unwrap_or_default())?;
            }
        }
        project.run_all(script, "setup")?;
        project.before = project.tree()?;
        if let Some(entries) = script.content.get("session").and_then(Value::as_array) {
            std::fs::write(project.place.join("session.jsonl"), project.session(entries))?;
        }
        Ok(project)
    }

    /// The project's directory; both sides have one of the same name.
    pub(super) fn dir(&self) -> PathBuf {
        self.place.join("project")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.place.join("home")
    }

    pub(super) fn temp(&self) -> PathBuf {
        self.place.join("tmp")
    }

    /// A file beside the project.
    pub(super) fn aside(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// The file of the session, if the script has one.
    pub(super) fn session_file(&self) -> Option<PathBuf> {
        Some(self.place.join("session.jsonl")).filter(|file| file.is_file())
    }

    /// Entries that say neither id nor parent follow each other.
    fn session(&self, entries: &[Value]) -> String {
        let time = "2026-01-01T00:00:00.000Z";
        let dir = self.dir();
        let mut lines = vec![json!({
            "type": "session", "version": 3, "id": "00000000-0000-4000-8000-000000000000", "timestamp": time,
            "cwd": dir.to_string_lossy(),
        })];
        let mut parent = Value::Null;
        for (at, entry) in entries.iter().enumerate() {
            let mut whole = json!({ "id": format!("{:08x}", at + 1), "parentId": parent, "timestamp": time });
            if let (Some(whole), Some(entry)) = (whole.as_object_mut(), entry.as_object()) {
                whole.extend(entry.clone());
            }
            parent = whole.get("id").cloned().unwrap_or_default();
            lines.push(whole);
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// A program in the project, with a home and an environment that say nothing about this machine.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir()).env_clear();
        for name in PASSED_ON {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let mut path = self.home().join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command.env("PATH", path).env("HOME", self.home()).env("TMPDIR", self.temp()).env("TZ", "UTC");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("SHELL", "/bin/bash");
        command
    }

    fn run_all(&self, script: &Script, key: &str) -> anyhow::Result<Vec<Value>> {
        let mut printed = Vec::new();
        for line in script.content.get(key).and_then(Value::as_array).into_iter().flatten() {
            let words: Vec<&str> = line.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let Some((program, args)) = words.split_first() else { bail!("{key}: {line} is no command") };
            let done = self.command(program).args(args).stdin(Stdio::null()).output();
            let done = done.with_context(|| format!("{key}: cannot run {program}"))?;
            if key == "setup" && !done.status.success() {
                bail!("setup: {line} failed: {}", String::from_utf8_lossy(&done.stderr).trim());
            }
            printed.push(json!(String::from_utf8_lossy(&done.stdout)));
        }
        Ok(printed)
    }

    fn tree(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut files = BTreeMap::new();
        walk(&self.dir(), "", &mut files)?;
        Ok(files)
    }

    /// Adds what became of the project to what was seen: files that are new, changed or gone, and what `after` prints.
    pub(super) fn finish(&self, script: &Script, seen: &mut Value) -> anyhow::Result<()> {
        let now = self.tree()?;
        let mut files = serde_json::Map::new();
        for (path, content) in &now {
            if self.before.get(path) != Some(content) {
                files.insert(path.clone(), json!(content));
            }
        }
        for path in self.before.keys().filter(|path| !now.contains_key(*path)) {
            files.insert(path.clone(), json!("(gone)"));
        }
        let after = self.run_all(script, "after")?;
        if let Some(seen) = seen.as_object_mut() {
            seen.insert("files".to_owned(), Value::Object(files));
            seen.insert("after".to_owned(), Value::Array(after));
        }
        Ok(())
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        // What remains in a temporary directory harms nobody.
        std::fs::remove_dir_all(&self.place).ok();
    }
}

/// Texts by path below `dir`; git's own files are not the project's.
fn walk(dir: &Path, below: &str, files: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if entry.file_type()?.is_dir() {
            if name != ".git" {
                walk(&entry.path(), &path, files)?;
            }
        } else {
            files.insert(path, String::from_utf8_lossy(&std::fs::read(entry.path())?).into_owned());
        }
    }
    Ok(())
}
