//! Who may come in, and whether headers say what messages say.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_host::Snapshot;
use jackfield_mcp::envelope::INVALID_REQUEST;
use serde_json::Value;

use super::super::exchange::VERSION;
use super::super::wire;
use super::{HttpOptions, MessageHead, PROTOCOL, refuse};

/// A header as text.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Lets a request in that is addressed to this machine, comes from no foreign page, and has the token.
pub(super) fn admit(headers: &HeaderMap, options: &HttpOptions) -> Result<(), Response> {
    let refused = |status, message: &str| Err(refuse(status, None, INVALID_REQUEST, message));
    match text(headers, "host") {
        _ if options.any_host => {}
        Some(host) if is_ours(host, options) => {}
        _ => return refused(StatusCode::FORBIDDEN, "this host is not addressed by that name (Host)"),
    }
    if headers.contains_key(header::ORIGIN) && !options.any_host {
        let origin = text(headers, "origin").and_then(|origin| origin.split_once("://"));
        if !origin.is_some_and(|(scheme, host)| matches!(scheme, "http" | "https") && is_ours(host, options)) {
            return refused(StatusCode::FORBIDDEN, "pages of other hosts have no business here (Origin)");
        }
    }
    if let Some(token) = &options.token {
        let given = text(headers, "authorization").and_then(|value| value.split_once(' '));
        let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        if !given.is_some_and(|given| same(given, token)) {
            let mut response = refuse(StatusCode::UNAUTHORIZED, None, INVALID_REQUEST, "a bearer token is needed");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
            return Err(response.into_response());
        }
    }
    Ok(())
}

/// Whose request it is: what one token began, no other goes on with.
pub(super) fn principal(headers: &HeaderMap) -> String {
    text(headers, "authorization").map(|token| wire::digest(&[token])).unwrap_or_default()
}

/// Compares without telling by the time it takes where they differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Whether a host, with or without a port, is this machine.
fn is_ours(host: &str, options: &HttpOptions) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(name, _)| name),
        None => {
            host.rsplit_once(':').map_or(host, |(name, port)| if port.parse::<u16>().is_ok() { name } else { host })
        }
    };
    let loopback = name.eq_ignore_ascii_case("localhost") || matches!(name, "127.0.0.1" | "::1");
    loopback || options.allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
}

/// Whether the body is said to be JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = text(headers, "content-type").unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Whether the client takes streams; one that does not say takes everything.
pub(super) fn accepts_stream(headers: &HeaderMap) -> bool {
    match text(headers, "accept") {
        None => true,
        Some(kinds) => kinds.split(',').any(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            matches!(kind, "text/event-stream" | "text/*" | "*/*")
        }),
    }
}

/// Whether the headers of a request say the same as its body, as they must from 2026-07-28.
pub(super) fn headers_match(
    headers: &HeaderMap,
    seen: &MessageHead,
    snapshot: impl FnOnce() -> Arc<Snapshot>,
) -> Result<(), String> {
    let Some(method) = &seen.method else { return Ok(()) };
    if seen.id.is_none() {
        // Nothing is said about the headers of notifications.
        return Ok(());
    }
    let version = text(headers, PROTOCOL).ok_or("the header MCP-Protocol-Version is missing")?;
    if let Some(said) = seen.meta.get(VERSION)
        && said.as_str() != Some(version)
    {
        return Err(format!("the header MCP-Protocol-Version says {version:?}, the message {said}"));
    }
    let said = text(headers, "mcp-method").ok_or("the header Mcp-Method is missing")?;
    if said != method {
        return Err(format!("the header Mcp-Method says {said:?}, the message {method:?}"));
    }
    let name = match method.as_str() {
        "tools/call" | "prompts/get" => seen.name.as_deref(),
        "resources/read" => seen.uri.as_deref(),
        _ => return Ok(()),
    };
    // A message without a name is refused for that.
    let Some(name) = name else { return Ok(()) };
    let said = text(headers, "mcp-name").ok_or("the header Mcp-Name is missing")?;
    if decoded(said).as_deref() != Some(name) {
        return Err(format!("the header Mcp-Name says {said:?}, the message {name:?}"));
    }
    if method == "tools/call"
        && let Some(tool) = snapshot().tool(name)
    {
        let arguments = seen.arguments.clone().unwrap_or_default();
        return parameters_match(headers, tool.parameters(), &arguments);
    }
    Ok(())
}

