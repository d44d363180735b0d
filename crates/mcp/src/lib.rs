//! The runtime for MCP servers, over stdio and streamable HTTP, in both eras of the protocol. The gateway shares
//! [`envelope`].
//!
//! The runtime passes messages on as they were written. It reads only envelopes; results and definitions stay text.
//!
//! It refuses to change a result, to answer a server's question itself, and to write a filled-in variable to disk.
//! It restarts no server, and knows nothing of policy, ledger or registry.
//!
//! Modules, in reading order:
//!
//! - `runtime`: starts a server: its address, its era, its lists; [`McpRuntime`].
//! - `instance`: a running server, as the host sees it.
//! - `session`: one conversation: matches answers to requests and notifications to calls.
//! - `table`: requests that wait for their answers.
//! - `envelope`: reads and writes JSON-RPC envelopes.
//! - `params`: writes the parameters of requests, and `_meta`.
//! - `handshake`: `initialize` and `server/discover`, and which of them a server knows.
//! - `offers`: fetches the lists of a server, and turns them into contributions.
//! - `changes`: fetches a list again when the server says that it changed.
//! - `demands`: requests of the server to its client.
//! - `lower`: turns a tool's answer into a tool result.
//! - `transport`: the trait for sending messages.
//! - `server_handle`: the trait for ending a server and learning how it ended.
//! - `stdio`: servers that are child processes.
//! - `http`: servers behind streamable HTTP.
//! - `oauth`: logs in to HTTP servers.
//! - `vars`: fills in `${NAME}` in the settings of a server.

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
