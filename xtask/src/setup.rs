//! What the tests need on a new machine.

use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::tools;

/// A program that tests run, and the Debian package that brings it.
const PROGRAMS: [(&str, &str); 8] = [
    ("python3", "python3"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("git", "git"),
    ("curl", "curl"),
    ("bash", "bash"),
    ("setsid", "util-linux"),
    ("tar", "tar"),
];

/// Makes sure that every program is there: installs what is missing where that is possible, else says what to install.
/// A test is never skipped for want of one.
pub(crate) fn programs() -> anyhow::Result<()> {
    let missing: Vec<(&str, &str)> = PROGRAMS.into_iter().filter(|(program, _)| !is_there(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    if !is_there("apt-get") {
        bail!("the tests need {}; install them and try again", packages.join(", "));
    }
    eprintln!("+ apt-get install {}", packages.join(" "));
    run("apt-get", &["update", "-q"])?;
    let mut install = vec!["install", "-y", "-q", "--no-install-recommends"];
    install.extend(packages);
    run("apt-get", &install)?;
    match missing.iter().find(|(program, _)| !is_there(program)) {
        Some((program, package)) => bail!("{program} is still missing after installing {package}"),
        None => Ok(()),
    }
}

/// What the tests of Python extensions import, from PyPI.
const PYTHON_PACKAGES: [&str; 2] = ["httpx==0.28.1", "pydantic==2.12.5"];

/// Makes the virtual environment that the tests of Python extensions use.
pub(crate) fn python_packages() -> anyhow::Result<()> {
    tools::python_environment("python-packages", &PYTHON_PACKAGES).map(|_| ())
}

/// Installs the module that makes virtual environments, where the system has a package for it.
pub(crate) fn python_venv() -> anyhow::Result<()> {
    if !is_there("apt-get") {
        bail!("python3 -m venv failed; install the module venv of Python and try again");
    }
    run("apt-get", &["install", "-y", "-q", "--no-install-recommends", "python3-venv"])
}

fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

fn run(program: &str, args: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(program).args(args).status().with_context(|| format!("cannot run {program}"))?;
    if !status.success() {
        bail!("{program} {} failed", args.join(" "));
    }
    Ok(())
}
