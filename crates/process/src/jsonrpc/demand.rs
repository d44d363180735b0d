//! What a JSON-RPC extension asks of the host and tells its faces.

use std::sync::Arc;

use jackfield_protocol::jsonrpc::{METHOD_NOT_FOUND, RpcError};
use jackfield_protocol::{
    CallError, ErrorCode, HostCall, HostError, Notice, NoticeLevel, frames::HostCallFrame, plain_text,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::host_code;
use crate::core::{Core, to_line};
use crate::host_calls::{Demand, Part, serve};
use crate::pending::read_id;
use crate::records;

/// An answer to a request of the extension.
#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

impl<'a> Response<'a> {
    fn new(id: &'a Value, outcome: Result<Value, RpcError>) -> Self {
        match outcome {
            Ok(result) => Self { jsonrpc: "2.0", id, result: Some(result), error: None },
            Err(error) => Self { jsonrpc: "2.0", id, result: None, error: Some(error) },
        }
    }
}

pub(super) fn request(core: &Arc<Core>, id: Value, method: &str, params: Value) {
    if method != "host/call" {
        let shown: String = method.chars().take(100).collect();
        let message = format!("unknown method {shown:?}; the host answers host/call");
        let error = RpcError { code: METHOD_NOT_FOUND, message, data: None };
        return core.send_or_note(&Response::new(&id, Err(error)));
    }
    let (call, frame) = match read(&id, params) {
        Ok(frame) => (HostCall::parse(&frame.method, frame.params.clone()), Some(frame)),
        Err(error) => (Err(error), None),
    };
    let within = frame.as_ref().and_then(|frame| core.pending.call_id(read_id(frame.within.as_deref()?)?));
    let demand = Demand {
        key: format!("host/call {id}"),
        call,
        within,
        claimed: frame.as_ref().and_then(|frame| frame.capability.clone()),
        timeout_ms: frame.and_then(|frame| frame.timeout_ms),
    };
    serve(core, demand, move |part| match part {
        Part::Piece { index, value } => to_line(&serde_json::json!({
            "jsonrpc": "2.0", "method": "host/chunk", "params": { "id": id, "index": index, "output": value },
        })),
        Part::End { outcome, .. } => to_line(&Response::new(&id, outcome.map_err(rpc_error))),
    });
}

/// The parameters of `host/call`; `within` may be a number as ids are in this dialect.
fn read(id: &Value, params: Value) -> Result<HostCallFrame, CallError> {
    let bad = |text: String| CallError::new(ErrorCode::InvalidRequest, format!("bad parameters for host/call: {text}"));
    let Value::Object(mut object) = params else { return Err(bad("they are not an object".to_owned())) };
    object.insert("id".to_owned(), id.to_string().into());
    object.remove("call_id");
    if let Some(within) = object.get_mut("within")
        && within.is_number()
    {
        *within = within.to_string().into();
    }
    serde_json::from_value(Value::Object(object)).map_err(|error| bad(error.to_string()))
}

fn rpc_error(error: CallError) -> RpcError {
    let code = host_code(&error);
    let error = HostError::from(error);
    RpcError { code, message: error.message.clone(), data: serde_json::to_value(error).ok() }
}

pub(super) fn notification(core: &Arc<Core>, method: &str, params: Value) {
    let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default();
    match method {
        "host/log" => {
            let data = params.get("data").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
            core.host.log(records::from_extension(core, text("level"), text("message"), data));
        }
        "host/notify" => {
            let level = NoticeLevel::parse(text("level"));
            core.host.tell(Notice::Notify { level, message: plain_text(text("message")) });
        }
        "host/cancel" => {
            if let Some(id) = params.get("id") {
                core.host_calls.cancel(&format!("host/call {id}"));
            }
        }
        // Peers send notifications of their own that mean nothing here.
        _ => {}
    }
}
