//! Which method does what.

use std::sync::Arc;

use jackfield_mcp::envelope::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError};
use serde_json::{Value, json};

use super::catalog::{self, Item, Lists};
use super::client::{Legacy, Waiting};
use super::exchange::{Era, Exchange, Level, Params, SERVER_INFO};
use super::out::Out;
use super::{LEGACY, MODERN, Shared, calls, lock, notifications, prompts, resources, search};

/// Answers a request with a result as JSON text, or with an error.
pub(crate) async fn respond(waiting: &Waiting, out: &Out) -> Result<String, RpcError> {
    let params = Params::read(&waiting.params)?;
    let exchange = Exchange::open(waiting, &params, out)?;
    let method = waiting.method.as_str();
    tracing::debug!(method, "an MCP request");
    let result = match (exchange.era, method) {
        (Era::Legacy, "initialize") => initialize(&exchange, &params),
        (Era::Legacy, "ping") => Ok("{}".to_owned()),
        (Era::Legacy, "logging/setLevel") => set_level(&exchange, &params),
        (Era::Legacy, "resources/subscribe") => resources::subscribe(&exchange, params.uri()?).await,
        (Era::Legacy, "resources/unsubscribe") => resources::unsubscribe(&exchange, params.uri()?).await,
        (Era::Modern, "server/discover") => Ok(discover(&exchange)),
        (Era::Modern, "subscriptions/listen") => return notifications::listen(&exchange, &params).await,
        (_, "tools/list") => tools(&exchange, &params).await,
        (_, "tools/call") => calls::call(&exchange, &params).await,
        (_, "prompts/list") => list(&exchange, "prompts", settled(&exchange).await.prompts.iter(), &params),
        (_, "prompts/get") => prompts::get(&exchange, &params, &waiting.params).await,
        (_, "resources/list") => list(&exchange, "resources", settled(&exchange).await.resources.iter(), &params),
        (_, "resources/templates/list") => {
            list(&exchange, "resourceTemplates", settled(&exchange).await.templates.iter(), &params)
        }
        (_, "resources/read") => resources::read(&exchange, &params, &waiting.params).await,
        (_, "completion/complete") => prompts::complete(&exchange, &waiting.params).await,
        (era, _) => {
            let when = if era == Era::Modern { MODERN } else { "2025-11-25 and earlier" };
            Err(RpcError::new(METHOD_NOT_FOUND, format!("{method} is not a method of MCP {when}")))
        }
    }?;
    Ok(match exchange.era {
        Era::Legacy => result,
        Era::Modern => super::wire::with_missing(&result, "resultType", &json!("complete")),
    })
}

/// What we can do.
fn capabilities() -> Value {
    json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "completions": {},
        "logging": {},
    })
}

fn initialize(exchange: &Exchange, params: &Params<'_>) -> Result<String, RpcError> {
    let wanted = params
        .protocol_version
        .as_deref()
        .ok_or_else(|| RpcError::new(INVALID_PARAMS, "params.protocolVersion is missing"))?;
    // A client that wants something else is offered the newest; it may go.
    let version = LEGACY.into_iter().find(|version| *version == wanted).unwrap_or(LEGACY[0]);
    let capabilities = params.capabilities.clone().filter(Value::is_object).unwrap_or_else(|| json!({}));
    if !exchange.client.greet(Legacy::new(version, capabilities)) {
        return Err(RpcError::new(INVALID_REQUEST, "initialize was called before on this connection"));
    }
    let result = json!({
        "protocolVersion": version,
        "capabilities": self::capabilities(),
        "serverInfo": Shared::info(),
        "instructions": exchange.client.face.instructions(&exchange.client.expose),
    });
    Ok(result.to_string())
}

fn discover(exchange: &Exchange) -> String {
    json!({
        "resultType": "complete",
        "supportedVersions": [MODERN],
        "capabilities": capabilities(),
        "instructions": exchange.client.face.instructions(&exchange.client.expose),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { SERVER_INFO: Shared::info() },
    })
    .to_string()
}

fn set_level(exchange: &Exchange, params: &Params<'_>) -> Result<String, RpcError> {
    let level = params.level.as_deref().and_then(Level::parse);
    let level = level.ok_or_else(|| RpcError::new(INVALID_PARAMS, "params.level is none of debug … emergency"))?;
    exchange.client.set_level(level);
    Ok("{}".to_owned())
}

/// What there is to list. Where that is nothing, extensions that were never seen before get a moment to say what they
/// offer; otherwise nobody waits for anybody.
async fn settled(exchange: &Exchange) -> Arc<Lists> {
    let face = &exchange.client.face;
    if face.lists().tools.is_empty() {
        tokio::select! {
            () = face.options.met.cancelled() => {}
            () = tokio::time::sleep(face.options.patience) => {}
            () = exchange.cancel.cancelled() => {}
        }
    }
    let lists = face.lists();
    *lock(&exchange.client.seen) = Some(Arc::clone(&lists));
    lists
}

async fn tools(exchange: &Exchange, params: &Params<'_>) -> Result<String, RpcError> {
    let lists = settled(exchange).await;
    let expose = &exchange.client.expose;
    let own = search::tools(expose);
    let listed = own.iter().chain(lists.tools.iter().filter(|tool| expose.lists(&tool.name)));
    list(exchange, "tools", listed, params)
}

fn list<'a>(
    exchange: &Exchange,
    name: &str,
    items: impl Iterator<Item = &'a Item>,
    params: &Params<'_>,
) -> Result<String, RpcError> {
    let size = exchange.client.face.options.page;
    let (texts, next) = catalog::page(items, params.cursor.as_deref(), size)
        .map_err(|problem| RpcError::new(INVALID_PARAMS, problem))?;
    let mut result = String::with_capacity(texts.iter().map(|text| text.len() + 1).sum::<usize>() + 256);
    result.push('{');
    if exchange.era == Era::Modern {
        let meta = json!({ SERVER_INFO: Shared::info() });
        result
            .push_str(&format!("\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"_meta\":{meta},"));
    }
    result.push_str(&format!("\"{name}\":["));
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            result.push(',');
        }
        result.push_str(text);
    }
    result.push(']');
    if let Some(next) = next {
        result.push_str(&format!(",\"nextCursor\":{}", Value::from(next)));
    }
    result.push('}');
    Ok(result)
}

/// Resolves when every extension that was never seen before has had its chance, or nobody waits any more.
pub(crate) async fn met(exchange: &Exchange) {
    let met = &exchange.client.face.options.met;
    if !met.is_cancelled() {
        tokio::select! {
            () = met.cancelled() => {}
            () = exchange.cancel.cancelled() => {}
        }
    }
}

/// The face of a request.
pub(crate) fn face(exchange: &Exchange) -> Arc<Shared> {
    Arc::clone(&exchange.client.face)
}
