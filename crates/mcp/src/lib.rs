//! MCP: the runtime for servers that speak it, on stdio and streamable HTTP, in both eras of the protocol, and the one
//! mapping between its words and ours.
//!
//! Messages are passed on as they were written: only envelopes are read, results and definitions stay text. It knows
//! nothing of policy, ledger or registry, and restarts nothing.

#![allow(clippy::result_large_err, reason = "CallError is the contract's error; the good way out is as large")]

mod changes;
mod demands;
pub mod envelope;
mod handshake;
mod http;
mod instance;
mod lower;
mod oauth;
mod offers;
mod params;
mod runtime;
mod server_handle;
mod session;
mod stdio;
mod table;
#[cfg(test)]
mod testing;
mod transport;
mod vars;

pub use oauth::{Challenge, ClientSetup, Consent, Loopback, Oauth, Store};
pub use runtime::{Logins, McpOptions, McpRuntime};
pub use vars::{Elsewhere, HttpAddress, http_address};
