//! `cargo xtask soak`: the long forms of what `cargo xtask test` does briefly. Storms of saves and calls, and fuzzing.

use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::Context;

use crate::fuzz;
use crate::steps::{self, Step, Tally, cargo_test};

/// The variable that makes tests choose their long form (`jackfield_test_support::rounds`).
const VARIABLE: &str = "JACKFIELD_SOAK";

/// The modules of tests that have a long form.
const STORMS: [&str; 3] = ["python::storm::", "gateway::load::", "mcp_face::many::"];

/// How long each fuzz target runs, in seconds, unless `--seconds` says otherwise.
const FUZZING: u64 = 600;

static SECONDS: OnceLock<u64> = OnceLock::new();

const STEPS: &[Step] = &[
    Step { name: "storms", what: "long storms of saves and calls", needs: &[], run: storms },
    Step {
        name: "fuzz",
        what: "each fuzz target for ten minutes, or as long as --seconds says",
        needs: &[],
        run: |tally| fuzz::cases(&[], *SECONDS.get_or_init(|| FUZZING), tally),
    },
];

/// `[STEP…] [--seconds N] [--list]`.
pub(crate) fn run(mut words: Vec<String>) -> anyhow::Result<ExitCode> {
    if let Some(at) = words.iter().position(|word| word == "--seconds") {
        words.remove(at);
        let number = if at < words.len() { words.remove(at).parse().ok() } else { None };
        let number: u64 = number.context("--seconds takes a number")?;
        SECONDS.get_or_init(|| number);
    }
    steps::run(STEPS, &words)
}

fn storms(tally: &mut Tally) -> anyhow::Result<()> {
    let mut args = vec!["--workspace", "--test", "all", "--"];
    args.extend(STORMS);
    cargo_test(&args, &[(VARIABLE, "1")], tally)
}
