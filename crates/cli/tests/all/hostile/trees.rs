//! Grandchildren, half of which leave the session and all of which ignore SIGTERM: none is left when the host ends, the
//! extension is reloaded, or it crashes.

use std::time::Duration;

use jackfield_test_support::{Rpc, Sandbox, eventually, is_alive};
use serde_json::json;

use super::support::{processes, sandbox, within};

fn bomb() -> (Sandbox, Rpc, Vec<u32>) {
    let sandbox = sandbox();
    sandbox.misbehave("bomb", "fork_bomb:20");
    let mut rpc = sandbox.rpc(&[]);
    let pids = grandchildren(&mut rpc);
    let all = processes(&sandbox);
    assert!(pids.iter().all(|pid| all.contains(pid)), "{pids:?} are found among {all:?}");
    (sandbox, rpc, pids)
}

fn grandchildren(rpc: &mut Rpc) -> Vec<u32> {
    let pids: Vec<u32> = serde_json::from_str(&rpc.text("pids", json!({}))).expect("numbers");
    assert_eq!(pids.len(), 20);
    assert!(pids.iter().all(|pid| is_alive(*pid)), "all of them run");
    pids
}

fn are_gone(pids: &[u32]) -> bool {
    !pids.iter().any(|pid| is_alive(*pid))
}

#[test]
fn when_the_host_ends() {
    let (sandbox, rpc, pids) = bomb();
    assert_eq!(within(Duration::from_secs(20), || rpc.close()), 0);
    eventually("the grandchildren are gone", || are_gone(&pids));
    eventually("nothing else is left", || processes(&sandbox).is_empty());
}

#[test]
fn when_the_host_is_killed() {
    let (sandbox, mut rpc, pids) = bomb();
    rpc.kill();
    eventually("the grandchildren are gone", || are_gone(&pids));
    eventually("nothing else is left", || processes(&sandbox).is_empty());
}

#[test]
fn when_the_extension_is_reloaded() {
    let (_sandbox, mut rpc, pids) = bomb();
    let reloaded = rpc.ask(json!({ "type": "reload", "extension": "bomb" }));
    assert_eq!(reloaded["data"]["reloaded"][0]["error"], json!(null), "{reloaded:#}");
    eventually("the old grandchildren are gone", || are_gone(&pids));
    let new = grandchildren(&mut rpc);
    assert!(new.iter().all(|pid| !pids.contains(pid)));
    assert_eq!(rpc.close(), 0);
    eventually("the new grandchildren are gone", || are_gone(&new));
}

#[test]
fn when_the_extension_crashes() {
    let (_sandbox, mut rpc, pids) = bomb();
    assert_eq!(rpc.call("crash", json!({}))["error"]["code"], "unavailable");
    eventually("the old grandchildren are gone", || are_gone(&pids));
    let new = grandchildren(&mut rpc);
    assert_eq!(rpc.close(), 0);
    eventually("the new grandchildren are gone", || are_gone(&new));
}

/// They keep the pipes open, so that the end of the extension is not the end of its output.
#[test]
fn when_a_single_call_is_over() {
    let sandbox = sandbox();
    sandbox.misbehave("bomb", "fork_bomb:20,ignore_shutdown");
    let (code, answer) = within(Duration::from_secs(30), || sandbox.json(&["call", "pids"]));
    assert_eq!(code, 0, "{answer:#}");
    let pids: Vec<u32> = serde_json::from_str(answer["content"][0]["text"].as_str().expect("a text")).expect("numbers");
    eventually("the grandchildren are gone", || are_gone(&pids));
    eventually("nothing else is left", || processes(&sandbox).is_empty());
}
