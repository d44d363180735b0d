//! `env`: one variable of the host's environment, or the secret of that name.

use std::collections::BTreeMap;

use jackfield_protocol::{CallError, EnvParams, ErrorCode};
use serde_json::{Value, json};

use crate::secrets::Kept;

/// The value, or null where the variable is not set.
pub(super) fn perform(
    env: &BTreeMap<String, String>,
    kept: Option<&Kept>,
    params: &EnvParams,
) -> Result<Value, CallError> {
    let value = match kept {
        Some(kept) => kept
            .value(&params.name)
            .map_err(|error| CallError::new(ErrorCode::InvalidConfig, format!("env {}: {error}", params.name)))?,
        None => env.get(&params.name).cloned(),
    };
    Ok(json!({ "value": value }))
}
