//! Pinned tools: what the tools of an MCP server were when they were first used. A server can change the words that a model
//! reads at any time and nobody sees it; so a tool that is not what it was is held back until a person accepts it.
//!
//! One file per server, with each definition beside its hash, so that the difference can be shown. A tool that is new is
//! recorded as it is; one that is gone stays recorded.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use jackfield_files::{self as files, ReadError};
use jackfield_files::{Home, WriteOptions, open_locked, write_atomic};
use jackfield_protocol::{ExtensionId, Format, ToolSpec, canonical_json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use jackfield_discovery::Found;
use jackfield_discovery::catalog::Catalog;
use jackfield_protocol::hex;

/// What counts of a definition: all that a model or a person goes by.
const PINNED: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
const VERSION: u32 = 1;
/// More than the definitions of a server may be; what is larger is not our file.
const MAX_BYTES: u64 = 64 << 20;
/// How long a change waits for another process.
const WAIT: Duration = Duration::from_secs(10);
/// The most of an old or new value that is shown, in characters.
const SHOWN: usize = 160;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    version: u32,
    server: String,
    file: PathBuf,
    tools: BTreeMap<String, Pin>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pin {
    sha256: String,
    /// As the server wrote it.
    definition: String,
}

/// A tool that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolChange {
    /// The server's own name for it.
    pub tool: String,
    /// What is different, one line each.
    pub differences: Vec<String>,
}

/// Why tools are held back, by the server's own names for them.
pub(crate) type Held = HashMap<String, String>;

/// What is recorded of the servers of a home.
#[derive(Debug, Clone)]
pub(crate) struct Pins {
    dir: PathBuf,
}

impl Pins {
    pub(crate) fn of(home: &Home) -> Self {
        Self { dir: home.pins() }
    }

    fn file(&self, found: &Found) -> PathBuf {
        self.dir.join(Catalog::name_of(found))
    }

    /// Which tools of a server are held back, and why. What is seen for the first time is recorded; what cannot be recorded is
    /// held back too, because nobody would see it change.
    pub(crate) fn judge(&self, found: &Found, tools: &[ToolSpec]) -> Held {
        let mut held = Held::new();
        if found.manifest.format != Format::Mcp {
            return held;
        }
        let id = &found.manifest.id;
        let all = |why: String| tools.iter().map(|tool| (tool.name.clone(), why.clone())).collect();
        let record = match self.read(found) {
            Ok(record) => record,
            Err(error) => return all(format!("{error}; look at it, then run `jackfield ext accept {id}`")),
        };
        let mut new = Vec::new();
        for tool in tools {
            let Some(wire) = tool.wire.as_ref() else { continue };
            match record.tools.get(&tool.name) {
                None => new.push(tool),
                // Compared as text first: hashing a few hundred definitions would delay every start.
                Some(pin) if pin.definition == wire.as_str() || pin.sha256 == hash(wire.as_str()) => {}
                Some(pin) => {
                    let differences = differences(&pin.definition, wire.as_str()).join("; ");
                    let why = format!(
                        "its definition changed since it was first used ({differences}); run `jackfield ext accept {id}` to accept it"
                    );
                    held.insert(tool.name.clone(), why);
                }
            }
        }
        if !new.is_empty()
            && let Err(error) = self.write(found, |record| {
                for tool in &new {
                    record.tools.entry(tool.name.clone()).or_insert_with(|| pin(tool));
                }
            })
        {
            for tool in new {
                held.insert(tool.name.clone(), format!("its definition cannot be recorded: {error}"));
            }
        }
        held
    }

    /// How the tools of a server differ from what is recorded. The error is about a record that cannot be read.
    pub(crate) fn changes(&self, found: &Found, tools: &[ToolSpec]) -> Result<Vec<ToolChange>, String> {
        let record = self.read(found)?;
        let changed = |tool: &ToolSpec| {
            let (pin, wire) = (record.tools.get(&tool.name)?, tool.wire.as_ref()?);
            let same = pin.sha256 == hash(wire.as_str());
            let differences = || differences(&pin.definition, wire.as_str());
            (!same).then(|| ToolChange { tool: tool.name.clone(), differences: differences() })
        };
        Ok(tools.iter().filter_map(changed).collect())
    }

    /// Records tools as they are now, whatever was recorded before.
    pub(crate) fn accept(&self, found: &Found, tools: &[ToolSpec]) -> io::Result<()> {
        self.write(found, |record| {
            record.tools.extend(tools.iter().map(|tool| (tool.name.clone(), pin(tool))));
        })
    }

    fn read(&self, found: &Found) -> Result<Record, String> {
        let file = self.file(found);
        let damaged = |error: &dyn std::fmt::Display| {
            format!("the record of its tools in {} cannot be read ({error})", file.display())
        };
        let text = match files::read_text(&file, MAX_BYTES) {
            Ok(text) => text,
            Err(ReadError::Missing) => return Ok(Record::default()),
            Err(error) => return Err(damaged(&error)),
        };
        let record: Record = serde_json::from_str(&text).map_err(|error| damaged(&error))?;
        if record.version == VERSION { Ok(record) } else { Err(damaged(&format!("it has version {}", record.version))) }
    }

