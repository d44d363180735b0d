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
    let servers = children(host.pid());
    let engines: Vec<_> = servers.iter().flat_map(|server| children(*server)).collect();
    assert!(!engines.is_empty(), "{servers:?}");
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

/// All engines are forked from one server. When it is killed its engines end, and the next calls start another one.
#[test]
fn after_the_engine_server_was_killed_the_next_call_works() {
    let sandbox = sandbox(Place::Process);
    script(&sandbox, "one", &(tool("own", "return 'fine'") + &tool("wait", "await new Promise(() => {})")));
    script(&sandbox, "two", &tool("other", "return 'fine'"));
    let mut host = sandbox.rpc(&[]);
    assert_eq!((host.text("own", json!({})), host.text("other", json!({}))), ("fine".to_owned(), "fine".to_owned()));
    let waits = host.send(json!({ "type": "call_tool", "tool": "wait", "args": {} }));
    let servers = children(host.pid());
    let engines: Vec<_> = servers.iter().flat_map(|server| children(*server)).collect();
    assert!(servers.len() == 1 && engines.len() >= 2, "{servers:?} {engines:?}");
    kill(servers[0]);
    let (code, message) = super::support::error(&host.response(&waits));
    assert_eq!(code, "unavailable", "{message}");
    assert!(message.contains("extension one has gone"), "{message}");
    for tool in ["own", "other"] {
        eventually("the next call works", || host.call(tool, json!({}))["success"] == json!(true));
    }
    let mut engines = engines.iter();
    eventually("no engine stays behind", || engines.all(|engine| !is_alive(*engine)));
}

/// Engines are copies of one process, and every copy seeds its randomness anew.
#[test]
fn no_two_engines_draw_the_same_random_numbers() {
    let sandbox = sandbox(Place::Process);
    let draw =
        "return [Math.random(), crypto.randomUUID(), require('node:crypto').randomBytes(8).toString('hex')].join()";
    for (id, name) in [("one", "first"), ("two", "second")] {
        script(&sandbox, id, &tool(name, draw));
    }
    let mut drawn: Vec<String> = Vec::new();
    for _ in 0..2 {
        let mut host = sandbox.rpc(&[]);
        for name in ["first", "second"] {
            drawn.extend(host.text(name, json!({})).split(',').map(str::to_owned));
        }
    }
    let different: std::collections::BTreeSet<_> = drawn.iter().collect();
    assert_eq!((drawn.len(), different.len()), (12, 12), "{drawn:?}");
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
    let servers = children(host.pid());
    let engines: Vec<_> = servers.iter().flat_map(|server| children(*server)).collect();
    assert!(!engines.is_empty(), "{servers:?}");
    host.kill();
    let mut all = servers.iter().chain(&engines);
    eventually("the engines go with their host", || all.all(|process| !is_alive(*process)));
}
