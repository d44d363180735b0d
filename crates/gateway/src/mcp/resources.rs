//! Resources: those of MCP servers, and the logs of extensions.

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use jackfield_host::{Caller as By, Relay};
use jackfield_mcp::envelope::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use jackfield_protocol::{ExtensionId, Wire, plain_text};
use serde_json::{Value, json};

use super::calls::any_error;
use super::catalog::{Lists, Owner, scheme};
use super::dispatch::{face, met};
use super::exchange::{Era, Exchange, Params};
use super::pending_input::Again;
use super::prompts::{is_modern, relay};
use super::{Shared, lock, wire};

/// How much of a log is given.
const LOG_PART: u64 = 64 * 1024;
/// "Resource not found" up to 2025-11-25.
const RESOURCE_NOT_FOUND: i64 = -32002;
/// How many resources one client may want news of.
const MOST_SUBSCRIPTIONS: usize = 1024;

/// `resources/read`.
pub(crate) async fn read(exchange: &Exchange, params: &Params<'_>, text: &str) -> Result<String, RpcError> {
    let uri = params.uri()?;
    let face = face(exchange);
    let lists = face.lists();
    let owners = match lists.resource_owners.get(uri) {
        Some(Owner::Log(extension)) => return log(&face, extension, uri),
        Some(Owner::Server(extension, own)) => vec![(extension.clone(), own.clone())],
        _ => candidates(&lists, uri).into_iter().map(|extension| (extension, uri.to_owned())).collect(),
    };
    met(exchange).await;
    let mut problem = None;
    for (extension, own) in owners {
        let given = wire::with(text, "uri", &json!(own));
        let about = wire::digest(&["resources/read", uri]);
        let again =
            Again { state: params.request_state.as_deref(), responses: params.input_responses.map(|it| it.get()) };
        match relay(exchange, extension, "resources/read", &given, &about, again).await {
            Ok(result) if is_modern(exchange) => {
                let result = wire::with_missing(&result, "cacheScope", &json!("private"));
                return Ok(wire::with_missing(&result, "ttlMs", &json!(0)));
            }
            Ok(result) => return Ok(result),
            Err(error) => problem = Some(error),
        }
    }
    Err(problem.unwrap_or_else(|| not_found(exchange.era, uri)))
}

