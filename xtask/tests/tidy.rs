//! The rules of the house, as tests: the direction of the dependencies, sizes of files, crate docs, generated schemas.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

include!("../src/schemas.rs");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_path_buf()
}

/// Every file that belongs to the repository.
fn files() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    let text = String::from_utf8(listed.stdout).expect("UTF-8 file names");
    let files: Vec<String> = text.lines().filter(|file| root().join(file).is_file()).map(str::to_owned).collect();
    assert!(files.len() > 20, "git lists the repository");
    files
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_default()
}

#[test]
fn source_files_stay_small() {
    let mut too_long = Vec::new();
    for file in files() {
        let is_source = [".rs", ".py", ".js", ".ts", ".sh"].iter().any(|end| file.ends_with(end));
        let lines = read(&file).lines().count();
        if is_source && lines > 500 {
            too_long.push(format!("{file}: {lines} lines"));
        }
    }
    assert!(too_long.is_empty(), "split these at 500 lines:\n{}", too_long.join("\n"));
}

/// Tests of one binary are modules of its `main.rs`. A file that no module names would never run.
#[test]
fn every_file_of_tests_is_a_module() {
    let all = files();
    let mut seen = 0;
    for main in all.iter().filter(|file| file.ends_with("/tests/all/main.rs")) {
        let folder = main.trim_end_matches("main.rs");
        let inside = |file: &&String| file.starts_with(folder) && file.ends_with(".rs") && *file != main;
        for file in all.iter().filter(inside) {
            let path = file.trim_end_matches(".rs").trim_start_matches(folder);
            let (parent, name) = match path.rsplit_once('/') {
                Some((parent, name)) => (format!("{folder}{parent}.rs"), name),
                None => (main.clone(), path),
            };
            let declared = read(&parent).lines().any(|line| line == format!("mod {name};"));
            assert!(declared, "{file} never runs: {parent} has no `mod {name};`");
            seen += 1;
        }
    }
    assert!(seen > 50, "the tests of the binary are there");
}

#[test]
fn every_crate_says_what_it_does_and_what_it_refuses() {
    for file in files() {
        if (file.starts_with("crates/") || file.starts_with("xtask/"))
            && (file.ends_with("src/lib.rs") || file.ends_with("src/main.rs"))
        {
            let text = read(&file);
            let docs: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
            assert!(docs.len() >= 3, "{file} begins with crate docs of more than a line");
            assert!(docs.contains(&"//!"), "{file}: a first paragraph on what it does, a second on what it does not");
        }
    }
}

/// What each of our crates may depend on among our own. The arrow of the blueprint, as a table.
const MAY_DEPEND_ON: [(&str, &[&str]); 25] = [
    ("jackfield-protocol", &[]),
    ("jackfield-runtime", &["jackfield-files", "jackfield-protocol"]),
    ("jackfield-files", &["jackfield-protocol"]),
    ("jackfield-policy", &["jackfield-protocol"]),
    ("jackfield-ledger", &["jackfield-files", "jackfield-protocol", "jackfield-runtime"]),
    ("jackfield-discovery", &["jackfield-files", "jackfield-policy", "jackfield-protocol"]),
    ("jackfield-install", &["jackfield-discovery", "jackfield-files", "jackfield-protocol"]),
    (
        "jackfield-host",
        &[
            "jackfield-discovery",
            "jackfield-files",
            "jackfield-ledger",
            "jackfield-policy",
            "jackfield-protocol",
            "jackfield-runtime",
            "jackfield-services",
        ],
    ),
    (
        "jackfield-channels",
        &["jackfield-files", "jackfield-host", "jackfield-ledger", "jackfield-protocol", "jackfield-runtime"],
    ),
    ("jackfield-services", &["jackfield-policy", "jackfield-protocol", "jackfield-runtime"]),
    ("jackfield-process", &["jackfield-files", "jackfield-protocol", "jackfield-runtime"]),
    ("jackfield-js", &["jackfield-files", "jackfield-protocol", "jackfield-runtime"]),
    ("jackfield-wasm", &["jackfield-protocol", "jackfield-runtime"]),
    ("jackfield-mcp", &["jackfield-files", "jackfield-process", "jackfield-protocol", "jackfield-runtime"]),
    (
        "jackfield-gateway",
        &["jackfield-files", "jackfield-host", "jackfield-mcp", "jackfield-protocol", "jackfield-runtime"],
    ),
    (
        "jackfield",
        &[
            "jackfield-channels",
            "jackfield-host",
            "jackfield-js",
            "jackfield-mcp",
            "jackfield-process",
            "jackfield-protocol",
            "jackfield-runtime",
            "jackfield-wasm",
        ],
    ),
    (
        "jackfield-cli",
        &[
            "jackfield",
            "jackfield-files",
            "jackfield-protocol",
            "jackfield-runtime",
            "jackfield-channels",
            "jackfield-gateway",
            "jackfield-host",
            "jackfield-install",
            "jackfield-js",
            "jackfield-mcp",
            "jackfield-process",
            "jackfield-wasm",
        ],
    ),
    ("jackfield-test-support", &[]),
    (
        "jackfield-bench",
        &[
            "jackfield-protocol",
            "jackfield-runtime",
            "jackfield-host",
            "jackfield-js",
            "jackfield-process",
            "jackfield-test-support",
            "jackfield-wasm",
        ],
    ),
    ("xtask", &["jackfield-protocol"]),
    ("wordcount-rs", &[]),
    ("embed-rs", &["jackfield"]),
    ("jackfield-sdk", &[]),
    ("jackfield-fuzz", &["jackfield-discovery", "jackfield-files", "jackfield-protocol"]),
    ("wordcount-wasm", &["jackfield-sdk"]),
];

