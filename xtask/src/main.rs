//! jackfield's own chores: `cargo xtask demo | quick | test | soak | examples | conformance | codegen | bench`.
//!
//! Nothing here ships. Each chore is a list of steps or one small module.

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
mod soak;
mod sources;
mod steps;
mod tools;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

const HELP: &str = "\
cargo xtask CHORE

  demo      build jackfield and run its demo, which needs nothing else
  quick [STEP…] [--list]
            formatting, lints, unit tests and the conformance list; installs nothing
  test [STEP…] [--list]
            install what the tests need, then check and test everything; or only these steps, with what they need
  soak [STEP…] [--seconds N] [--list]
            long storms of calls, and ten minutes of fuzzing per target
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
            let a fuzzer write the input of parsers, 60 s each
  pi        install the versions of pi that the tests of the bridge start
  codegen   write the JSON Schemas under protocol/schema
  bench     measure in a release build (see docs/benchmarks.md)
";

/// What `quick` does not do.
const LEFT_OUT: &str = "left out: integration tests, comparisons with pi, MCP's suites, the gateway's requests, fuzzing and \
                        the demo; `cargo xtask test` runs them";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let chore = args.next();
    let counted = match chore.as_deref() {
        Some("test") => steps::run(steps::TEST, &args.collect::<Vec<_>>()),
        Some("quick") => quick(&args.collect::<Vec<_>>()),
        Some("soak") => soak::run(args.collect()),
        Some("check") => steps::run(steps::QUICK, &["format", "lint", "tidy"].map(str::to_owned)),
        _ => plain(chore.as_deref(), args),
    };
    counted.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn quick(words: &[String]) -> anyhow::Result<ExitCode> {
    println!("{LEFT_OUT}");
    steps::run(steps::QUICK, words)
}

/// A chore that succeeds or fails as a whole.
fn plain(chore: Option<&str>, args: impl Iterator<Item = String>) -> anyhow::Result<ExitCode> {
    match chore {
        Some("demo") => demo::demo(),
        Some("conformance") => conformance::run(args.collect()),
        Some("examples") => examples::run(args.collect()),
        Some("fuzz") => fuzz::run(args.collect()),
        Some("pi") => tools::pis(),
        Some("codegen") => codegen::write(),
        Some("bench") => bench(args.collect()),
        _ => {
            eprint!("{HELP}");
            return Ok(ExitCode::from(2));
        }
    }
    .map(|()| ExitCode::SUCCESS)
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

fn bench(args: Vec<String>) -> anyhow::Result<()> {
    cargo(&["build", "--release", "--bin", "jackfield", "--bin", "jackfield-pingpong", "--bin", "jackfield-bench"])?;
    let mut run = vec!["run", "--release", "--quiet", "--bin", "jackfield-bench", "--"];
    run.extend(args.iter().map(String::as_str));
    cargo(&run)
}
