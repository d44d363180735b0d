//! One server of an agent in our words.

use serde_json::{Map, Value, json};

use super::agents::Agent;

/// Fields that mean the same here, or nothing anywhere.
const COPIED_FIELDS: [&str; 12] = [
    "cwd",
    "description",
    "timeout",
    "tool_timeout_sec",
    "startup_timeout_sec",
    "startup_timeout_ms",
    "prefix",
    "protocol",
    "autoApprove",
    "alwaysAllow",
    "icon",
    "version",
];

/// Fields that the steps below have used.
const CONVERTED_FIELDS: [&str; 25] = [
    "type",
    "transport",
    "command",
    "cmd",
    "args",
    "env",
    "envs",
    "environment",
    "env_vars",
    "env_keys",
    "url",
    "uri",
    "httpUrl",
    "serverUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "requestInit",
    "disabled",
    "enabled",
    "name",
    "source",
    "settings",
    "bundled",
];

/// Translates one entry. What is lost on the way is said.
pub(super) fn server(agent: Agent, value: &Value, warnings: &mut Vec<String>) -> Result<Map<String, Value>, String> {
    let Value::Object(entry) = value else { return Err("it is not a table".to_owned()) };
    let kind = entry.get("type").or_else(|| entry.get("transport")).and_then(Value::as_str).unwrap_or_default();
    if agent == Agent::Goose && matches!(kind, "builtin" | "platform" | "frontend" | "inline_python") {
        return Err(format!("it is part of goose (type {kind:?}), not a server of its own"));
    }
    if kind == "sse" || (agent == Agent::Gemini && entry.contains_key("url") && !entry.contains_key("httpUrl")) {
        return Err(
            "it speaks the HTTP+SSE transport, which is out of use; ask for its streamable HTTP address".to_owned()
        );
    }
    let mut server = match address(entry) {
        Some(url) if program(entry)?.is_none() => remote(agent, entry, &url)?,
        Some(_) => return Err("it has both a command and an address".to_owned()),
        None => local(agent, entry)?,
    };
    for key in COPIED_FIELDS {
        if let Some(value) = entry.get(key).filter(|value| !value.is_null() && *value != "") {
            // goose counts in seconds.
            let key = if agent == Agent::Goose && key == "timeout" { "tool_timeout_sec" } else { key };
            server.insert(key.to_owned(), value.clone());
        }
    }
    let off = entry.get("disabled") == Some(&json!(true)) || entry.get("enabled") == Some(&json!(false));
    if off {
        server.insert("disabled".to_owned(), json!(true));
    }
    for key in
        entry.keys().filter(|key| !COPIED_FIELDS.contains(&key.as_str()) && !CONVERTED_FIELDS.contains(&key.as_str()))
    {
        warnings.push(lost(key));
    }
    let mut server = Value::Object(server);
    variables(agent, &mut server, warnings);
    match server {
        Value::Object(server) => Ok(server),
        _ => Err("it is not a table".to_owned()),
    }
}

fn lost(key: &str) -> String {
    match key {
        "envFile" => "`envFile` is not read; set its variables in the environment".to_owned(),
        "headersHelper" | "http_headers_helper" => format!("`{key}` is not run; write the header with ${{VARIABLE}}"),
        "oauth" | "auth" | "scopes" | "oauth_resource" => {
            format!("`{key}` is not taken over; log in with `jackfield mcp login` (see its --client-id and --scope)")
        }
        "enabled_tools" | "disabled_tools" | "includeTools" | "excludeTools" | "available_tools" | "tools"
        | "disabledTools" => {
            format!("`{key}` is not taken over: all tools are offered; restrict them with policy rules")
        }
        _ => format!("`{key}` has no meaning here and was left out"),
    }
}

fn text<'a>(entry: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn address(entry: &Map<String, Value>) -> Option<String> {
    ["url", "httpUrl", "serverUrl", "uri"].iter().find_map(|key| text(entry, key)).map(str::to_owned)
}

/// The program and its arguments, in any of the ways in which they are written.
fn program(entry: &Map<String, Value>) -> Result<Option<(String, Vec<Value>)>, String> {
    let args = match entry.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(args)) if args.iter().all(Value::is_string) => args.clone(),
        Some(_) => return Err("`args` is not a list of words".to_owned()),
    };
    match entry.get("command").or_else(|| entry.get("cmd")) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(command)) if !command.trim().is_empty() => Ok(Some((command.clone(), args))),
        Some(Value::Array(words)) => match words.split_first() {
            Some((Value::String(command), rest)) if rest.iter().all(Value::is_string) => {
                Ok(Some((command.clone(), rest.iter().cloned().chain(args).collect())))
            }
            _ => Err("`command` is not a list of words".to_owned()),
        },
        // As Zed wrote it once.
        Some(Value::Object(command)) => match (text(command, "path"), command.get("args")) {
            (Some(path), None | Some(Value::Null)) => Ok(Some((path.to_owned(), args))),
            (Some(path), Some(Value::Array(words))) if words.iter().all(Value::is_string) => {
                Ok(Some((path.to_owned(), words.clone())))
            }
            _ => Err("`command` does not name a program".to_owned()),
        },
        Some(_) => Err("`command` is not the name of a program".to_owned()),
    }
}

