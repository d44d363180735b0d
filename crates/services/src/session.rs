//! `session`: what the session is, what it holds for all extensions, and what each of them keeps in it. In memory, and in a
//! file where the host was given one.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackfield_protocol::{CallError, ErrorCode, ExtensionId, SessionOp};
use serde_json::{Map, Value, json};

use super::{SessionInfo, errno};

/// The most bytes of one value, as JSON.
const MAX_VALUE: usize = 64 * 1024;
/// The most bytes of a key, a name or a label.
const MAX_KEY: usize = 256;
/// The most keys of one extension.
const MAX_KEYS: usize = 256;
/// The most bytes of one entry, as JSON.
const MAX_ENTRY: usize = 1024 * 1024;
/// The most bytes of all entries together.
const MAX_ENTRIES: usize = 64 * 1024 * 1024;
/// The types of entries that extensions may add; the rest of a session is the agent's.
const EXTENSION_ENTRY_TYPES: [&str; 2] = ["custom", "custom_message"];
/// The format of a session's file.
const VERSION: u64 = 3;

/// The session. Values belong to one extension each; entries, name and labels are everybody's.
#[derive(Debug)]
pub struct Session {
    info: SessionInfo,
    values: Mutex<HashMap<ExtensionId, BTreeMap<String, Value>>>,
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    entries: Vec<Map<String, Value>>,
    bytes: usize,
    active: Option<Vec<String>>,
    file: Option<PathBuf>,
}

