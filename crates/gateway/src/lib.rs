//! Faces for other programs: an HTTP API for scripts and dashboards, an MCP server for agents, and the bridge that puts
//! every tool into the user's own pi.
//!
//! It decides nothing about policy and runs no extension: every call goes through the host.

mod api;
pub mod bridge;
mod clients;
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
