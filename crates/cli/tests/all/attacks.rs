//! Ways round the gate. Each test is an attack that once succeeded; it runs in every policy mode that matters to it.
//!
//! An attack is close to a real one: a hostile extension with the powers that a person would give it, and the built binary
//! in its default configuration.

mod bounds;
mod files;
mod questions;
mod terminal;

use jackfield_test_support::Sandbox;
use serde_json::{Value, json};

/// A home and a project with one installed extension, `odd`, whose tool `host_call` makes any host call.
fn sandbox_with_odd() -> Sandbox {
    let sandbox = crate::sandbox();
    sandbox.misbehave("odd", "ok");
    sandbox
}

/// What came of a host call of `odd`: its output, or the error's code and message.
#[track_caller]
fn host_call(sandbox: &Sandbox, flags: &[&str], method: &str, params: Value) -> Result<Value, (String, String)> {
    sandbox.host_call(flags, &json!({ "method": method, "params": params }))
}

#[track_caller]
fn is_denied(outcome: Result<Value, (String, String)>) {
    let (code, message) = outcome.expect_err("the attack succeeds");
    assert_eq!(code, "denied", "{message}");
}
