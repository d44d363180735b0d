//! jackfield's own chores: `cargo xtask demo | test | check | examples | conformance | codegen | bench`.
//!
//! Nothing here ships. Each chore is a short list of commands or one small module.

mod codegen;
mod conformance;
mod demo;
mod examples;
mod fuzz;
mod gateway;
mod mcp_client;
mod mcp_server;
mod mcp_suite;
mod setup;
mod sources;
mod tools;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

const HELP: &str = "\
cargo xtask CHORE

  demo      build jackfield and run its demo, which needs nothing else
  test      install what the tests need, then check and test everything, and show the demo
  check     formatting, lints and the rules of the house, without the tests
  conformance pi
            compare what pi's extensions register here with what they register in pi (see docs/conformance.md)
  conformance mcp-client [--only SCENARIO]
            run the official conformance suite of MCP against jackfield's client (see docs/conformance.md)
  conformance mcp-server [--only SCENARIO] [--bin PATH]
            run MCP's official suite against `jackfield mcp --http` (see docs/mcp-server.md)
  examples [NAME…] [--check]
            build the components among the examples; with --check only compare the kept ones with a fresh build
  fuzz [TARGET…] [--seconds N]
            let a fuzzer write manifests, frames and components, 60 s each
  pi        install the versions of pi that the tests of the bridge start
  codegen   write the JSON Schemas under protocol/schema
  bench     measure in a release build (see docs/benchmarks.md)
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let done = match args.next().as_deref() {
        Some("demo") => demo::demo(),
        Some("test") => test(),
        Some("check") => check(),
        Some("conformance") => conformance::run(args.collect()),
        Some("examples") => examples::run(args.collect()),
        Some("fuzz") => fuzz::run(args.collect()),
        Some("pi") => tools::pis(),
        Some("codegen") => codegen::write(),
        Some("bench") => bench(args.collect()),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Where everything that is built goes.
fn target() -> PathBuf {
    std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root().join("target"), |dir| root().join(dir))
}

fn cargo(args: &[&str]) -> anyhow::Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    eprintln!("+ cargo {}", args.join(" "));
    let status = Command::new(cargo).args(args).current_dir(root()).status().context("cannot run cargo")?;
    if !status.success() {
        bail!("cargo {} failed", args.join(" "));
    }
    Ok(())
}

fn check() -> anyhow::Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])?;
    cargo(&["test", "--package", "xtask", "--quiet"])
}

fn test() -> anyhow::Result<()> {
    setup::programs()?;
    setup::python_packages(&root())?;
    tools::mcp_servers()?;
    tools::pis()?;
    mcp_suite::sdks()?;
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])?;
    // The examples and the binary are built before the tests that drive them.
    cargo(&["build", "--workspace", "--bins"])?;
    examples::step()?;
    cargo(&["test", "--workspace", "--no-fail-fast"])?;
    conformance::step()?;
    gateway::step()?;
    mcp_server::step()?;
    mcp_client::step()?;
    fuzz::run(Vec::new())?;
    // The first command of the README works too.
    demo::demo()
}

fn bench(args: Vec<String>) -> anyhow::Result<()> {
    cargo(&["build", "--release", "--bin", "jackfield", "--bin", "jackfield-pingpong", "--bin", "jackfield-bench"])?;
    let mut run = vec!["run", "--release", "--quiet", "--bin", "jackfield-bench", "--"];
    run.extend(args.iter().map(String::as_str));
    cargo(&run)
}