/// Parameters that a tool wants in headers, too.
fn parameters_match(headers: &HeaderMap, schema: &Value, arguments: &Value) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    for (name, schema) in properties {
        let value = arguments.get(name).unwrap_or(&Value::Null);
        if let Some(header) = schema.get("x-mcp-header").and_then(Value::as_str) {
            let header = format!("mcp-param-{}", header.to_ascii_lowercase());
            let said = match headers.get(header.as_str()) {
                Some(said) => {
                    Some(said.to_str().ok().and_then(decoded).ok_or(format!("the header {header} is malformed"))?)
                }
                None => None,
            };
            let wanted = match value {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            };
            let numbers =
                |a: &str, b: &str| a.parse::<f64>().ok().is_some_and(|a| b.parse::<f64>().is_ok_and(|b| a == b));
            let same = match (&said, &wanted) {
                (Some(said), Some(wanted)) => said == wanted || (value.is_number() && numbers(said, wanted)),
                (said, wanted) => said.is_none() == wanted.is_none(),
            };
            if !same {
                return Err(format!("the header {header} and the argument {name} differ"));
            }
        }
        parameters_match(headers, schema, value)?;
    }
    Ok(())
}

/// A header's value, which may be written in base64.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(text) => String::from_utf8(STANDARD.decode(text).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| ((*name).try_into().expect("a name"), value.parse().expect("a value")))
            .collect()
    }

    #[test]
    fn who_is_let_in() {
        let open = HttpOptions::default();
        for host in ["localhost", "localhost:80", "127.0.0.1:1", "[::1]:9", "[::1]"] {
            assert!(admit(&headers(&[("host", host)]), &open).is_ok(), "{host}");
        }
        for host in ["evil.example.com", "localhost.evil.com", "127.0.0.1.evil.com:80", "", "[::2]"] {
            assert!(admit(&headers(&[("host", host)]), &open).is_err(), "{host}");
        }
        let local = ("host", "localhost");
        for origin in ["http://evil.example.com", "null", "file://localhost", "http://localhost@evil.com"] {
            assert!(admit(&headers(&[local, ("origin", origin)]), &open).is_err(), "{origin}");
        }
        assert!(admit(&headers(&[local, ("origin", "http://localhost:3000")]), &open).is_ok());
        let closed = HttpOptions { token: Some("secret".into()), ..HttpOptions::default() };
        assert!(admit(&headers(&[local, ("authorization", "Bearer secret")]), &closed).is_ok());
        for wrong in ["Bearer secre", "Basic secret", "Bearer secret2", "secret"] {
            assert!(admit(&headers(&[local, ("authorization", wrong)]), &closed).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parameters_in_headers() {
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "in": { "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
        }});
        let fits =
            |pairs: &[(&'static str, &str)], arguments: Value| parameters_match(&headers(pairs), &schema, &arguments);
        assert!(fits(&[("mcp-param-region", "us")], json!({ "region": "us" })).is_ok());
        assert!(fits(&[("mcp-param-region", "=?base64?IHU=?=")], json!({ "region": " u" })).is_ok());
        assert!(fits(&[("mcp-param-n", "42.0")], json!({ "in": { "n": 42 } })).is_ok());
        assert!(fits(&[], json!({})).is_ok() && fits(&[], json!({ "region": null })).is_ok());
        assert!(fits(&[], json!({ "region": "us" })).is_err());
        assert!(fits(&[("mcp-param-region", "eu")], json!({ "region": "us" })).is_err());
        assert!(fits(&[("mcp-param-region", "eu")], json!({})).is_err());
    }
}
