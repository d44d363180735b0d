//! The record beside a kept component: what it was made of, so that a quick test sees when it is out of date.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::Example;
use crate::root;
use crate::sources::hash;

/// The hash over all that an example is made of.
pub(super) fn sources(example: &Example) -> anyhow::Result<String> {
    hash(&root(), example.sources)
}

/// Whether a file says that something was made of these sources.
pub(super) fn is_of(file: &Path, sources: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|recorded| recorded == sources)
}

/// Writes the record beside a kept component.
pub(super) fn write(example: &Example, sources: &str, component: &Path) -> anyhow::Result<()> {
    let made = hash(&root(), &[&format!("examples/{}/{}", example.name, example.component)])?;
    let list: Vec<String> = example.sources.iter().map(|source| format!("    \"{source}\",\n")).collect();
    let text = format!(
        "# Written by `cargo xtask examples {}`, which also made the component. A test compares.\ncomponent = \"{}\"\n\
         sources = [\n{}]\nsha256_of_sources = \"{sources}\"\nsha256_of_component = \"{made}\"\n",
        example.name,
        example.component,
        list.concat()
    );
    let file = component.with_file_name("built.toml");
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}
