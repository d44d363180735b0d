//! What the host does for each request.

use std::time::Duration;

use jackfield_host::{Caller, ToolCall, Which};
use jackfield_protocol::{CallError, ErrorCode, ExtensionId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::calls::Calls;
use super::request::{Request, Who};
use super::{LinesFace, RunningGateway};
use crate::forms::{command_outcome, listing, run_command, tool_listing, tool_outcome};

impl LinesFace {
    fn gateway(&self) -> Result<&RunningGateway, CallError> {
        let none =
            || CallError::new(ErrorCode::Unsupported, "this host has no gateway; start one with `jackfield serve`");
        self.gateway.as_ref().ok_or_else(none)
    }

    /// Serves one request.
    pub(super) async fn answer(
        &self,
        id: &Value,
        request: Request,
        calls: &Calls,
        cancel: CancellationToken,
    ) -> Result<Value, CallError> {
        match request {
            Request::Ping => Ok(json!({ "pid": std::process::id(), "version": env!("CARGO_PKG_VERSION") })),
            Request::List => Ok(listing(&self.host)),
            Request::Tools => {
                self.host.learn(self.learn).await;
                Ok(tool_listing(&self.host))
            }
            Request::CallTool { tool, args, timeout_ms, caller } => {
                let caller = match caller {
                    Who::Agent => Caller::Agent,
                    Who::Person => Caller::Person,
                };
                let mut call = ToolCall::by(caller, tool, args);
                call.timeout = timeout_ms.map(Duration::from_millis);
                call.cancel = cancel;
                let outcome = self.host.call_tool(call).await;
                calls.end(id);
                match &outcome.result {
                    Ok(_) => Ok(tool_outcome(&outcome)),
                    Err(error) => Err(error.clone()),
                }
            }
            Request::Cancel { target } => Ok(json!({ "cancelled": calls.cancel(&target) })),
            Request::RunCommand { command, args } => {
                let (outcome, notes) = run_command(&self.host, &command, &args).await;
                match &outcome.result {
                    Ok(_) => Ok(command_outcome(&outcome, &notes)),
                    Err(error) => Err(error.clone()),
                }
            }
            Request::Reload { extension } => {
                let reloaded = match extension {
                    None => self.host.reload(Which::Changed).await,
                    Some(name) => {
                        let id = ExtensionId::new(name);
                        if self.host.state(&id).is_none() {
                            return Err(CallError::new(ErrorCode::NotFound, format!("no extension named {id}")));
                        }
                        self.host.reload(Which::One(&id)).await
                    }
                };
                Ok(json!({ "reloaded": reloaded }))
            }
            Request::Ask { event, data } => Ok(json!(self.host.ask(&event, data).await?)),
            Request::Emit { event, data } => {
                self.met.cancelled().await;
                self.host.emit(&event, data);
                Ok(json!({}))
            }
            Request::Shortcut { key } => {
                self.met.cancelled().await;
                self.host.press(&key).await?;
                Ok(json!({}))
            }
            Request::Gateway => {
                let gateway = self.gateway()?;
                Ok(json!({ "address": gateway.address, "pid": std::process::id(), "project": self.host.project() }))
            }
            Request::CreateToken(wish) => Ok(json!(self.gateway()?.tokens.make(wish)?)),
            Request::RevokeToken { token } => Ok(json!({ "revoked": self.gateway()?.tokens.revoke(&token) })),
            // Taken as soon as they are read.
            Request::ExtensionUiResponse(_)
            | Request::RegisterTool { .. }
            | Request::UnregisterTool { .. }
            | Request::ToolCallResponse(_)
            | Request::ToolCallProgress { .. } => Ok(json!({})),
            Request::Shutdown => {
                self.over.cancel();
                Ok(json!({}))
            }
        }
    }
}
