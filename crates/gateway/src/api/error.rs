//! What a request gets that cannot be served: JSON with a message for people and a code for programs, and never a token,
//! a stack or a piece of source.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jackfield_protocol::{CallError, ErrorCode, ExtensionId, plain_text};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The body of every refusal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Refusal {
    /// Always false.
    pub(crate) ok: bool,
    /// What was tried, on what, and what to do next.
    pub(crate) error: String,
    /// The kind of failure, for programs.
    pub(crate) code: String,
    /// The extension at fault, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub(crate) extension: Option<ExtensionId>,
    /// A JSON pointer to the first argument that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// Pointers to all of them that were looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) paths: Vec<String>,
    /// What the extension said beside the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<Value>,
    /// The ledger's name for the call, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) call_id: Option<String>,
}

/// A refusal and its status.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) refusal: Box<Refusal>,
    /// In seconds, for those that may try again.
    pub(crate) retry_after: Option<u64>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &str, error: impl Into<String>) -> Self {
        let refusal = Refusal {
            ok: false,
            error: error.into(),
            code: code.to_owned(),
            extension: None,
            path: None,
            paths: Vec::new(),
            details: None,
            call_id: None,
        };
        Self { status, refusal: Box::new(refusal), retry_after: None }
    }

    pub(crate) fn bad_request(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", error)
    }

    pub(crate) fn unauthorized() -> Self {
        let how = "send the token that `jackfield serve` printed as `Authorization: Bearer TOKEN`";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", how)
    }

    pub(crate) fn forbidden(error: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", error)
    }

    pub(crate) fn not_found(error: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", error)
    }

    pub(crate) fn too_many(error: impl Into<String>, retry_after: u64) -> Self {
        let retry_after = Some(retry_after);
        Self { retry_after, ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", error) }
    }

    pub(crate) fn closing() -> Self {
        let error = "the gateway is shutting down; try again when it runs";
        Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "closing", error) }
    }

    /// What came of a tool call that has no answer.
    pub(crate) fn of_call(error: CallError, call_id: Option<String>) -> Self {
        let status = match error.code {
            ErrorCode::NotFound => StatusCode::NOT_FOUND,
            ErrorCode::InvalidRequest => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorCode::Denied => StatusCode::FORBIDDEN,
            ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
            ErrorCode::Unavailable | ErrorCode::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::Protocol => StatusCode::BAD_GATEWAY,
            ErrorCode::Unsupported => StatusCode::NOT_IMPLEMENTED,
            // `io`, `invalid_config`, `internal`, and codes that come later.
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let paths: Vec<String> = match error.details.as_ref().and_then(|details| details.get("paths")) {
            Some(Value::Array(paths)) => paths.iter().filter_map(|path| path.as_str().map(str::to_owned)).collect(),
            // The arguments as a whole.
            _ if error.code == ErrorCode::InvalidRequest => vec![String::new()],
            _ => Vec::new(),
        };
        let details = error.details.filter(|details| details.get("paths").is_none());
        let mut made = Self::new(status, error.code.as_str(), plain_text(&error.message));
        made.refusal.extension = error.extension;
        made.refusal.path = paths.first().cloned();
        made.refusal.paths = paths;
        made.refusal.details = details;
        made.refusal.call_id = call_id;
        made
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(&*self.refusal)).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"jackfield\""));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_of_calls() {
        let status = |code| ApiError::of_call(CallError::new(code, "x"), None).status.as_u16();
        assert_eq!(status(ErrorCode::NotFound), 404);
        assert_eq!(status(ErrorCode::InvalidRequest), 422);
        assert_eq!(status(ErrorCode::Denied), 403);
        assert_eq!(status(ErrorCode::Timeout), 504);
        assert_eq!(status(ErrorCode::Unavailable), 503);
        assert_eq!(status(ErrorCode::Protocol), 502);
        assert_eq!(status(ErrorCode::Internal), 500);
    }

    #[test]
    fn places_are_named_and_control_sequences_go() {
        let error =
            CallError::new(ErrorCode::InvalidRequest, "bad \u{1b}[31mn").with_details(json!({ "paths": ["/n", "/m"] }));
        let refusal = ApiError::of_call(error, Some("c-1".into())).refusal;
        assert_eq!(refusal.path.as_deref(), Some("/n"));
        assert_eq!(refusal.paths, ["/n", "/m"]);
        assert_eq!(refusal.details, None);
        assert!(!refusal.error.contains('\u{1b}'), "{}", refusal.error);
    }
}
