//! One request: in which era it was made, what its client can do, and where what belongs to it goes.

use std::sync::Arc;

use jackfield_mcp::envelope::{INVALID_PARAMS, RpcError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::MODERN;
use super::client::{Client, Waiting};
use super::out::Out;

/// What is told about a request that stands for itself.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The client did not say that it can do what the request takes.
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
/// A revision that we do not speak.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
/// What a header says is not what the message says.
pub(crate) const HEADER_MISMATCH: i64 = -32020;

/// The eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With a handshake.
    Legacy,
    /// Every request stands for itself.
    Modern,
}

/// How important a log line is, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(usize);

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl Level {
    /// Reads the name of a level.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        LEVELS.iter().position(|level| *level == text).map(Self)
    }

    /// As it is written.
    pub(crate) fn as_str(self) -> &'static str {
        LEVELS.get(self.0).copied().unwrap_or("info")
    }
}

/// The parameters of any request, as far as we look at them.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Params<'a> {
    pub(crate) name: Option<String>,
    pub(crate) uri: Option<String>,
    pub(crate) cursor: Option<String>,
    pub(crate) level: Option<String>,
    pub(crate) protocol_version: Option<String>,
    pub(crate) capabilities: Option<Value>,
    pub(crate) notifications: Option<Map<String, Value>>,
    pub(crate) request_state: Option<String>,
    #[serde(borrow)]
    pub(crate) input_responses: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta")]
    pub(crate) meta: Option<Map<String, Value>>,
}

impl<'a> Params<'a> {
    /// Reads the parameters of a request.
    pub(crate) fn read(text: &'a str) -> Result<Self, RpcError> {
        let read: Option<Self> = serde_json::from_str(text)
            .map_err(|error| RpcError::new(INVALID_PARAMS, format!("the parameters do not fit: {error}")))?;
        Ok(read.unwrap_or_default())
    }

    /// A name that must be there.
    pub(crate) fn name(&self) -> Result<&str, RpcError> {
        self.name.as_deref().ok_or_else(|| RpcError::new(INVALID_PARAMS, "params.name is missing"))
    }

    /// An address that must be there.
    pub(crate) fn uri(&self) -> Result<&str, RpcError> {
        self.uri.as_deref().ok_or_else(|| RpcError::new(INVALID_PARAMS, "params.uri is missing"))
    }
}

/// One request on its way to its answer.
pub(crate) struct Exchange {
    pub(crate) client: Arc<Client>,
    pub(crate) era: Era,
    pub(crate) id: Value,
    /// What the client can do.
    pub(crate) capabilities: Arc<Value>,
    /// Names progress, if the client wants to hear of it.
    pub(crate) token: Option<Value>,
    /// The least of the log that the client wants to hear; without one nothing, except up to 2025-11-25.
    pub(crate) level: Option<Level>,
    /// Everything that went with the request, for extensions that speak MCP.
    pub(crate) meta: Arc<Map<String, Value>>,
    pub(crate) out: Out,
    pub(crate) cancel: CancellationToken,
}

impl Exchange {
    /// Looks at what goes with a request and decides in which era it was made.
    pub(crate) fn open(waiting: &Waiting, params: &Params<'_>, out: &Out) -> Result<Self, RpcError> {
        let client = &waiting.client;
        let given = params.meta.as_ref();
        let said = |name: &str| given.and_then(|meta| meta.get(name));
        let token = said("progressToken").filter(|token| token.is_string() || token.is_number()).cloned();
        let (era, capabilities, level, meta) = if said(VERSION).is_some() || waiting.method == "server/discover" {
            let meta = given.cloned().unwrap_or_default();
            let (capabilities, level) = modern(&meta)?;
            (Era::Modern, Arc::new(capabilities), level, Arc::new(meta))
        } else if let Some(legacy) = client.legacy() {
            let level = client.level();
            let meta = match given {
                None if level.is_none() => Arc::clone(&legacy.meta),
                given => {
                    let mut meta = given.cloned().unwrap_or_default();
                    meta.insert(CAPABILITIES.to_owned(), (*legacy.capabilities).clone());
                    meta.extend(level.map(|level| (LOG_LEVEL.to_owned(), json!(level.as_str()))));
                    Arc::new(meta)
                }
            };
            (Era::Legacy, Arc::clone(&legacy.capabilities), level, meta)
        } else if matches!(waiting.method.as_str(), "initialize" | "ping") {
            (Era::Legacy, Arc::new(json!({})), None, Arc::new(given.cloned().unwrap_or_default()))
        } else {
            let message = format!(
                "{} came before anything was agreed on: send initialize first, or give _meta[\"{VERSION}\"] with every request",
                waiting.method
            );
            return Err(RpcError::new(INVALID_PARAMS, message));
        };
        Ok(Self {
            client: Arc::clone(client),
            era,
            id: waiting.id.clone(),
            capabilities,
            token,
            level,
            meta,
            out: out.clone(),
            cancel: waiting.cancel.clone(),
        })
    }

