//! Compiled code of scripts: what `build` makes, and that only what this host made of these very files is ever run.

use std::fs;
use std::path::{Path, PathBuf};

use jackfield_test_support::{Sandbox, keys};
use serde_json::{Value, json};

const ENTRY: &str = "import { word } from './lib/word.js';\n\
                     import { join } from 'node:path';\n\
                     interface Shape { text: string }\n\
                     export default function (pi: any) {\n\
                       const shape: Shape = { text: word(join('a', 'b')) };\n\
                       pi.registerCommand(shape.text, { description: 'says', handler: async () => {} });\n\
                     }\n";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

fn extension(sandbox: &Sandbox, name: &str) -> PathBuf {
    let entry = sandbox.path(&format!("{name}/index.ts"));
    sandbox.write(&entry, ENTRY);
    sandbox
        .write(&sandbox.path(&format!("{name}/lib/word.ts")), "export const word = (text: string) => `${text}-one`;\n");
    entry
}

/// What it registers, how its code came, and what was said about it.
#[track_caller]
fn inspect(sandbox: &Sandbox, entry: &Path) -> (String, Value, String) {
    let (code, shown) = sandbox.json(&["inspect", entry.to_str().expect("plain")]);
    assert_eq!(code, 0, "{shown:#}");
    let command = shown["commands"][0]["name"].as_str().expect("a command").to_owned();
    (command, shown["code"].clone(), shown["diagnostics"].to_string())
}

#[track_caller]
fn all_cached(code: &Value) {
    assert_eq!(code["compiled"], 0, "{code}");
    assert!(code["cached"].as_u64().is_some_and(|count| count > 1), "{code}");
}

#[test]
fn the_second_start_compiles_nothing() {
    let sandbox = sandbox();
    let entry = extension(&sandbox, "ext");
    let (command, code, _) = inspect(&sandbox, &entry);
    assert_eq!(command, "a/b-one");
    assert!(code["compiled"].as_u64().is_some_and(|count| count > 2), "{code}");
    let (command, code, said) = inspect(&sandbox, &entry);
    assert_eq!((command.as_str(), said.as_str()), ("a/b-one", "[]"));
    all_cached(&code);
    // One changed file is one compiled file.
    sandbox.write(&sandbox.path("ext/lib/word.ts"), "export const word = (text: string) => `${text}-two`;\n");
    let (command, code, _) = inspect(&sandbox, &entry);
    assert_eq!((command.as_str(), &code["compiled"]), ("a/b-two", &json!(1)));
    // Another extension's first start finds the host's modules compiled.
    let (_, code, _) = inspect(&sandbox, &extension(&sandbox, "second"));
    assert_eq!(code["compiled"], 2);
}

#[test]
fn a_changed_entry_of_the_cache_is_not_run() {
    let sandbox = sandbox();
    let entry = extension(&sandbox, "ext");
    let (_, first, _) = inspect(&sandbox, &entry);
    let folder = sandbox.home().join("code");
    let is_entry = |path: &PathBuf| path.file_name().is_some_and(|name| name.len() == 64);
    let entries: Vec<PathBuf> =
        fs::read_dir(&folder).expect("read").map(|entry| entry.expect("read").path()).filter(is_entry).collect();
    let spoilt = entries.len() as u64;
    for entry in entries {
        let mut bytes = fs::read(&entry).expect("read");
        *bytes.last_mut().expect("not empty") ^= 0x55;
        fs::write(&entry, bytes).expect("written");
    }
    // What its end needed is there, too, and not counted.
    assert!(first["compiled"].as_u64().is_some_and(|count| count > 2 && count <= spoilt), "{first} of {spoilt}");
    let (command, code, _) = inspect(&sandbox, &entry);
    assert_eq!((command.as_str(), &code), ("a/b-one", &first));
    // A copy of a whole cache is worthless without its key.
    fs::write(folder.join("key"), [7_u8; 32]).expect("written");
    let (_, code, _) = inspect(&sandbox, &entry);
    assert_eq!(code, first);
}

