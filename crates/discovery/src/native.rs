//! Our own `extension.toml`.

use std::collections::BTreeMap;

use jackfield_protocol::{Dialect, ExtensionId, Format, Launch, Limits, Manifest, OnFailure, Requires, RuntimeKind};
use serde::Deserialize;
use serde_json::Value;

use super::parse::{self, Parsed};

#[derive(Deserialize)]
struct Raw {
    id: String,
    name: Option<String>,
    version: Option<String>,
    description: Option<String>,
    enabled: Option<bool>,
    runtime: Option<String>,
    run: RawRun,
    #[serde(default)]
    capabilities: Vec<Value>,
    #[serde(default)]
    requires: Requires,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    hooks: RawHooks,
    #[serde(default)]
    context: RawContext,
}

#[derive(Deserialize)]
struct RawRun {
    command: Option<String>,
    /// A WASM component, instead of a command.
    component: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    dialect: Option<RawDialect>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawDialect {
    #[default]
    Frames,
    #[serde(alias = "json_rpc")]
    JsonRpc,
    Envelope,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawHooks {
    on_failure: Option<OnFailure>,
    priority: i32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawContext {
    passthrough: bool,
}

const KEYS: [&str; 12] = [
    "id",
    "name",
    "version",
    "description",
    "enabled",
    "runtime",
    "run",
    "capabilities",
    "requires",
    "limits",
    "hooks",
    "context",
];

/// Lowers the text of an `extension.toml`.
pub(crate) fn read(text: &str) -> Result<Parsed, String> {
    let (raw, object) = parse::toml_typed::<Raw>(text).map_err(|error| format!("failed to parse TOML: {error}"))?;
    let mut warnings = Vec::new();
    parse::unknown_keys(&object, "", &KEYS, &mut warnings);
    for (table, keys) in [
        ("run", ["command", "component", "args", "dialect"].as_slice()),
        ("requires", &["bins", "env"]),
        ("limits", &parse::LIMIT_KEYS),
        ("hooks", &["on_failure", "priority"]),
        ("context", &["passthrough"]),
    ] {
        parse::unknown_keys_in(&object, table, keys, &mut warnings);
    }
    let id = match ExtensionId::sanitized(&raw.id) {
        Some(id) if id.as_str() == raw.id => id,
        _ => {
            return Err(format!(
                "id `{}` must be 1 to 64 letters, digits, `.`, `_` or `-`, and neither begin nor end with `.` or `-`",
                raw.id
            ));
        }
    };
    let (runtime, launch) = launch(raw.runtime.as_deref(), raw.run)?;
    parse::check_limits(&raw.limits)?;
    let capabilities = parse::capabilities(&raw.capabilities, "capabilities", &mut warnings)?;
    let manifest = Manifest {
        name: raw.name.unwrap_or_else(|| raw.id.clone()),
        id,
        version: raw.version,
        description: raw.description,
        format: Format::Native,
        runtime,
        launch,
        enabled: raw.enabled.unwrap_or(true),
        capabilities,
        requires: raw.requires,
        limits: raw.limits,
        on_failure: raw.hooks.on_failure,
        isolation: None,
        priority: raw.hooks.priority,
        context_passthrough: raw.context.passthrough,
        declared_tools: Vec::new(),
        mcp_servers: BTreeMap::new(),
    };
    Ok(Parsed { manifest, warnings })
}

/// A program, or a component. `runtime` says again which; it is not needed, and must not contradict.
fn launch(runtime: Option<&str>, run: RawRun) -> Result<(RuntimeKind, Launch), String> {
    let is_empty = |text: &Option<String>| text.as_deref().is_some_and(|text| text.trim().is_empty());
    if is_empty(&run.command) {
        return Err("run.command is empty".to_owned());
    }
    if is_empty(&run.component) {
        return Err("run.component is empty".to_owned());
    }
    let (kind, launch) = match (run.command, run.component) {
        (Some(_), Some(_)) => {
            return Err("run has a command and a component; an extension is one or the other".to_owned());
        }
        (None, None) => return Err("run.command is missing; a WASM component has run.component".to_owned()),
        (Some(command), None) => {
            let dialect = match run.dialect.unwrap_or_default() {
                RawDialect::Frames => Dialect::Frames,
                RawDialect::JsonRpc => Dialect::JsonRpc,
                RawDialect::Envelope => Dialect::Envelope,
            };
            (RuntimeKind::Process, Launch::Process { command, args: run.args, dialect })
        }
        (None, Some(_)) if run.dialect.is_some() || !run.args.is_empty() => {
            return Err("run.args and run.dialect are for programs, not for components".to_owned());
        }
        (None, Some(component)) => {
            let component = component.strip_prefix("./").unwrap_or(&component).to_owned();
            (RuntimeKind::Wasm, Launch::Wasm { component })
        }
    };
    match runtime {
        Some(said) if said != kind.as_str() => {
            Err(format!("runtime is `{said}`, but what run names is for `{}`", kind.as_str()))
        }
        _ => Ok((kind, launch)),
    }
}
