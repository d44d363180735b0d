//! `conformance mcp-client`: MCP's official suite plays the servers and judges what our client says to them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};

use crate::mcp_suite::Suite;
use crate::steps::Tally;
use crate::{cargo, root, target};

/// The revisions of the protocol, each with how many scenarios it requires of a client.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 18), ("2026-07-28", 32)];

/// Runs what the words of the command line ask for.
pub(crate) fn run(words: Vec<String>) -> anyhow::Result<()> {
    match words.as_slice() {
        [] => all(None, &mut Tally::default()),
        [flag, scenario] if flag == "--only" => all(Some(scenario), &mut Tally::default()),
        _ => bail!("cargo xtask conformance mcp-client [--only SCENARIO]"),
    }
}

/// The suite as a step of the tests.
pub(crate) fn step(tally: &mut Tally) -> anyhow::Result<()> {
    all(None, tally)
}

/// Fails unless all that is required passes, or the exceptions say why not.
fn all(only: Option<&str>, tally: &mut Tally) -> anyhow::Result<()> {
    let suite = Suite::install()?;
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
        let mut command = suite.command()?;
        command.args(["client", "--command"]).arg(&client).arg("-o").arg(&out).stdin(Stdio::null());
        if let Some(scenario) = only {
            command.args(["--scenario", scenario, "--spec-version", revision, "--verbose"]);
            let status = command.status().context("cannot run the suite of MCP")?;
            println!("MCP {revision}, {scenario}: {status}");
            continue;
        }
        command.args(["--requirements", revision, "--expected-failures"]).arg(&exceptions);
        let listed = exceptions_in(&exceptions)?;
        // One scenario is about time; what fails twice on a busy machine has failed.
        let mut tries = 0;
        let (passed, said) = loop {
            let output = command.output().context("cannot run the suite of MCP")?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let passed = said.lines().filter(|line| line.starts_with("✓ ")).count();
            tries += 1;
            if output.status.success() && passed + listed.len() >= required {
                break (passed, None);
            }
            if tries == 2 {
                break (passed, Some(format!("{said}\n{}", String::from_utf8_lossy(&output.stderr))));
            }
        };
        tally.passed += passed;
        if let Some(said) = said {
            tally.failed += required.saturating_sub(passed + listed.len()).max(1);
            complaints.push(format!("MCP {revision}: {passed} of {required} pass\n{said}"));
            continue;
        }
        println!("MCP {revision}: all {required} required client scenarios pass ({passed} with those that are not)");
        listed.iter().for_each(|(scenario, why)| println!("    but for {scenario}: {why}"));
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
