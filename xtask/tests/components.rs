//! The components that are kept in the repository are what their sources give, as far as a quick look tells. `cargo xtask
//! examples --check`, which `cargo xtask test` runs, builds them anew and compares byte by byte.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../src/sources.rs"]
mod sources;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_path_buf()
}

#[test]
fn kept_components_match_their_sources() {
    let mut seen = 0;
    for entry in fs::read_dir(root().join("examples")).expect("the examples").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kept: Vec<PathBuf> = fs::read_dir(entry.path())
            .into_iter()
            .flatten()
            .flatten()
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|end| end == "wasm"))
            .collect();
        let Ok(record) = fs::read_to_string(entry.path().join("built.toml")) else {
            assert!(kept.is_empty(), "examples/{name} keeps {kept:?} without a record of what it was made of");
            continue;
        };
        let record: toml::Table = record.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = |key: &str| record[key].as_str().expect("a text").to_owned();
        let made_of: Vec<&str> =
            record["sources"].as_array().expect("a list").iter().filter_map(toml::Value::as_str).collect();
        let component = format!("examples/{name}/{}", text("component"));
        let again = format!("run `cargo xtask examples {name}`");
        let sources = sources::hash(&root(), &made_of).expect("its sources");
        assert_eq!(sources, text("sha256_of_sources"), "{component} is older than its sources: {again}");
        let made = sources::hash(&root(), &[&component]).expect("the component");
        assert_eq!(made, text("sha256_of_component"), "{component} is not what was built: {again}");
        let size = fs::metadata(root().join(&component)).expect("the component").len();
        assert!(size <= 100 * 1024, "{component} has {size} bytes: too large to keep; build it for the tests");
        seen += 1;
    }
    assert_eq!(seen, 4, "every kept component was looked at");
}