fn local(agent: Agent, entry: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let Some((command, args)) = program(entry)? else {
        return Err(match agent {
            Agent::Zed => "it comes from an extension of Zed, which says nothing about its command".to_owned(),
            _ => "it has neither a command nor an address".to_owned(),
        });
    };
    let ours = command.rsplit(['/', '\\']).next().is_some_and(|name| name == "jackfield" || name == "jackfield.exe");
    if ours && args.first().and_then(Value::as_str) == Some("mcp") {
        return Err("it is jackfield itself".to_owned());
    }
    let mut env = Map::new();
    let nested = entry.get("command").and_then(|command| command.get("env"));
    for table in [entry.get("env"), entry.get("envs"), entry.get("environment"), nested].into_iter().flatten() {
        words(table, "env", &mut env)?;
    }
    for name in ["env_vars", "env_keys"].iter().filter_map(|key| entry.get(*key)).flat_map(names) {
        env.entry(name.clone()).or_insert_with(|| Value::from(format!("${{{name}}}")));
    }
    let mut server = Map::from_iter([("command".to_owned(), Value::from(command))]);
    if !args.is_empty() {
        server.insert("args".to_owned(), Value::Array(args));
    }
    if !env.is_empty() {
        server.insert("env".to_owned(), Value::Object(env));
    }
    Ok(server)
}

fn remote(agent: Agent, entry: &Map<String, Value>, url: &str) -> Result<Map<String, Value>, String> {
    if !url.starts_with("http://") && !url.starts_with("https://") && !url.contains("${") && agent != Agent::Opencode {
        return Err(format!("{url:?} is not an http(s) address"));
    }
    let mut headers = Map::new();
    let nested = entry.get("requestInit").and_then(|init| init.get("headers"));
    for table in [entry.get("headers"), entry.get("http_headers"), nested].into_iter().flatten() {
        words(table, "headers", &mut headers)?;
    }
    if let Some(Value::Object(named)) = entry.get("env_http_headers") {
        for (header, variable) in named {
            if let Some(variable) = variable.as_str() {
                headers.insert(header.clone(), Value::from(format!("${{{variable}}}")));
            }
        }
    }
    if let Some(variable) = text(entry, "bearer_token_env_var") {
        headers.insert("Authorization".to_owned(), Value::from(format!("Bearer ${{{variable}}}")));
    }
    let mut server = Map::from_iter([("type".to_owned(), json!("http")), ("url".to_owned(), Value::from(url))]);
    if !headers.is_empty() {
        server.insert("headers".to_owned(), Value::Object(headers));
    }
    Ok(server)
}

fn words(table: &Value, what: &str, into: &mut Map<String, Value>) -> Result<(), String> {
    let Value::Object(table) = table else {
        return if table.is_null() { Ok(()) } else { Err(format!("`{what}` is not a table")) };
    };
    for (name, value) in table {
        let word = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null => continue,
            _ => return Err(format!("`{what}.{name}` is not a text")),
        };
        into.insert(name.clone(), Value::from(word));
    }
    Ok(())
}

fn names(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    // Codex also writes tables with a name.
    let name = |one: &Value| one.as_str().or_else(|| one.get("name")?.as_str()).map(str::to_owned);
    list.filter_map(name).collect()
}

/// Writes the variables of an agent as we write them: `${NAME}`.
fn variables(agent: Agent, value: &mut Value, warnings: &mut Vec<String>) {
    match value {
        Value::Object(object) => object.values_mut().for_each(|value| variables(agent, value, warnings)),
        Value::Array(list) => list.iter_mut().for_each(|value| variables(agent, value, warnings)),
        Value::String(text) => {
            *text = match agent {
                Agent::Opencode => braces(text),
                Agent::Gemini => dollars(text),
                _ => inputs(text, warnings),
            };
        }
        _ => {}
    }
}

/// `{env:NAME}`.
fn braces(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{env:") {
        let Some((name, tail)) = after.split_once('}') else { break };
        out.push_str(before);
        out.push_str(&format!("${{{name}}}"));
        rest = tail;
    }
    out + rest
}

/// `$NAME` beside `${NAME}`.
fn dollars(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let begins = chars.peek().is_some_and(|next| next.is_ascii_alphabetic() || *next == '_');
        if char != '$' || !begins {
            out.push(char);
            continue;
        }
        let mut name = String::new();
        while let Some(next) = chars.next_if(|next| next.is_ascii_alphanumeric() || *next == '_') {
            name.push(next);
        }
        out.push_str(&format!("${{{name}}}"));
    }
    out
}

/// `${input:id}`, which an editor asks for.
fn inputs(text: &str, warnings: &mut Vec<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${input:") {
        let Some((id, tail)) = after.split_once('}') else { break };
        let name = super::secrets::variable_name(&[id]);
        warnings.push(format!("an editor asks for {id:?}; here set the variable {name}"));
        out.push_str(before);
        out.push_str(&format!("${{{name}}}"));
        rest = tail;
    }
    out + rest
}
