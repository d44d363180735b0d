//! Directories and manifests made to do harm. The one good neighbour must stay active each time.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::testing::*;
use crate::*;

use DiagnosticLevel::{Error, Warn};

/// A place with one good extension, to which `manifest` is added as `bad`.
fn with_bad(manifest: impl AsRef<[u8]>) -> (Place, PathBuf) {
    let place = Place::new();
    place.global("good", &zot_manifest("good"));
    let file = place.home.join("extensions/bad/extension.json");
    write(&file, manifest);
    (place, file)
}

#[track_caller]
fn is_refused(place: &Place, file: &Path, text: &str) {
    let report = place.discover();
    check(&report, &["global bad invalid", "global good active"]);
    says(&report, Error, file, text);
    assert_eq!(report.diagnostics.len(), 1, "{:#?}", report.diagnostics);
}

#[test]
fn manifests_that_are_none() {
    for (content, text) in [
        (b"".as_slice(), "parse manifest: EOF"),
        (b"{", "parse manifest: EOF"),
        (b"[]", "expected an object, found an array"),
        (b"null", "expected an object, found null"),
        (b"{} {}", "trailing characters"),
        (b"\xff\xfe", "it is not UTF-8 text (first bad byte at offset 0)"),
        (b"{\"name\": \"bad\", \"name\": \"bad\", \"exec\": \"x\"}", "duplicate key `name`"),
        (b"{\"name\": 1, \"exec\": \"x\"}", "invalid type: integer `1`, expected a string at line 1"),
        (b"{\"name\": \"bad\", \"version\": 1, \"exec\": \"x\"}", "invalid type"),
        (b"{\"name\": \"bad\", \"enabled\": \"no\", \"exec\": \"x\"}", "invalid type"),
        (b"{\"name\": \"bad\", \"exec\": [\"x\"]}", "invalid type"),
        (b"{\"name\": \"\", \"exec\": \"x\"}", "manifest: name is required"),
        (b"{\"name\": \"bad\"}", "manifest: exec is required"),
        (b"{\"name\": \"../..\", \"exec\": \"x\"}", "holds nothing that can stand in an id"),
        (b"{\"name\": \"bad\", \"exec\": \"x\", \"on_timeout\": \"Deny\"}", "unknown variant `Deny`"),
        (
            b"{\"name\": \"bad\", \"exec\": \"x\", \"limits\": {\"call_timeout_ms\": 0}}",
            "limits.call_timeout_ms must be",
        ),
    ] {
        let (place, file) = with_bad(content);
        is_refused(&place, &file, text);
    }
}

#[test]
fn deeply_nested_json_does_not_overflow() {
    let (place, file) = with_bad("[".repeat(500_000));
    is_refused(&place, &file, "recursion limit exceeded");
}

#[test]
fn a_huge_manifest_is_not_read() {
    let (place, file) = with_bad(vec![b' '; 2 << 20]);
    is_refused(&place, &file, "it holds 2097152 bytes, more than the 1048576 that are allowed");
}

#[test]
fn a_manifest_that_is_no_file() {
    let (place, file) = with_bad("");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    is_refused(&place, &file, "a directory stands where a file is expected");

    fs::remove_dir(&file).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    is_refused(&place, &file, "something special");

    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("gone", &file).unwrap();
    is_refused(&place, &file, "there is no such file");

    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("extension.json", &file).unwrap();
    let report = place.discover();
    check(&report, &["global bad invalid", "global good active"]);
}

#[test]
fn a_path_like_name_becomes_harmless() {
    let (place, file) = with_bad(r#"{"name": "x/../../../pwn", "exec": "x"}"#);
    let report = place.discover();
    check(&report, &["global good active", "global x-..-..-..-pwn active"]);
    says(&report, Warn, &file, "the extension is known as `x-..-..-..-pwn`");
}

#[test]
fn nothing_in_a_diagnostic_can_steer_a_terminal() {
    let (place, _) = with_bad("{\"name\": \"a\\u001b]0;owned\\u0007b\", \"exec\": \"x\"}");
    let report = place.discover();
    assert!(report.diagnostics.iter().all(|d| !d.message.contains(['\u{1b}', '\u{7}'])), "{report:#?}");
}

#[test]
fn a_bottomless_directory_ends() {
    let place = Place::new();
    place.global("good", &zot_manifest("good"));
    let mut deep = place.project.join("extensions");
    for _ in 0..300 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    write(&deep.join("plugin.toml"), nexo_manifest("deep"));
    write(&place.project.join("extensions.yaml"), "extensions: {max_depth: 100000}\n");
    check(&place.discover(), &["global good active"]);
}

#[test]
fn names_that_are_no_text() {
    let place = Place::new();
    let dir = place.home.join("extensions").join(OsStr::from_bytes(b"n\xffme"));
    write(&dir.join("extension.json"), zot_manifest("fine"));
    let broken = place.home.join("extensions").join(OsStr::from_bytes(b"br\xffken"));
    write(&broken.join("extension.json"), "{");
    let report = place.discover();
    check(&report, &["global br-ken invalid", "global fine active"]);
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}

#[test]
fn ignored_and_unfinished_directories_are_passed_over() {
    let place = Place::new();
    for dir in ["node_modules", "target", ".git", "dist", ".build", ".tmp-1-2-3"] {
        place.global(dir, &zot_manifest("hidden"));
    }
    check(&place.discover(), &[]);
}

#[test]
fn several_manifests_in_one_directory() {
    let (place, file) = with_bad(zot_manifest("second"));
    write(&file.with_file_name("extension.toml"), "id = \"first\"\n[run]\ncommand = \"x\"\n");
    let report = place.discover();
    check(&report, &["global first active", "global good active"]);
    says(&report, Warn, &file, "in the same directory comes first");
}

#[test]
fn settings_whose_aliases_multiply_are_not_read() {
    let place = Place::new();
    let text = format!("a: &a [{}]\nextensions: [{}]\n", "x,".repeat(20_000), "*a,".repeat(20_000));
    write(&place.project.join("extensions.yaml"), text);
    let began = std::time::Instant::now();
    let report = place.discover();
    assert!(report.diagnostics.iter().any(|one| one.message.contains("it holds too much")), "{:?}", report.diagnostics);
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "it took {:?}", began.elapsed());
}
