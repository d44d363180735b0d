//! Components of six toolchains, the SDK's two builds of one source, and the demo, all through the binary.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use jackfield_test_support::Sandbox;
use serde_json::json;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Where everything is built: the binary lies in a directory of it.
fn target() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_jackfield"));
    binary.parent().and_then(Path::parent).expect("the target directory").to_path_buf()
}

/// A component that is kept with its source.
fn kept(name: &str) -> String {
    root().join("examples").join(name).display().to_string()
}

/// A component that is too large to keep.
fn built(name: &str) -> String {
    let dir = target().join("examples").join(name);
    assert!(dir.is_dir(), "{} is missing: run `cargo xtask examples {name}`", dir.display());
    dir.display().to_string()
}

#[track_caller]
fn answers(dir: &str, words: &[&str], text: &str) {
    let sandbox = sandbox();
    let mut line = vec!["-e", dir, "call"];
    line.extend(words);
    assert_eq!(sandbox.run(&line).exits(0).stdout, format!("{text}\n"), "{line:?}");
}

#[test]
fn wordcount_wasm() {
    answers(&kept("wordcount-wasm"), &["count_words", "text=three small words"], "1 lines, 3 words");
    let sandbox = sandbox();
    let dir = kept("wordcount-wasm");
    assert_eq!(sandbox.run(&["-e", &dir, "run", "words", "a", "b"]).exits(0).stdout, "2 words\n");
    sandbox.write(&sandbox.project().join("notes.txt"), "one two\nthree\n");
    let (code, answer) = sandbox.json(&["-e", &dir, "call", "count_words", "path=notes.txt"]);
    assert_eq!((code, answer["is_error"].as_bool()), (1, Some(true)), "nobody is there to ask: {answer:#}");
    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("jackfield grant wordcount-wasm read --path notes.txt"), "{text}");
    let (code, answer) = sandbox.json(&["--yes", "-e", &dir, "call", "count_words", "path=notes.txt"]);
    assert_eq!((code, &answer["details"]), (0, &json!({ "lines": 2, "words": 3 })), "{answer:#}");
}

#[test]
fn the_same_source_as_a_program() {
    let sandbox = sandbox();
    let dir = sandbox.path("native");
    let program = Path::new(env!("CARGO_BIN_EXE_jackfield")).with_file_name("wordcount-wasm");
    assert!(program.is_file(), "{} is missing: run `cargo build --workspace --bins`", program.display());
    let manifest =
        format!("id = \"words\"\nversion = \"1.0.0\"\n\n[run]\ncommand = {:?}\n", program.display().to_string());
    sandbox.write(&dir.join("extension.toml"), &manifest);
    let dir = dir.display().to_string();
    sandbox.write(&sandbox.project().join("notes.txt"), "one two\nthree\n");
    let (code, answer) = sandbox.json(&["--yes", "-e", &dir, "call", "count_words", "path=notes.txt"]);
    assert_eq!((code, &answer["details"]), (0, &json!({ "lines": 2, "words": 3 })), "{answer:#}");
    assert_eq!(sandbox.run(&["-e", &dir, "run", "words", "a", "b"]).exits(0).stdout, "2 words\n");
    let (code, answer) = sandbox.json(&["-e", &dir, "call", "count_words", "path=notes.txt"]);
    assert_eq!((code, answer["is_error"].as_bool()), (1, Some(true)), "a denial is an answer: {answer:#}");
}

