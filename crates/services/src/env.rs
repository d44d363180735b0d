//! `env`: one variable of the host's environment, or the secret of that name.

use std::collections::BTreeMap;

use jackfield_protocol::{CallError, EnvParams};
use serde_json::{Value, json};

use crate::Variables;

/// The value, or null where the variable is not set.
pub(super) fn perform(
    env: &BTreeMap<String, String>,
    variables: Option<&dyn Variables>,
    params: &EnvParams,
) -> Result<Value, CallError> {
    let value = match variables {
        Some(variables) => variables.value(&params.name)?,
        None => env.get(&params.name).cloned(),
    };
    Ok(json!({ "value": value }))
}
