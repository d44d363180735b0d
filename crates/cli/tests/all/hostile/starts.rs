//! Handshakes that fail: silent, bad hello, wrong first frame, exit before hello, noise. The others work, the error names
//! the culprit and its last words, and no process stays.

use std::time::Duration;

use jackfield_test_support::eventually;
use serde_json::json;

use super::support::{FRAMES, JSON_RPC, messages, native, processes, row, sandbox, tools_of, within};

const SHORT: &str = "[limits]\nstart_timeout_ms = 1500";

/// `bad` does not start and its error says `why`; `good` works as if it were alone.
#[track_caller]
fn check(dialect: &str, modes: &str, why: &[&str]) {
    let sandbox = sandbox();
    sandbox.misbehave("good", "ok");
    native(&sandbox, "bad", dialect, modes, SHORT);
    let (code, listing) = within(Duration::from_secs(20), || sandbox.json(&["tools"]));
    assert_eq!(code, 0);
    assert!(tools_of(&listing, "good").contains(&"echo".to_owned()), "{listing:#}");
    assert_eq!(tools_of(&listing, "bad"), [""; 0]);
    let said = messages(&listing);
    assert!(said.contains("extension bad"), "{said}");
    let error = row(&sandbox.json(&["list"]).1, "bad")["error"].as_str().expect("an error").to_owned();
    for why in why {
        assert!(said.contains(why), "{why:?} in {said}");
        assert!(error.contains(why), "{why:?} in {error}");
    }

    let (code, answer) = sandbox.json(&["call", "echo", "text=hi"]);
    assert_eq!((code, &answer["content"][0]["text"]), (0, &json!("hi")), "{answer:#}");
    // A start that failed a moment ago is not tried again, so the answer comes at once.
    let (code, answer) = within(Duration::from_secs(5), || sandbox.json(&["call", "ext_bad_echo"]));
    assert_eq!((code, &answer["error"]["code"]), (6, &json!("unavailable")), "{answer:#}");
    assert_eq!(answer["error"]["extension"], "bad");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(why.iter().all(|why| message.contains(why)), "{message}");
    eventually("no process stays", || processes(&sandbox).is_empty());
}

#[test]
fn silent() {
    check(FRAMES, "silent", &["hello", "1500 ms"]);
}

#[test]
fn silent_in_json_rpc() {
    check(JSON_RPC, "silent", &["initialize", "1500 ms"]);
}

#[test]
fn bad_hello() {
    check(FRAMES, "bad_hello", &["hello"]);
}

#[test]
fn wrong_first_frame() {
    check(FRAMES, "wrong_first", &["first frame must be hello", "ready"]);
}

#[test]
fn exit_before_hello() {
    check(FRAMES, "exit_before_hello", &["exit status 3", "leaving before hello"]);
}

#[test]
fn exit_before_the_answer_to_initialize() {
    check(JSON_RPC, "exit_early", &["exit status 3", "leaving after initialize"]);
}

/// An exit is noticed when it happens and not when the time for the handshake is over.
#[test]
fn an_early_exit_is_not_waited_for() {
    for (dialect, modes) in [(FRAMES, "exit_before_hello"), (JSON_RPC, "exit_early")] {
        let sandbox = sandbox();
        native(&sandbox, "bad", dialect, modes, "[limits]\nstart_timeout_ms = 60000");
        let (code, _) = within(Duration::from_secs(20), || sandbox.json(&["tools"]));
        assert_eq!(code, 0, "{dialect}");
    }
}

#[test]
fn a_program_that_is_not_there() {
    let sandbox = sandbox();
    sandbox.misbehave("good", "ok");
    let dir = sandbox.home().join("extensions/bad");
    sandbox.write(&dir.join("extension.json"), r#"{"name":"bad","exec":"./no-such-program"}"#);
    let (code, listing) = sandbox.json(&["tools"]);
    assert_eq!(code, 0);
    assert!(tools_of(&listing, "good").contains(&"echo".to_owned()));
    assert!(messages(&listing).contains("no-such-program"), "{listing:#}");
}

#[test]
fn noise_before_the_handshake_is_passed_over() {
    for (dialect, modes) in [(FRAMES, "noise_before_hello"), (JSON_RPC, "noise_before")] {
        let sandbox = sandbox();
        native(&sandbox, "noisy", dialect, modes, "");
        let (code, answer) = sandbox.json(&["call", "ext_noisy_echo", "text=hi"]);
        assert_eq!((code, &answer["content"][0]["text"]), (0, &json!("hi")), "{dialect}: {answer:#}");
        let logs = sandbox.run(&["ext", "logs", "noisy"]).exits(0);
        assert!(logs.stdout.contains("Starting up…"), "{dialect}: the noise is kept for its author: {logs:#?}");
    }
}

/// One that never says ready, or talks instead, starts with what it has registered.
#[test]
fn one_that_never_says_ready_starts_all_the_same() {
    for modes in ["no_ready", "chatty_no_ready"] {
        let sandbox = sandbox();
        sandbox.misbehave("slow", modes);
        let (code, answer) = within(Duration::from_secs(20), || sandbox.json(&["call", "echo", "text=hi"]));
        assert_eq!((code, &answer["content"][0]["text"]), (0, &json!("hi")), "{modes}: {answer:#}");
    }
}