#[test]
fn dependencies_point_one_way() {
    let table: BTreeMap<&str, &[&str]> = MAY_DEPEND_ON.into_iter().collect();
    let mut seen = 0;
    for file in files() {
        if !file.ends_with("Cargo.toml") || file == "Cargo.toml" {
            continue;
        }
        let manifest: toml::Table = read(&file).parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        let name = manifest["package"]["name"].as_str().expect("a package name");
        let Some(allowed) = table.get(name) else { panic!("{name} ({file}) is not in the table of dependencies") };
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        for dependency in dependencies.keys().filter(|name| name.starts_with("jackfield-")) {
            assert!(allowed.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
        }
        if name == "jackfield-protocol" {
            let foreign: Vec<&str> = dependencies.keys().map(String::as_str).collect();
            assert_eq!(foreign, ["schemars", "serde", "serde_json"], "protocol depends on serde alone");
            assert!(dependencies["schemars"].get("optional").is_some(), "schemars is for the schemas only");
        }
        seen += 1;
    }
    assert_eq!(seen, table.len(), "every package is in the table and every row is a package");
}

#[test]
fn the_words_do_no_io() {
    for file in files().into_iter().filter(|file| file.starts_with("crates/protocol/src/")) {
        let text = read(&file);
        for forbidden in ["std::fs", "std::net", "std::process", "std::time", "std::thread", "tokio", "async fn"] {
            assert!(!text.contains(forbidden), "{file} mentions {forbidden}");
        }
    }
}

#[test]
fn policy_is_pure() {
    let pure = |file: &String| file.starts_with("crates/policy/src/") && !file.contains("test");
    for file in files().into_iter().filter(pure) {
        let text = read(&file);
        for forbidden in ["std::fs", "std::net", "std::env", "Instant", "SystemTime", "tokio", "async fn"] {
            assert!(!text.contains(forbidden), "{file} mentions {forbidden}");
        }
    }
}

/// The modules that may hold unsafe blocks, and how many. Each says at its head which foreign library or kernel call
/// forces them.
const UNSAFE_BLOCKS: [(&str, usize); 3] =
    [("crates/js/src/fork.rs", 1), ("crates/js/src/raw.rs", 13), ("crates/wasm/src/raw.rs", 1)];

#[test]
fn unsafe_blocks_are_counted_and_there_is_no_mod_rs() {
    let allowed: BTreeMap<&str, usize> = UNSAFE_BLOCKS.into_iter().collect();
    for file in files().into_iter().filter(|file| file.ends_with(".rs")) {
        assert!(!file.ends_with("/mod.rs"), "{file}: name the module after its folder");
        let block = concat!("uns", "afe {");
        let count = read(&file).matches(block).count();
        let most = allowed.get(file.as_str()).copied().unwrap_or_default();
        assert_eq!(count, most, "{file}: the table lists {most} unsafe blocks; change it with a reason");
    }
}

#[test]
fn published_schemas_match_the_types() {
    let folder = root().join("protocol/schema");
    let mut expected: Vec<String> = Vec::new();
    for (name, text) in schemas() {
        let published = fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(published == text, "protocol/schema/{name} is out of date: run `cargo xtask codegen`");
        expected.push(name);
    }
    let mut there: Vec<String> = fs::read_dir(&folder)
        .expect("protocol/schema")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    there.sort();
    expected.sort();
    assert_eq!(there, expected, "no schema without a type");
}

#[test]
fn published_schemas_judge_the_golden_transcripts() {
    let validator = |name: &str| {
        let text = read(&format!("protocol/schema/{name}.json"));
        let schema: serde_json::Value = serde_json::from_str(&text).expect("a schema");
        jsonschema::validator_for(&schema).expect("a usable schema")
    };
    let (from, to, envelope) =
        (validator("frames-from-extension"), validator("frames-to-extension"), validator("envelope"));
    let mut checked = 0;
    for file in files() {
        if !file.starts_with("protocol/golden/") || file.contains("/invalid/") || !file.ends_with(".jsonl") {
            continue;
        }
        let name = file.rsplit('/').next().unwrap_or_default();
        for line in read(&file).lines() {
            let value: serde_json::Value = serde_json::from_str(line).expect("a golden line");
            let to_extension = value["dir"] == ">";
            let schema = match name.split('-').next() {
                Some("frames") if to_extension => &to,
                Some("frames") => &from,
                Some("envelope") => &envelope,
                _ => continue,
            };
            assert!(schema.is_valid(&value["frame"]), "{file}: {line}");
            checked += 1;
        }
    }
    assert!(checked > 20, "the golden transcripts are there");
    assert!(!envelope.is_valid(&serde_json::json!({"id": "1", "version": "1.0", "type": "nonsense", "payload": {}})));
    assert!(!from.is_valid(&serde_json::json!({"type": "hello"})), "hello needs a name");
}
