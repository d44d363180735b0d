//! MCP: the runtime for servers that speak it, on stdio and streamable HTTP, in both eras of the protocol, and the one
//! mapping between its words and ours.
//!
//! Messages are passed on as they were written: only envelopes are read, results and definitions stay text. It knows
//! nothing of policy, ledger or registry, and restarts nothing.

pub mod envelope;
mod http;
mod link;
mod oauth;
#[cfg(test)]
mod testing;

pub use oauth::{Challenge, ClientSetup, Consent, Loopback, Oauth, Store};
