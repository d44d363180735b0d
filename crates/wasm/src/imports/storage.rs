//! `storage`: values in files of the extension's own data folder, which it may use without being asked, and in the session.
//! Every one is a host call like any other.

use jackfield_protocol::{CallError, FsOp, HostCall, SessionOp};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{ImportResult, invalid, json_of, refused, text};
use crate::bindings::jackfield::extension::storage::Host;
use crate::bindings::jackfield::extension::types::Error;
use crate::state::State;

/// The longest key, in bytes: three times as much must fit into a file's name.
const LONGEST_KEY: usize = 80;

enum Scope {
    /// A folder of its own.
    Folder(String),
    /// The session keeps it.
    Session,
}

/// A key as the name of a file: letters, digits, `-` and `_` stay, every other byte becomes `%` and two digits.
fn file_name(key: &str) -> Result<String, Error> {
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err(invalid(format!("a key of storage has 1 to {LONGEST_KEY} bytes, this one has {}", key.len())));
    }
    Ok(key.bytes().fold(String::new(), |mut name, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
        name
    }))
}

/// The key that a file was named after; nothing for files that are none of ours.
fn key_of(name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().filter(|key| file_name(key).is_ok_and(|again| again == name))
}

fn is_missing(error: &CallError) -> bool {
    error.details.as_ref().and_then(|details| details.get("errno")).and_then(Value::as_str) == Some("ENOENT")
}

impl State {
    fn place(&self, scope: &str) -> Result<Scope, Error> {
        let root = &self.shared.data_dir;
        match scope {
            "extension" => Ok(Scope::Folder(format!("{root}/storage/all"))),
            "workspace" => {
                let digest = Sha256::digest(self.shared.project.as_bytes());
                let project = jackfield_protocol::hex(digest.get(..12).unwrap_or_default());
                Ok(Scope::Folder(format!("{root}/storage/{project}")))
            }
            "session" => Ok(Scope::Session),
            other => Err(invalid(format!("storage has the scopes extension, workspace and session, not {other:?}"))),
        }
    }

    fn file(&self, scope: &str, key: &str) -> Result<(Scope, String), Error> {
        let name = file_name(key)?;
        let place = self.place(scope)?;
        let path = if let Scope::Folder(folder) = &place { format!("{folder}/{name}") } else { String::new() };
        Ok((place, path))
    }
}

impl Host for State {
    async fn get(&mut self, scope: String, key: String) -> ImportResult<Option<String>> {
        let path = match self.file(&scope, &key) {
            Ok((Scope::Folder(_), path)) => path,
            Ok((Scope::Session, _)) => {
                let answer = self.ask(HostCall::Session(SessionOp::Get { key })).await?;
                let value = |answer: Value| answer.get("value").filter(|value| !value.is_null()).map(Value::to_string);
                return Ok(answer.map(value));
            }
            Err(error) => return Ok(Err(error)),
        };
        let op = FsOp::Read { path, encoding: Some("utf8".to_owned()), offset: None, length: None };
        Ok(match self.host_call(HostCall::Fs(op)).await? {
            Ok(value) => Ok(Some(text(&value, "content"))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(refused(error)),
        })
    }

    async fn set(&mut self, scope: String, key: String, value: String) -> ImportResult<()> {
        let value = match json_of("the value", &value) {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        };
        let (folder, path) = match self.file(&scope, &key) {
            Ok((Scope::Folder(folder), path)) => (folder, path),
            Ok((Scope::Session, _)) => {
                return Ok(self.ask(HostCall::Session(SessionOp::Set { key, value })).await?.map(drop));
            }
            Err(error) => return Ok(Err(error)),
        };
        let write = |content: String| {
            let path = path.clone();
            HostCall::Fs(FsOp::Write { path, content, encoding: None, mode: None, flag: None, offset: None })
        };
        match self.host_call(write(value.to_string())).await? {
            Err(error) if is_missing(&error) => {}
            outcome => return Ok(outcome.map(drop).map_err(refused)),
        }
        // The first value of its scope.
        if let Err(error) = self.ask(HostCall::Fs(FsOp::Mkdir { path: folder, recursive: None, mode: None })).await? {
            return Ok(Err(error));
        }
        Ok(self.ask(write(value.to_string())).await?.map(drop))
    }

    async fn delete(&mut self, scope: String, key: String) -> ImportResult<()> {
        let call = match self.file(&scope, &key) {
            Ok((Scope::Folder(_), path)) => HostCall::Fs(FsOp::Remove { path, recursive: false, force: true }),
            Ok((Scope::Session, _)) => HostCall::Session(SessionOp::Set { key, value: json!(null) }),
            Err(error) => return Ok(Err(error)),
        };
        Ok(self.ask(call).await?.map(drop))
    }

    async fn keys(&mut self, scope: String) -> ImportResult<Vec<String>> {
        let folder = match self.place(&scope) {
            Ok(Scope::Folder(folder)) => folder,
            Ok(Scope::Session) => return Ok(Err(invalid("the values of a session cannot be listed"))),
            Err(error) => return Ok(Err(error)),
        };
        Ok(match self.host_call(HostCall::Fs(FsOp::List { path: folder })).await? {
            Ok(value) => {
                let entries = value.get("entries").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let mut keys: Vec<String> = entries.iter().filter_map(|entry| key_of(&text(entry, "name"))).collect();
                keys.sort();
                Ok(keys)
            }
            Err(error) if is_missing(&error) => Ok(Vec::new()),
            Err(error) => Err(refused(error)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_names_and_come_back() {
        for key in ["a", "A-b_9", "../../etc/passwd", "ü", "%41", "a b/c"] {
            let name = file_name(key).expect("a name");
            assert!(!name.contains('/') && !name.contains('.'), "{name}");
            assert_eq!(key_of(&name).as_deref(), Some(key));
        }
        assert!(file_name("").is_err() && file_name(&"x".repeat(81)).is_err());
        // Two spellings of one key would be two values.
        for other in ["%41", "a.tmp", "%zz", "%4"] {
            assert_eq!(key_of(other), None, "{other}");
        }
    }
}
