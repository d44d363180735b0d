//! One entry as a manifest. The keys are those of the agents whose files these are, and a few of our own.

use std::collections::BTreeMap;

use jackfield_protocol::{ExtensionId, Format, Launch, Limits, Manifest, McpEra, McpServer, McpTransport, RuntimeKind};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::parse;

/// What servers get that do not say: some are fetched before they start, and some work long.
const LIMITS: Limits = Limits {
    call_timeout_ms: Some(300_000),
    start_timeout_ms: Some(30_000),
    hook_timeout_ms: None,
    stop_grace_ms: Some(700),
};

/// What is understood.
const KEYS: [&str; 23] = [
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "http_headers",
    "type",
    "transport",
    "disabled",
    "enabled",
    "timeout",
    "tool_timeout_sec",
    "startup_timeout_sec",
    "startup_timeout_ms",
    "call_timeout_ms",
    "stop_grace_ms",
    "prefix",
    "protocol",
    "era",
    "description",
];
/// What others write that changes nothing here.
const OTHERS: [&str; 12] = [
    "autoApprove",
    "alwaysAllow",
    "trust",
    "deferTools",
    "gallery",
    "version",
    "icon",
    "icons",
    "note",
    "log_level",
    "context_passthrough",
    "dev",
];

/// Lowers an entry.
pub(super) fn manifest(
    id: ExtensionId,
    name: &str,
    value: &Value,
    warnings: &mut Vec<String>,
) -> Result<Manifest, String> {
    let Value::Object(entry) = value else {
        return Err(format!("it must be an object, found {}", parse::kind(value)));
    };
    for key in entry.keys().filter(|key| !KEYS.contains(&key.as_str()) && !OTHERS.contains(&key.as_str())) {
        warnings.push(format!("`{key}` is not understood and has no effect"));
    }
    let launch = launch(entry)?;
    let limits = parse::limits_or(limits(entry)?, LIMITS);
    parse::check_limits(&limits)?;
    let disabled = typed::<bool>(entry, "disabled")?.unwrap_or(false);
    let enabled = typed::<bool>(entry, "enabled")?.unwrap_or(true) && !disabled;
    Ok(Manifest {
        id,
        name: name.to_owned(),
        description: typed(entry, "description")?,
        limits,
        enabled,
        ..Manifest::plain(name, Format::Mcp, RuntimeKind::Mcp, launch)
    })
}

fn launch(entry: &Map<String, Value>) -> Result<Launch, String> {
    let kind = match typed::<String>(entry, "type")? {
        Some(kind) => Some(kind),
        None => typed(entry, "transport")?,
    };
    let address = ["url", "httpUrl", "serverUrl"].iter().find_map(|key| typed::<String>(entry, key).transpose());
    let address = address.transpose()?;
    let transport = match (kind.as_deref(), typed::<String>(entry, "command")?, address) {
        (Some("sse"), _, _) => {
            let reason = "the HTTP+SSE transport is out of use; ask for the server's streamable HTTP address";
            return Ok(Launch::Unsupported { reason: reason.to_owned() });
        }
        (Some("stdio" | "local") | None, Some(command), None) => {
            if command.trim().is_empty() {
                return Err("`command` is empty".to_owned());
            }
            McpTransport::Stdio {
                command,
                args: typed(entry, "args")?.unwrap_or_default(),
                env: words(entry, "env")?,
                cwd: typed(entry, "cwd")?,
            }
        }
        (
            Some(
                "http" | "streamable-http" | "streamable_http" | "streamablehttp" | "streamableHttp" | "auto"
                | "remote",
            )
            | None,
            None,
            Some(url),
        ) => {
            if !url.starts_with("http://") && !url.starts_with("https://") && !url.starts_with("${") {
                return Err(format!("`{url}` is not an http(s) address"));
            }
            let mut headers = words(entry, "headers")?;
            headers.extend(words(entry, "http_headers")?);
            McpTransport::Http { url, headers }
        }
        (_, Some(_), Some(_)) => return Err("it has a `command` and a `url`; a server is one or the other".to_owned()),
        (_, None, None) => return Err("it has neither a `command` nor a `url`".to_owned()),
        (Some(kind), _, _) => return Err(format!("its type `{kind}` does not go with what else it says")),
    };
    let era = match typed::<String>(entry, "protocol")?.or(typed(entry, "era")?).as_deref() {
        None | Some("auto") => McpEra::Auto,
        Some("legacy") => McpEra::Legacy,
        Some("modern") => McpEra::Modern,
        Some(other) => return Err(format!("`protocol` is \"{other}\"; there are auto, legacy and modern")),
    };
    Ok(Launch::Mcp(McpServer { transport, era, prefix: typed(entry, "prefix")? }))
}

fn limits(entry: &Map<String, Value>) -> Result<Limits, String> {
    let seconds = |key: &str| Ok::<_, String>(typed::<f64>(entry, key)?.map(|seconds| (seconds * 1000.0) as u64));
    let call = match typed(entry, "call_timeout_ms")? {
        Some(ms) => Some(ms),
        None => typed(entry, "timeout")?.or(seconds("tool_timeout_sec")?),
    };
    Ok(Limits {
        call_timeout_ms: call,
        start_timeout_ms: typed(entry, "startup_timeout_ms")?.or(seconds("startup_timeout_sec")?),
        hook_timeout_ms: None,
        stop_grace_ms: typed(entry, "stop_grace_ms")?,
    })
}

fn typed<T: DeserializeOwned>(entry: &Map<String, Value>, key: &str) -> Result<Option<T>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => serde_json::from_value(value.clone()).map(Some).map_err(|error| format!("`{key}`: {error}")),
    }
}

/// Variables or headers; numbers and truth values are what people mean by their text.
fn words(entry: &Map<String, Value>, key: &str) -> Result<BTreeMap<String, String>, String> {
    let mut words = BTreeMap::new();
    for (name, value) in typed::<Map<String, Value>>(entry, key)?.into_iter().flatten() {
        let word = match value {
            Value::String(text) => text,
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null => continue,
            other => return Err(format!("`{key}.{name}` must be a string, found {}", parse::kind(&other))),
        };
        words.insert(name, word);
    }
    Ok(words)
}
