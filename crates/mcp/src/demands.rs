//! What a server asks of its client: the caller of the call that it serves answers, through the host's gate.

use std::sync::Arc;

use jackfield_protocol::{CallError, CallId, ErrorCode, HostCall, McpParams};
use jackfield_runtime::HostCallCx;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::envelope::{self, RpcError};
use crate::session::{Session, lock};
use crate::table::UnderWay;

/// How many requests of one server may be under way; more are refused.
const MAX_DEMANDS: usize = 64;
/// What MCP says for a question that a person turned down.
const USER_REJECTED: i64 = -1;

impl Session {
    /// Serves a request of the server. Never waits.
    pub(crate) fn demanded(self: &Arc<Self>, id: Value, method: String, params: Option<&RawValue>) {
        let refuse = |error: RpcError| self.send_later(envelope::failure(Some(&id), &error), None);
        let within = match method.as_str() {
            "ping" => return self.send_later(envelope::answer(&id, "{}"), None),
            "roots/list" => match self.table.under_way() {
                UnderWay::One(call) => Some(call),
                UnderWay::None | UnderWay::Several(_) => None,
            },
            "elicitation/create" | "sampling/createMessage" => match self.table.under_way() {
                UnderWay::One(call) => Some(call),
                UnderWay::None => {
                    let text = format!("{method} belongs to no call: nobody is there to answer");
                    return refuse(RpcError::new(envelope::INVALID_REQUEST, text));
                }
                UnderWay::Several(count) => {
                    let text = format!(
                        "{method} could belong to any of {count} calls under way, and it does not say to which; call \
                         tools of this server that ask questions one after another"
                    );
                    return refuse(RpcError::new(envelope::INVALID_REQUEST, text));
                }
            },
            _ => {
                let text = format!("jackfield does not answer {method}");
                return refuse(RpcError::new(envelope::METHOD_NOT_FOUND, text));
            }
        };
        let key = id.to_string();
        let cancel = {
            let mut demands = lock(&self.demands);
            if demands.len() >= MAX_DEMANDS || demands.contains_key(&key) {
                drop(demands);
                let text = format!("{MAX_DEMANDS} requests are under way, or one with the id {id}; wait for it to end");
                return refuse(RpcError::new(envelope::INVALID_REQUEST, text));
            }
            let cancel = self.over.child_token();
            demands.insert(key.clone(), cancel.clone());
            cancel
        };
        let params = params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or(Value::Null);
        let session = Arc::clone(self);
        self.tasks.spawn(async move {
            let answer = session.ask_host(method, params, within, cancel.clone()).await;
            lock(&session.demands).remove(&key);
            // One that was taken back is not answered.
            if !cancel.is_cancelled() {
                let text = match answer {
                    Ok(value) => envelope::answer(&id, &value.to_string()),
                    Err(error) => envelope::failure(Some(&id), &rpc_error(&error)),
                };
                session.send_later(text, None);
            }
        });
    }

    /// Puts a question of the server to whoever made the call.
    pub(crate) async fn ask_host(
        &self,
        method: String,
        params: Value,
        within: Option<CallId>,
        cancel: tokio_util::sync::CancellationToken,
    ) -> Result<Value, CallError> {
        let cx = HostCallCx { within, cancel: Arc::new(cancel), ..HostCallCx::default() };
        self.host.call(HostCall::Mcp(McpParams { method, params }), cx).await
    }
}

/// An error of the host or of the caller, for the server. One that came in MCP's words goes on as it is.
fn rpc_error(error: &CallError) -> RpcError {
    let said = error.details.as_ref().and_then(|details| details.get("rpc"));
    if let Some(said) = said.and_then(|said| serde_json::from_value(said.clone()).ok()) {
        return said;
    }
    let code = match error.code {
        ErrorCode::Denied | ErrorCode::Cancelled => USER_REJECTED,
        ErrorCode::Unsupported => envelope::METHOD_NOT_FOUND,
        ErrorCode::InvalidRequest | ErrorCode::NotFound => envelope::INVALID_PARAMS,
        _ => envelope::INTERNAL_ERROR,
    };
    RpcError::new(code, error.message.clone())
}
