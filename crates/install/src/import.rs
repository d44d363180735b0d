//! Taking over the MCP servers that people have set up in their agents.
//!
//! Only files are read and written; nothing is started, and no variable is filled in. A secret that stands in an agent's
//! file stays there: its place is taken by a variable, unless the owner asks for it to be copied.

mod agents;
mod entry;
mod secrets;
mod target;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

pub use agents::{Agent as ImportAgent, Places as ImportPlaces};
pub use target::ImportError;
use target::Target;

use jackfield_discovery::read_jsonc;

/// What is to be imported, and how.
#[derive(Debug, Clone)]
pub struct Import {
    /// From whom; each is looked for.
    pub agents: Vec<ImportAgent>,
    /// Where their files may be.
    pub places: ImportPlaces,
    /// The file that is written.
    pub into: PathBuf,
    /// Servers of the same name that differ are replaced.
    pub replace: bool,
    /// Secrets are copied, too.
    pub with_secrets: bool,
}

/// What became of one server.
#[derive(Debug, Clone, Serialize)]
pub struct ImportRow {
    /// Whose it is.
    pub agent: ImportAgent,
    /// Where it stands.
    pub file: PathBuf,
    /// What it is called there.
    pub name: String,
    /// What is done about it.
    pub outcome: ImportOutcome,
    /// It as it is written, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Value>,
    /// Why it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What its owner should know.
    pub warnings: Vec<String>,
}

/// What is done about a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    /// It is new.
    Added,
    /// It is there as it is.
    Unchanged,
    /// It takes the place of another one.
    Replaced,
    /// Another one of its name is there.
    Kept,
    /// It cannot be taken over, or need not.
    Skipped,
}

/// What an import finds.
#[derive(Debug, Clone, Serialize)]
pub struct ImportReport {
    /// The file that is written.
    pub into: PathBuf,
    /// All servers that were found.
    pub servers: Vec<ImportRow>,
    /// Files that cannot be read, and agents of whom there is nothing.
    pub notes: Vec<String>,
    /// Whether the file was written, or would be.
    pub changed: bool,
}

/// The longest file that is read.
const LONGEST: u64 = 8 * 1024 * 1024;

impl Import {
    /// Finds out what would be done; with `write` does it, too.
    ///
    /// # Errors
    /// The file that is to be written cannot be read or written.
    pub fn run(&self, write: bool) -> Result<ImportReport, ImportError> {
        let mut target = Target::open(&self.into)?;
        let mut report =
            ImportReport { into: self.into.clone(), servers: Vec::new(), notes: Vec::new(), changed: false };
        for agent in &self.agents {
            let files = agent.files(&self.places);
            let mut any = false;
            for file in &files {
                match self.read(*agent, file) {
                    Ok(None) => continue,
                    Ok(Some(servers)) => {
                        for (name, value) in servers {
                            report.servers.push(self.take(*agent, file, &name, &value, &mut target));
                        }
                    }
                    Err(error) => report.notes.push(format!("{}: {}: {error}", agent.as_str(), file.display())),
                }
                any = true;
            }
            if !any {
                let looked: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
                report.notes.push(format!(
                    "{}: no configuration found; looked at {}",
                    agent.as_str(),
                    looked.join(", ")
                ));
            }
        }
        report.changed = target.is_changed();
        if write && report.changed {
            target.save()?;
        }
        Ok(report)
    }

    fn read(&self, agent: ImportAgent, file: &Path) -> Result<Option<Vec<(String, Value)>>, String> {
        let known = match std::fs::metadata(file) {
            Ok(known) => known,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        if !known.is_file() || known.len() > LONGEST {
            return Err(format!("it is no file, or longer than {} MiB", LONGEST >> 20));
        }
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let whole = parse(file, &text)?;
        agent.servers(&whole, &self.places).map(Some)
    }

    fn take(&self, agent: ImportAgent, file: &Path, name: &str, value: &Value, target: &mut Target) -> ImportRow {
        let mut row = ImportRow {
            agent,
            file: file.to_owned(),
            name: name.to_owned(),
            outcome: ImportOutcome::Skipped,
            server: None,
            error: None,
            warnings: Vec::new(),
        };
        let server = match entry::server(agent, value, &mut row.warnings) {
            Ok(server) => server,
            Err(error) => {
                row.error = Some(error);
                return row;
            }
        };
        let mut hidden = server.clone();
        let moved = secrets::hide(name, &mut hidden);
        let copied = self.with_secrets || moved.is_empty();
        row.warnings.extend(moved.iter().map(|moved| moved.warning(self.with_secrets)));
        row.server = Some(Value::Object(hidden.clone()));
        let taken = if copied { server } else { hidden };
        row.outcome = target.put(name, taken, self.replace);
        if row.outcome == ImportOutcome::Kept {
            row.warnings.push("another server has this name; --replace takes this one instead".to_owned());
        }
        row
    }
}

fn parse(file: &Path, text: &str) -> Result<Map<String, Value>, String> {
    let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let value = match end {
        "toml" => {
            let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
            serde_json::to_value(table).map_err(|error| error.to_string())?
        }
        "yaml" | "yml" => serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?,
        _ => return if text.trim().is_empty() { Ok(Map::new()) } else { read_jsonc(text) },
    };
    match value {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Map::new()),
        _ => Err("it holds no settings".to_owned()),
    }
}
