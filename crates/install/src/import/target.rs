//! The file that servers are written into.

use std::fs;
use std::path::{Path, PathBuf};

use jackfield_files::{WriteOptions, write_atomic};

use jackfield_discovery::read_jsonc;
use serde_json::{Map, Value};

use super::ImportOutcome;

/// The file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}: {why}", file.display())]
pub struct ImportError {
    what: &'static str,
    file: PathBuf,
    why: String,
}

/// A file with servers.
pub(super) struct Target {
    file: PathBuf,
    whole: Map<String, Value>,
    changed: bool,
}

const KEY: &str = "mcpServers";

impl Target {
    pub(super) fn open(file: &Path) -> Result<Self, ImportError> {
        let failed = |why: String| ImportError { what: "read", file: file.to_owned(), why };
        let whole = match fs::read_to_string(file) {
            Ok(text) if text.trim().is_empty() => Map::new(),
            Ok(text) => read_jsonc(&text).map_err(failed)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
            Err(error) => return Err(failed(error.to_string())),
        };
        if whole.get(KEY).is_some_and(|servers| !servers.is_object()) {
            return Err(failed(format!("`{KEY}` in it is not a table; correct it first")));
        }
        if !whole.is_empty() && !whole.contains_key(KEY) {
            return Err(failed(format!("it has no `{KEY}`; move its servers below that key first")));
        }
        Ok(Self { file: file.to_owned(), whole, changed: false })
    }

    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    pub(super) fn put(&mut self, name: &str, server: Map<String, Value>, replace: bool) -> ImportOutcome {
        let servers = self.whole.entry(KEY).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(servers) = servers else { return ImportOutcome::Skipped };
        let server = Value::Object(server);
        let outcome = match servers.get(name) {
            Some(there) if *there == server => return ImportOutcome::Unchanged,
            Some(_) if !replace => return ImportOutcome::Kept,
            Some(_) => ImportOutcome::Replaced,
            None => ImportOutcome::Added,
        };
        servers.insert(name.to_owned(), server);
        self.changed = true;
        outcome
    }

    /// Writes the file whole or not at all. It is its owner's alone.
    pub(super) fn save(&self) -> Result<(), ImportError> {
        let failed =
            |error: std::io::Error| ImportError { what: "write", file: self.file.clone(), why: error.to_string() };
        let text = serde_json::to_string_pretty(&self.whole).map_err(|error| failed(error.into()))?;
        // A link stays a link.
        let file = fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        write_atomic(&file, format!("{text}\n").as_bytes(), WriteOptions::PRIVATE).map(drop).map_err(failed)
    }
}
