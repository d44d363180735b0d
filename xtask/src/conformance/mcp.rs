//! `conformance mcp-client`: the official suite of MCP, which plays the servers and judges what our client says to them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::{cargo, root, target, tools};

/// The revisions of the protocol, each with what a client has to pass.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 18), ("2026-07-28", 32)];

/// Plays the client's part in the suite and fails unless all that is required passes, or the exceptions say why not.
pub(crate) fn client(words: &[String]) -> anyhow::Result<()> {
    let only = match words {
        [] => None,
        [flag, scenario] if flag == "--only" => Some(scenario.as_str()),
        _ => bail!("conformance mcp-client takes --only SCENARIO and nothing else"),
    };
    let suite = tools::mcp_suite()?;
    cargo(&["build", "--quiet", "--workspace", "--example", "conformance_client"])?;
    let client = target().join("debug/examples/conformance_client");
    let mut complaints = Vec::new();
    for (revision, required) in REVISIONS {
        let out = target().join("conformance/mcp-client").join(revision);
        if out.exists() {
            std::fs::remove_dir_all(&out).with_context(|| format!("cannot empty {}", out.display()))?;
        }
        std::fs::create_dir_all(&out)?;
        let exceptions = root().join(format!("xtask/conformance/mcp/client-{revision}.yml"));
        let mut command = suite.command();
        command.args(["client", "--command"]).arg(&client).arg("-o").arg(&out);
        match only {
            Some(scenario) => command.args(["--scenario", scenario, "--spec-version", revision, "--verbose"]),
            None => command.args(["--requirements", revision, "--expected-failures"]).arg(&exceptions),
        };
        let status = command.stdin(Stdio::null()).status().context("cannot run the suite of MCP")?;
        if !status.success() {
            complaints.push(format!("MCP {revision}: the suite found faults ({status}); see {}", out.display()));
        }
        if only.is_none() {
            let listed = exceptions_in(&exceptions)?;
            let passed = required - listed.len().min(required);
            println!("MCP {revision}: {passed} of {required} required client scenarios pass");
            listed.iter().for_each(|(scenario, why)| println!("    but for {scenario}: {why}"));
        }
    }
    match complaints.as_slice() {
        [] => Ok(()),
        complaints => bail!("{}", complaints.join("\n")),
    }
}

/// What is known not to pass. A list without a reason is none.
fn exceptions_in(file: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut listed = BTreeMap::new();
    let mut why = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix('#') {
            why = comment.trim().to_owned();
        } else if let Some(scenario) = line.strip_prefix("- ") {
            if why.is_empty() {
                bail!("{} lists {scenario} without a reason in the line before", file.display());
            }
            listed.insert(scenario.trim_matches('"').to_owned(), std::mem::take(&mut why));
        }
    }
    Ok(listed)
}

/// The suite, installed.
pub(crate) struct Suite {
    /// The node that runs it.
    pub(crate) node: PathBuf,
    /// Its main file.
    pub(crate) main: PathBuf,
}

impl Suite {
    /// A command that runs it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(&self.main);
        command
    }
}
