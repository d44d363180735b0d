//! What the tests need on a new machine.

use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// A program that tests run, and the Debian package that brings it.
const PROGRAMS: [(&str, &str); 7] = [
    ("python3", "python3"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("git", "git"),
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
