//! The main job in one command, from a fresh clone: builds the binary, which shows the rest.

use std::process::Command;

use anyhow::{Context, bail};

use crate::{cargo, root, target};

/// Builds the binary and runs its demo.
pub(crate) fn demo() -> anyhow::Result<()> {
    cargo(&["build", "--quiet", "--bin", "jackfield"])?;
    let binary = target().join("debug/jackfield");
    let status = Command::new(&binary)
        .arg("demo")
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot run {}", binary.display()))?;
    if !status.success() {
        bail!("jackfield demo failed");
    }
    Ok(())
}
