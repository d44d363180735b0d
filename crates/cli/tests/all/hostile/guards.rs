//! Guards that hang, die, block, rewrite or talk nonsense: what happens is decided by their rule and never by chance.
//! Silence allows and is reported, as the contracts of unmodified guards say; `on_timeout: deny` and strict mode deny.

use std::time::Duration;

use jackfield_test_support::Sandbox;
use serde_json::{Value, json};

use super::support::{FRAMES, JSON_RPC, native, sandbox, script, within};

/// What is to come of a call with the text `hi`.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    /// It runs and answers this.
    Answer(&'static str),
    /// It runs as it was asked for, and a person is told that the guard failed.
    Reported,
    /// The guard denies it, and this is in its reason.
    Denied(&'static str),
}

use Wanted::{Answer, Denied, Reported};

/// Installs the tool that is guarded.
fn prey() -> Sandbox {
    let sandbox = sandbox();
    sandbox.misbehave("prey", "ok");
    sandbox
}

#[track_caller]
fn check_call(sandbox: &Sandbox, policy: &[&str], wanted: Wanted) {
    let args = [&["--json"], policy, &["call", "ext_prey_echo", "text=hi"]].concat();
    let output = within(Duration::from_secs(25), || sandbox.run(&args));
    let answer = output.json();
    let is_reported = output.stderr.contains("hook before_tool_call of guard failed");
    match wanted {
        Answer(text) => {
            assert_eq!((output.code, &answer["content"][0]["text"]), (0, &json!(text)), "{output:#?}");
            assert!(!is_reported, "{output:#?}");
        }
        Reported => {
            assert_eq!((output.code, &answer["content"][0]["text"]), (0, &json!("hi")), "{output:#?}");
            assert!(is_reported, "{output:#?}");
        }
        Denied(reason) => {
            assert_eq!((output.code, &answer["error"]["code"]), (4, &json!("denied")), "{output:#?}");
            let message = answer["error"]["message"].as_str().expect("a message");
            assert!(message.contains("guard") && message.contains(reason), "{output:#?}");
        }
    }
}

/// A guard in frames under its own manifest: by default, when it is to deny, and in strict mode.
#[track_caller]
fn check(mode: &str, by_default: Wanted, on_deny: Wanted, in_strict_mode: Wanted) {
    let limits = if mode == "guard_hang" { json!({ "hook_timeout_ms": 1000 }) } else { json!({}) };
    for (extra, policy, wanted) in [
        (json!({ "limits": limits }), &[][..], by_default),
        (json!({ "limits": limits, "on_timeout": "allow" }), &[], by_default),
        (json!({ "limits": limits, "on_timeout": "deny" }), &[], on_deny),
        (json!({ "limits": limits }), &["--policy", "strict"], in_strict_mode),
        (json!({ "limits": limits, "on_timeout": "allow" }), &["--policy", "strict"], in_strict_mode),
    ] {
        let sandbox = prey();
        sandbox.misbehave_at(&sandbox.home().join("extensions/guard"), "guard", mode, extra);
        check_call(&sandbox, policy, wanted);
    }
}

#[test]
fn hangs() {
    check("guard_hang", Reported, Denied("did not answer"), Denied("did not answer"));
}

#[test]
fn dies() {
    check("guard_die", Reported, Denied("exit status 7"), Denied("exit status 7"));
}

#[test]
fn blocks() {
    let blocked = Denied("blocked by misbehave.py");
    check("guard_block", blocked, blocked, blocked);
}

#[test]
fn rewrites() {
    check("guard_rewrite:text=hello", Answer("hello"), Answer("hello"), Answer("hello"));
}

/// `null` stands for no rewrite and harms nothing.
#[test]
fn answers_null() {
    check("guard_null", Answer("hi"), Answer("hi"), Answer("hi"));
}

/// A rewrite that is none is a failure: the arguments stay whole or the call does not run.
#[test]
fn rewrites_to_what_is_no_object() {
    check("guard_nonobject", Reported, Denied("no object"), Denied("no object"));
}

#[test]
fn in_json_rpc() {
    let check = |mode: &str, hooks: &str, policy: &[&str], wanted: Wanted| {
        let sandbox = prey();
        let rest = format!("[limits]\nhook_timeout_ms = 1500\n{hooks}");
        native(&sandbox, "guard", JSON_RPC, mode, &rest);
        check_call(&sandbox, policy, wanted);
    };
    let deny = "[hooks]\non_failure = \"deny\"";
    check("hook_abort", "", &[], Denied("aborted by misbehave_rpc.py"));
    check("hook_override", "", &[], Answer("overridden"));
    check("hook_hang", "", &[], Reported);
    check("hook_hang", deny, &[], Denied("did not answer"));
    check("hook_hang", "", &["--policy", "strict"], Denied("did not answer"));
}

/// Whoever wants a failure to deny has a guard that must be there.
#[test]
fn a_guard_that_never_starts() {
    for (dialect, mode) in [(FRAMES, "silent"), (FRAMES, "exit_before_hello"), (JSON_RPC, "exit_early")] {
        let sandbox = prey();
        let rest = "[limits]\nstart_timeout_ms = 1000\n[hooks]\non_failure = \"deny\"";
        native(&sandbox, "guard", dialect, mode, rest);
        for _ in 0..2 {
            check_call(&sandbox, &[], Denied("guard"));
        }
    }
}

#[test]
fn a_guard_that_lacks_what_it_needs() {
    let sandbox = prey();
    let extra = json!({ "on_timeout": "deny", "requires": { "bins": ["no-such-program-anywhere"] } });
    let dir = sandbox.home().join("extensions/guard");
    sandbox.misbehave_at(&dir, "guard", "guard_null", extra);
    check_call(&sandbox, &[], Denied("no-such-program-anywhere"));
    let extra = json!({ "on_timeout": "deny", "enabled": false });
    sandbox.misbehave_at(&dir, "guard", "guard_block", extra);
    check_call(&sandbox, &[], Answer("hi"));
}

/// A guard that worked and does not start any more fails as the guard that it was.
#[test]
fn a_guard_that_breaks_later() {
    let sandbox = prey();
    let dir = sandbox.home().join("extensions/guard");
    sandbox.misbehave_at(&dir, "guard", "guard_block", json!({}));
    check_call(&sandbox, &[], Denied("blocked by misbehave.py"));
    sandbox.misbehave_at(&dir, "guard", "exit_before_hello", json!({}));
    check_call(&sandbox, &[], Reported);
    check_call(&sandbox, &["--policy", "strict"], Denied("leaving before hello"));
}

/// A host that stays reports failures as events, and a guard that is dead costs calls no time.
#[test]
fn failures_are_events() {
    for (mode, words) in
        [("guard_hang", "did not answer"), ("guard_die", "exit status 7"), ("guard_nonobject", "no object")]
    {
        let sandbox = prey();
        let extra = json!({ "limits": { "hook_timeout_ms": 1000 } });
        sandbox.misbehave_at(&sandbox.home().join("extensions/guard"), "guard", mode, extra);
        let mut rpc = sandbox.rpc(&[]);
        assert_eq!(rpc.text("ext_prey_echo", json!({ "text": "hi" })), "hi", "{mode}");
        let event = rpc.wait_for("a report", |line| line["type"] == "ext_hook_failed");
        assert_eq!((&event["extension"], &event["hook"]), (&json!("guard"), &json!("before_tool_call")), "{event:#}");
        assert!(event["reason"].as_str().is_some_and(|reason| reason.contains(words)), "{event:#}");
    }
}

/// Nobody has ever seen the guard, and the tool is known: the guard is met before the tool runs all the same.
#[test]
fn a_new_guard_is_asked_from_the_first_call_on() {
    let sandbox = prey();
    assert_eq!(sandbox.json(&["tools"]).0, 0);
    sandbox.misbehave("guard", "guard_block,late_hello:1");
    let mut rpc = sandbox.rpc(&[]);
    let answer = rpc.call("ext_prey_echo", json!({ "text": "hi" }));
    assert_eq!(answer["error"]["code"], "denied", "{answer:#}");
}

/// The guard's answer drowns in a line that is too long, which must not count as consent.
#[test]
fn a_guard_that_overflows() {
    let source = r#"
hello(intercept=["tool_call"])
for frame in hear():
    send("event_intercept_response", id=frame["id"], reason="a" * 5_000_000)
"#;
    for (rest, wanted) in [("", Reported), ("[hooks]\non_failure = \"deny\"", Denied("MiB"))] {
        let sandbox = prey();
        script(&sandbox, "guard", source, rest);
        check_call(&sandbox, &[], wanted);
    }
}

/// Priority first, then id; each sees what the one before it left.
#[test]
fn the_order_is_fixed_and_rewrites_chain() {
    let source = r#"
hello(intercept=["tool_call"])
for frame in hear():
    args = frame["tool_args"]
    args["text"] += "-" + os.environ["JACKFIELD_EXTENSION_ID"]
    send("event_intercept_response", id=frame["id"], modified_args=args)
"#;
    let sandbox = prey();
    for (id, priority) in [("a", 10), ("d", 0), ("b", -5), ("c", 0)] {
        script(&sandbox, id, source, &format!("[hooks]\npriority = {priority}"));
    }
    let mut rpc = sandbox.rpc(&[]);
    for _ in 0..5 {
        assert_eq!(rpc.text("ext_prey_echo", json!({ "text": "hi" })), "hi-b-c-d-a");
    }
    let (_, answer) = sandbox.json(&["call", "ext_prey_echo", "text=hi"]);
    assert_eq!(answer["content"][0]["text"], "hi-b-c-d-a");
}

/// What a guard rewrites is checked like any arguments.
#[test]
fn rewrites_are_held_to_the_schema() {
    let sandbox = prey();
    sandbox.misbehave("guard", "guard_rewrite:text=7");
    let (code, answer): (i32, Value) = sandbox.json(&["call", "ext_prey_echo", "text=hi"]);
    assert_eq!((code, &answer["error"]["code"]), (2, &json!("invalid_request")), "{answer:#}");
}
