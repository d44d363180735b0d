//! What `new` makes can be built, checked and run, in every language.

use std::path::{Path, PathBuf};
use std::process::Command;

use jackfield_test_support::{Sandbox, keys};
use serde_json::json;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

/// Toolchains and what they build; `cargo xtask examples` installs them.
fn tools() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_jackfield"));
    binary.parent().and_then(Path::parent).expect("the target directory").join("tools")
}

#[track_caller]
fn tool(path: &str) -> PathBuf {
    let path = tools().join(path);
    assert!(path.exists(), "{} is missing: run `cargo xtask examples`", path.display());
    path
}

fn make(sandbox: &Sandbox, words: &[&str]) -> PathBuf {
    let mut line = vec!["new", "tool", "my-tool"];
    line.extend(words);
    let (code, answer) = sandbox.json(&line);
    assert_eq!(code, 0, "{answer:#}");
    assert_eq!(keys(&answer), "files name next ok path tool");
    sandbox.project().join("my-tool")
}

#[track_caller]
fn build(dir: &Path, prepare: impl FnOnce(&mut Command)) {
    let mut command = Command::new(dir.join("build.sh"));
    command.current_dir("/").env_remove("CARGO_TARGET_DIR").env_remove("RUSTC").env_remove("RUSTFLAGS");
    prepare(&mut command);
    let output = command.output().expect("build.sh runs");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

fn path_with(first: &[PathBuf]) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(first.iter().cloned().chain(std::env::split_paths(&path))).expect("a PATH")
}

#[track_caller]
fn works(sandbox: &Sandbox, dir: &Path) {
    let dir = dir.display().to_string();
    sandbox.run(&["check", &dir]).exits(0);
    let output = sandbox.run(&["-e", &dir, "call", "my_tool", "text=it works"]).exits(0);
    assert_eq!(output.stdout, "IT WORKS\n");
}

#[test]
fn typescript_and_python_run_as_they_are() {
    for lang in ["js", "python"] {
        let sandbox = sandbox();
        let dir = make(&sandbox, &["--lang", lang]);
        works(&sandbox, &dir);
    }
}

#[test]
fn a_program_in_rust() {
    let sandbox = sandbox();
    let dir = make(&sandbox, &["--lang", "rust"]);
    build(&dir, |command| {
        command.env("CARGO_TARGET_DIR", tools().join("new-rust"));
    });
    works(&sandbox, &dir);
}

#[test]
fn a_component_in_rust() {
    let sandbox = sandbox();
    let dir = make(&sandbox, &["--lang", "rust", "--wasm"]);
    let rustc = tool("rust-wasm/rustc");
    let asked = |what: &str| {
        let output = Command::new("rustc").args(["--print", what]).output().expect("rustc runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let bin = Path::new(&asked("sysroot")).join("lib/rustlib").join(asked("host-tuple")).join("bin");
    build(&dir, |command| {
        command.env("CARGO_TARGET_DIR", tools().join("new-rust")).env("RUSTC", rustc);
        command.env("PATH", path_with(&[bin.join("gcc-ld"), bin]));
    });
    works(&sandbox, &dir);
}

#[test]
fn a_component_in_javascript() {
    let sandbox = sandbox();
    let dir = make(&sandbox, &["--lang", "js", "--wasm"]);
    std::os::unix::fs::symlink(tool("npm/node_modules"), dir.join("node_modules")).expect("a link");
    build(&dir, |_| {});
    std::fs::remove_file(dir.join("node_modules")).expect("the link");
    works(&sandbox, &dir);
}

#[test]
fn a_component_in_python() {
    let sandbox = sandbox();
    let dir = make(&sandbox, &["--lang", "python", "--wasm"]);
    let place = tool("componentize-py");
    build(&dir, |command| {
        command.env("PATH", path_with(&[place.join("bin")])).env("PYTHONPATH", &place);
    });
    // Its native code takes longer to make than a first call waits.
    sandbox.run(&["build", &dir.display().to_string()]).exits(0);
    works(&sandbox, &dir);
}

#[test]
fn a_component_in_c() {
    let sandbox = sandbox();
    let dir = make(&sandbox, &["--lang", "c", "--wasm"]);
    let places = [tool("wit-bindgen-cli/bin"), tool("wasm-tools/bin"), tool("ziglang/ziglang")];
    build(&dir, |command| {
        command.env("PATH", path_with(&places)).env("ZIG_GLOBAL_CACHE_DIR", tools().join("zig-cache"));
    });
    works(&sandbox, &dir);
}

#[test]
fn what_cannot_be_made_is_refused() {
    let sandbox = sandbox();
    for (words, says) in [
        (&["My Tool", "--lang", "rust"][..], "lower-case"),
        (&["../up", "--lang", "rust"], "lower-case"),
        (&["1st", "--lang", "rust"], "lower-case"),
        (&["fine", "--lang", "c"], "--wasm"),
    ] {
        let mut line = vec!["new", "tool"];
        line.extend(words);
        let (code, answer) = sandbox.json(&line);
        assert_eq!(code, 2, "{answer:#}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(says)), "{answer:#}");
    }
    sandbox.run(&["new", "tool", "fine", "--lang", "cobol"]).exits(2);
    // What is there is never written over.
    sandbox.write(&sandbox.project().join("fine/mine.txt"), "mine");
    sandbox.run(&["new", "tool", "fine", "--lang", "python"]).exits(2);
    let left: Vec<_> = std::fs::read_dir(sandbox.project().join("fine")).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let (code, answer) = sandbox.json(&["new", "tool", "fine", "--lang", "python", "--dir", "elsewhere"]);
    assert_eq!((code, &answer["path"]), (0, &json!("elsewhere")), "{answer:#}");
}