#[test]
fn build_makes_an_artifact_that_the_first_start_uses() {
    let sandbox = sandbox();
    let entry = extension(&sandbox, "ext");
    // The host's modules are known from another extension.
    inspect(&sandbox, &extension(&sandbox, "other"));
    let (code, about) = sandbox.json(&["build", entry.to_str().expect("plain")]);
    assert_eq!(code, 0, "{about:#}");
    let out = PathBuf::from(about["out"].as_str().expect("a folder"));
    assert!(out.starts_with(sandbox.home()));
    let written: Value = serde_json::from_slice(&fs::read(out.join("artifact.json")).expect("read")).expect("JSON");
    assert_eq!(
        keys(&written),
        "artifact capabilities created_by engine entry extension files hash left_out modules scan schema version"
    );
    assert_eq!((&written["schema"], &written["extension"]), (&json!("pi.ext.artifact.v1"), &json!("ext")));
    assert_eq!(written["scan"]["verdict"], "compatible");
    assert_eq!(written["modules"], json!(["node:path"]));
    assert!(written["hash"].as_str().is_some_and(|hash| hash.starts_with("sha256:") && hash.len() == 71));
    let files: Vec<&str> =
        written["files"].as_array().expect("a list").iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    let size = fs::metadata(out.join("extension.artifact")).expect("there").len();
    assert_eq!(written["artifact"]["bytes"], json!(size));
    let (command, code, said) = inspect(&sandbox, &entry);
    assert_eq!((command.as_str(), said.as_str()), ("a/b-one", "[]"));
    all_cached(&code);
    // Building runs nothing, and the same files give the same artifact.
    let (_, again) = sandbox.json(&["build", entry.to_str().expect("plain")]);
    assert_eq!(again, about);
}

#[test]
fn an_artifact_that_does_not_fit_is_passed_over_with_a_word() {
    let sandbox = sandbox();
    let entry = extension(&sandbox, "ext");
    let name = entry.to_str().expect("plain").to_owned();
    let folder = sandbox.path("ext");
    let out = folder.to_str().expect("plain");
    // Beside the extension it is found as well.
    sandbox.run(&["build", &name, "--out", out]).exits(0);
    let (_, code, said) = inspect(&sandbox, &entry);
    assert_eq!(said, "[]");
    let library = code["compiled"].as_u64().expect("a number");
    let file = folder.join("extension.artifact");
    let good = fs::read(&file).expect("read");
    // Changed.
    let mut bad = good.clone();
    let last = bad.len() - 1;
    bad[last] ^= 1;
    fs::write(&file, &bad).expect("written");
    let (command, code, said) = inspect(&sandbox, &entry);
    assert_eq!((command.as_str(), &code["compiled"]), ("a/b-one", &json!(2)), "library: {library}");
    assert!(
        said.contains("extension.artifact is not used: this host did not make it, or it was changed since"),
        "{said}"
    );
    // Foreign: made by another host, which has another key.
    let foreign = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    foreign.run(&["build", &name, "--out", out]).exits(0);
    let (_, _, said) = inspect(&sandbox, &entry);
    assert!(said.contains("this host did not make it"), "{said}");
    // Stale: a file has changed, and the new text runs.
    fs::write(&file, &good).expect("written");
    sandbox.write(&sandbox.path("ext/lib/word.ts"), "export const word = (text: string) => `${text}-new`;\n");
    let (command, _, said) = inspect(&sandbox, &entry);
    assert_eq!(command, "a/b-new");
    assert!(said.contains("word.ts has changed since `jackfield build`"), "{said}");
}

#[test]
fn what_cannot_be_built_says_why() {
    let sandbox = sandbox();
    let bad = sandbox.path("bad/index.ts");
    sandbox.write(&bad, "export default function (pi) {\n  const = 1;\n}\n");
    let output = sandbox.run(&["build", bad.to_str().expect("plain")]).exits(7);
    assert!(output.stderr.contains("index.ts:2:"), "{}", output.stderr);
    let plain = sandbox.plain("plain", &["t"], &[]);
    let output = sandbox.run(&["build", plain.to_str().expect("plain")]).exits(7);
    assert!(output.stderr.contains("is neither a script nor a component"), "{}", output.stderr);
    sandbox.run(&["build", "/nowhere/at/all.ts"]).exits(3);
    let entry = extension(&sandbox, "ext");
    let output = sandbox.run(&["build", entry.to_str().expect("plain"), "--out", "/proc/nowhere"]).exits(1);
    assert!(output.stderr.contains("cannot write the artifact to /proc/nowhere"), "{}", output.stderr);
}
