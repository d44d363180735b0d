//! Extensions that are dead or quarantined fail calls at once and say why; extensions whose files vanish are told apart
//! from those that still run.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use jackfield_test_support::{Sandbox, at_once, eventually, misbehaving};
use serde_json::json;

use super::support::{FRAMES, JSON_RPC, manifest, native, processes, row, sandbox, within};

/// Installs one that starts or not as a file outside of it says, so that its own files never change.
fn moody(sandbox: &Sandbox, dialect: &str) -> PathBuf {
    let (program, broken) = (sandbox.path("moody.py"), sandbox.path("broken"));
    let script = misbehaving(if dialect == FRAMES { "misbehave.py" } else { "misbehave_rpc.py" });
    let source = format!(
        "import os, runpy, sys\nif os.path.exists({broken:?}):\n    print('the reason why', file=sys.stderr)\n    sys.exit(3)\n\
         sys.argv = [{script:?}, 'ok']\nrunpy.run_path({script:?}, run_name='__main__')\n"
    );
    sandbox.write(&program, &source);
    let dir = sandbox.home().join("extensions/moody");
    manifest(sandbox, &dir, "moody", dialect, &[&program.to_string_lossy()], "");
    broken
}

#[track_caller]
fn check_quarantine(dialect: &str) {
    let sandbox = sandbox();
    let broken = moody(&sandbox, dialect);
    native(&sandbox, "other", dialect, "ok", "");
    assert_eq!(sandbox.json(&["call", "ext_moody_echo", "text=hi"]).0, 0, "it works and is remembered");
    sandbox.write(&broken, "");

    let mut rpc = sandbox.rpc(&[]);
    let words = ["moody", "exit status 3", "the reason why"];
    let mut fail = || {
        let answer = rpc.call("ext_moody_echo", json!({ "text": "hi" }));
        assert_eq!(answer["error"]["code"], "unavailable", "{answer:#}");
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    };
    // The first one waits for Python to start.
    within(Duration::from_secs(20), &mut fail);
    at_once(|_| fail());
    at_once(|_| fail());
    let listed = row(&rpc.ask(json!({ "type": "list" }))["data"], "moody");
    assert_eq!(listed["state"], "failed", "{listed:#}");
    assert!(listed["error"].as_str().is_some_and(|error| error.contains("the reason why")), "{listed:#}");
    assert_eq!(rpc.text("ext_other_echo", json!({ "text": "fine" })), "fine");

    // The next host knows, too, and says so without another try.
    at_once(|_| {
        let (code, answer) = sandbox.json(&["call", "ext_moody_echo"]);
        assert_eq!((code, &answer["error"]["code"]), (6, &json!("unavailable")), "{answer:#}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("the reason why")), "{answer:#}");
    });

    fs::remove_file(broken).expect("repaired");
    let reloaded = rpc.ask(json!({ "type": "reload", "extension": "moody" }));
    assert_eq!(reloaded["data"]["reloaded"][0]["error"], json!(null), "{reloaded:#}");
    assert_eq!(rpc.text("ext_moody_echo", json!({ "text": "back" })), "back");
}

#[test]
fn quarantined() {
    check_quarantine(FRAMES);
}

#[test]
fn quarantined_in_json_rpc() {
    check_quarantine(JSON_RPC);
}

/// The call that finds out is as quick as the extension is with dying.
#[test]
fn one_that_has_just_become_unable_to_start() {
    let sandbox = sandbox();
    let broken = sandbox.path("broken");
    let names: Vec<String> = (0..5).map(|number| format!("brittle{number}")).collect();
    for name in &names {
        let script = sandbox.plain(name, &["work"], &[]).join("run.sh");
        let source = fs::read_to_string(&script).expect("read");
        let check = format!("#!/bin/sh\n[ -e {broken:?} ] && echo the reason why >&2 && exit 3\n");
        fs::write(&script, source.replacen("#!/bin/sh\n", &check, 1)).expect("written");
    }
    sandbox.run(&["tools"]).exits(0);
    sandbox.write(&broken, "");
    let mut rpc = sandbox.rpc(&[]);
    at_once(|number| {
        let answer = rpc.call(&format!("ext_{}_work", names[number]), json!({}));
        assert_eq!(answer["error"]["code"], "unavailable", "{answer:#}");
        let message = answer["error"]["message"].as_str().expect("a message");
        let words = [names[number].as_str(), "exit status 3", "the reason why"];
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    });
    assert_eq!(rpc.close(), 0);
}

/// One that does not answer is cut off by the breaker, which fails calls at once.
#[test]
fn one_that_keeps_hanging_is_cut_off() {
    let sandbox = sandbox();
    sandbox.misbehave("dull", "ok");
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("echo", json!({ "text": "hi" })), "hi");
    for _ in 0..5 {
        let answer = rpc.ask(json!({ "type": "call_tool", "tool": "hang", "timeout_ms": 100 }));
        assert_eq!(answer["error"]["code"], "timeout", "{answer:#}");
    }
    at_once(|_| {
        let answer = rpc.call("hang", json!({}));
        assert_eq!(answer["error"]["code"], "unavailable", "{answer:#}");
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(message.contains("dull") && message.contains("reload"), "{message}");
    });
}

#[test]
fn files_that_vanish() {
    for dialect in [FRAMES, JSON_RPC] {
        let sandbox = sandbox();
        let dir = native(&sandbox, "brief", dialect, "ok", "");
        native(&sandbox, "other", dialect, "ok", "");
        let mut rpc = sandbox.rpc(&[]);
        assert_eq!(rpc.text("ext_brief_echo", json!({ "text": "hi" })), "hi");
        fs::remove_dir_all(dir).expect("removed");
        assert_eq!(rpc.text("ext_brief_echo", json!({ "text": "still here" })), "still here");

        let reloaded = rpc.ask(json!({ "type": "reload" }));
        let outcome = &reloaded["data"]["reloaded"][0];
        assert_eq!(
            (&outcome["extension"], &outcome["changes"]),
            (&json!("brief"), &json!(["removed"])),
            "{reloaded:#}"
        );
        at_once(|_| {
            let answer = rpc.call("ext_brief_echo", json!({}));
            assert_eq!(answer["error"]["code"], "not_found", "{answer:#}");
        });
        assert_eq!(rpc.text("ext_other_echo", json!({ "text": "fine" })), "fine");
        eventually("only the other runs", || processes(&sandbox).len() <= 2);
    }
}

/// It dies when its directory has gone: it cannot come back, and the error says whose fault that is.
#[test]
fn files_that_vanish_before_a_crash() {
    let sandbox = sandbox();
    let dir = sandbox.misbehave("brief", "ok");
    sandbox.misbehave("other", "ok");
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("ext_brief_echo", json!({ "text": "hi" })), "hi");
    fs::remove_dir_all(dir).expect("removed");
    assert_eq!(rpc.call("ext_brief_crash", json!({}))["error"]["code"], "unavailable");
    let call = json!({ "type": "call_tool", "tool": "ext_brief_echo", "timeout_ms": 3000 });
    let answer = within(Duration::from_secs(15), || rpc.ask(call));
    assert_eq!((&answer["success"], &answer["error"]["extension"]), (&json!(false), &json!("brief")), "{answer:#}");
    assert_eq!(rpc.text("ext_other_echo", json!({ "text": "fine" })), "fine");
}
