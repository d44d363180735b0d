//! Faces for other programs: an HTTP API for scripts and dashboards, an MCP server for agents, and the bridge that puts
//! every tool into the user's own pi.
//!
//! It decides nothing about policy and runs no extension: every call goes through the host.

pub mod bridge;
