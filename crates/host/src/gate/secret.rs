//! `store_secret` and `list_secrets`: an extension has the person asked for a secret, and learns whether there is one. The
//! value goes from the person into the store and to nobody else.

use std::time::Duration;

use jackfield_protocol::{CallError, ErrorCode, ExtensionId, ToolParams, ToolResult};
use jackfield_runtime::HostCallCx;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::face::{Dialog, DialogAnswer, DialogAsk};
use crate::host::Inner;
use crate::secrets::{SecretError, SecretStore};

/// How long the person may take if the extension does not say.
const DEFAULT_TIMEOUT_MS: u64 = 60_000;
/// How long the person may take at most, whatever the extension says.
const LONGEST_TIMEOUT_MS: u64 = 600_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoreArgs {
    name: String,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

impl Inner {
    /// Serves the two tools.
    pub(crate) async fn secret_tool(
        &self,
        extension: &ExtensionId,
        tool: &ToolParams,
        cx: &HostCallCx,
    ) -> Result<Value, CallError> {
        let text = match tool.name.as_str() {
            "list_secrets" => json!(self.authority.secret_source.listed().map_err(refused)?).to_string(),
            _ => {
                let args: StoreArgs = serde_json::from_value(tool.input.clone()).map_err(|error| {
                    let message = format!("tool store_secret: the arguments do not fit: {error}");
                    CallError::new(ErrorCode::InvalidRequest, message)
                })?;
                self.store_secret(extension, args, cx).await?
            }
        };
        serde_json::to_value(ToolResult::text(text))
            .map_err(|error| CallError::new(ErrorCode::Internal, format!("tool {}: {error}", tool.name)))
    }

    async fn store_secret(
        &self,
        extension: &ExtensionId,
        args: StoreArgs,
        cx: &HostCallCx,
    ) -> Result<String, CallError> {
        let StoreArgs { name, timeout_ms } = args;
        // What is wrong with the name is said before anybody types a value.
        SecretStore::check_name(&name).map_err(refused)?;
        let instead = format!("nothing was stored; `jackfield secret set {name}` keeps it");
        let failed = |code, why: &str| CallError::new(code, format!("store_secret {name}: {why}; {instead}"));
        if !self.faces.face.is_there() {
            return Err(failed(ErrorCode::Unsupported, "nobody can be asked here"));
        }
        let timeout_ms = timeout_ms.filter(|ms| *ms > 0).unwrap_or(DEFAULT_TIMEOUT_MS).min(LONGEST_TIMEOUT_MS);
        let dialog = Dialog {
            extension: extension.clone(),
            ask: DialogAsk::Input {
                title: format!("value for {name}, which extension {extension} asks you to keep as a secret"),
                placeholder: None,
                secret: true,
            },
            timeout_ms: Some(timeout_ms),
        };
        let answer = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                return Err(failed(ErrorCode::Cancelled, "the extension gave up its question"));
            }
            () = self.cancel.cancelled() => DialogAnswer::Unanswered,
            () = tokio::time::sleep(Duration::from_millis(timeout_ms)) => {
                return Err(failed(ErrorCode::Timeout, &format!("timed out after {timeout_ms} ms of waiting for a value")));
            }
            answer = self.faces.face.dialog(dialog) => answer,
        };
        let value = match answer {
            DialogAnswer::Value(value) if !value.trim().is_empty() => value,
            DialogAnswer::Value(_) | DialogAnswer::Confirmed(_) => {
                return Err(failed(ErrorCode::InvalidRequest, "no value provided"));
            }
            DialogAnswer::Cancelled => return Err(failed(ErrorCode::Cancelled, "the person gave no value")),
            DialogAnswer::Unanswered => return Err(failed(ErrorCode::Unavailable, "whoever was asked is gone")),
        };
        self.authority.secret_source.keep(&name, &value).map_err(refused)?;
        Ok(format!("stored secret '{name}'"))
    }
}

fn refused(error: SecretError) -> CallError {
    let code = match &error {
        SecretError::Name { .. } | SecretError::Value { .. } => ErrorCode::InvalidRequest,
        SecretError::Refused { .. } => ErrorCode::InvalidConfig,
        SecretError::Io { .. } => ErrorCode::Io,
    };
    CallError::new(code, error.to_string())
}