#[test]
fn crc_c_wasm() {
    answers(&kept("crc-c-wasm"), &["crc32", "text=jackfield"], "76bfa415");
    answers(&kept("crc-c-wasm"), &["crc32", "text:="], "00000000");
    answers(&kept("crc-c-wasm"), &["crc32", "--args", r#"{"text":"a\"\\\n\u00e9\ud83d\ude00"}"#], "1913ef7f");
}

#[test]
fn roman_as_wasm() {
    answers(&kept("roman-as-wasm"), &["roman", "number=1994"], "MCMXCIV");
    sandbox().run(&["-e", &kept("roman-as-wasm"), "call", "roman", "number=4000"]).exits(2);
}

#[test]
fn fragile_wat_wasm() {
    let sandbox = sandbox();
    let mut rpc = sandbox.rpc(&["-e", &kept("fragile-wat-wasm"), "-e", &kept("roman-as-wasm")]);
    for _ in 0..3 {
        let fell = rpc.ask(json!({ "type": "call_tool", "tool": "fall", "args": {} }));
        assert_eq!(fell["success"], false, "{fell:#}");
        assert!(fell["error"]["message"].as_str().is_some_and(|text| text.contains("fragile-wat-wasm")), "{fell:#}");
        let stood = rpc.ask(json!({ "type": "call_tool", "tool": "stand", "args": {} }));
        assert_eq!(stood["success"], true, "{stood:#}");
        let other = rpc.ask(json!({ "type": "call_tool", "tool": "roman", "args": { "number": 4 } }));
        assert_eq!(other["success"], true, "{other:#}");
    }
}

#[test]
fn fill_js_wasm() {
    let args = r#"{"template":"{a} and {b}","values":{"a":"one","b":2}}"#;
    answers(&built("fill-js-wasm"), &["fill", "--args", args], "one and 2");
    let sandbox = sandbox();
    let args = r#"{"template":"{c}","values":{}}"#;
    let output = sandbox.run(&["-e", &built("fill-js-wasm"), "call", "fill", "--args", args]);
    assert_eq!((output.code, output.stdout.as_str()), (1, "no value for {c}\n"), "{output:#?}");
}

#[test]
fn dates_py_wasm() {
    let (sandbox, dir) = (sandbox(), built("dates-py-wasm"));
    // Its native code takes longer to make than a first call waits.
    sandbox.run(&["build", &dir]).exits(0);
    let line = ["-e", &dir, "call", "days_between", "start=2024-02-28", "end=2024-03-01"];
    assert_eq!(sandbox.run(&line).exits(0).stdout, "2 days\n");
    let line = ["-e", &dir, "call", "days_between", "start=yesterday", "end=2024-03-01"];
    assert!(sandbox.run(&line).exits(1).stdout.contains("yesterday"), "an exception is an answer");
}

#[test]
fn they_are_installed_pinned_and_checked_like_any_other() {
    let sandbox = sandbox();
    sandbox.run(&["check", &kept("wordcount-wasm")]).exits(0);
    sandbox.run(&["ext", "install", &kept("roman-as-wasm")]).exits(0);
    assert_eq!(sandbox.run(&["call", "roman", "number=9"]).exits(0).stdout, "IX\n");
    let component = sandbox.home().join("extensions/roman-as-wasm/roman.wasm");
    let other = std::fs::read(Path::new(&kept("fragile-wat-wasm")).join("fragile.wasm")).expect("another component");
    std::fs::write(&component, other).expect("swapped");
    let output = sandbox.run(&["call", "roman", "number=9"]).exits(4);
    assert!(output.stderr.contains("roman.wasm changed"), "{output:#?}");
}

#[test]
fn the_demo_needs_nothing_and_leaves_nothing() {
    let temporary = tempfile::tempdir().expect("a directory");
    let began = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_jackfield"))
        .arg("demo")
        .env_clear()
        .env("TMPDIR", temporary.path())
        .current_dir(temporary.path())
        .output()
        .expect("it runs");
    let took = began.elapsed();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "MMXXVI",
        "extension \"wordcount-wasm\" wants: read notes.txt",
        "the demo answers for you",
        "2 lines, 7 words",
        "fragile-wat-wasm",
        "still standing",
        "the chain holds",
        "jackfield new tool",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let left: Vec<_> = std::fs::read_dir(temporary.path()).expect("the directory").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    // The promise is two seconds; a machine that is busy with other tests gets more.
    assert!(took < Duration::from_secs(10), "{took:?}");
}
