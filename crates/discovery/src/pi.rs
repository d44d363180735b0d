//! `extension.json` with `"schema": "pi.ext.manifest.v1"`.

use std::collections::BTreeMap;
use std::path::Path;

use jackfield_protocol::{
    Dialect, ExtensionId, Format, Isolation, Launch, Limits, Manifest, OnFailure, Requires, RuntimeKind,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::js;
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
    isolation: Option<Isolation>,
    priority: Option<i32>,
}

const KEYS: [&str; 23] = [
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
    "isolation",
    "priority",
    "author",
    "license",
    "homepage",
    "repository",
];

/// Lowers an `extension.json` of pi's in `dir` that has been read as `object` from `text`.
pub(crate) fn read(object: &Map<String, Value>, text: &str, dir: &Path) -> Result<Parsed, String> {
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
    let (runtime, launch) = launch(&raw, dir)?;
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
        runtime,
        launch,
        enabled: raw.enabled.unwrap_or(true),
        capabilities,
        requires: raw.requires.unwrap_or_default(),
        limits,
        on_failure: raw.on_timeout,
        isolation: raw.isolation,
        priority: raw.priority.unwrap_or(0),
        context_passthrough: false,
        declared_tools: Vec::new(),
        mcp_servers: BTreeMap::new(),
    };
    Ok(Parsed { manifest, warnings })
}

/// A program is a program; an entry alone says by its ending who runs it. A manifest that names neither stands beside the
/// script that it is about.
fn launch(raw: &Raw, dir: &Path) -> Result<(RuntimeKind, Launch), String> {
    let program = raw.exec.as_ref().or(raw.command.as_ref());
    let index = || ["index.ts", "index.js"].into_iter().find(|name| dir.join(name).is_file()).map(str::to_owned);
    let command = program
        .or(raw.entry.as_ref())
        .cloned()
        .or_else(index)
        .filter(|command| !command.trim().is_empty())
        .ok_or("manifest: exec, command or entry is required")?;
    let by_ending = || match command.as_str() {
        _ if program.is_some() => "process",
        wasm if wasm.ends_with(".wasm") => "wasm",
        script if js::is_script(Path::new(script)) => "js",
        _ => "process",
    };
    match raw.runtime.as_deref().unwrap_or_else(by_ending) {
        "process" => {
            let args = raw.args.clone().unwrap_or_default();
            Ok((RuntimeKind::Process, Launch::Process { command, args, dialect: Dialect::Envelope }))
        }
        "js" => {
            if !js::is_script(Path::new(&command)) {
                return Err(format!("manifest: entry `{command}` is not a script"));
            }
            let entry = command.strip_prefix("./").unwrap_or(&command).to_owned();
            Ok((RuntimeKind::Js, Launch::Js { entry }))
        }
        "wasm" => {
            let component = command.strip_prefix("./").unwrap_or(&command).to_owned();
            Ok((RuntimeKind::Wasm, Launch::Wasm { component }))
        }
        other => {
            let reason = format!("runtime `{other}` is not part of this build; `process`, `js` and `wasm` are");
            Ok((RuntimeKind::Process, Launch::Unsupported { reason }))
        }
    }
}
