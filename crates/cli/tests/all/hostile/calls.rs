//! Calls that go wrong on the wire: exit mid-call, a deaf child, lines too long, bytes that are no text, answers that
//! nobody asked for. The call fails at once and says why; the next one works.

use std::fs;
use std::time::Duration;

use jackfield_test_support::{Rpc, eventually};
use serde_json::{Value, json};

use super::support::{FRAMES, JSON_RPC, native, processes, sandbox, script, within};

/// Longer than anything here takes and shorter than every timeout of a call.
const SOON: Duration = Duration::from_secs(20);

#[track_caller]
fn fails(answer: &Value, code: &str, words: &[&str]) {
    assert_eq!((&answer["success"], &answer["error"]["code"]), (&json!(false), &json!(code)), "{answer:#}");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(words.iter().all(|word| message.contains(word)), "{words:?} in {message}");
}

/// The most memory that a process has had, in MiB.
fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).expect("a number") / 1024
}

#[test]
fn an_exit_in_the_middle_of_a_call() {
    let sandbox = sandbox();
    sandbox.misbehave("frail", "ok");
    let (code, answer) = within(SOON, || sandbox.json(&["call", "crash"]));
    assert_eq!((code, &answer["error"]["code"]), (6, &json!("unavailable")), "{answer:#}");

    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("stderr", json!({ "text": "my last words" })), "written");
    let hanging = rpc.send(json!({ "type": "call_tool", "tool": "hang" }));
    within(SOON, || {
        fails(&rpc.call("crash", json!({})), "unavailable", &["frail", "exit status 7", "my last words"]);
        fails(&rpc.response(&hanging), "unavailable", &["frail", "exit status 7"]);
    });
    let state = rpc.wait_for("a restart", |line| line["type"] == "ext_state" && line["state"] == "restarting");
    assert_eq!((&state["extension"], &state["attempt"]), (&json!("frail"), &json!(1)));
    assert_eq!(rpc.text("echo", json!({ "text": "again" })), "again");
}

#[test]
fn an_exit_in_the_middle_of_a_call_in_json_rpc() {
    let sandbox = sandbox();
    sandbox.misbehave_rpc("frail", "ok");
    let mut rpc = sandbox.rpc(&[]);
    within(SOON, || fails(&rpc.call("ext_frail_crash", json!({})), "unavailable", &["frail", "exit status 7"]));
    assert_eq!(rpc.text("ext_frail_echo", json!({ "text": "again" })), "again");
}

#[test]
fn one_that_closes_its_output() {
    let sandbox = sandbox();
    sandbox.misbehave("mute", "stdout_close");
    let mut rpc = sandbox.rpc(&[]);
    within(SOON, || fails(&rpc.call("echo", json!({ "text": "x" })), "unavailable", &["mute"]));
}

/// A child that does not read gets more than a pipe holds: the call ends by its own timeout, and so does the host.
#[test]
fn a_deaf_child_with_large_arguments() {
    for (dialect, modes) in [(FRAMES, "deaf,ignore_shutdown"), (JSON_RPC, "deaf,no_shutdown")] {
        let sandbox = sandbox();
        native(&sandbox, "deaf", dialect, modes, "");
        let args = json!({ "text": "x".repeat(100_000) });
        let file = sandbox.path("args.json");
        sandbox.write(&file, &args.to_string());
        let call = ["call", "ext_deaf_echo", "--args", &format!("@{}", file.display()), "--timeout-ms", "1500"];
        let (code, answer) = within(SOON, || sandbox.json(&call));
        assert_eq!((code, &answer["error"]["code"]), (5, &json!("timeout")), "{dialect}: {answer:#}");

        let mut rpc = sandbox.rpc(&[]);
        let ids: Vec<String> = (0..20)
            .map(|_| {
                rpc.send(json!({ "type": "call_tool", "tool": "ext_deaf_echo", "args": args, "timeout_ms": 1500 }))
            })
            .collect();
        within(SOON, || {
            for id in ids {
                // The breaker may cut the later ones short.
                let answer = rpc.response(&id);
                assert!(
                    ["timeout", "unavailable"].contains(&answer["error"]["code"].as_str().unwrap_or("")),
                    "{answer:#}"
                );
            }
        });
        assert_eq!(rpc.ask(json!({ "type": "ping" }))["success"], true);
        assert_eq!(within(SOON, || rpc.close()), 0, "{dialect}: the host ends");
        eventually("no process stays", || processes(&sandbox).is_empty());
    }
}

#[track_caller]
fn survives_a_long_line(mut rpc: Rpc, big: &str, args: Value, echo: &str) {
    assert_eq!(rpc.text(echo, json!({ "text": "before" })), "before");
    within(SOON, || fails(&rpc.call(big, args), "protocol", &["MiB"]));
    assert_eq!(rpc.text(echo, json!({ "text": "after" })), "after");
    let peak = peak_memory(rpc.pid());
    assert!(peak < 150, "the host has had {peak} MiB");
}

#[test]
fn a_line_of_300_megabytes() {
    let sandbox = sandbox();
    sandbox.misbehave("big", "ok");
    survives_a_long_line(sandbox.rpc(&[]), "big", json!({ "mb": 300 }), "echo");
}

#[test]
fn a_line_of_300_megabytes_in_json_rpc() {
    let sandbox = sandbox();
    let source = sandbox.path("big.py");
    let program = r#"
import json, sys
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    request = json.loads(line)
    if request["method"] == "initialize":
        result = {"tools": [{"name": "big"}, {"name": "echo"}], "hooks": []}
    elif request["params"].get("name") == "big":
        out.write(b'{"jsonrpc":"2.0","id":%d,"result":"' % request["id"])
        for _ in range(300):
            out.write(b"a" * 1024 * 1024)
        out.write(b'"}\n')
        out.flush()
        continue
    else:
        result = request["params"].get("arguments", {}).get("text")
    out.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode() + b"\n")
    out.flush()
"#;
    sandbox.write(&source, program);
    let dir = sandbox.home().join("extensions/big");
    super::support::manifest(&sandbox, &dir, "big", JSON_RPC, &[&source.to_string_lossy()], "");
    survives_a_long_line(sandbox.rpc(&[]), "big", json!({}), "echo");
}

#[test]
fn a_line_without_an_end_during_the_handshake() {
    let sandbox = sandbox();
    sandbox.misbehave("good", "ok");
    let flood = "while True: sys.stdout.write('a' * 1048576)\n";
    script(&sandbox, "endless", flood, "[limits]\nstart_timeout_ms = 1500");
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("echo", json!({ "text": "hi" })), "hi");
    let state = rpc.wait_for("its failure", |line| line["type"] == "ext_state" && line["state"] == "failed");
    assert_eq!(state["extension"], "endless");
    let peak = peak_memory(rpc.pid());
    assert!(peak < 150, "the host has had {peak} MiB");
}
