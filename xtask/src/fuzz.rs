//! `cargo xtask fuzz`: what strangers write, read by bytes that a fuzzer makes up. Works with the Rust that builds
//! jackfield: coverage is a flag of the compiler, and there is no unsafe code for a sanitizer to watch.

mod seeds;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::steps::Tally;
use crate::{root, target};

const TARGETS: [&str; 7] = ["frames", "manifests", "components", "transform", "sse", "jsonc", "envelopes"];

/// How long each target runs in `cargo xtask fuzz`, in seconds.
const ALONE: u64 = 60;

/// How long each target runs in `cargo xtask test`, in seconds.
const IN_TESTS: u64 = 15;

/// The flags that let the fuzzer see which code an input reached.
const FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// `[TARGET…] [--seconds N]`.
pub(crate) fn run(args: Vec<String>) -> anyhow::Result<()> {
    let mut seconds = ALONE;
    let mut named: Vec<String> = Vec::new();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "--seconds" {
            seconds = args.next().and_then(|text| text.parse().ok()).context("--seconds takes a number")?;
        } else if TARGETS.contains(&arg.as_str()) {
            named.push(arg);
        } else {
            bail!("no fuzz target is called {arg}; there are {}", TARGETS.join(", "));
        }
    }
    let mut tally = Tally::default();
    cases(&named, seconds, &mut tally)?;
    match tally.failures.as_slice() {
        [] => Ok(()),
        failures => bail!("{} found something", failures.join(", ")),
    }
}

/// The short form, as a step of the tests.
pub(crate) fn step(tally: &mut Tally) -> anyhow::Result<()> {
    cases(&[], IN_TESTS, tally)
}

/// Runs the targets that are named, or all. Each is a case.
pub(crate) fn cases(named: &[String], seconds: u64, tally: &mut Tally) -> anyhow::Result<()> {
    let build = build()?;
    for name in TARGETS.iter().filter(|name| named.is_empty() || named.iter().any(|wanted| wanted == *name)) {
        tally.case(name, fuzz(&build, name, seconds));
    }
    Ok(())
}

fn build() -> anyhow::Result<PathBuf> {
    let place = target().join("fuzz");
    eprintln!("+ building the fuzz targets");
    let status = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        .args(["build", "--quiet", "--release", "--target", &host()?, "--target-dir"])
        .arg(&place)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"))
        .current_dir(root().join("fuzz"))
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the fuzz targets do not build");
    }
    Ok(place.join(host()?).join("release"))
}

/// Named, so that the flags are not for build scripts.
fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").args(["--print", "host-tuple"]).output().context("cannot run rustc")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn fuzz(build: &Path, name: &str, seconds: u64) -> anyhow::Result<()> {
    let place = target().join("fuzz-corpus").join(name);
    let findings = target().join("fuzz-findings").join(name);
    for dir in [&place, &findings] {
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    }
    for (number, seed) in seeds::of(name)?.iter().enumerate() {
        fs::write(place.join(format!("seed-{number}")), seed)?;
    }
    eprintln!("+ fuzzing {name} for {seconds} s");
    let log = findings.join("log");
    let output = fs::File::create(&log)?;
    let status = Command::new(build.join(name))
        .arg(&place)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .args(["-max_len=65536", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"])
        .stderr(output)
        .status()
        .with_context(|| format!("cannot run the target {name}"))?;
    let said = fs::read_to_string(&log).unwrap_or_default();
    for line in said.lines().filter(|line| line.starts_with("stat::number_of_executed_units")) {
        eprintln!("  {line}");
    }
    if !status.success() {
        let end: Vec<&str> = said.lines().rev().take(40).collect();
        let end: Vec<&str> = end.into_iter().rev().collect();
        bail!("{name} found something; the input is in {}\n{}", findings.display(), end.join("\n"));
    }
    Ok(())
}
