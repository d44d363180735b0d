//! The main job in one command, from a fresh clone: the bundled examples are listed and one is called.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::{cargo, root};

/// Builds the binary, then shows the tools of the examples and a call, with a home of its own below `target`.
pub(crate) fn demo() -> anyhow::Result<()> {
    cargo(&["build", "--quiet", "--bin", "jackfield", "--bin", "wordcount"])?;
    let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root().join("target"), Into::into);
    let binary = target.join("debug/jackfield");
    let home = target.join("demo-home");
    let mut examples: Vec<_> =
        std::fs::read_dir(root().join("examples"))?.flatten().map(|entry| entry.path()).collect();
    examples.retain(|path| path.is_dir());
    examples.sort();
    let mut loaded = Vec::new();
    for example in &examples {
        loaded.push("-e".to_owned());
        loaded.push(relative(example));
    }
    jackfield(&binary, &home, &loaded, &["tools"])?;
    let one = |name: &str| vec!["-e".to_owned(), format!("examples/{name}")];
    jackfield(&binary, &home, &one("hello-sh"), &["call", "shout", "text=it works"])?;
    jackfield(&binary, &home, &one("hello-py"), &["run", "hellopy"])?;
    jackfield(&binary, &home, &one("tasks-ts"), &["call", "tasks", "action=list"])?;
    jackfield(&binary, &home, &[], &["ledger", "tail", "-n", "4"])?;
    jackfield(&binary, &home, &[], &["ledger", "verify"])
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn jackfield(binary: &Path, home: &Path, loaded: &[String], words: &[&str]) -> anyhow::Result<()> {
    println!("\n$ jackfield {} {}", loaded.join(" "), words.join(" "));
    let status = Command::new(binary)
        .arg("--home")
        .arg(home)
        .args(loaded)
        .args(words)
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot run {}", binary.display()))?;
    if !status.success() {
        bail!("jackfield {} failed", words.join(" "));
    }
    Ok(())
}
