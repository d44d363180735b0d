//! `extension.json` with `"schema": "pi.ext.manifest.v1"`.

use std::collections::BTreeMap;

use jackfield_protocol::{Dialect, ExtensionId, Format, Launch, Limits, Manifest, OnFailure, Requires, RuntimeKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::parse::{self, Parsed};

/// What makes an `extension.json` pi's.
pub(crate) const SCHEMA: &str = "pi.ext.manifest.v1";

#[derive(Deserialize)]
struct Raw {
    id: Option<String>,
    name: Option<String>,
    version: Option<String>,
    description: Option<String>,
    exec: Option<String>,
    command: Option<String>,
    entry: Option<String>,
    args: Option<Vec<String>>,
    runtime: Option<String>,
    enabled: Option<bool>,
    capability_manifest: Option<Map<String, Value>>,
    capabilities: Option<Vec<Value>>,
    on_timeout: Option<OnFailure>,
    requires: Option<Requires>,
    limits: Option<Limits>,
    priority: Option<i32>,
}

const KEYS: [&str; 22] = [
    "schema",
    "id",
    "name",
    "version",
    "api_version",
    "description",
    "exec",
    "command",
    "entry",
    "args",
    "runtime",
    "enabled",
    "capability_manifest",
    "capabilities",
    "on_timeout",
    "requires",
    "limits",
    "priority",
    "author",
    "license",
    "homepage",
    "repository",
];

/// Endings of files that another runtime than a process runs.
const OTHER_RUNTIMES: [(&str, &str); 7] =
    [(".ts", "js"), (".mts", "js"), (".cts", "js"), (".js", "js"), (".mjs", "js"), (".cjs", "js"), (".wasm", "wasm")];

/// Lowers an `extension.json` of pi's that has been read as `object` from `text`.
pub(crate) fn read(object: &Map<String, Value>, text: &str) -> Result<Parsed, String> {
    let raw: Raw = parse::json_typed(object, text).map_err(|error| format!("parse manifest: {error}"))?;
    let mut warnings = Vec::new();
    parse::unknown_keys(object, "", &KEYS, &mut warnings);
    let wanted = raw
        .id
        .as_ref()
        .or(raw.name.as_ref())
        .filter(|name| !name.is_empty())
        .ok_or("manifest: id or name is required")?;
    let id = ExtensionId::sanitized(wanted)
        .ok_or_else(|| format!("manifest: name `{wanted}` holds nothing that can stand in an id"))?;
    if id.as_str() != wanted {
        warnings.push(format!("name `{wanted}` is not safe as an id; the extension is known as `{id}`"));
    }
    let name = raw.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| wanted.clone());
    let launch = launch(&raw)?;
    let mut capabilities = match &raw.capability_manifest {
        Some(document) => parse::capability_manifest(document, "capability_manifest", &mut warnings)?,
        None => Vec::new(),
    };
    match (&raw.capability_manifest, &raw.capabilities) {
        (None, Some(list)) => capabilities = parse::capabilities(list, "capabilities", &mut warnings)?,
        // The flat list is what came before the document, and says less.
        (Some(_), Some(_)) => warnings.push("`capabilities` is ignored: `capability_manifest` says it all".to_owned()),
        (_, None) => {}
    }
    let limits = raw.limits.unwrap_or_default();
    parse::check_limits(&limits)?;
    let manifest = Manifest {
        id,
        name,
        version: raw.version,
        description: raw.description,
        format: Format::Pi,
        runtime: RuntimeKind::Process,
        launch,
        enabled: raw.enabled.unwrap_or(true),
        capabilities,
        requires: raw.requires.unwrap_or_default(),
        limits,
        on_failure: raw.on_timeout,
        isolation: None,
        priority: raw.priority.unwrap_or(0),
        context_passthrough: false,
        declared_tools: Vec::new(),
        mcp_servers: BTreeMap::new(),
    };
    Ok(Parsed { manifest, warnings })
}

fn launch(raw: &Raw) -> Result<Launch, String> {
    let program = raw.exec.as_ref().or(raw.command.as_ref());
    let command = program
        .or(raw.entry.as_ref())
        .filter(|command| !command.trim().is_empty())
        .ok_or("manifest: exec, command or entry is required")?;
    // An entry alone says by its ending who runs it; a program is a program.
    let by_ending = || OTHER_RUNTIMES.iter().find(|(ending, _)| program.is_none() && command.ends_with(ending));
    let other = match raw.runtime.as_deref() {
        Some("process") => None,
        Some(other) => Some(other),
        None => by_ending().map(|(_, runtime)| *runtime),
    };
    Ok(match other {
        Some(runtime) => {
            Launch::Unsupported { reason: format!("runtime `{runtime}` is not part of this build; only `process` is") }
        }
        None => Launch::Process {
            command: command.clone(),
            args: raw.args.clone().unwrap_or_default(),
            dialect: Dialect::Envelope,
        },
    })
}
