//! Faces for other programs: an HTTP API for scripts and dashboards, an MCP server for agents, and the bridge that puts
//! every tool into the user's own pi.
