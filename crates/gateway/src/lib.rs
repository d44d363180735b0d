//! Faces for other programs: an HTTP API for scripts and dashboards, an MCP server for agents, JSON lines for programs that
//! start a host of their own, and the bridge that puts every tool into the user's own pi.
//!
//! It refuses to decide about policy and to run an extension: every call goes through the host. Its HTTP faces refuse
//! web pages of other origins; its HTTP API refuses requests without a valid token.
//!
//! Modules, in reading order:
//!
//! - `serve`: listens, and shuts down in order; [`Gateway`].
//! - `api`: the HTTP API, its tokens and its WebSocket.
//! - `clients`: programs that register tools while they are connected.
//! - `mcp`: the MCP server, over lines, a local socket and HTTP.
//! - [`lines`]: JSON lines, on standard input and output and on the socket of a host.
//! - [`forms`]: JSON forms of answers that JSON lines and the command line share.
//! - [`bridge`]: the pi extension that offers every tool of a host.
//! - `tasks`: counts work under way, so that the shutdown can wait for it.

mod api;
pub mod bridge;
mod clients;
pub mod forms;
pub mod lines;
mod mcp;
mod serve;
mod tasks;

pub use api::{Approvals, NewToken, TokenMade, Tokens};
pub use clients::{Client, ToolOffer, ToolResponse};
pub use mcp::{
    Attached, Cost, Expose, HttpOptions, McpFace, McpOptions, McpSocket, attach, costs, mcp_router, new_token, serve,
    serve_http, socket_path,
};
pub use serve::{Gateway, GatewayOptions};
