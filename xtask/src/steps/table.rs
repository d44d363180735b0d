//! The steps of `cargo xtask test` and of `cargo xtask quick`.

use super::{Step, Tally, cargo_test};
use crate::{cargo, conformance, demo, examples, fuzz, gateway, mcp_client, mcp_server, mcp_suite, setup, tools};

const FORMAT: Step = Step { name: "format", what: "the formatting of all sources", needs: &[], run: format };
const LINT: Step = Step { name: "lint", what: "clippy over everything, warnings are errors", needs: &[], run: lint };

/// Everything, as CI runs it.
pub(crate) const TEST: &[Step] = &[
    Step { name: "tools", what: "install what the tests need, unless the cache has it", needs: &[], run: install },
    FORMAT,
    LINT,
    Step { name: "build", what: "build every binary", needs: &[], run: build },
    Step {
        name: "examples",
        what: "build the component examples; the kept ones must come out the same",
        needs: &["tools"],
        run: examples::step,
    },
    Step {
        name: "tests",
        what: "all unit and integration tests",
        needs: &["tools", "build", "examples"],
        run: |tally| cargo_test(&["--workspace", "--no-fail-fast"], &[], tally),
    },
    Step {
        name: "pi",
        what: "pi's extensions register here what they register in pi",
        needs: &["build"],
        run: conformance::registrations,
    },
    Step {
        name: "pi-behaviour",
        what: "pi's official examples behave here as in pi",
        needs: &["build"],
        run: conformance::behaviours,
    },
    Step {
        name: "gateway",
        what: "schemathesis makes requests of the gateway's own description",
        needs: &["build"],
        run: |_| gateway::step(),
    },
    Step {
        name: "mcp-server",
        what: "MCP's official suite against jackfield's server",
        needs: &["build"],
        run: mcp_server::step,
    },
    Step {
        name: "mcp-client",
        what: "MCP's official suite against jackfield's client",
        needs: &[],
        run: mcp_client::step,
    },
    Step { name: "fuzz", what: "each fuzz target for 15 s (longer: cargo xtask soak)", needs: &[], run: fuzz::step },
    Step { name: "demo", what: "the first command of the README", needs: &["build"], run: |_| demo::demo() },
];

/// What to run after every change. Installs nothing.
pub(crate) const QUICK: &[Step] = &[
    FORMAT,
    LINT,
    Step {
        name: "unit",
        what: "the unit tests of every crate",
        needs: &[],
        run: |tally| cargo_test(&["--workspace", "--no-fail-fast", "--lib", "--bins", "--quiet"], &[], tally),
    },
    Step { name: "tidy", what: "the rules of the house", needs: &[], run: tidy },
    Step {
        name: "conformance",
        what: "what every runtime must do with an extension",
        needs: &[],
        run: |tally| cargo_test(&["--workspace", "--test", "conformance", "--quiet"], &[], tally),
    },
];

fn install(tally: &mut Tally) -> anyhow::Result<()> {
    tally.case("programs of the system", setup::programs());
    tally.case("packages for Python extensions", setup::python_packages());
    tally.case("MCP servers", tools::mcp_servers());
    tally.case("pi", tools::pis());
    tally.case("MCP's SDKs", mcp_suite::sdks());
    Ok(())
}

fn format(_: &mut Tally) -> anyhow::Result<()> {
    cargo(&["fmt", "--all", "--check"])
}

fn lint(_: &mut Tally) -> anyhow::Result<()> {
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])?;
    // The workspace turns every feature of the facade on. An embedder may not.
    cargo(&["check", "-p", "jackfield", "--no-default-features", "--features", "process", "--quiet"])
}

fn tidy(tally: &mut Tally) -> anyhow::Result<()> {
    let tests = ["--test", "tidy", "--test", "invariants", "--test", "features"];
    cargo_test(&[&["--workspace", "--quiet"][..], &tests].concat(), &[], tally)
}

fn build(_: &mut Tally) -> anyhow::Result<()> {
    cargo(&["build", "--workspace", "--bins"])
}
