//! zot's `extension.json`, with a few keys of ours that zot passes over.

use std::collections::BTreeMap;

use jackfield_protocol::{Dialect, ExtensionId, Format, Launch, Limits, Manifest, OnFailure, Requires, RuntimeKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::parse::{self, Parsed};

#[derive(Deserialize)]
struct Raw {
    name: Option<String>,
    version: Option<String>,
    exec: Option<String>,
    args: Option<Vec<String>>,
    enabled: Option<bool>,
    description: Option<String>,
    skills: Option<Value>,
    themes: Option<Value>,
    theme: Option<Value>,
    capabilities_manifest: Option<Map<String, Value>>,
    on_timeout: Option<OnFailure>,
    requires: Option<Requires>,
    limits: Option<Limits>,
    priority: Option<i32>,
}

/// zot's keys, ours, and those that only inform.
const KEYS: [&str; 22] = [
    "name",
    "version",
    "exec",
    "args",
    "language",
    "enabled",
    "description",
    "skills",
    "themes",
    "theme",
    "capabilities_manifest",
    "on_timeout",
    "requires",
    "limits",
    "priority",
    "capabilities",
    "author",
    "license",
    "homepage",
    "repository",
    "keywords",
    "$schema",
];

/// What zot waits: a call, a hook, a polite stop.
const LIMITS: Limits = Limits {
    call_timeout_ms: Some(60_000),
    start_timeout_ms: None,
    hook_timeout_ms: Some(5_000),
    stop_grace_ms: Some(2_000),
};

/// Lowers an `extension.json` that has been read as `object` from `text`.
pub(crate) fn read(object: &Map<String, Value>, text: &str) -> Result<Parsed, String> {
    let raw: Raw = parse::json_typed(object, text).map_err(|error| format!("parse manifest: {error}"))?;
    let mut warnings = Vec::new();
    parse::unknown_keys(object, "", &KEYS, &mut warnings);
    let name = raw.name.filter(|name| !name.is_empty()).ok_or("manifest: name is required")?;
    let id = ExtensionId::sanitized(&name)
        .ok_or_else(|| format!("manifest: name `{name}` holds nothing that can stand in an id"))?;
    if id.as_str() != name {
        warnings.push(format!("name `{name}` is not safe as an id; the extension is known as `{id}`"));
    }
    let launch = match raw.exec.filter(|exec| !exec.trim().is_empty()) {
        Some(command) => Launch::Process { command, args: raw.args.unwrap_or_default(), dialect: Dialect::Frames },
        None if is_something(&raw.skills) => {
            Launch::Unsupported { reason: "a bundle of skills without `exec`: there is no program to run".to_owned() }
        }
        None if is_something(&raw.themes) || is_something(&raw.theme) => {
            Launch::Unsupported { reason: "a bundle of themes without `exec`: there is no program to run".to_owned() }
        }
        None => return Err("manifest: exec is required".to_owned()),
    };
    let capabilities = match &raw.capabilities_manifest {
        Some(document) => parse::capability_manifest(document, "capabilities_manifest", &mut warnings)?,
        None => Vec::new(),
    };
    let limits = raw.limits.unwrap_or_default();
    parse::check_limits(&limits)?;
    let manifest = Manifest {
        id,
        name,
        version: raw.version,
        description: raw.description,
        format: Format::Zot,
        runtime: RuntimeKind::Process,
        launch,
        enabled: raw.enabled.unwrap_or(true),
        capabilities,
        requires: raw.requires.unwrap_or_default(),
        limits: parse::limits_or(limits, LIMITS),
        on_failure: raw.on_timeout,
        isolation: None,
        priority: raw.priority.unwrap_or(0),
        context_passthrough: false,
        declared_tools: Vec::new(),
        mcp_servers: BTreeMap::new(),
    };
    Ok(Parsed { manifest, warnings })
}

fn is_something(value: &Option<Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Array(list)) => !list.is_empty(),
        Some(_) => true,
    }
}
