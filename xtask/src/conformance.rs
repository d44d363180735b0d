//! `cargo xtask conformance pi`: jackfield beside real pi.

mod behaviour;

use std::path::PathBuf;

use anyhow::bail;

/// Runs what the arguments ask for.
pub(crate) fn conformance(args: &[String]) -> anyhow::Result<()> {
    let (flags, names): (Vec<&String>, Vec<&String>) = args.iter().partition(|arg| arg.starts_with("--"));
    let Some((_, names)) = names.split_first().filter(|(first, _)| **first == "pi") else {
        bail!("cargo xtask conformance pi [--behaviour | --regenerate] [NAME…]");
    };
    let names: Vec<String> = names.iter().map(|name| (*name).clone()).collect();
    match flags.first().map(|flag| flag.as_str()) {
        Some("--regenerate") => behaviour::regenerate(&names),
        _ => {
            let jackfield = std::env::var_os("JACKFIELD_BIN").map(PathBuf::from);
            let jackfield = jackfield.unwrap_or_else(|| crate::root().join("target/debug/jackfield"));
            let examples = std::env::var_os("JACKFIELD_EXAMPLES").map(PathBuf::from).unwrap_or_default();
            behaviour::compare(&jackfield, &examples, &names)
        }
    }
}
