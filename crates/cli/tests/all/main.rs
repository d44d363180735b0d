//! jackfield's behaviour through the built binary, a module per subject. One test binary, because each costs a link.
//!
//! A subject runs alone by its name: `cargo test --workspace --test all gateway::`.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

use jackfield_test_support::Sandbox;

mod answers;
mod artifacts;
mod attacks;
mod catalogue;
mod channels;
mod components;
mod connect;
mod examples;
mod faces;
mod gateway;
mod hostile;
mod hostile_scripts;
mod import;
mod installing;
mod ledger;
mod lock;
mod logging;
mod mcp;
mod mcp_face;
mod mcp_http;
mod new;
mod outside;
mod pi_bridge;
mod pith;
mod policy;
mod prompt;
mod python;
mod rpc;
mod scripts;
mod seeds;
mod supervision;
mod survival;
mod verbs;
mod wasm;

/// A fresh home and project for the binary.
fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}