impl Session {
    pub(super) fn new(info: SessionInfo) -> Self {
        Self { info, values: Mutex::default(), shared: Mutex::default() }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        // A panic while the lock was held cannot leave what is in it half changed in a way that matters here.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on with the entries of a file, and adds to it from now on. Makes the file if it is missing.
    ///
    /// # Errors
    /// When it cannot be read, is no session, or is too large.
    pub fn continue_in(&self, file: &Path) -> Result<(), String> {
        let text = match std::fs::metadata(file) {
            Ok(facts) if facts.len() > MAX_ENTRIES as u64 => {
                return Err(format!("it has {} bytes; the most is {MAX_ENTRIES}", facts.len()));
            }
            Ok(_) => std::fs::read_to_string(file).map_err(|error| error.to_string())?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error.to_string()),
        };
        let mut entries = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<Map<String, Value>>(line) {
                // The last line may have been cut short by a host that was killed.
                Err(_) if at + 1 == text.lines().count() && at > 0 => {}
                Err(error) => return Err(format!("line {}: {error}", at + 1)),
                Ok(header) if header.get("type") == Some(&json!("session")) => {}
                Ok(entry) if entry.get("id").is_some_and(Value::is_string) => entries.push(entry),
                Ok(_) => return Err(format!("line {}: an entry without an id", at + 1)),
            }
        }
        let mut shared = self.shared();
        shared.file = Some(file.to_owned());
        shared.bytes = text.len();
        shared.entries = entries;
        if text.is_empty() {
            let header = json!({
                "type": "session", "version": VERSION, "id": self.info.id, "timestamp": now(),
                "cwd": self.info.cwd.to_string_lossy(),
            });
            shared.keep(&header).map_err(|error| error.to_string())?;
        } else if !text.ends_with('\n') {
            // What follows must not hang on to a line that was cut short.
            shared.keep_text("\n").map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Serves one operation for `extension`.
    pub(super) fn perform(&self, extension: &ExtensionId, op: &SessionOp) -> Result<Value, CallError> {
        let refuse =
            |why: String| Err(CallError::new(ErrorCode::InvalidRequest, format!("session: {why}")).of(extension));
        match op {
            SessionOp::Info => Ok(json!({
                "id": self.info.id,
                "session_id": self.info.id,
                "cwd": self.info.cwd.to_string_lossy(),
                "provider": self.info.provider,
                "model": self.info.model,
                "name": self.name(),
                "file": self.shared().file.as_ref().map(|file| file.to_string_lossy().into_owned()),
            })),
            SessionOp::Get { key } => {
                let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(json!({ "value": values.get(extension).and_then(|own| own.get(key)) }))
            }
            SessionOp::Set { key, value } => self.set(extension, key, value),
            SessionOp::Entries => Ok(json!({ "entries": self.entries() })),
            SessionOp::Append { entry } => {
                let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default();
                if !EXTENSION_ENTRY_TYPES.contains(&kind) {
                    let kinds = EXTENSION_ENTRY_TYPES.join(" or ");
                    return refuse(format!(
                        "an entry of type {kind:?} is not an extension's to add; its type is {kinds}"
                    ));
                }
                if !entry.get("customType").is_some_and(Value::is_string) {
                    return refuse("an entry of an extension has a customType".to_owned());
                }
                Ok(json!({ "id": self.append(entry.clone())? }))
            }
            SessionOp::Name => Ok(json!({ "name": self.name() })),
            SessionOp::SetName { name } => {
                let name = name.as_deref().unwrap_or_default().trim();
                if name.len() > MAX_KEY {
                    return refuse(format!("a name has at most {MAX_KEY} bytes, this one {}", name.len()));
                }
                Ok(json!({ "id": self.append(fields(json!({ "type": "session_info", "name": name })))? }))
            }
            SessionOp::SetLabel { id, label } => {
                if self.entry(id).is_none() {
                    return refuse(format!("there is no entry {id:?} to label"));
                }
                if label.as_ref().is_some_and(|label| label.len() > MAX_KEY) {
                    return refuse(format!("a label has at most {MAX_KEY} bytes"));
                }
                let entry = json!({ "type": "label", "targetId": id, "label": label });
                Ok(json!({ "id": self.append(fields(entry))? }))
            }
            SessionOp::SetTools { names } => {
                if names.len() > 10_000 || names.iter().any(|name| name.len() > MAX_KEY) {
                    return refuse("these are no names of tools".to_owned());
                }
                self.shared().active = Some(names.clone());
                Ok(json!({}))
            }
            SessionOp::Tools | SessionOp::Commands => Err(CallError::new(
                ErrorCode::Internal,
                "the gate knows the tools and commands, not the services; this is a fault of the host",
            )),
        }
    }

    /// Adds an entry and gives its id.
    pub fn append(&self, mut entry: Map<String, Value>) -> Result<String, CallError> {
        let mut shared = self.shared();
        let id = shared.new_id();
        let parent = shared.entries.last().and_then(|last| last.get("id").cloned()).unwrap_or(Value::Null);
        let kind = entry.remove("type").unwrap_or_else(|| json!("custom"));
        let mut whole = fields(json!({ "type": kind, "id": id, "parentId": parent, "timestamp": now() }));
        entry.retain(|key, _| !whole.contains_key(key));
        whole.extend(entry);
        let text = Value::Object(whole.clone()).to_string();
        if text.len() > MAX_ENTRY || shared.bytes + text.len() > MAX_ENTRIES {
            let message = format!(
                "session: an entry has at most {MAX_ENTRY} bytes and all together {MAX_ENTRIES}; this one has {}, the others {}",
                text.len(),
                shared.bytes
            );
            return Err(CallError::new(ErrorCode::InvalidRequest, message));
        }
        shared.keep(&Value::Object(whole.clone())).map_err(|error| errno::failure("session: keep an entry", &error))?;
        shared.bytes += text.len();
        shared.entries.push(whole);
        Ok(id)
    }

    /// All entries, in order.
    pub fn entries(&self) -> Vec<Map<String, Value>> {
        self.shared().entries.clone()
    }

    /// The entry with this id, if there is one.
    pub fn entry(&self, id: &str) -> Option<Map<String, Value>> {
        let shared = self.shared();
        shared.entries.iter().rev().find(|entry| entry.get("id").and_then(Value::as_str) == Some(id)).cloned()
    }

    /// The tools that the agent may use; nothing where nobody said.
    pub fn active_tools(&self) -> Option<Vec<String>> {
        self.shared().active.clone()
    }

    fn name(&self) -> Option<String> {
        let shared = self.shared();
        let last = shared.entries.iter().rev().find(|entry| entry.get("type") == Some(&json!("session_info")))?;
        last.get("name")?.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
    }

    fn set(&self, extension: &ExtensionId, key: &str, value: &Value) -> Result<Value, CallError> {
        let refuse = |why: String| {
            Err(CallError::new(ErrorCode::InvalidRequest, format!("session set of {extension}: {why}")).of(extension))
        };
        if key.is_empty() || key.len() > MAX_KEY {
            return refuse(format!("a key has 1 to {MAX_KEY} bytes, this one {}", key.len()));
        }
        let size = value.to_string().len();
        if size > MAX_VALUE {
            return refuse(format!("the value of {key:?} has {size} bytes, at most {MAX_VALUE} are kept; use a file"));
        }
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let own = values.entry(extension.clone()).or_default();
        if value.is_null() {
            own.remove(key);
        } else if own.len() >= MAX_KEYS && !own.contains_key(key) {
            return refuse(format!("{MAX_KEYS} keys are kept already; set one of them to null first"));
        } else {
            own.insert(key.to_owned(), value.clone());
        }
        Ok(json!({ "ok": true }))
    }
}

impl Shared {
    /// Writes a line to the file, if there is one.
    fn keep(&self, line: &Value) -> std::io::Result<()> {
        self.keep_text(&format!("{line}\n"))
    }

