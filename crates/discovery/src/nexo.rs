//! nexo's `plugin.toml`. The texts of the errors are nexo's own.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_protocol::jsonrpc::AGENT_VERSION;
use jackfield_protocol::{Dialect, ExtensionId, Format, Launch, Limits, Manifest, Requires, RuntimeKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::mcp_servers;
use super::parse::{self, Parsed};

/// Ids of nexo's own parts.
const RESERVED: [&str; 8] = ["agent", "browser", "core", "email", "heartbeat", "memory", "telegram", "whatsapp"];

/// What nexo waits: a call, the handshake, a polite stop. Its 30 seconds for every hook of every message are not kept.
const LIMITS: Limits = Limits {
    call_timeout_ms: Some(30_000),
    start_timeout_ms: Some(10_000),
    hook_timeout_ms: None,
    stop_grace_ms: Some(3_000),
};

#[derive(Deserialize)]
struct Raw {
    plugin: RawPlugin,
    #[serde(default)]
    capabilities: RawCapabilities,
    transport: Map<String, Value>,
    #[serde(default)]
    context: RawContext,
    #[serde(default)]
    requires: Requires,
    #[serde(default)]
    mcp_servers: Map<String, Value>,
}

#[derive(Deserialize)]
struct RawPlugin {
    id: String,
    version: String,
    name: Option<String>,
    description: Option<String>,
    min_agent_version: Option<String>,
    #[serde(default)]
    priority: i32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawCapabilities {
    tools: Vec<String>,
    hooks: Vec<String>,
    channels: Vec<String>,
    providers: Vec<String>,
    pollers: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawContext {
    passthrough: bool,
}

/// Lowers the text of a `plugin.toml`; the sidecar is read by whoever knows the directory.
pub(crate) fn read(text: &str) -> Result<Parsed, String> {
    let (raw, object) = parse::toml_typed::<Raw>(text).map_err(|error| format!("failed to parse TOML: {error}"))?;
    let mut warnings = Vec::new();
    note_unknown_keys(&object, &mut warnings);
    check_plugin(&raw.plugin, &mut warnings)?;
    check_capabilities(&raw.capabilities)?;
    let launch = launch(&raw.transport, &mut warnings)?;
    let mut servers = BTreeMap::new();
    for (name, value) in &raw.mcp_servers {
        let server = mcp_servers::check(name, value, &mut warnings)?;
        servers.insert(name.clone(), server);
    }
    let plugin = raw.plugin;
    let manifest = Manifest {
        name: plugin.name.unwrap_or_else(|| plugin.id.clone()),
        id: ExtensionId::new(plugin.id),
        version: Some(plugin.version),
        description: plugin.description,
        format: Format::Nexo,
        runtime: RuntimeKind::Process,
        launch,
        enabled: true,
        capabilities: Vec::new(),
        requires: raw.requires,
        limits: LIMITS,
        on_failure: None,
        isolation: None,
        priority: plugin.priority,
        context_passthrough: raw.context.passthrough,
        declared_tools: raw.capabilities.tools,
        mcp_servers: servers,
    };
    Ok(Parsed { manifest, warnings })
}

fn note_unknown_keys(object: &Map<String, Value>, warnings: &mut Vec<String>) {
    let tables =
        ["plugin", "capabilities", "transport", "meta", "context", "requires", "mcp_servers", "outbound_bindings"];
    parse::unknown_keys(object, "", &tables, warnings);
    for (table, keys) in [
        ("plugin", ["id", "version", "name", "description", "min_agent_version", "priority"].as_slice()),
        ("capabilities", &["tools", "hooks", "channels", "providers", "pollers"]),
        ("transport", &["kind", "type", "command", "args", "subject_prefix", "url"]),
        ("meta", &["author", "license"]),
        ("context", &["passthrough"]),
        ("requires", &["bins", "env"]),
    ] {
        parse::unknown_keys_in(object, table, keys, warnings);
    }
}

fn check_plugin(plugin: &RawPlugin, warnings: &mut Vec<String>) -> Result<(), String> {
    let id = &plugin.id;
    if id.is_empty() {
        return Err("plugin.id is empty".to_owned());
    }
    if !is_name(id, 64, |c| c == '_' || c == '-') {
        return Err(format!("plugin.id `{id}` must match `^[a-z][a-z0-9_-]*$` (max 64 chars)"));
    }
    if RESERVED.contains(&id.as_str()) {
        return Err(format!("plugin.id `{id}` is reserved for native plugins"));
    }
    if let Err(error) = semver::Version::parse(&plugin.version) {
        return Err(format!("plugin.version `{}` is not valid semver: {error}", plugin.version));
    }
    if plugin.description.as_ref().is_some_and(|description| description.chars().count() > 512) {
        return Err("description exceeds 512 characters".to_owned());
    }
    if let Some(wanted) = &plugin.min_agent_version {
        match (semver::Version::parse(wanted), semver::Version::parse(AGENT_VERSION)) {
            (Ok(wanted), Ok(current)) if wanted > current => {
                return Err(format!("plugin requires agent >= {wanted}, current is {current}"));
            }
            (Ok(_), Ok(_)) => {}
            _ => warnings.push(format!(
                "plugin.min_agent_version `{wanted}` cannot be compared with {AGENT_VERSION}; the check is skipped"
            )),
        }
    }
    Ok(())
}

fn check_capabilities(capabilities: &RawCapabilities) -> Result<(), String> {
    let lists = [
        ("tools", &capabilities.tools),
        ("hooks", &capabilities.hooks),
        ("channels", &capabilities.channels),
        ("providers", &capabilities.providers),
        ("pollers", &capabilities.pollers),
    ];
    if lists.iter().all(|(_, list)| list.is_empty()) {
        return Err("plugin must declare at least one tool, hook, channel, or provider".to_owned());
    }
    for (field, list) in lists {
        let mut seen = BTreeSet::new();
        for name in list {
            if !is_name(name, 64, |c| c == '_') {
                return Err(format!("{field} name `{name}` is invalid (expected `^[a-z][a-z0-9_]*$`, max 64 chars)"));
            }
            if !seen.insert(name) {
                return Err(format!("duplicate {field} name `{name}`"));
            }
        }
    }
    Ok(())
}

/// `^[a-z][a-z0-9…]*$` of at most `max` bytes, where `also` names what else may follow.
pub(crate) fn is_name(text: &str, max: usize, also: impl Fn(char) -> bool) -> bool {
    text.len() <= max
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || also(c))
}

fn launch(transport: &Map<String, Value>, warnings: &mut Vec<String>) -> Result<Launch, String> {
    let text = |key: &str| match transport.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => {
            Err(format!("failed to parse TOML: transport.{key} must be a string, found {}", parse::kind(other)))
        }
    };
    let kind = match (text("kind")?, text("type")?) {
        (Some(kind), other) => {
            if other.is_some_and(|other| other != kind) {
                warnings.push(format!("transport.type is ignored: transport.kind says `{kind}`"));
            }
            kind
        }
        // nexo's documentation writes `type` where its code reads `kind`.
        (None, Some(kind)) => kind,
        (None, None) => return Err("failed to parse TOML: missing field `kind` in `transport`".to_owned()),
    };
    match kind {
        "stdio" => {
            let command = text("command")?.filter(|command| !command.trim().is_empty());
            let command = command.ok_or("transport.stdio requires non-empty `command`")?.to_owned();
            let args = match transport.get("args") {
                None => Vec::new(),
                Some(args) => Vec::<String>::deserialize(args)
                    .map_err(|error| format!("failed to parse TOML: transport.args: {error}"))?,
            };
            Ok(Launch::Process { command, args, dialect: Dialect::JsonRpc })
        }
        "nats" => match text("subject_prefix")?.filter(|prefix| !prefix.trim().is_empty()) {
            Some(_) => Ok(Launch::Unsupported {
                reason: "transport `nats` needs a message bus, which this host does not speak to".to_owned(),
            }),
            None => Err("transport.nats requires non-empty `subject_prefix`".to_owned()),
        },
        "http" => match text("url")? {
            Some(url) if is_http_url(url) => {
                Ok(Launch::Unsupported { reason: "transport `http` has no runtime, here or in nexo".to_owned() })
            }
            url => Err(format!("transport.http url `{}` is not an http(s) url", url.unwrap_or_default())),
        },
        other => Err(format!("failed to parse TOML: unknown transport kind `{other}`, expected stdio, nats or http")),
    }
}

/// `^https?://[^/\s:?#]+(?::\d+)?(?:/.*)?$`
pub(crate) fn is_http_url(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")) else {
        return false;
    };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    !host.is_empty()
        && !host.contains(|c: char| c.is_whitespace() || matches!(c, '?' | '#'))
        && port.is_none_or(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
        && !path.contains('\n')
}
