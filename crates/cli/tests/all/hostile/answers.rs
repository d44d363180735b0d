//! Answers that are none: bytes that are no text, duplicate and unknown ids, requests that look like replies, both a result
//! and an error. The right answer reaches the right call.

use serde_json::{Value, json};

use super::support::{FRAMES, JSON_RPC, native, sandbox, script};

/// Several calls at once each get their own answer.
#[track_caller]
fn check(dialect: &str, modes: &str) {
    let sandbox = sandbox();
    native(&sandbox, "odd", dialect, modes, "");
    let mut rpc = sandbox.rpc(&[]);
    let texts: Vec<String> = (0..20).map(|number| format!("{modes} {number}")).collect();
    let ids: Vec<String> = texts
        .iter()
        .map(|text| rpc.send(json!({ "type": "call_tool", "tool": "ext_odd_echo", "args": { "text": text } })))
        .collect();
    for (id, text) in ids.iter().zip(&texts) {
        let answer = rpc.response(id);
        assert_eq!(answer["data"]["content"], json!([{ "type": "text", "text": text }]), "{answer:#}");
    }
    let listing = rpc.ask(json!({ "type": "list" }));
    assert_eq!(listing["data"]["extensions"][0]["state"], "ready");
}

#[test]
fn bytes_that_are_no_text() {
    check(FRAMES, "non_utf8");
    check(JSON_RPC, "non_utf8");
}

#[test]
fn ids_that_come_twice() {
    check(FRAMES, "dup_ids");
}

#[test]
fn ids_that_nobody_knows() {
    check(FRAMES, "unknown_ids");
}

#[test]
fn all_at_once() {
    check(FRAMES, "dup_ids,unknown_ids,non_utf8,noise_before_hello");
}

#[test]
fn a_request_whose_id_is_that_of_a_call() {
    check(JSON_RPC, "numeric_request");
}

#[test]
fn older_methods_work_too() {
    check(JSON_RPC, "method_fallback");
}

/// A call is answered with an error of the protocol, and a good call after it is not harmed.
#[test]
fn answers_that_make_no_sense() {
    let sandbox = sandbox();
    let source = r#"
hello("odd")
for frame in hear():
    answer = frame["args"].get("answer")
    if answer is None:
        text(frame, "fine")
    else:
        send(**{"kind": "tool_result", "id": frame["id"], **answer})
"#;
    script(&sandbox, "odd", source, "");
    let mut rpc = sandbox.rpc(&[]);
    let check = |rpc: &mut jackfield_test_support::Rpc, answer: Value| {
        let response = rpc.ask(json!({
            "type": "call_tool", "tool": "odd", "args": { "answer": answer }, "timeout_ms": 20_000,
        }));
        // A result of the wrong shape may be read leniently or refused, but never waited for.
        assert_ne!(response["error"]["code"], "timeout", "{response:#}");
        assert_eq!(rpc.text("odd", json!({})), "fine", "after {answer}");
    };
    check(&mut rpc, json!({ "content": "a text and not a list" }));
    check(&mut rpc, json!({ "content": [7, null, { "type": "levitation" }] }));
    check(&mut rpc, json!({ "content": null, "is_error": "yes" }));
    check(&mut rpc, json!({ "content": [{ "type": "image", "data": 7 }] }));
    check(&mut rpc, json!({}));
}

#[test]
fn a_result_and_an_error_at_once_is_read_as_its_own_host_does() {
    let sandbox = sandbox();
    sandbox.misbehave_rpc("both", "both_result_error");
    let (code, answer) = sandbox.json(&["call", "ext_both_echo", "text=hi"]);
    assert_eq!((code, &answer["content"][0]["text"]), (0, &json!("hi")), "{answer:#}");
}

/// Errors that a tool answers are answers: however many, the extension stays in service.
#[test]
fn errors_of_tools_do_not_open_the_breaker() {
    let sandbox = sandbox();
    sandbox.misbehave("a", "ok");
    sandbox.misbehave_rpc("b", "app_errors");
    let mut rpc = sandbox.rpc(&[]);
    for _ in 0..8 {
        for tool in ["ext_a_fail", "ext_b_echo"] {
            let answer = rpc.call(tool, json!({}));
            assert_eq!((&answer["success"], &answer["data"]["is_error"]), (&json!(true), &json!(true)), "{answer:#}");
        }
    }
}
