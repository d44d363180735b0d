//! The features of the facade crate: each brings its own libraries, and leaving it out leaves them out.

#![allow(clippy::expect_used, reason = "functions beside the tests are tests too")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The large libraries that only one feature needs, by the beginning of their names.
const WASMTIME: &[&str] = &["wasmtime", "cranelift"];
const ENGINE: &[&str] = &["rquickjs", "oxc"];

/// The names of all packages that end up in a program that depends on `jackfield` with these features alone.
fn packages(features: &[&str]) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let output = Command::new(env!("CARGO"))
        // What a test needs was fetched when the test was built.
        .args(["tree", "--offline", "--locked", "-p", "jackfield", "-e", "normal", "--prefix", "none", "-f", "{p}"])
        .args(["--no-default-features", "--features", &features.join(",")])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let names: BTreeSet<String> = text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    assert!(names.contains("jackfield-host") && names.contains("tokio"), "a tree of jackfield: {names:?}");
    names
}

/// Asserts which of the large libraries and of our own crates these features bring.
#[track_caller]
fn check(features: &[&str], brings: &[&str], leaves_out: &[&str]) {
    let names = packages(features);
    for wanted in brings {
        assert!(names.contains(*wanted), "{features:?} bring {wanted}");
    }
    for start in leaves_out {
        let found: Vec<&String> = names.iter().filter(|name| name.starts_with(start)).collect();
        assert!(found.is_empty(), "{features:?} bring {found:?}");
    }
}

#[test]
fn without_features_no_runtime_is_built() {
    let runtimes = ["jackfield-process", "jackfield-js", "jackfield-wasm", "jackfield-mcp", "jackfield-channels"];
    check(&[], &[], &[WASMTIME, ENGINE, &runtimes].concat());
}

#[test]
fn programs_need_neither_engine_nor_wasmtime() {
    let others = ["jackfield-js", "jackfield-wasm", "jackfield-mcp", "jackfield-channels"];
    check(&["process"], &["jackfield-process"], &[WASMTIME, ENGINE, &others].concat());
}

#[test]
fn each_feature_brings_its_own() {
    check(&["js"], &["jackfield-js", "rquickjs", "oxc_parser"], &[WASMTIME, &["jackfield-process"]].concat());
    check(&["wasm"], &["jackfield-wasm", "wasmtime"], &[ENGINE, &["jackfield-process"]].concat());
    check(&["mcp"], &["jackfield-mcp", "jackfield-process"], &[WASMTIME, ENGINE, &["jackfield-channels"]].concat());
    check(&["channels"], &["jackfield-channels"], &[WASMTIME, ENGINE, &["jackfield-process"]].concat());
}

#[test]
fn an_embedder_gets_all_of_them_by_default() {
    check(&["default"], &["jackfield-process", "jackfield-channels", "jackfield-mcp", "rquickjs", "wasmtime"], &[]);
}
