//! The golden files: what the real pi registers, and how it is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value, json};

/// What is compared, by its name in the golden files, which is its name in `inspect --json` too.
pub(crate) const FACTS: [&str; 14] = [
    "tools",
    "commands",
    "events",
    "flags",
    "shortcuts",
    "providers",
    "nativeProviders",
    "virtualModels",
    "mcpServers",
    "messageRenderers",
    "entryRenderers",
    "toolRenderers",
    "markdownTransformer",
    "busChannels",
];

/// Where an extension comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    /// pi's own examples, as its package brings them.
    Official,
    /// Those of them that ask for packages, with these installed.
    Installed,
    /// Our own small extensions, each about one corner of loading.
    Probes,
    /// Packages of the registry.
    Npm,
}

impl Set {
    /// All of them, in the order of the table.
    pub(crate) const ALL: [Self; 4] = [Self::Official, Self::Installed, Self::Probes, Self::Npm];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Official => "official examples",
            Self::Installed => "official examples with dependencies",
            Self::Probes => "probes",
            Self::Npm => "npm packages that pi loads",
        }
    }

    const fn file(self) -> &'static str {
        match self {
            Self::Official => "official.jsonl",
            Self::Installed => "installed.jsonl",
            Self::Probes => "probes.jsonl",
            Self::Npm => "npm.jsonl",
        }
    }
}

/// What pi does with one extension.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    /// Its place in the corpus, which begins with `$EXAMPLES`, `$INSTALLED`, `$PROBES` or `$NPM`.
    pub(crate) name: String,
    pub(crate) set: Set,
    /// `{"registers": {…}}` or `{"error": {"class": …}}`.
    pub(crate) facts: Value,
}

impl Expected {
    /// Can pi load it?
    pub(crate) fn loads(&self) -> bool {
        self.facts.get("registers").is_some()
    }
}

/// One golden file.
pub(crate) fn read(data: &Path, set: Set) -> anyhow::Result<Vec<Expected>> {
    let path = data.join(set.file());
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = || format!("{}:{}: not a line of a golden file", path.display(), index + 1);
        let mut facts: Map<String, Value> = serde_json::from_str(line).with_context(wrong)?;
        let name = facts.remove("extension").and_then(|name| name.as_str().map(str::to_owned)).with_context(wrong)?;
        rows.push(Expected { name, set, facts: Value::Object(facts) });
    }
    Ok(rows)
}

/// The list of known misses: the extension and the reason.
pub(crate) fn misses(data: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let path = data.join("misses.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("cannot understand {}", path.display()))?;
    let mut misses = BTreeMap::new();
    for miss in table.get("miss").and_then(toml::Value::as_array).into_iter().flatten() {
        let word = |key: &str| miss.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let name = word("name").with_context(|| format!("{}: a miss without a name", path.display()))?;
        let reason = word("reason").filter(|reason| !reason.trim().is_empty());
        let reason = reason.with_context(|| format!("{}: {name} has no reason", path.display()))?;
        misses.insert(name, reason);
    }
    Ok(misses)
}

/// What `inspect --json` said of an extension that loads, in the words of the golden files.
pub(crate) fn registers(inspected: &Value) -> Value {
    let mut facts = Map::new();
    for key in FACTS {
        let value = match (key, inspected.get(key)) {
            (_, None) => continue,
            ("tools", Some(tools)) => members(tools, &["name", "label", "description", "parameters"]),
            ("commands", Some(commands)) => members(commands, &["name", "description"]),
            (_, Some(value)) => value.clone(),
        };
        if !is_empty(&value) {
            facts.insert(key.to_owned(), value);
        }
    }
    json!({ "registers": facts })
}

/// The class of the error that an extension could not be loaded for. Texts differ between engines, classes do not.
pub(crate) fn refusal(message: &str) -> Value {
    let missing = ["Cannot find module '", "Cannot find package '"];
    if let Some(rest) = missing.iter().find_map(|words| message.split_once(words).map(|(_, rest)| rest)) {
        let module = rest.split('\'').next().unwrap_or_default();
        return json!({ "error": { "class": "missing module", "module": module, "message": message } });
    }
    let class = if message.contains("does not export a valid factory") { "no factory" } else { "thrown" };
    json!({ "error": { "class": class, "message": message } })
}

/// Each member of a list with these keys only; a text that says nothing counts as absent.
fn members(list: &Value, keys: &[&str]) -> Value {
    let pick = |one: &Value| -> Value {
        let kept = keys.iter().filter_map(|key| one.get(*key).map(|value| ((*key).to_owned(), value.clone())));
        Value::Object(kept.filter(|(key, value)| key != "description" || value != "").collect())
    };
    Value::Array(list.as_array().into_iter().flatten().map(pick).collect())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(true) | Value::String(_) => false,
    }
}

/// What differs between pi and this host, one line each; nothing when they are equal.
pub(crate) fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    match (expected.get("error"), found.get("error")) {
        (Some(pi), Some(ours)) => {
            for key in ["class", "module"] {
                walk(key, pi.get(key), ours.get(key), &mut lines);
            }
        }
        (Some(pi), None) => lines.push(format!("pi cannot load it ({}), this host can", brief(Some(pi)))),
        (None, Some(ours)) => {
            let message = ours.get("message").and_then(Value::as_str).unwrap_or_default();
            lines.push(format!("does not load: {}", message.trim()));
        }
        (None, None) => {
            for key in FACTS {
                let of = |facts: &Value| facts.pointer(&format!("/registers/{key}")).cloned();
                walk(key, of(expected).as_ref(), of(found).as_ref(), &mut lines);
            }
        }
    }
    lines
}

/// Descends to the place where two values differ. Numbers are compared as numbers.
fn walk(place: &str, pi: Option<&Value>, ours: Option<&Value>, lines: &mut Vec<String>) {
    match (pi, ours) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                walk(&format!("{place}.{key}"), a.get(key), b.get(key), lines);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                walk(&format!("{place}[{index}]"), a.get(index), b.get(index), lines);
            }
        }
        (Some(Value::Number(a)), Some(Value::Number(b))) if a.as_f64() == b.as_f64() => {}
        (pi, ours) if pi == ours => {}
        (pi, ours) => lines.push(format!("{place}: pi {}, here {}", brief(pi), brief(ours))),
    }
}

fn brief(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    if text.chars().count() <= 160 {
        return text;
    }
    format!("{}…", text.chars().take(160).collect::<String>())
}
