//! Errors that cross a boundary. Both sets of codes are closed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ExtensionId;

/// Why a call failed, as every face reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// No such tool, command, extension or file.
    NotFound,
    /// The arguments or the request are malformed.
    InvalidRequest,
    /// Policy, a person, missing trust or a guard said no.
    Denied,
    /// The deadline passed.
    Timeout,
    /// The caller gave up.
    Cancelled,
    /// The extension did not start, died, or is quarantined.
    Unavailable,
    /// The extension broke its protocol.
    Protocol,
    /// A file, process or network operation failed.
    Io,
    /// A manifest or configuration file is invalid.
    InvalidConfig,
    /// This runtime or face cannot do that.
    Unsupported,
    /// A fault of the host.
    Internal,
}

impl ErrorCode {
    /// The code as it appears in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::Denied => "denied",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
            Self::Protocol => "protocol",
            Self::Io => "io",
            Self::InvalidConfig => "invalid_config",
            Self::Unsupported => "unsupported",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The one error that crosses from an extension or the host to a caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallError {
    /// What kind of failure it was.
    pub code: ErrorCode,
    /// What was tried, on what, and what to do next; names the culprit.
    pub message: String,
    /// The extension at fault, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionId>,
    /// What the peer said beside the message, for instance a JSON-RPC error's code and data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The extension never got any of the request. Only the host asks, so it does not cross a boundary.
    #[serde(skip)]
    undelivered: bool,
}

impl CallError {
    /// An error that names no extension yet.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), extension: None, details: None, undelivered: false }
    }

    /// Names the extension at fault unless one is named already.
    pub fn of(mut self, extension: &ExtensionId) -> Self {
        self.extension.get_or_insert_with(|| extension.clone());
        self
    }

    /// Adds what the peer said beside the message.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Says that the extension never got any of the request.
    pub fn undelivered(mut self) -> Self {
        self.undelivered = true;
        self
    }

    /// Whether the extension certainly never got any of the request, so that asking again cannot do anything twice.
    pub fn is_undelivered(&self) -> bool {
        self.undelivered
    }

    /// Whether the extension's transport is to blame: such failures trip the circuit breaker, others never do.
    pub fn is_transport_failure(&self) -> bool {
        matches!(self.code, ErrorCode::Timeout | ErrorCode::Unavailable | ErrorCode::Protocol)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CallError {}

/// The taxonomy that extensions see in a `host_result`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HostErrorCode {
    /// The deadline passed.
    Timeout,
    /// Not granted, or out of scope.
    Denied,
    /// A file, network or process operation failed.
    Io,
    /// Malformed method, parameters or claimed capability.
    InvalidRequest,
    /// A fault of the host.
    Internal,
}

impl From<ErrorCode> for HostErrorCode {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::Timeout | ErrorCode::Cancelled => Self::Timeout,
            ErrorCode::Denied => Self::Denied,
            ErrorCode::Io | ErrorCode::Unavailable | ErrorCode::Protocol => Self::Io,
            ErrorCode::InvalidRequest | ErrorCode::NotFound | ErrorCode::Unsupported => Self::InvalidRequest,
            ErrorCode::Internal | ErrorCode::InvalidConfig => Self::Internal,
        }
    }
}

/// The `error` of a `host_result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostError {
    /// What kind of failure it was.
    pub code: HostErrorCode,
    /// For the extension's author.
    pub message: String,
    /// Whether trying again may help.
    #[serde(default)]
    pub retryable: bool,
    /// Further data, for instance the capability that was missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl From<CallError> for HostError {
    fn from(error: CallError) -> Self {
        let retryable = matches!(error.code, ErrorCode::Timeout | ErrorCode::Unavailable);
        Self { code: error.code.into(), message: error.message, retryable, details: error.details }
    }
}
