//! Real servers, as people install them, from npm and PyPI. `cargo xtask test` puts them below `target/tools`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use jackfield_test_support::{Sandbox, repository};
use serde_json::{Value, json};

use super::support::{called, own_file, sandbox, write};

/// A program that `cargo xtask test` installed.
#[track_caller]
fn installed(place: &str) -> PathBuf {
    let path = repository().join("target/tools").join(place);
    assert!(path.exists(), "{} is missing: run `cargo xtask test`", path.display());
    path
}

fn npm(name: &str) -> Value {
    json!({ "command": installed(&format!("mcp-npm/node_modules/.bin/{name}")), "startup_timeout_sec": 60 })
}

fn pypi(place: &str, name: &str) -> Value {
    json!({ "command": installed(&format!("{place}/bin/{name}")), "startup_timeout_sec": 60 })
}

/// A sandbox with one server, `s`, and what else its entry says.
fn with(mut server: Value, more: Value) -> Sandbox {
    let sandbox = sandbox();
    if let (Some(server), Value::Object(more)) = (server.as_object_mut(), more) {
        server.extend(more);
    }
    write(&sandbox, &own_file(&sandbox), json!({ "s": server }));
    sandbox
}

/// The tools that the server offers under its name.
#[track_caller]
fn offers(sandbox: &Sandbox, count: usize) {
    let (code, listing) = sandbox.json(&["tools"]);
    let offered = listing["tools"].as_array().map_or(0, Vec::len);
    assert!(code == 0 && offered >= count, "{offered} tools: {listing:#}");
}

/// The version of MCP that was agreed on.
fn version(sandbox: &Sandbox) -> String {
    let (_, shown) = sandbox.json(&["inspect", &own_file(sandbox).display().to_string()]);
    shown["mcp"]["protocol_version"].as_str().unwrap_or_else(|| panic!("{shown:#}")).to_owned()
}

#[test]
fn everything() {
    let sandbox = with(npm("mcp-server-everything"), json!({ "args": ["stdio"] }));
    offers(&sandbox, 8);
    assert!(called(&sandbox, "s__echo", &json!({ "message": "hello" })).contains("hello"));
    assert_eq!(version(&sandbox), "2025-11-25");
}

#[test]
fn filesystem() {
    let sandbox = with(npm("mcp-server-filesystem"), json!({ "args": ["${workspaceFolder}"] }));
    offers(&sandbox, 10);
    let file = sandbox.project().canonicalize().expect("a path").join("note.txt");
    fs::write(&file, "it is written").expect("a file");
    assert_eq!(called(&sandbox, "s__read_text_file", &json!({ "path": file })), "it is written");
    let (code, answer) = sandbox.json(&["call", "s__read_text_file", r#"{"path":"/etc/hostname"}"#]);
    assert!(code == 1 && answer["is_error"] == true, "{answer:#}");
}

#[test]
fn memory() {
    let sandbox =
        with(npm("mcp-server-memory"), json!({ "env": { "MEMORY_FILE_PATH": "${workspaceFolder}/memory.jsonl" } }));
    offers(&sandbox, 9);
    let entity = json!({ "entities": [{ "name": "Ada", "entityType": "person", "observations": ["counts"] }] });
    called(&sandbox, "s__create_entities", &entity);
    assert!(called(&sandbox, "s__read_graph", &json!({})).contains("Ada"), "kept by another process of the server");
}

#[test]
fn sequential_thinking() {
    let sandbox = with(npm("mcp-server-sequential-thinking"), json!({}));
    let thought = json!({ "thought": "first", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 });
    assert!(called(&sandbox, "s__sequentialthinking", &thought).contains("thoughtNumber"));
}

#[test]
fn github() {
    // It asks the network for everything but its list.
    let sandbox = with(npm("mcp-server-github"), json!({}));
    offers(&sandbox, 20);
    assert_eq!(version(&sandbox), "2024-11-05");
    let (code, answer) = sandbox.json(&["call", "s__create_issue", r#"{"owner":1}"#]);
    assert!(code != 0 && answer.to_string().contains("owner"), "held to its schema: {answer:#}");
}

#[test]
fn code_runner() {
    let sandbox = with(npm("mcp-server-code-runner"), json!({}));
    let code = json!({ "code": "print(6 * 7)", "languageId": "python" });
    // It writes to standard output what is no message.
    assert!(called(&sandbox, "s__run-code", &code).contains("42"));
}

#[test]
fn time() {
    let sandbox = with(pypi("mcp-pypi", "mcp-server-time"), json!({}));
    offers(&sandbox, 2);
    assert!(called(&sandbox, "s__get_current_time", &json!({ "timezone": "UTC" })).contains("UTC"));
    assert_eq!(version(&sandbox), "2026-07-28");
}

#[test]
fn git() {
    let sandbox = with(pypi("mcp-pypi", "mcp-server-git"), json!({}));
    let made = Command::new("git").args(["init", "--quiet"]).current_dir(sandbox.project()).status().expect("git");
    assert!(made.success());
    fs::write(sandbox.project().join("new.txt"), "new").expect("a file");
    let status = called(&sandbox, "s__git_status", &json!({ "repo_path": sandbox.project() }));
    assert!(status.contains("new.txt"), "{status}");
}

#[test]
fn calculator() {
    let sandbox = with(pypi("mcp-pypi-older", "mcp-server-calculator"), json!({}));
    assert_eq!(called(&sandbox, "s__calculate", &json!({ "expression": "6 * 7" })), "42");
}

#[test]
fn shell() {
    let sandbox = with(pypi("mcp-pypi-older", "mcp-shell-server"), json!({ "env": { "ALLOW_COMMANDS": "echo" } }));
    let args = json!({ "command": ["echo", "said"], "directory": sandbox.project().canonicalize().expect("a path") });
    assert!(called(&sandbox, "s__shell_execute", &args).contains("said"));
}

#[test]
fn sqlite() {
    let sandbox = with(
        pypi("mcp-pypi-older", "mcp-server-sqlite"),
        json!({ "args": ["--db-path", "${workspaceFolder}/test.db"] }),
    );
    offers(&sandbox, 5);
    called(&sandbox, "s__create_table", &json!({ "query": "CREATE TABLE people (name TEXT)" }));
    assert!(called(&sandbox, "s__list_tables", &json!({})).contains("people"));
}