    fn keep_text(&self, text: &str) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut options = std::fs::OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(file)?.write_all(text.as_bytes())
    }

    /// Eight hex digits that no entry has.
    fn new_id(&self) -> String {
        use std::hash::{BuildHasher as _, RandomState};
        loop {
            let id = format!("{:08x}", RandomState::new().hash_one(self.entries.len()) as u32);
            if !self.entries.iter().any(|entry| entry.get("id").and_then(Value::as_str) == Some(&id)) {
                return id;
            }
        }
    }
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Now, in RFC 3339 with milliseconds.
fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        let (id, cwd) = (jackfield_protocol::SessionId::new("s1"), PathBuf::from("/p"));
        Session::new(SessionInfo { id, cwd, provider: String::new(), model: String::new() })
    }

    fn op(params: Value) -> SessionOp {
        serde_json::from_value(params).unwrap()
    }

    fn ask(session: &Session, params: Value) -> Result<Value, CallError> {
        session.perform(&"ext".into(), &op(params))
    }

    #[test]
    fn entries_form_a_chain_that_all_see() {
        let session = session();
        let first = ask(&session, json!({"op": "append", "entry": {"type": "custom", "customType": "t", "data": 1}}));
        let first = first.unwrap()["id"].as_str().unwrap().to_owned();
        ask(&session, json!({"op": "set_label", "id": first, "label": "here"})).unwrap();
        ask(&session, json!({"op": "set_name", "name": " mine "})).unwrap();
        assert_eq!(ask(&session, json!({"op": "name"})).unwrap(), json!({"name": "mine"}));
        let entries = session.perform(&"other".into(), &SessionOp::Entries).unwrap();
        let entries = entries["entries"].as_array().unwrap();
        assert_eq!((&entries[0]["customType"], &entries[0]["data"]), (&json!("t"), &json!(1)));
        assert_eq!((&entries[0]["parentId"], &entries[1]["parentId"]), (&json!(null), &json!(first)));
        assert_eq!((&entries[1]["type"], &entries[1]["targetId"]), (&json!("label"), &json!(first)));
        assert!(entries[0]["timestamp"].as_str().unwrap().ends_with('Z'));
        ask(&session, json!({"op": "set_name", "name": null})).unwrap();
        assert_eq!(ask(&session, json!({"op": "name"})).unwrap(), json!({"name": null}));
    }

    #[test]
    fn extensions_add_only_what_is_theirs() {
        let session = session();
        for entry in [
            json!({"type": "message", "customType": "t"}),
            json!({"type": "custom"}),
            json!({"customType": "t"}),
            json!({"type": "custom", "customType": "t", "data": "x".repeat(MAX_ENTRY)}),
        ] {
            let error = ask(&session, json!({"op": "append", "entry": entry})).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidRequest, "{error}");
        }
        // The host's own fields cannot be given.
        let forged = json!({"type": "custom", "customType": "t", "id": "x", "parentId": "y", "timestamp": "z"});
        let id = ask(&session, json!({"op": "append", "entry": forged})).unwrap()["id"].clone();
        let entry = session.entry(id.as_str().unwrap()).unwrap();
        assert!(id != "x" && entry["parentId"].is_null() && entry["timestamp"] != "z");
        assert!(ask(&session, json!({"op": "set_label", "id": "none", "label": "l"})).is_err());
    }

    #[test]
    fn a_file_keeps_the_session() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        let entry = || json!({"op": "append", "entry": {"type": "custom", "customType": "t"}});
        let first = session();
        first.continue_in(&file).unwrap();
        ask(&first, entry()).unwrap();
        // A host that was killed in the middle of a line.
        let mut text = std::fs::read_to_string(&file).unwrap();
        text.push_str("{\"type\":\"cus");
        std::fs::write(&file, text).unwrap();
        let second = session();
        second.continue_in(&file).unwrap();
        assert_eq!(second.entries(), first.entries());
        ask(&second, entry()).unwrap();
        assert_eq!(second.entries()[1]["parentId"], first.entries()[0]["id"]);
        let lines = std::fs::read_to_string(&file).unwrap();
        assert_eq!(lines.lines().filter(|line| line.contains("\"customType\"")).count(), 2);
        assert!(lines.starts_with("{\"type\":\"session\",\"version\":3"), "{lines}");
        std::fs::write(&file, "nonsense\n").unwrap();
        assert!(session().continue_in(&file).is_err());
    }
}
