//! What a person is asked, and what a yes covers, whatever an extension writes into its call.

use jackfield_test_support::at_terminal;
use serde_json::json;

use super::{host_call, is_denied, sandbox_with_odd};

const QUESTION: &str = "[n] no > ";

#[test]
fn a_question_hides_nothing_of_the_act() {
    let sandbox = sandbox_with_odd();
    for (command, shown) in [
        ("ls \u{1b}]; touch hit; \u{7}", r"it would do: ls \u{1b}]; touch hit; \u{7}"),
        ("ls # look\ntouch hit", "it would do: ls # look⏎touch hit"),
        ("ls \u{3164}\u{202e}┠ harmless", r"it would do: ls \u{3164}\u{202e}\u{2520} harmless"),
    ] {
        let call = json!({ "method": "tool", "params": { "name": "bash", "input": { "command": command } } });
        let (seen, _) =
            at_terminal(&sandbox, &["call", "host_call", "--args", &call.to_string()], &[(QUESTION, "n\n")]);
        assert!(seen.contains(shown), "{command:?}: {seen}");
        assert!(!sandbox.project().join("hit").exists());
    }
    let exec = json!({ "command": "sh", "stdin": "touch hit", "env": { "GIT_SSH_COMMAND": "./evil" } });
    let call = json!({ "method": "exec", "params": exec }).to_string();
    let (seen, _) = at_terminal(&sandbox, &["call", "host_call", "--args", &call], &[(QUESTION, "n\n")]);
    assert!(seen.contains("it would do: GIT_SSH_COMMAND=./evil sh <<< 'touch hit'"), "{seen}");
}

#[test]
fn a_long_act_keeps_begin_and_end_and_can_be_seen_whole() {
    let sandbox = sandbox_with_odd();
    let command = format!("echo {}; touch hit; echo {}", "a".repeat(3000), "b".repeat(3000));
    let call = json!({ "method": "tool", "params": { "name": "bash", "input": { "command": command } } }).to_string();
    let steps = [(QUESTION, "s\n"), ("touch hit", ""), (QUESTION, "n\n")];
    let (seen, _) = at_terminal(&sandbox, &["call", "host_call", "--args", &call], &steps);
    let first = &seen[..seen.find(QUESTION).expect("the question")];
    assert!(first.contains("it would do: echo aaa") && first.contains("bbb\n"), "{first}");
    assert!(first.contains("type s to see all") && first.lines().count() < 9, "{first}");
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let sandbox = sandbox_with_odd();
    // The extension takes its time, and the person types before anything is asked.
    let call = json!({ "method": "exec", "params": { "command": "true" } }).to_string();
    let args = ["--verbose", "call", "host_call", "--args", &call];
    let (seen, _) = at_terminal(&sandbox, &args, &[("", "y\n"), (QUESTION, "n\n")]);
    assert!(seen.contains("no person said yes"), "{seen}");
}

#[test]
fn a_host_is_no_pattern() {
    let sandbox = sandbox_with_odd();
    for flags in [&["--policy", "strict"][..], &["--yes"], &["--policy", "permissive"]] {
        for (method, params) in [
            ("net", json!({ "op": "lookup", "host": "*" })),
            ("net", json!({ "op": "connect", "host": "*.com", "port": 443 })),
            ("http", json!({ "url": "http://*.example.com/" })),
        ] {
            let (code, message) = host_call(&sandbox, flags, method, params).expect_err("refused");
            assert_eq!(code, "invalid_request", "{flags:?}: {message}");
        }
    }
    assert_eq!(sandbox.json(&["grants"]).1["grants"], json!([]));
}

#[test]
fn a_folder_called_like_the_persons_own_is_not_it() {
    let sandbox = sandbox_with_odd();
    sandbox.write(&sandbox.project().join("~/x"), "bait");
    sandbox.write(&sandbox.user().join("x"), "the person's");
    let read = |path: &str| json!({ "method": "fs", "params": { "op": "read", "path": path } }).to_string();
    let (seen, _) = at_terminal(&sandbox, &["call", "host_call", "--args", &read("~/x")], &[(QUESTION, "a\n")]);
    assert!(seen.contains("wants: read ./~/x") && seen.contains("bait"), "{seen}");
    let home = sandbox.user().join("x").display().to_string();
    is_denied(host_call(&sandbox, &[], "fs", json!({ "op": "read", "path": home })));
}
