//! `env`: one variable of the host's environment.

use std::collections::BTreeMap;

use jackfield_protocol::EnvParams;
use serde_json::{Value, json};

/// The value, or null where the variable is not set.
pub(super) fn perform(env: &BTreeMap<String, String>, params: &EnvParams) -> Value {
    json!({ "value": env.get(&params.name) })
}
