//! The JSON-RPC dialect of nexo's `plugin.toml` extensions, with the child request `host/call` added.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::lenient::null_default;

/// A request of the host. The order of the keys is the peers' own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// Always `2.0`.
    pub jsonrpc: String,
    /// `initialize`, `tools/call`, `hooks/<name>` or `shutdown`.
    pub method: String,
    /// What the method takes.
    pub params: Value,
    /// Zero for `initialize` and `shutdown`, then rising.
    pub id: u64,
}

impl Request {
    /// A request with its version filled in.
    pub fn new(id: u64, method: impl Into<String>, params: Value) -> Self {
        Self { jsonrpc: "2.0".to_owned(), method: method.into(), params, id }
    }
}

/// An error object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RpcError {
    /// JSON-RPC's or the extension's own.
    #[serde(default)]
    pub code: i64,
    /// For people.
    #[serde(default, deserialize_with = "null_default")]
    pub message: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// The version of nexo whose contract this host keeps: sent in `initialize`, compared with `min_agent_version`.
pub const AGENT_VERSION: &str = "0.1.2";

/// Method not found.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Invalid parameters.
pub const INVALID_PARAMS: i64 = -32602;
/// A capability was not granted.
pub const NOT_GRANTED: i64 = -32004;

/// A line from the extension.
#[derive(Debug, Clone, PartialEq)]
pub enum FromExtension {
    /// An answer to a request of the host.
    Answer {
        /// Of the request.
        id: u64,
        /// What came of it.
        outcome: Result<Value, RpcError>,
    },
    /// A request of the extension, whatever type its id has.
    Request {
        /// Sent back as it is.
        id: Value,
        /// For instance `host/call`.
        method: String,
        /// What the method takes.
        params: Value,
    },
    /// A message that wants no answer.
    Notification {
        /// For instance `host/log`.
        method: String,
        /// What the method takes.
        params: Value,
    },
}

impl FromExtension {
    /// Reads one line; `None` for what is not a JSON-RPC message. A message with a `method` is never an answer, even if
    /// its id is one that the host waits for.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let Ok(Value::Object(mut object)) = serde_json::from_slice::<Value>(line) else { return None };
        let id = object.remove("id").filter(|id| !id.is_null());
        if let Some(Value::String(method)) = object.remove("method") {
            let params = object.remove("params").unwrap_or(Value::Null);
            return Some(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            });
        }
        let id = id?.as_u64()?;
        let outcome = match (object.remove("result"), object.remove("error")) {
            (Some(result), _) => Ok(result),
            (None, Some(error)) if !error.is_null() => Err(serde_json::from_value(error).unwrap_or_default()),
            // Only an explicit member makes an answer; a bare id resolves nothing.
            (None, Some(_)) => Ok(Value::Null),
            (None, None) => return None,
        };
        Some(Self::Answer { id, outcome })
    }
}

/// The result of `initialize`. Everything may be missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct InitializeResult {
    /// The running version.
    #[serde(deserialize_with = "null_default")]
    pub server_version: Option<String>,
    /// Authoritative.
    #[serde(deserialize_with = "null_default")]
    pub tools: Vec<ToolDescriptor>,
    /// `before_message`, `after_message`, `before_tool_call`, `after_tool_call`.
    #[serde(deserialize_with = "null_default")]
    pub hooks: Vec<String>,
    /// Capabilities asked for, an addition of this host.
    #[serde(deserialize_with = "null_default", skip_serializing_if = "Option::is_none")]
    pub capability_manifest: Option<Value>,
}

/// A tool of `initialize`: an object, or just its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ToolDescriptor {
    /// As one published SDK sends it.
    Name(String),
    /// As the templates send it.
    Full {
        /// Its name.
        name: String,
        /// For the model.
        #[serde(default, deserialize_with = "null_default")]
        description: String,
        /// A JSON Schema.
        #[serde(default, alias = "inputSchema", alias = "parameters", deserialize_with = "null_default")]
        input_schema: Option<Value>,
    },
    /// Anything else; the host reports it and goes on.
    Other(Value),
}

/// The result of a hook.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HookReply {
    /// Stop.
    #[serde(deserialize_with = "null_default")]
    pub abort: bool,
    /// Why.
    #[serde(deserialize_with = "null_default")]
    pub reason: String,
    /// Merged into the event for the next ones.
    #[serde(rename = "override", deserialize_with = "null_default")]
    pub overrides: Option<Map<String, Value>>,
    /// `allow`, `block` or `transform`, the later form.
    #[serde(deserialize_with = "null_default")]
    pub decision: String,
    /// The new text of `transform`.
    #[serde(deserialize_with = "null_default")]
    pub transformed_body: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_never_answers() {
        let parse = |text: &str| FromExtension::parse(text.as_bytes());
        assert_eq!(
            parse(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#),
            Some(FromExtension::Request { id: json!(1), method: "tools/call".into(), params: Value::Null })
        );
        assert_eq!(parse(r#"{"id":1}"#), None);
        assert_eq!(parse("noise"), None);
        assert_eq!(parse(r#"{"id":1,"result":null}"#), Some(FromExtension::Answer { id: 1, outcome: Ok(Value::Null) }));
        assert_eq!(
            parse(r#"{"id":1,"result":2,"error":{"code":-1,"message":"x"}}"#),
            Some(FromExtension::Answer { id: 1, outcome: Ok(json!(2)) })
        );
        assert_eq!(parse(r#"{"id":null,"error":{"code":-32700,"message":"parse error"}}"#), None);
        assert_eq!(parse(r#"{"id":"1","result":2}"#), None);
    }

    #[test]
    fn tools_may_be_names() {
        let result: InitializeResult = serde_json::from_value(
            json!({"tools": ["greet", {"name": "add", "input_schema": null}, 7], "hooks": null}),
        )
        .expect("lenient");
        assert_eq!(result.tools.len(), 3);
        assert_eq!(result.tools[0], ToolDescriptor::Name("greet".into()));
        assert_eq!(result.tools[2], ToolDescriptor::Other(json!(7)));
    }
}
