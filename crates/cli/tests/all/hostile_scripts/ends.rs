//! Engines and hosts that are killed.

use std::process::Command;

use jackfield_test_support::{eventually, is_alive};
use serde_json::json;

use super::support::{Place, all_work, sandbox, script, tool};

/// The processes whose parent is `pid`.
fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task");
    let tasks = std::fs::read_dir(path).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

fn kill(pid: u32) {
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill runs");
    assert!(status.success());
}

#[test]
fn after_the_engine_was_killed_the_next_call_works() {
    let sandbox = sandbox(Place::Process);
    script(&sandbox, "bad", &(tool("own", "return 'fine'") + &tool("wait", "await new Promise(() => {})")));
    let mut host = sandbox.rpc(&[]);
    assert_eq!(host.text("own", json!({})), "fine");
    let engines = children(host.pid());
    assert!(!engines.is_empty());
    let waits = host.send(json!({ "type": "call_tool", "tool": "wait", "args": {} }));
    assert_eq!(host.text("own", json!({})), "fine");
    for engine in &engines {
        kill(*engine);
    }
    let (code, message) = super::support::error(&host.response(&waits));
    assert_eq!(code, "unavailable", "{message}");
    assert!(message.contains("extension bad has gone") && message.contains("signal: 9"), "{message}");
    eventually("the next call works", || host.call("own", json!({}))["success"] == json!(true));
    all_work(&mut host, "own");
}

#[test]
fn no_engine_outlives_its_host() {
    let sandbox = sandbox(Place::Process);
    let source =
        tool("own", "return 'fine'") + &tool("spin", "for (;;) await new Promise((done) => setTimeout(done, 0))");
    script(&sandbox, "bad", &source);
    let mut host = sandbox.rpc(&[]);
    assert_eq!(host.text("own", json!({})), "fine");
    host.send(json!({ "type": "call_tool", "tool": "spin", "args": {} }));
    let engines = children(host.pid());
    assert!(!engines.is_empty());
    host.kill();
    eventually("the engines go with their host", || engines.iter().all(|engine| !is_alive(*engine)));
}
