//! The envelope of a message: who it is for and what it answers. What it carries stays text.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// One message, read as far as an envelope goes.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    /// Names a request and its answer; a text or a number. `null` counts as none.
    #[serde(default)]
    pub id: Option<Value>,
    /// A request or a notification has one.
    #[serde(default)]
    pub method: Option<String>,
    /// What goes with the method.
    #[serde(default, borrow)]
    pub params: Option<&'a RawValue>,
    /// The result of a request that succeeded. `null` is one too.
    #[serde(default, borrow, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    /// The error of a request that failed.
    #[serde(default)]
    pub error: Option<RpcError>,
}

/// A member that is there, be it `null`.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// What a message is.
#[derive(Debug)]
pub enum Kind<'a> {
    /// A message that wants an answer.
    Request {
        /// The id that the answer repeats.
        id: Value,
        /// The method that is called.
        method: String,
        /// The parameters as they were written.
        params: Option<&'a RawValue>,
    },
    /// A message that wants no answer.
    Notification {
        /// The method, which says what happened.
        method: String,
        /// The parameters as they were written.
        params: Option<&'a RawValue>,
    },
    /// The answer to a request.
    Answer {
        /// The id of the request; nothing if the peer could not read it.
        id: Option<Value>,
        /// The result as it was written, or the error.
        result: Result<&'a RawValue, RpcError>,
    },
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// The kind of error: a negative number of the specification.
    #[serde(default)]
    pub code: i64,
    /// What went wrong, for people.
    #[serde(default)]
    pub message: String,
    /// Details for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The text is JSON, and no message.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters do not fit.
pub const INVALID_PARAMS: i64 = -32602;
/// A fault of the server.
pub const INTERNAL_ERROR: i64 = -32603;

impl<'a> Envelope<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// What about it is no JSON object, or no message.
    pub fn read(text: &'a str) -> Result<Kind<'a>, String> {
        let envelope: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        envelope.kind()
    }

    fn kind(self) -> Result<Kind<'a>, String> {
        let id = self.id.filter(|id| !id.is_null());
        if let Some(id) = &id
            && !id.is_string()
            && !id.is_number()
        {
            return Err(format!("its id is {id}, not a text or a number"));
        }
        // A peer that writes every member writes `"result":null` into a request.
        let is_call = self.method.is_some();
        let result = self.result.filter(|result| !is_call || result.get() != "null");
        match (self.method, id, result, self.error) {
            (Some(method), Some(id), None, None) => Ok(Kind::Request { id, method, params: self.params }),
            (Some(method), None, None, None) => Ok(Kind::Notification { method, params: self.params }),
            (None, id, _, Some(error)) => Ok(Kind::Answer { id, result: Err(error) }),
            (None, id @ Some(_), Some(result), None) => Ok(Kind::Answer { id, result: Ok(result) }),
            _ => Err("it is neither a request, a notification nor an answer".to_owned()),
        }
    }
}

/// A request as one line without its end. `params` is JSON text, or nothing.
pub fn request(id: &Value, method: &str, params: Option<&str>) -> String {
    message(Some(id), method, params)
}

/// A request of ours as one line without its end, but with room for it. `params` writes JSON, for which there is `room`.
pub(crate) fn request_written(id: u64, method: &str, room: usize, params: impl FnOnce(&mut String)) -> String {
    let mut line = String::with_capacity(64 + method.len() + room);
    line.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    line.push_str(&id.to_string());
    line.push_str(",\"method\":");
    push_text(&mut line, method);
    line.push_str(",\"params\":");
    params(&mut line);
    line.push('}');
    line
}

/// Adds a text as JSON.
pub fn push_text(line: &mut String, text: &str) {
    if text.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        line.push_str(&Value::from(text).to_string());
    } else {
        line.push('"');
        line.push_str(text);
        line.push('"');
    }
}

/// Adds an id as JSON.
pub fn push_id(line: &mut String, id: &Value) {
    match (id.as_u64(), id.as_str()) {
        (Some(number), _) => line.push_str(&number.to_string()),
        (None, Some(text)) => push_text(line, text),
        (None, None) => line.push_str(&id.to_string()),
    }
}

/// A notification as one line without its end.
pub fn notification(method: &str, params: Option<&str>) -> String {
    message(None, method, params)
}

fn message(id: Option<&Value>, method: &str, params: Option<&str>) -> String {
    let mut line = String::with_capacity(64 + method.len() + params.map_or(0, str::len));
    line.push_str("{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        line.push_str(",\"id\":");
        push_id(&mut line, id);
    }
    line.push_str(",\"method\":");
    push_text(&mut line, method);
    if let Some(params) = params {
        line.push_str(",\"params\":");
        line.push_str(params);
    }
    line.push('}');
    line
}

/// The answer to a request that succeeded, as one line without its end. `result` is JSON text.
pub fn answer(id: &Value, result: &str) -> String {
    let mut line = String::with_capacity(64 + result.len());
    line.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    push_id(&mut line, id);
    line.push_str(",\"result\":");
    line.push_str(result);
    line.push('}');
    line
}

/// The answer to a request that failed, as one line without its end.
pub fn failure(id: Option<&Value>, error: &RpcError) -> String {
    let id = id.unwrap_or(&Value::Null);
    let error = serde_json::to_string(error).unwrap_or_else(|_| "{\"code\":-32603,\"message\":\"\"}".to_owned());
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
}

#[cfg(test)]
mod tests;
