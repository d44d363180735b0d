//! `cargo xtask examples`: builds the components among the examples.
//!
//! Small ones are kept in the repository beside their source, with a record of what they were made of; large ones are
//! built below `target/examples`.

mod build;
mod record;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::steps::Tally;
use crate::{root, target};

/// An example that is a component.
#[derive(Clone, Copy)]
pub(crate) struct Example {
    /// Its directory.
    pub(crate) name: &'static str,
    /// The component, beside the manifest.
    pub(crate) component: &'static str,
    /// Whether the component is kept in the repository.
    pub(crate) kept: bool,
    /// What it is made of, relative to the repository.
    pub(crate) sources: &'static [&'static str],
    build: fn(&Path, &Path) -> anyhow::Result<()>,
}

/// All of them.
pub(crate) const EXAMPLES: [Example; 6] = [
    Example {
        name: "wordcount-wasm",
        component: "wordcount.wasm",
        kept: true,
        sources: &[
            "examples/wordcount-wasm/src",
            "examples/wordcount-wasm/Cargo.toml",
            "crates/sdk/Cargo.toml",
            "crates/sdk/src",
            "wit",
        ],
        build: build::rust,
    },
    Example {
        name: "crc-c-wasm",
        component: "crc.wasm",
        kept: true,
        sources: &["examples/crc-c-wasm/crc.c", "wit"],
        build: build::c,
    },
    Example {
        name: "roman-as-wasm",
        component: "roman.wasm",
        kept: true,
        sources: &["examples/roman-as-wasm/roman.ts", "examples/roman-as-wasm/exports.mjs", "wit"],
        build: build::assemblyscript,
    },
    Example {
        name: "fragile-wat-wasm",
        component: "fragile.wasm",
        kept: true,
        sources: &["examples/fragile-wat-wasm/fragile.wat", "wit"],
        build: build::text,
    },
    Example {
        name: "fill-js-wasm",
        component: "fill.wasm",
        kept: false,
        sources: &["examples/fill-js-wasm/fill.js", "wit"],
        build: build::javascript,
    },
    Example {
        name: "dates-py-wasm",
        component: "dates.wasm",
        kept: false,
        sources: &["examples/dates-py-wasm/dates.py", "wit"],
        build: build::python,
    },
];

/// Builds those that are named, or all; with `--check` only says whether the kept ones are what would be built.
pub(crate) fn run(args: Vec<String>) -> anyhow::Result<()> {
    let check = args.iter().any(|arg| arg == "--check");
    let names: Vec<&String> = args.iter().filter(|arg| *arg != "--check").collect();
    for name in &names {
        if EXAMPLES.iter().all(|example| example.name != name.as_str()) {
            let known: Vec<&str> = EXAMPLES.iter().map(|example| example.name).collect();
            bail!("no component example is called {name}; there are {}", known.join(", "));
        }
    }
    let wanted = |example: &&Example| names.is_empty() || names.iter().any(|name| *name == example.name);
    for example in EXAMPLES.iter().filter(wanted) {
        if check { compare(example) } else { make(example) }.with_context(|| format!("example {}", example.name))?;
    }
    Ok(())
}

/// Before the tests: large components are built if their sources changed, kept ones are compared with a fresh build.
pub(crate) fn step(tally: &mut Tally) -> anyhow::Result<()> {
    for example in &EXAMPLES {
        tally.case(example.name, if example.kept { compare(example) } else { make(example) });
    }
    Ok(())
}

fn make(example: &Example) -> anyhow::Result<()> {
    let sources = record::sources(example)?;
    let built = target().join("examples").join(example.name).join(example.component);
    if !example.kept && built.is_file() && record::is_of(&built.with_extension("sources"), &sources) {
        return Ok(());
    }
    let built = build(example)?;
    if example.kept {
        let place = root().join("examples").join(example.name).join(example.component);
        fs::copy(&built, &place).with_context(|| format!("cannot write {}", place.display()))?;
        record::write(example, &sources, &place)?;
        eprintln!("  wrote {}", place.display());
    } else {
        fs::write(built.with_extension("sources"), sources)?;
    }
    Ok(())
}

/// Fails unless a fresh build gives the very bytes that are kept.
fn compare(example: &Example) -> anyhow::Result<()> {
    if !example.kept {
        return Ok(());
    }
    let kept = root().join("examples").join(example.name).join(example.component);
    let built = build(example)?;
    if fs::read(&built)? != fs::read(&kept).with_context(|| format!("cannot read {}", kept.display()))? {
        bail!(
            "{} is not what its source gives ({}); run `cargo xtask examples {}` and look at the difference",
            kept.display(),
            built.display(),
            example.name
        );
    }
    Ok(())
}

/// Builds into `target/examples/NAME`, with the manifest beside it, so that it can be run from there.
fn build(example: &Example) -> anyhow::Result<PathBuf> {
    let source = root().join("examples").join(example.name);
    let place = target().join("examples").join(example.name);
    fs::create_dir_all(&place).with_context(|| format!("cannot create {}", place.display()))?;
    eprintln!("+ building examples/{}", example.name);
    let component = place.join(example.component);
    (example.build)(&source, &component)?;
    fs::copy(source.join("extension.toml"), place.join("extension.toml")).context("cannot copy its manifest")?;
    let size = fs::metadata(&component).with_context(|| format!("no {}", component.display()))?.len();
    eprintln!("  {} ({size} bytes)", component.display());
    Ok(component)
}
