//! How the lock file is written: TOML in one order, one thing on a line, so that two of them compare well.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jackfield_protocol::Capability;
use serde::{Deserialize, Serialize};

use super::{Entries, Granted, Locked};

const VERSION: u32 = 1;

const HEADER: &str = "\
# Written by jackfield: what is installed, as it was when it was accepted, and what it may do.
# To change it, use `jackfield ext install`, `ext accept`, `ext remove`, `grant` and `revoke`.
";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[allow(dead_code, reason = "read before, to say what is wrong with another one")]
    version: u32,
    #[serde(default)]
    extensions: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    source: String,
    version: Option<String>,
    sha256: Option<String>,
    #[serde(default)]
    link: bool,
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    requests: Vec<Capability>,
    #[serde(default)]
    learned: bool,
    #[serde(default)]
    granted: Vec<GrantedForm>,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct GrantedForm {
    #[serde(flatten)]
    capability: Capability,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

/// Reads a lock file. The error says where and what.
pub(super) fn read(text: &str) -> Result<Entries, String> {
    let marks = ["<<<<<<< ", "=======", ">>>>>>> "];
    if let Some(at) = text.lines().position(|line| marks.iter().any(|mark| line.starts_with(mark))) {
        return Err(format!("line {}: the marks of a merge that is not finished; keep one side", at + 1));
    }
    let brief = |error: toml::de::Error| {
        let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        let message = error.message().to_owned();
        line.map_or(message.clone(), |line| format!("line {line}: {message}"))
    };
    // The version first: a later one may hold what this one cannot read.
    let Version { version } = toml::from_str(text).map_err(brief)?;
    if version != VERSION {
        return Err(format!("its version is {version}, this jackfield knows version {VERSION}"));
    }
    let document: Document = toml::from_str(text).map_err(brief)?;
    document.extensions.into_iter().map(|(key, entry)| locked(&key, entry).map(|locked| (key, locked))).collect()
}

fn locked(key: &str, entry: Entry) -> Result<Locked, String> {
    let is_hash = |hash: &String| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Entry { source, version, sha256, link, ids, requests, learned, granted, files } = entry;
    if link == sha256.is_some() {
        return Err(format!("`{key}` must have either a `sha256` or `link = true`"));
    }
    if !sha256.iter().chain(files.values()).all(is_hash) {
        return Err(format!("`{key}` has a `sha256` that is none"));
    }
    let granted = granted.into_iter().map(|form| Granted { capability: form.capability, project: form.project });
    Ok(Locked { source, version, sha256, ids, requests, learned, granted: granted.collect(), files })
}

/// Writes a lock file.
pub(super) fn write(entries: &Entries) -> String {
    let mut text = format!("{HEADER}version = {VERSION}\n");
    for (key, locked) in entries {
        let key = text_of(key);
        // Writing to a string cannot fail.
        let _ = write!(text, "\n[extensions.{key}]\nsource = {}\n", text_of(&locked.source));
        if let Some(version) = &locked.version {
            let _ = writeln!(text, "version = {}", text_of(version));
        }
        let _ = match &locked.sha256 {
            Some(sha256) => writeln!(text, "sha256 = {}", text_of(sha256)),
            None => writeln!(text, "link = true"),
        };
        if !locked.ids.is_empty() {
            let ids: Vec<String> = locked.ids.iter().map(|id| text_of(id)).collect();
            let _ = writeln!(text, "ids = [{}]", ids.join(", "));
        }
        list(&mut text, "requests", locked.requests.iter().map(inline));
        if locked.learned {
            let _ = writeln!(text, "learned = true");
        }
        let granted = |granted: &Granted| {
            inline(&GrantedForm { capability: granted.capability.clone(), project: granted.project.clone() })
        };
        list(&mut text, "granted", locked.granted.iter().map(granted));
        if !locked.files.is_empty() {
            let _ = writeln!(text, "\n[extensions.{key}.files]");
        }
        for (file, hash) in &locked.files {
            let _ = writeln!(text, "{} = {}", text_of(file), text_of(hash));
        }
    }
    text
}

fn list(text: &mut String, name: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.map(|item| format!("    {item},\n")).collect();
    if !items.is_empty() {
        let _ = writeln!(text, "{name} = [\n{}]", items.concat());
    }
}

/// A string in quotes, on one line whatever is in it.
fn text_of(text: &str) -> String {
    // JSON's escapes are TOML's, too; what it leaves bare TOML takes, except for the delete character.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn inline<T: Serialize>(value: &T) -> String {
    let Ok(value) = serde_json::to_value(value) else { return "{}".to_owned() };
    inline_value(&value)
}

fn inline_value(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key} = {}", inline_value(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        serde_json::Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline_value).collect();
            format!("[{}]", items.join(", "))
        }
        serde_json::Value::String(text) => text_of(text),
        other => other.to_string(),
    }
}
