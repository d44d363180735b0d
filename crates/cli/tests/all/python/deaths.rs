//! Files whose process ends or does not end: nothing else is touched, and the next call finds a fresh one.

use std::time::{Duration, Instant};

use jackfield_test_support::{eventually, is_alive};
use serde_json::json;

use super::support::{sandbox, text, tool, tool_file, workers};

const MORTAL: &str = "import ctypes, os, sys, time\ndef run(how: str):\n    if how == 'exit':\n        os._exit(7)\n    \
    if how == 'segfault':\n        ctypes.string_at(0)\n    if how == 'loop':\n        while True:\n            pass\n    \
    if how == 'native':\n        ctypes.PyDLL(None).sleep(100)\n    return 'alive'\n";

#[test]
fn a_death_costs_the_call_and_nothing_else() {
    let sandbox = sandbox();
    let file = tool(&sandbox, "mortal", MORTAL);
    tool(&sandbox, "other", "count = 0\ndef run():\n    global count\n    count += 1\n    return count\n");
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("other", json!({})), "1");
    for (round, (how, sign)) in [("exit", "exit status 7"), ("segfault", "SIGSEGV")].into_iter().enumerate() {
        for _ in 0..4 {
            let answer = rpc.ask(json!({ "type": "call_tool", "tool": "mortal", "args": { "how": how } }));
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(sign) && message.contains(&file.display().to_string()), "{answer:#}");
            if how == "segfault" {
                assert!(message.contains("mortal.py\", line 6"), "{message}");
            }
            assert_eq!(rpc.text("mortal", json!({ "how": "live" })), "alive");
        }
        assert_eq!(rpc.text("other", json!({})), (round + 2).to_string(), "the other one has lived all the time");
    }
}

#[test]
fn a_call_that_does_not_end_is_ended() {
    let sandbox = sandbox();
    tool(&sandbox, "mortal", MORTAL);
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("mortal", json!({ "how": "live" })), "alive");
    let before = workers(&sandbox);
    // Python that runs can be interrupted; the process stays.
    let timed = |rpc: &mut jackfield_test_support::Rpc, how: &str| {
        let call = json!({ "type": "call_tool", "tool": "mortal", "args": { "how": how }, "timeout_ms": 300 });
        rpc.ask(call)["error"]["code"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(timed(&mut rpc, "loop"), "timeout");
    assert_eq!(rpc.text("mortal", json!({ "how": "live" })), "alive");
    assert_eq!(workers(&sandbox), before);
    // Native code that holds the interpreter cannot; then the process goes.
    assert_eq!(timed(&mut rpc, "native"), "timeout");
    eventually("the end of the stuck process", || before.iter().all(|pid| !is_alive(*pid)));
    assert_eq!(rpc.text("mortal", json!({ "how": "live" })), "alive");
}

/// A tool that forks and forks: what came of it goes with its process. (How many there may be is the system's to say.)
#[test]
fn children_without_number_go_with_their_file() {
    let sandbox = sandbox();
    let forks = "import os, time\ndef run():\n    for _ in range(6):\n        os.fork()\n    time.sleep(600)\n";
    tool(&sandbox, "forks", forks);
    tool(&sandbox, "other", "def run():\n    return 'here'\n");
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("other", json!({})), "here");
    let call = json!({ "type": "call_tool", "tool": "forks", "args": {}, "timeout_ms": 3000 });
    let call = rpc.send(call);
    eventually("64 processes beside the other's", || workers(&sandbox).len() >= 65);
    assert_eq!(rpc.text("other", json!({})), "here", "nobody else notices");
    assert_eq!(rpc.response(&call)["error"]["code"], "timeout");
    eventually("only the other's process is left", || workers(&sandbox).len() == 1);
    assert_eq!(rpc.text("other", json!({})), "here");
}

#[test]
fn who_is_not_called_does_not_stay() {
    let sandbox = sandbox();
    sandbox.write(&sandbox.home().join("config.toml"), "[python]\nidle_ms = 300\n");
    tool(&sandbox, "brief", "import time\ndef run(wait: float = 0):\n    time.sleep(wait)\n    return 'here'\n");
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("brief", json!({})), "here");
    eventually("the end of an idle process", || workers(&sandbox).is_empty());
    // A call that takes longer than that is not idleness.
    assert_eq!(rpc.text("brief", json!({ "wait": 1.0 })), "here");
    assert_eq!(workers(&sandbox).len(), 1);
    eventually("the end of an idle process", || workers(&sandbox).is_empty());
}

#[test]
fn a_file_that_disappears_while_it_is_called_still_answers() {
    let sandbox = sandbox();
    sandbox.write(&sandbox.home().join("extensions.yaml"), "extensions: {watch: {enabled: true, debounce_ms: 20}}\n");
    let source = "import time, pathlib\ndef run(go: str):\n    pathlib.Path(go + '.begun').touch()\n    \
        while not pathlib.Path(go).exists():\n        time.sleep(0.01)\n    return 'finished'\n";
    tool(&sandbox, "slow", source);
    let mut rpc = sandbox.rpc(&["--watch"]);
    let go = sandbox.path("go");
    let id = rpc.send(json!({ "type": "call_tool", "tool": "slow", "args": { "go": go } }));
    eventually("the call has begun", || sandbox.path("go.begun").exists());
    std::fs::remove_file(tool_file(&sandbox, "slow")).expect("removed");
    rpc.wait_for("its removal", |line| {
        line["type"] == "ext_reloaded" && line["reload"]["changes"] == json!(["removed"])
    });
    let answer = rpc.ask(json!({ "type": "call_tool", "tool": "slow", "args": { "go": go } }));
    assert_eq!(answer["error"]["code"], "not_found", "{answer:#}");
    sandbox.write(&go, "");
    assert_eq!(text(&rpc.response(&id)["data"]), "finished");
    let began = Instant::now();
    eventually("the end of its process", || workers(&sandbox).is_empty());
    assert!(began.elapsed() < Duration::from_secs(10));
}
