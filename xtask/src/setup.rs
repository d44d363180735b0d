//! What the tests need on a new machine.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

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

/// Makes the virtual environment `target/python-packages` that the tests of Python extensions use.
pub(crate) fn python_packages(root: &Path) -> anyhow::Result<()> {
    let place = root.join("target/python-packages");
    let python = place.join("bin/python3").display().to_string();
    let works = Command::new(&python).args(["-c", "import httpx, pydantic"]).stderr(Stdio::null()).status();
    if works.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    eprintln!("+ python3 -m venv {} and pip install {}", place.display(), PYTHON_PACKAGES.join(" "));
    let shown = place.display().to_string();
    if run("python3", &["-m", "venv", "--clear", &shown]).is_err() && is_there("apt-get") {
        // Debian ships the module in a package of its own.
        run("apt-get", &["install", "-y", "-q", "--no-install-recommends", "python3-venv"])?;
        run("python3", &["-m", "venv", "--clear", &shown])?;
    }
    let mut install = vec!["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    install.extend(PYTHON_PACKAGES);
    run(&python, &install)
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
