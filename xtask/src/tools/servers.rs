//! Real MCP servers from npm and PyPI, for the tests that drive them through the binary.

use std::process::Command;

use super::{once, python_environment, run};

const NPM: [&str; 6] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    "@modelcontextprotocol/server-github@2025.4.8",
    "mcp-server-code-runner@0.1.8",
];
/// Those that speak the newer era.
const PYPI: [&str; 2] = ["mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19"];
/// Those that want the older library; it cannot stand beside the newer one.
const PYPI_OLDER: [&str; 4] =
    ["mcp==1.30.0", "mcp-server-calculator==0.2.1", "mcp-shell-server==1.1.14", "mcp-server-sqlite==2025.4.25"];

/// Installs them as the tools `mcp-npm`, `mcp-pypi` and `mcp-pypi-older`.
pub(crate) fn mcp_servers() -> anyhow::Result<()> {
    once("mcp-npm", &NPM.join(" "), |dir| {
        std::fs::write(dir.join("package.json"), "{\"private\":true}")?;
        let mut command = Command::new("npm");
        command.args(["install", "--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"]);
        command.args(["--loglevel=error", "--prefix"]);
        run(command.arg(dir).args(NPM).current_dir(dir))
    })?;
    python_environment("mcp-pypi", &PYPI)?;
    python_environment("mcp-pypi-older", &PYPI_OLDER)?;
    Ok(())
}
