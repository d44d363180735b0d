//! Prompts: slash commands of extensions, and prompts of MCP servers; and completion of their arguments.

use std::sync::Arc;

use jackfield_host::{Caller as By, Relay};
use jackfield_mcp::envelope::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use jackfield_protocol::{CommandAction, CommandReply, ExtensionId, Wire};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::calls::{RelayContext, any_error};
use super::catalog::Owner;
use super::dispatch::{face, met};
use super::exchange::{Era, Exchange, Params};
use super::pending_input::{self, Again};
use super::{Shared, wire};

/// What only we look at, or what is said anew to a server.
const OURS: [&str; 3] = ["inputResponses", "requestState", "_meta"];

/// `prompts/get`.
pub(crate) async fn get(exchange: &Exchange, params: &Params<'_>, text: &str) -> Result<String, RpcError> {
    let name = params.name()?;
    met(exchange).await;
    let face = face(exchange);
    match face.lists().prompt_owners.get(name) {
        Some(Owner::Command(command)) => {
            let arguments: Map<String, Value> = match params.arguments {
                Some(text) => serde_json::from_str(text.get()).map_err(|error| {
                    RpcError::new(INVALID_PARAMS, format!("params.arguments is no object: {error}"))
                })?,
                None => Map::new(),
            };
            let args = arguments.get("args").and_then(Value::as_str).unwrap_or_default();
            let outcome = face.host.run_command(command, args).await;
            let reply = outcome.result.map_err(|error| any_error(&error, exchange.era))?;
            messages(&reply)
        }
        Some(Owner::Server(extension, own)) => {
            let given = wire::with(text, "name", &json!(own));
            let about = wire::digest(&["prompts/get", name, &wire::without(text, &OURS)]);
            let again =
                Again { state: params.request_state.as_deref(), responses: params.input_responses.map(|it| it.get()) };
            relay(exchange, extension.clone(), "prompts/get", &given, &about, again).await
        }
        _ => Err(RpcError::new(INVALID_PARAMS, format!("no prompt named {name:?}; prompts/list says which there are"))),
    }
}

/// Puts a request to the server that it is for.
pub(crate) async fn relay(
    exchange: &Exchange,
    extension: ExtensionId,
    method: &'static str,
    params: &str,
    about: &str,
    again: Again<'_>,
) -> Result<String, RpcError> {
    let params = with_meta(exchange, params);
    let (face, era) = (face(exchange), exchange.era);
    pending_input::run(exchange, about, again, move |peer, cancel| {
        let context = RelayContext { peer, cancel };
        async move { relayed(&face, extension, method, params, context).await.map_err(|error| any_error(&error, era)) }
    })
    .await
}

async fn relayed(
    face: &Arc<Shared>,
    extension: ExtensionId,
    method: &str,
    params: String,
    context: RelayContext,
) -> Result<String, jackfield_protocol::CallError> {
    let relay = Relay {
        extension,
        method: method.to_owned(),
        params: Wire::new(params),
        caller: By::Agent,
        timeout: None,
        cancel: context.cancel,
        peer: Some(context.peer),
    };
    face.host.relay(relay).await.map(|result| result.as_str().to_owned())
}

/// The parameters as they are passed on: what is ours stays here, and the client's capabilities go along.
pub(crate) fn with_meta(exchange: &Exchange, params: &str) -> String {
    let rest = wire::without(params, &OURS);
    wire::with(&rest, "_meta", &Value::Object((*exchange.meta).clone()))
}

/// What a command says, as messages to the model.
fn messages(reply: &CommandReply) -> Result<String, RpcError> {
    if let Some(error) = &reply.error {
        return Err(RpcError::new(INTERNAL_ERROR, error.clone()));
    }
    let text = match &reply.action {
        CommandAction::Prompt { prompt } => prompt.clone(),
        CommandAction::Insert { insert } => insert.clone(),
        CommandAction::Display { display } => display.clone(),
        CommandAction::OpenPanel { panel } => [vec![panel.title.clone()], panel.lines.clone()].concat().join("\n"),
        CommandAction::ToolPrompt { prompt, tool_name, tool_args } => {
            format!("{prompt}\n\nCall the tool {tool_name} with these arguments: {tool_args}")
        }
        CommandAction::Noop => "(done)".to_owned(),
    };
    Ok(json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] }).to_string())
}

#[derive(Deserialize)]
struct Completing {
    #[serde(rename = "ref")]
    about: About,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum About {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

/// `completion/complete`.
pub(crate) async fn complete(exchange: &Exchange, text: &str) -> Result<String, RpcError> {
    let asked: Completing = serde_json::from_str(text)
        .map_err(|error| RpcError::new(INVALID_PARAMS, format!("the parameters do not fit: {error}")))?;
    let lists = face(exchange).lists();
    let nothing = || json!({ "completion": { "values": [], "total": 0, "hasMore": false } }).to_string();
    let (extension, params) = match &asked.about {
        About::Prompt { name } => match lists.prompt_owners.get(name) {
            Some(Owner::Server(extension, own)) => {
                let about = json!({ "type": "ref/prompt", "name": own });
                (extension.clone(), wire::with(text, "ref", &about))
            }
            Some(_) => return Ok(nothing()),
            None => return Err(RpcError::new(INVALID_PARAMS, format!("no prompt named {name:?}"))),
        },
        About::Resource { uri } => {
            let by_template = lists.template_owners.iter().find(|(template, _)| template == uri).map(|(_, id)| id);
            let by_address = lists.resource_owners.get(uri).and_then(|owner| match owner {
                Owner::Server(extension, _) => Some(extension),
                _ => None,
            });
            match by_template.or(by_address) {
                Some(extension) => (extension.clone(), text.to_owned()),
                None => return Err(RpcError::new(INVALID_PARAMS, format!("no resource or template {uri:?}"))),
            }
        }
    };
    if !completes(exchange, &extension) {
        return Ok(nothing());
    }
    met(exchange).await;
    let again = Again { state: None, responses: None };
    // Questions have no place in this answer, whatever the client could do.
    let quiet = Exchange { capabilities: json!({}).into(), ..copy(exchange) };
    relay(&quiet, extension, "completion/complete", &params, "", again).await
}

fn completes(exchange: &Exchange, extension: &ExtensionId) -> bool {
    let known = exchange.client.face.host.contributions(extension);
    known.is_some_and(|(known, _)| {
        known.extra.get("mcp").is_some_and(|it| it.pointer("/capabilities/completions").is_some())
    })
}

fn copy(exchange: &Exchange) -> Exchange {
    Exchange {
        client: Arc::clone(&exchange.client),
        era: exchange.era,
        id: exchange.id.clone(),
        capabilities: Arc::clone(&exchange.capabilities),
        token: exchange.token.clone(),
        level: exchange.level,
        meta: Arc::clone(&exchange.meta),
        out: exchange.out.clone(),
        cancel: exchange.cancel.clone(),
    }
}

/// Whether a request was made in the newer era.
pub(crate) fn is_modern(exchange: &Exchange) -> bool {
    exchange.era == Era::Modern
}