    /// Changes the record as it is on disk now. A damaged one is begun anew: whoever may do that has been asked.
    fn write(&self, found: &Found, change: impl FnOnce(&mut Record)) -> io::Result<()> {
        std::fs::create_dir_all(&self.dir)?;
        let _held = open_locked(&self.dir.join(".held"), WAIT)?;
        let mut record = self.read(found).unwrap_or_default();
        record.version = VERSION;
        record.server = found.manifest.id.as_str().to_owned();
        record.file = found.manifest_path.clone();
        change(&mut record);
        let text = serde_json::to_vec_pretty(&record)?;
        write_atomic(&self.file(found), &text, WriteOptions::PRIVATE).map(drop)
    }
}

fn pin(tool: &ToolSpec) -> Pin {
    let definition = tool.wire.as_ref().map(|wire| wire.as_str().to_owned()).unwrap_or_default();
    Pin { sha256: hash(&definition), definition }
}

/// What counts of a definition.
fn counting(definition: &str) -> Map<String, Value> {
    let all: Map<String, Value> = serde_json::from_str(definition).unwrap_or_default();
    all.into_iter().filter(|(key, value)| PINNED.contains(&key.as_str()) && !value.is_null()).collect()
}

fn hash(definition: &str) -> String {
    hex(&Sha256::digest(canonical_json(&Value::Object(counting(definition)))))
}

/// What two definitions do not share, for a person.
fn differences(before: &str, now: &str) -> Vec<String> {
    let (before, now) = (counting(before), counting(now));
    let mut lines = Vec::new();
    for key in PINNED {
        compare(key, before.get(key), now.get(key), &mut lines);
    }
    lines
}

/// Goes down only where both sides are objects; the number of lines is bounded.
fn compare(place: &str, before: Option<&Value>, now: Option<&Value>, lines: &mut Vec<String>) {
    const MOST: usize = 20;
    if before == now || lines.len() > MOST {
        return;
    }
    if lines.len() == MOST {
        lines.push("and more".to_owned());
        return;
    }
    match (before, now) {
        (Some(Value::Object(before)), Some(Value::Object(now))) => {
            let added = now.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                compare(&format!("{place}.{key}"), before.get(key), now.get(key), lines);
            }
        }
        (before, now) => lines.push(format!("{place}: {} → {}", shown(before), shown(now))),
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// What a person is asked to accept.
#[derive(Debug, Clone)]
pub struct PinnedServer {
    /// The extension of the server.
    pub extension: ExtensionId,
    /// What is not what it was; the error is about a record that cannot be read.
    pub changes: Result<Vec<ToolChange>, String>,
}

impl crate::Host {
    /// How the tools of an MCP server, as far as they are known, differ from what they were when they were first used; nothing
    /// for what is no MCP server.
    pub fn pinned(&self, id: &ExtensionId) -> Option<PinnedServer> {
        let owner = self.inner.extension(id)?;
        let found = owner.found();
        (found.manifest.format == Format::Mcp).then(|| {
            let tools = owner.known_or_previous().map(|known| known.contributions.tools.clone()).unwrap_or_default();
            PinnedServer { extension: id.clone(), changes: self.inner.extensions.pins.changes(&found, &tools) }
        })
    }

    /// Accepts the tools of an MCP server as they are known now.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn accept_tools(&self, id: &ExtensionId) -> io::Result<()> {
        let Some(owner) = self.inner.extension(id) else { return Ok(()) };
        let tools = owner.known_or_previous().map(|known| known.contributions.tools.clone()).unwrap_or_default();
        self.inner.extensions.pins.accept(&owner.found(), &tools)?;
        self.inner.rebuild();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_counts_counts() {
        let plain = r#"{"name":"a","description":"d","inputSchema":{"x":1,"y":[1,2]}}"#;
        for same in [
            r#"{"inputSchema":{"y":[1,2],"x":1},"description":"d","name":"a","title":null}"#,
            r#"{"name":"a","description":"d","inputSchema":{"x":1,"y":[1,2]},"_meta":{"z":1},"icons":[]}"#,
        ] {
            assert_eq!(hash(plain), hash(same), "{same}");
            assert!(differences(plain, same).is_empty());
        }
        let other =
            r#"{"name":"a","description":"D","inputSchema":{"x":2,"y":[2,1]},"annotations":{"readOnlyHint":true}}"#;
        assert_ne!(hash(plain), hash(other));
        assert_eq!(
            differences(plain, other),
            [
                r#"description: "d" → "D""#,
                "inputSchema.x: 1 → 2",
                "inputSchema.y: [1,2] → [2,1]",
                r#"annotations: nothing → {"readOnlyHint":true}"#,
            ]
        );
    }

    #[test]
    fn a_flood_of_differences_ends() {
        let many = |from: usize| Value::Object((0..1000).map(|n| (format!("k{n}"), (from + n).into())).collect());
        let definition = |from| format!(r#"{{"inputSchema":{}}}"#, many(from));
        assert_eq!(differences(&definition(0), &definition(1)).len(), 21);
    }
}
