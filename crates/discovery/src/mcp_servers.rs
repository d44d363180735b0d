//! MCP servers that an extension brings: in its manifest, or in the `.mcp.json` beside it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::nexo::{is_http_url, is_name};
use super::parse;

/// The file beside a `plugin.toml`.
pub(crate) const SIDECAR: &str = ".mcp.json";

const KEYS: [&str; 10] =
    ["transport", "type", "command", "args", "env", "cwd", "url", "headers", "log_level", "context_passthrough"];

/// Checks one declaration and gives it back with its transport spelled out.
pub(crate) fn check(name: &str, value: &Value, warnings: &mut Vec<String>) -> Result<Value, String> {
    if !is_name(name, 32, |c| c == '_' || c == '-') {
        return Err(format!("mcp_servers name `{name}` is invalid (expected `^[a-z][a-z0-9_-]*$`, max 32 chars)"));
    }
    let Value::Object(server) = value else {
        return Err(format!("mcp_servers.{name} must be a table, found {}", parse::kind(value)));
    };
    parse::unknown_keys(server, &format!("mcp_servers.{name}."), &KEYS, warnings);
    let transport = transport(name, server)?;
    let text = |key: &str| -> Result<Option<&str>, String> {
        match server.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("mcp_servers.{name}.{key} must be a string, found {}", parse::kind(other))),
        }
    };
    if transport == "stdio" {
        if text("command")?.is_none_or(|command| command.trim().is_empty()) {
            return Err(format!("mcp_servers.{name}: stdio requires non-empty `command`"));
        }
    } else if !text("url")?.is_some_and(is_http_url) {
        return Err(format!("mcp_servers.{name}: {transport} requires an http(s) `url`"));
    }
    text("cwd")?;
    text("log_level")?;
    typed::<Vec<String>>(name, server, "args")?;
    typed::<BTreeMap<String, String>>(name, server, "env")?;
    typed::<BTreeMap<String, String>>(name, server, "headers")?;
    typed::<bool>(name, server, "context_passthrough")?;
    let mut checked = server.clone();
    checked.shift_remove("type");
    checked.insert("transport".to_owned(), Value::String(transport.to_owned()));
    Ok(Value::Object(checked))
}

fn typed<'a, T: Deserialize<'a>>(name: &str, server: &'a Map<String, Value>, key: &str) -> Result<(), String> {
    match server.get(key) {
        None | Some(Value::Null) => Ok(()),
        Some(value) => T::deserialize(value).map(|_| ()).map_err(|error| format!("mcp_servers.{name}.{key}: {error}")),
    }
}

fn transport(name: &str, server: &Map<String, Value>) -> Result<&'static str, String> {
    let declared = server.get("transport").or_else(|| server.get("type")).filter(|value| !value.is_null());
    match declared {
        Some(Value::String(text)) => match text.as_str() {
            "stdio" => Ok("stdio"),
            "streamable_http" | "streamable-http" | "streamablehttp" => Ok("streamable_http"),
            "sse" => Ok("sse"),
            "auto" | "http" => Ok("auto"),
            other => Err(format!("mcp_servers.{name}: unknown transport `{other}`")),
        },
        Some(other) => Err(format!("mcp_servers.{name}.transport must be a string, found {}", parse::kind(other))),
        None if server.contains_key("command") => Ok("stdio"),
        None if server.contains_key("url") => Ok("auto"),
        None => Err(format!("mcp_servers.{name} has neither `command` nor `url`")),
    }
}

/// Reads the text of a sidecar. One bad declaration is noted and left out; the others stay.
pub(crate) fn read_sidecar(text: &str, warnings: &mut Vec<String>) -> BTreeMap<String, Value> {
    let mut servers = BTreeMap::new();
    let object = match parse::json_object(text) {
        Ok(object) => object,
        Err(error) => {
            warnings.push(format!("failed to parse sidecar MCP file: {error}"));
            return servers;
        }
    };
    let declared = match object.get("mcpServers").or_else(|| object.get("mcp_servers")) {
        Some(Value::Object(declared)) => declared,
        None | Some(Value::Null) => return servers,
        Some(other) => {
            warnings.push(format!(
                "failed to parse sidecar MCP file: mcpServers must be an object, found {}",
                parse::kind(other)
            ));
            return servers;
        }
    };
    for (name, value) in declared {
        match check(name, value, warnings) {
            Ok(server) => {
                servers.insert(name.clone(), server);
            }
            Err(error) => warnings.push(format!("ignoring invalid sidecar MCP declaration: {error}")),
        }
    }
    servers
}
