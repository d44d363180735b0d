//! `conformance mcp-server`: MCP's official suite against `jackfield mcp --http`, with a fixture of ours behind it that
//! speaks either era. What is passed is passed by jackfield in between.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::mcp_suite::Suite;
use crate::steps::Tally;
use crate::{cargo, root, target, tools};

const HELP: &str = "\
cargo xtask conformance mcp-server [--only SCENARIO] [--bin PATH]

  --only SCENARIO  only this scenario, with all that the suite says about it
  --bin PATH       this jackfield [default: $JACKFIELD_BIN, else the debug build, which is made first]";

/// What is run: a revision of the protocol, the era of the server behind jackfield, and how many scenarios the revision
/// requires. The last one is the bridge between the eras.
const RUNS: [(&str, &str, usize); 3] =
    [("2025-11-25", "legacy", 30), ("2026-07-28", "modern", 37), ("2025-11-25", "modern", 30)];

/// Runs what the words of the command line ask for.
pub(crate) fn run(words: Vec<String>) -> anyhow::Result<()> {
    let (mut only, mut bin) = (None, std::env::var_os("JACKFIELD_BIN").map(PathBuf::from));
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value\n{HELP}"));
        match word.as_str() {
            "--only" => only = Some(value()?),
            "--bin" => bin = Some(value()?.into()),
            _ => bail!("unknown word {word:?}\n{HELP}"),
        }
    }
    let bin = match bin {
        Some(bin) => bin,
        None => {
            cargo(&["build", "--workspace", "--bin", "jackfield"])?;
            target().join("debug/jackfield")
        }
    };
    let mut tally = Tally::default();
    all(&bin, only.as_deref(), &mut tally)
}

/// The suite as a step of the tests, which have built the binary.
pub(crate) fn step(tally: &mut Tally) -> anyhow::Result<()> {
    all(&target().join("debug/jackfield"), None, tally)
}

fn all(bin: &Path, only: Option<&str>, tally: &mut Tally) -> anyhow::Result<()> {
    let suite = Suite::install()?;
    let mut failed = Vec::new();
    for (revision, era, required) in RUNS {
        let name = format!("MCP {revision} with a {era} server behind");
        let output = one(&suite, bin, revision, era, only)?;
        if only.is_some() {
            println!("{name}:\n{output}");
            continue;
        }
        let score = Score::read(&output);
        println!("{name}: {} of {required} required scenarios", score.passed.len());
        tally.passed += score.passed.len();
        // A required scenario that did not run has failed.
        let missing = required.saturating_sub(score.passed.len());
        tally.failed += score.failed.len().max(missing);
        if score.passed.len() != required || !score.failed.is_empty() {
            failed.push(format!("{name}: {}\n{output}", score.failed.join(", ")));
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("MCP's official server suite failed\n{}", failed.join("\n")) }
}

/// How the required scenarios went.
#[derive(Default)]
struct Score {
    passed: Vec<String>,
    failed: Vec<String>,
}

impl Score {
    /// Reads the summary; what it calls not scored is left out.
    fn read(output: &str) -> Self {
        let Some((_, summary)) = output.split_once("=== SUMMARY ===") else { return Self::default() };
        let (scored, rest) = summary.split_once("\nNot scored").unwrap_or((summary, ""));
        let names = |text: &str, mark: char| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.trim().strip_prefix(mark));
            lines.filter_map(|line| line.trim().split([':', ' ']).next().map(str::to_owned)).collect()
        };
        let unscored = [names(rest, '✓'), names(rest, '✗')].concat();
        let of = |mark| names(scored, mark).into_iter().filter(|name| !unscored.contains(name)).collect();
        Self { passed: of('✓'), failed: of('✗') }
    }
}

/// One run: what the suite says.
fn one(suite: &Suite, bin: &Path, revision: &str, era: &str, only: Option<&str>) -> anyhow::Result<String> {
    let dir = target().join(format!("mcp-suite/{revision}-{era}"));
    if dir.exists() {
        fs::remove_dir_all(&dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    let (home, project) = (dir.join("home"), dir.join("project"));
    fs::create_dir_all(&home)?;
    fs::create_dir_all(&project)?;
    let fixture = root().join("xtask/conformance/mcp/fixture.py");
    let server = json!({ "command": "python3", "args": ["-B", fixture, "--era", era], "prefix": "", "protocol": era });
    fs::write(home.join("mcp.json"), json!({ "mcpServers": { "fixture": server } }).to_string())?;
    let jackfield = || {
        let mut command = Command::new(bin);
        command.arg("--home").arg(&home).arg("--project").arg(&project);
        command
    };
    // To use the model of whoever calls takes a grant, as always.
    tools::run(jackfield().args(["grant", "fixture", "agent"]))?;
    let mut serving = Serving(jackfield().args(SERVE).stdout(Stdio::piped()).spawn().context("cannot run jackfield")?);
    let mut line = String::new();
    BufReader::new(serving.0.stdout.take().context("no output of jackfield")?).read_line(&mut line)?;
    let said: Value = serde_json::from_str(&line).with_context(|| format!("jackfield mcp --http said {line:?}"))?;
    let url = said.get("url").and_then(Value::as_str).context("jackfield mcp --http gave no address")?;
    let mut command = suite.command()?;
    command.args(["server", "--url", url]).arg("-o").arg(dir.join("results")).current_dir(&dir);
    match only {
        Some(only) => command.args(["--spec-version", revision, "--scenario", only, "--verbose"]),
        None => command.args(["--requirements", revision]),
    };
    let output = command.output().context("cannot run the suite")?;
    Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

const SERVE: [&str; 5] = ["mcp", "--http", "127.0.0.1:0", "--no-token", "--json"];

/// Ends the server, however the run ends.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_scored_counts() {
        let output = "x\n=== SUMMARY ===\n✓ ping: 2 passed, 0 failed\n✗ tools-list: 1 passed, 1 failed\n\
                      ✗ tasks-lifecycle: 0 passed, 1 failed\n\nTotal: 3\n\nNot scored for 2026-07-28: 1\n  ✗ tasks-lifecycle (extension)\n";
        let score = Score::read(output);
        assert_eq!((score.passed, score.failed), (vec!["ping".to_owned()], vec!["tools-list".to_owned()]));
    }
}
