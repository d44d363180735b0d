//! Puts the library's files into the binary: a table of specifiers and their text.

#![allow(clippy::expect_used, reason = "a build that cannot go on stops")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=lib");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("lib");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let mut table: Vec<(String, PathBuf)> = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).expect("it lies below").with_extension("");
        let name = name.to_str().expect("our own names are plain").replace('\\', "/");
        let specifier = match name.strip_prefix("node/") {
            Some(module) if !module.starts_with("internal/") => format!("node:{module}"),
            _ => format!("jackfield:{name}"),
        };
        table.push((specifier, file));
    }
    // The library looks its modules up by halving.
    table.sort();
    let mut text = String::from("&[\n");
    for (specifier, file) in table {
        writeln!(text, "    ({specifier:?}, include_str!({:?})),", file.display().to_string()).expect("to memory");
    }
    text.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("library.rs");
    fs::write(out, text).expect("the build folder can be written");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).expect("the library is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "js") {
            files.push(path);
        }
    }
}
