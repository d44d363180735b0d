//! MCP's official conformance suite and SDKs, installed from the package registries that this machine uses.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::tools;

/// The first release that knows both eras and has frozen sets of requirements.
const SUITE: &str = "0.2.0-alpha.12";
/// The suite needs a newer Node than many systems have.
const NODE: &str = "22";
/// The official SDKs that drive `jackfield mcp` in the tests.
const SDK_OLD: &str = "1.32.2";
const SDK_NEW: &str = "2.4.0";
const SDK_PYTHON: &str = "2.3.0";

/// The installed suite.
pub(crate) struct Suite {
    node: PathBuf,
    script: PathBuf,
}

impl Suite {
    /// Installs it, unless it is there.
    pub(crate) fn install() -> anyhow::Result<Self> {
        let packages = [format!("@modelcontextprotocol/conformance@{SUITE}"), format!("node@{NODE}")];
        let modules = tools::npm_packages("mcp-suite", &packages)?;
        let node = modules.join("node/bin/node");
        let script = modules.join("@modelcontextprotocol/conformance/dist/index.js");
        Ok(Self { node, script })
    }

    /// The suite, ready for its arguments. Programs that it starts find the same Node.
    pub(crate) fn command(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(&self.node);
        command.arg(&self.script);
        let bin = self.node.parent().unwrap_or(Path::new("."));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(all).context("PATH cannot be extended")?);
        Ok(command)
    }
}

/// Installs the official SDKs for TypeScript and Python, with which tests drive `jackfield mcp`.
pub(crate) fn sdks() -> anyhow::Result<()> {
    let packages = [
        format!("@modelcontextprotocol/sdk@{SDK_OLD}"),
        format!("@modelcontextprotocol/client@{SDK_NEW}"),
        format!("node@{NODE}"),
    ];
    tools::npm_packages("mcp-sdks", &packages)?;
    tools::python_environment("mcp-python", &[&format!("mcp=={SDK_PYTHON}")])?;
    Ok(())
}