fn not_found(era: Era, uri: &str) -> RpcError {
    let code = if era == Era::Modern { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
    let mut error = RpcError::new(code, format!("no resource {uri:?}; resources/list says which there are"));
    error.data = Some(json!({ "uri": uri }));
    error
}

/// Servers that may know an address that nobody lists: by their templates, else by what their addresses begin with.
fn candidates(lists: &Lists, uri: &str) -> Vec<ExtensionId> {
    let by_template = lists.template_owners.iter().filter(|(template, _)| fits(template, uri));
    let mut found: Vec<ExtensionId> = by_template.map(|(_, extension)| extension.clone()).collect();
    if found.is_empty() {
        let wanted = scheme(uri);
        let servers =
            lists.resource_servers.iter().filter(|(_, schemes)| schemes.is_empty() || schemes.contains(wanted));
        found = servers.map(|(extension, _)| extension.clone()).collect();
    }
    found.dedup();
    found
}

/// Whether an address is one of a template: what stands in braces may be anything.
fn fits(template: &str, uri: &str) -> bool {
    let mut literals = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        literals.push(before);
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    let Some((first, between)) = literals.split_first() else { return template == uri };
    let Some(mut left) = uri.strip_prefix(first) else { return false };
    for literal in between.iter().filter(|literal| !literal.is_empty()) {
        match left.split_once(literal) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(rest) && left.len() >= rest.len()
}

/// The last part of an extension's log.
fn log(face: &Shared, extension: &ExtensionId, uri: &str) -> Result<String, RpcError> {
    let path = face.host.home().log_file(extension);
    let read = || -> std::io::Result<String> {
        let mut file = match std::fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
            Err(error) => return Err(error),
        };
        let size = file.metadata()?.len();
        let skipped = size.saturating_sub(LOG_PART);
        file.seek(SeekFrom::Start(skipped))?;
        let mut bytes = Vec::new();
        file.take(LOG_PART).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // A part begins with a whole line.
        let text = if skipped > 0 { text.split_once('\n').map_or("", |(_, rest)| rest).to_owned() } else { text };
        Ok(plain_text(&text))
    };
    let text = read()
        .map_err(|error| RpcError::new(INTERNAL_ERROR, format!("cannot read the log of {extension}: {error}")))?;
    let contents = json!([{ "uri": uri, "mimeType": "text/plain", "text": text }]);
    Ok(json!({ "contents": contents, "ttlMs": 0, "cacheScope": "private" }).to_string())
}

/// `resources/subscribe`.
pub(crate) async fn subscribe(exchange: &Exchange, uri: &str) -> Result<String, RpcError> {
    let client = &exchange.client;
    if !lock(&client.subscriptions).contains(uri) {
        if lock(&client.subscriptions).len() >= MOST_SUBSCRIPTIONS {
            return Err(RpcError::new(INVALID_PARAMS, format!("{MOST_SUBSCRIPTIONS} subscriptions are the most")));
        }
        watch(&client.face, uri, exchange.era).await?;
        lock(&client.subscriptions).insert(uri.to_owned());
    }
    Ok("{}".to_owned())
}

/// `resources/unsubscribe`.
pub(crate) async fn unsubscribe(exchange: &Exchange, uri: &str) -> Result<String, RpcError> {
    if lock(&exchange.client.subscriptions).remove(uri) {
        unwatch(&exchange.client.face, uri).await;
    }
    Ok("{}".to_owned())
}

/// One more client wants news of a resource; the first one makes us ask its server.
pub(crate) async fn watch(face: &Arc<Shared>, uri: &str, era: Era) -> Result<(), RpcError> {
    let owner = owner(face, uri).ok_or_else(|| not_found(era, uri))?;
    let mut watched = face.watched.lock().await;
    let count = watched.entry(uri.to_owned()).or_insert(0);
    if *count == 0
        && let Some((extension, own)) = owner
        && let Err(error) = say(face, extension, "resources/subscribe", &own).await
    {
        watched.remove(uri);
        return Err(any_error(&error, era));
    }
    if let Some(count) = watched.get_mut(uri) {
        *count += 1;
    }
    Ok(())
}

/// Counts one subscription less; the last one ends the server's.
pub(crate) async fn unwatch(face: &Arc<Shared>, uri: &str) {
    let mut watched = face.watched.lock().await;
    let Some(count) = watched.get_mut(uri) else { return };
    *count = count.saturating_sub(1);
    if *count == 0 {
        watched.remove(uri);
        if let Some(Some((extension, own))) = owner(face, uri) {
            // Its server may have gone; then there is nothing to take back.
            say(face, extension, "resources/unsubscribe", &own).await.ok();
        }
    }
}

/// Whose a resource is: a server's, or ours.
fn owner(face: &Arc<Shared>, uri: &str) -> Option<Option<(ExtensionId, String)>> {
    let lists = face.lists();
    match lists.resource_owners.get(uri) {
        Some(Owner::Server(extension, own)) => Some(Some((extension.clone(), own.clone()))),
        Some(_) => Some(None),
        None => candidates(&lists, uri).into_iter().next().map(|extension| Some((extension, uri.to_owned()))),
    }
}

async fn say(
    face: &Arc<Shared>,
    extension: ExtensionId,
    method: &str,
    uri: &str,
) -> Result<Wire, jackfield_protocol::CallError> {
    let params = Wire::new(json!({ "uri": uri }).to_string());
    let (method, cancel) = (method.to_owned(), tokio_util::sync::CancellationToken::new());
    face.host.relay(Relay { extension, method, params, caller: By::Agent, timeout: None, cancel, peer: None }).await
}

/// The public address of a resource of a server.
pub(crate) fn public_uri(lists: &Lists, extension: &ExtensionId, uri: &str) -> String {
    let mut same = lists.resource_owners.iter();
    let found = same.find(|(_, owner)| matches!(owner, Owner::Server(id, own) if id == extension && own == uri));
    found.map_or_else(|| uri.to_owned(), |(public, _)| public.clone())
}

/// The address that a notification is about.
pub(crate) fn uri_of(params: &Value) -> Option<&str> {
    params.get("uri").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn addresses_of_templates() {
        assert!(fits("test://template/{id}/data", "test://template/123/data"));
        assert!(!fits("test://template/{id}/data", "test://template/123/other"));
        assert!(!fits("test://template/{id}/data", "test://template/data"));
        assert!(fits("file:///{path}", "file:///a/b"));
        assert!(fits("a:{x}-{y}", "a:1-2") && !fits("a:{x}-{y}", "a:12"));
        assert!(!fits("a:b", "a:c") && fits("a:b", "a:b"));
    }
}
