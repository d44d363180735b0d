//! Clients that are not ours: the official SDKs for TypeScript, of both generations, and for Python.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use jackfield_test_support::{Sandbox, repository};
use serde_json::{Value, json};

use super::support::{Serving, with_odd};

/// Something that `cargo xtask test` installs.
fn tool(path: &str) -> PathBuf {
    let place = repository().join("target/tools").join(path);
    assert!(place.exists(), "{} is missing: run `cargo xtask test`", place.display());
    place
}

/// The scripts, where they find their packages.
fn scripts(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.path("clients");
    fs::create_dir_all(&dir).expect("a directory");
    for file in fs::read_dir(repository().join("crates/cli/tests/all/mcp_face/clients")).expect("scripts").flatten() {
        fs::copy(file.path(), dir.join(file.file_name())).expect("copied");
    }
    std::os::unix::fs::symlink(tool("mcp-sdks/node_modules"), dir.join("node_modules")).expect("a link");
    dir
}

/// Runs a client over both ways and looks at what it saw.
fn drive(program: &str, words: &[&str], changes: bool) {
    let sandbox = with_odd(&[]);
    let dir = scripts(&sandbox);
    let program = tool(program);
    let check = |way: &str, command: &mut Command| {
        let output = command.current_dir(&dir).output().expect("it runs");
        let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{words:?} over {way}: {said}\n{errors}");
        let seen: Value = serde_json::from_str(said.lines().last().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{error}: {said}"));
        // One more after a client before it has changed that.
        assert!(seen["tools"] == 22 || seen["tools"] == 23, "{words:?} over {way}: {seen}");
        assert_eq!(seen["echo"], "{\"z\": \"é\", \"a\": 1.5}");
        assert_eq!(seen["elicited"], "{\"action\": \"accept\", \"content\": {\"name\": \"Ada\"}}");
        assert_eq!(seen["refused"], json!({ "code": -32050, "data": { "why": ["a", 1] } }));
        assert_eq!(
            (&seen["prompt"], &seen["log"], &seen["parallel"]),
            (&json!(true), &json!(true), &json!(true)),
            "{seen}"
        );
        // The SDK for TypeScript forgets about progress that comes together with the result.
        let steps: Vec<f64> = seen["progress"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
        let all = [0.0, 1.0, 2.0, 3.0];
        assert!(steps == all || (all.starts_with(&steps) && !words.contains(&"sdk.py")), "{seen}");
        if changes {
            assert_eq!(seen["changed"], true, "{seen}");
        }
    };
    let mut stdio = Command::new(&program);
    stdio.args(words).arg("stdio").arg(env!("CARGO_BIN_EXE_jackfield"));
    stdio.arg("--home").arg(sandbox.home()).arg("--project").arg(sandbox.project()).arg("mcp");
    check("stdio", &mut stdio);
    let serving = Serving::start(&sandbox, &[]);
    let mut http = Command::new(&program);
    http.args(words).arg("http").arg(&serving.url).env("TOKEN", serving.token.as_deref().expect("a token"));
    check("http", &mut http);
}

const NODE: &str = "mcp-sdks/node_modules/node/bin/node";
const PYTHON: &str = "mcp-python/bin/python3";

#[test]
fn typescript_first_generation() {
    drive(NODE, &["sdk1.mjs"], true);
}

#[test]
fn typescript_second_generation_with_a_handshake() {
    drive(NODE, &["sdk2.mjs", "legacy"], false);
}

#[test]
fn typescript_second_generation_without() {
    drive(NODE, &["sdk2.mjs", "auto"], false);
}

#[test]
fn python_with_a_handshake() {
    drive(PYTHON, &["sdk.py", "legacy"], false);
}

#[test]
fn python_without() {
    drive(PYTHON, &["sdk.py", "auto"], false);
}
