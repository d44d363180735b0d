//! Streamable HTTP.

use axum::Router;

use super::McpFace;

/// How the face is reached over HTTP.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// The names under which this host may be addressed, beside those of this machine itself.
    pub allowed_hosts: Vec<String>,
}

/// The routes of `/mcp`.
pub fn mcp_router(_face: McpFace, _options: HttpOptions) -> Router {
    Router::new()
}