    /// Whether the client can be asked anything.
    pub(crate) fn can_anything(&self) -> bool {
        ["elicitation", "sampling", "roots"].iter().any(|name| self.capabilities.get(name).is_some())
    }
}

/// Whether these capabilities suffice for a question, and which would otherwise.
pub(crate) fn can(capabilities: &Value, method: &str, params: &Value) -> Result<(), Value> {
    let (name, part) = match method {
        "elicitation/create" => match params.get("mode").and_then(Value::as_str) {
            Some("url") => ("elicitation", Some("url")),
            _ => ("elicitation", None),
        },
        "sampling/createMessage" => ("sampling", None),
        "roots/list" => ("roots", None),
        _ => return Err(json!({})),
    };
    let declared = capabilities.get(name);
    let suffices = match (declared, part) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(declared), Some(part)) => declared.get(part).is_some(),
    };
    match (suffices, part) {
        (true, _) => Ok(()),
        (false, None) => Err(json!({ name: {} })),
        (false, Some(part)) => Err(json!({ name: { part: {} } })),
    }
}

/// What every request has to say from 2026-07-28.
pub(crate) fn modern(meta: &Map<String, Value>) -> Result<(Value, Option<Level>), RpcError> {
    let missing = |key: &str| RpcError::new(INVALID_PARAMS, format!("_meta[{key:?}] is missing or of the wrong type"));
    let version = meta.get(VERSION).and_then(Value::as_str).ok_or_else(|| missing(VERSION))?;
    if version != MODERN {
        let mut error = RpcError::new(UNSUPPORTED_VERSION, format!("unsupported protocol version {version:?}"));
        error.data = Some(json!({ "supported": [MODERN], "requested": version }));
        return Err(error);
    }
    let capabilities = meta.get(CAPABILITIES).filter(|it| it.is_object()).ok_or_else(|| missing(CAPABILITIES))?;
    if meta.get(CLIENT_INFO).is_some_and(|info| !info.is_object()) {
        return Err(missing(CLIENT_INFO));
    }
    let level = match meta.get(LOG_LEVEL) {
        None => None,
        Some(level) => Some(level.as_str().and_then(Level::parse).ok_or_else(|| missing(LOG_LEVEL))?),
    };
    Ok((capabilities.clone(), level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_can_do() {
        let form = json!({ "elicitation": {} });
        assert_eq!(can(&form, "elicitation/create", &json!({})), Ok(()));
        let url = json!({ "mode": "url" });
        assert_eq!(can(&form, "elicitation/create", &url), Err(json!({ "elicitation": { "url": {} } })));
        assert_eq!(can(&form, "sampling/createMessage", &json!({})), Err(json!({ "sampling": {} })));
        assert!(Level::parse("error") > Level::parse("debug") && Level::parse("loud").is_none());
    }

    #[test]
    fn what_every_request_says() {
        let meta = |value: Value| value.as_object().cloned().unwrap_or_default();
        let code = |value: Value| modern(&meta(value)).map(|_| ()).map_err(|error| error.code);
        assert_eq!(code(json!({})), Err(INVALID_PARAMS));
        assert_eq!(code(json!({ VERSION: MODERN })), Err(INVALID_PARAMS));
        assert_eq!(code(json!({ VERSION: "v999", CAPABILITIES: {} })), Err(UNSUPPORTED_VERSION));
        assert_eq!(code(json!({ VERSION: MODERN, CAPABILITIES: {} })), Ok(()));
        assert_eq!(code(json!({ VERSION: MODERN, CAPABILITIES: {}, LOG_LEVEL: 7 })), Err(INVALID_PARAMS));
    }
}
