//! Exit codes, and how a failure is shown.

use std::process::ExitCode;

use jackfield_gateway::forms::error_json;
use jackfield_protocol::{CallError, ErrorCode, plain_text};
use serde_json::json;

use crate::output::{self, note};

/// Everything went well.
pub(crate) const FINE: u8 = 0;
/// The tool answered with an error, or something went wrong that has no code of its own.
pub(crate) const ERROR: u8 = 1;
/// Usage, or arguments that do not fit the tool.
pub(crate) const USAGE: u8 = 2;
/// No such tool, command, extension or file.
pub(crate) const NOT_FOUND: u8 = 3;
/// Denied by policy, a person, a guard or missing trust.
pub(crate) const DENIED: u8 = 4;
/// Something took longer than it may.
pub(crate) const TIMEOUT: u8 = 5;
/// The extension did not start or died.
pub(crate) const UNAVAILABLE: u8 = 6;
/// An invalid manifest or configuration.
pub(crate) const INVALID: u8 = 7;

/// The exit code of a call that failed.
pub(crate) fn code_of(error: &CallError) -> u8 {
    match error.code {
        ErrorCode::NotFound => NOT_FOUND,
        ErrorCode::InvalidRequest => USAGE,
        ErrorCode::Denied => DENIED,
        ErrorCode::Timeout | ErrorCode::Cancelled => TIMEOUT,
        ErrorCode::Unavailable | ErrorCode::Protocol => UNAVAILABLE,
        ErrorCode::InvalidConfig => INVALID,
        // `io`, `unsupported`, `internal`, and codes that come later.
        _ => ERROR,
    }
}

/// Shows an error that ended a verb and gives its exit code.
pub(crate) fn report(json: bool, error: &anyhow::Error) -> ExitCode {
    let call_error = error.downcast_ref::<CallError>();
    let code = call_error.map_or(ERROR, code_of);
    if json {
        let error = call_error.cloned().unwrap_or_else(|| CallError::new(ErrorCode::Internal, format!("{error:#}")));
        // Whoever does not read the answer still gets the code.
        output::json(&json!({ "ok": false, "error": error_json(&error) })).ok();
    } else {
        note!("error: {}", plain_text(&format!("{error:#}")));
    }
    ExitCode::from(code)
}
