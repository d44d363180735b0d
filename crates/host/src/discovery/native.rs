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
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    dialect: RawDialect,
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

const KEYS: [&str; 11] = [
    "id",
    "name",
    "version",
    "description",
    "enabled",
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
        ("run", ["command", "args", "dialect"].as_slice()),
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
    if raw.run.command.trim().is_empty() {
        return Err("run.command is empty".to_owned());
    }
    parse::check_limits(&raw.limits)?;
    let capabilities = parse::capabilities(&raw.capabilities, "capabilities", &mut warnings)?;
    let dialect = match raw.run.dialect {
        RawDialect::Frames => Dialect::Frames,
        RawDialect::JsonRpc => Dialect::JsonRpc,
        RawDialect::Envelope => Dialect::Envelope,
    };
    let manifest = Manifest {
        name: raw.name.unwrap_or_else(|| raw.id.clone()),
        id,
        version: raw.version,
        description: raw.description,
        format: Format::Native,
        runtime: RuntimeKind::Process,
        launch: Launch::Process { command: raw.run.command, args: raw.run.args, dialect },
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
