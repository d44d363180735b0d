//! The host that stays: requests overlap and can be cancelled, nonsense is answered and survived, changes are taken up
//! while it runs, and when it goes nothing is left behind.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use jackfield_test_support::{PATIENCE, Rpc, Sandbox, eventually, is_alive, keys};
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

fn with_odd() -> Sandbox {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "cancellable");
    sandbox
}

/// The process of the extension `odd`.
#[track_caller]
fn pid_of_odd(host: &mut Rpc) -> u32 {
    host.text("pid", json!({})).parse().expect("a number")
}

#[test]
fn fifty_calls_overlap() {
    let sandbox = with_odd();
    let mut host = sandbox.rpc(&[]);
    host.text("echo", json!({ "text": "warm" }));
    let begun = Instant::now();
    let ids: Vec<String> =
        (0..50).map(|_| host.send(json!({ "type": "call_tool", "tool": "sleep", "args": { "ms": 1000 } }))).collect();
    // Nothing that is quick waits for what is slow.
    assert_eq!(host.ask(json!({ "type": "ping" }))["success"], true);
    assert_eq!(host.text("echo", json!({ "text": "meanwhile" })), "meanwhile");
    let answered = |line: &Value| line["type"] == "response" && line["data"]["tool"] == "sleep";
    assert!(ids.len() == 50, "all were sent");
    for id in ids {
        let response = host.response(&id);
        assert!(answered(&response) && response["data"]["content"][0]["text"] == "slept 1000 ms", "{response:#}");
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(25), "one after the other would take 50 s; this took {took:?}");
    assert_eq!(host.close(), 0);
}

#[test]
fn a_call_can_be_cancelled() {
    let sandbox = with_odd();
    let mut host = sandbox.rpc(&[]);
    host.text("echo", json!({ "text": "warm" }));
    let hanging = host.send(json!({ "type": "call_tool", "tool": "hang", "args": {} }));
    let other = host.send(json!({ "type": "call_tool", "tool": "sleep", "args": { "ms": 300 } }));
    assert_eq!(
        host.ask(json!({ "type": "cancel", "target": "no such request" }))["data"],
        json!({ "cancelled": false })
    );
    assert_eq!(host.ask(json!({ "type": "cancel", "target": hanging }))["data"], json!({ "cancelled": true }));
    let response = host.response(&hanging);
    assert_eq!(
        (&response["success"], &response["error"]["code"]),
        (&json!(false), &json!("cancelled")),
        "{response:#}"
    );
    // The others and the extension go on.
    assert_eq!(host.response(&other)["success"], true);
    assert_eq!(host.text("echo", json!({ "text": "alive" })), "alive");
    let timed = host.ask(json!({ "type": "call_tool", "tool": "hang", "args": {}, "timeout_ms": 200 }));
    assert_eq!(timed["error"]["code"], "timeout", "{timed:#}");
    assert_eq!(host.close(), 0);
}

#[test]
fn nonsense_is_answered_and_survived() {
    let sandbox = with_odd();
    let mut host = sandbox.rpc(&[]);
    for (line, part) in [
        (&b"not json\n"[..], "not JSON"),
        (b"\xff\xfe\x80\n", "not JSON"),
        (b"{\"type\":\"ping\"\n", "not JSON"),
        (b"7\n", "bad request"),
        (b"{}\n", "bad request"),
        (b"{\"type\":\"fly\"}\n", "unknown variant `fly`"),
        (b"{\"type\":\"call_tool\"}\n", "missing field `tool`"),
        (b"{\"type\":\"call_tool\",\"tool\":7}\n", "bad request"),
    ] {
        host.send_bytes(line);
        let answer = host.wait_for("an answer to nonsense", |line| line["type"] == "response");
        assert_eq!(keys(&answer), "command error id success type");
        assert_eq!((&answer["success"], &answer["error"]["code"]), (&json!(false), &json!("invalid_request")));
        assert!(
            answer["error"]["message"].as_str().is_some_and(|message| message.contains(part)),
            "{part}: {answer:#}"
        );
    }
    // Empty lines are no requests, and a bad one keeps its id.
    host.send_bytes(b"\n  \n{\"id\":\"mine\",\"type\":\"fly\"}\n");
    assert_eq!(host.response("mine")["success"], false);
    // A line that is far too long is told, not kept, and not the end.
    let hanging = host.send(json!({ "type": "call_tool", "tool": "sleep", "args": { "ms": 1000 } }));
    host.send_bytes(&vec![b'x'; 40 * 1024 * 1024]);
    host.send_bytes(b"\n");
    let answer = host.wait_for("word of the long line", |line| line["type"] == "response" && line["id"] == Value::Null);
    assert_eq!(answer["error"]["message"], "a line is longer than 16 MiB");
    assert_eq!(host.response(&hanging)["success"], true);
    assert_eq!(host.ask(json!({ "type": "ping" }))["success"], true);
    assert_eq!(host.call("nobody", json!({}))["error"]["code"], "not_found");
    assert_eq!(host.call("echo", json!({ "text": 1 }))["error"]["code"], "invalid_request");
    assert_eq!(host.close(), 0);
}

#[test]
fn answers_have_the_shapes_of_the_verbs() {
    let sandbox = with_odd();
    let mut host = sandbox.rpc(&[]);
    let pong = host.ask(json!({ "type": "ping" }));
    assert_eq!(keys(&pong), "command data id success type");
    assert_eq!(pong["data"]["pid"], host.pid());
    let tools = host.ask(json!({ "type": "tools" }))["data"].clone();
    assert_eq!(tools["tools"], sandbox.json(&["tools"]).1["tools"]);
    let called = host.call("echo", json!({ "text": "x" }));
    assert_eq!(keys(&called["data"]), "call_id content details duration_ms extension is_error ok tool");
    let ran = host.ask(json!({ "type": "run_command", "command": "/echo", "args": "a b" }));
    assert_eq!(keys(&ran["data"]), "action call_id command display extension notifications ok");
    assert_eq!(ran["data"]["display"], "a b");
    let state = host.wait_for("the state", |line| line["type"] == "ext_state" && line["state"] == "ready");
    assert_eq!(state["extension"], "odd");
    let listing = host.ask(json!({ "type": "list" }))["data"].clone();
    assert_eq!(keys(&listing), "diagnostics extensions");
    assert_eq!(listing["extensions"][0]["state"], "ready");
    assert_eq!(host.close(), 0);
}

#[test]
fn nothing_is_left_when_it_goes() {
    let sandbox = with_odd();
    let gone = |pid: u32| eventually("the end of the extension's process", || !is_alive(pid));
    // Its input ends.
    let mut host = sandbox.rpc(&[]);
    let pid = pid_of_odd(&mut host);
    assert!(is_alive(pid));
    assert_eq!(host.close(), 0);
    gone(pid);
    // Its input ends while a call hangs.
    let mut host = sandbox.rpc(&[]);
    let pid = pid_of_odd(&mut host);
    host.send(json!({ "type": "call_tool", "tool": "hang", "args": {} }));
    let begun = Instant::now();
    assert_eq!(host.close(), 0);
    assert!(begun.elapsed() < Duration::from_secs(30), "a call may take 60 s, but nobody waits for it any more");
    gone(pid);
    // And while a command hangs, which cannot be cancelled.
    let mut host = sandbox.rpc(&[]);
    let pid = pid_of_odd(&mut host);
    host.send(json!({ "type": "run_command", "command": "hangcmd" }));
    let begun = Instant::now();
    assert_eq!(host.close(), 0);
    assert!(begun.elapsed() < Duration::from_secs(20), "a command may take 30 s, but nobody waits for it any more");
    gone(pid);
    // It is asked to go.
    let mut host = sandbox.rpc(&[]);
    let pid = pid_of_odd(&mut host);
    assert_eq!(host.ask(json!({ "type": "shutdown" }))["success"], true);
    assert_eq!(host.gone(), 0);
    gone(pid);
    // It is told to go.
    let mut host = sandbox.rpc(&[]);
    let pid = pid_of_odd(&mut host);
    let told = Command::new("kill").args(["-TERM", &host.pid().to_string()]).status().expect("kill runs");
    assert!(told.success());
    assert_eq!(host.gone(), 0);
    gone(pid);
    let left: Vec<_> = fs::read_dir(sandbox.home().join("run")).expect("a folder").flatten().collect();
    assert!(left.iter().all(|entry| entry.path().extension().is_none_or(|end| end != "sock")), "{left:?}");
    sandbox.run(&["ledger", "verify"]).exits(0);
}

#[test]
fn reload_reaches_hosts_that_run() {
    let sandbox = sandbox();
    sandbox.plain("plain", &["who"], &[]);
    let mut host = sandbox.rpc(&[]);
    assert_eq!(host.text("who", json!({})), "plain");
    sandbox.plain("plain", &["who", "more"], &[]);
    // Without a watcher nothing happens by itself.
    assert_eq!(host.call("more", json!({}))["error"]["code"], "not_found");
    let (code, answer) = sandbox.json(&["reload"]);
    assert_eq!((code, &answer["hosts"]), (0, &json!(1)), "{answer:#}");
    let reloaded = &answer["reloaded"][0];
    assert_eq!(keys(reloaded), "changes extension host_pid new old");
    assert_eq!((&reloaded["host_pid"], &reloaded["changes"]), (&json!(host.pid()), &json!(["tool more added"])));
    let event = host.wait_for("the event", |line| line["type"] == "ext_reloaded");
    assert_eq!(event["reload"]["new"], reloaded["new"]);
    assert_eq!(host.text("more", json!({})), "plain");

    // A broken version is reported by exit code and the old one answers on.
    sandbox.write(&sandbox.home().join("extensions/plain/run.sh"), "echo 'not today' >&2\nexit 3\n");
    let (code, answer) = sandbox.json(&["reload", "plain"]);
    assert_eq!((code, &answer["ok"]), (6, &json!(false)), "{answer:#}");
    assert!(answer["reloaded"][0]["error"].as_str().is_some_and(|error| error.contains("not today")), "{answer:#}");
    assert_eq!(host.text("more", json!({})), "plain");
    assert_eq!(sandbox.json(&["reload", "nobody"]).0, 3);

    // The socket of a host that was killed is in nobody's way.
    host.kill();
    sandbox.plain("plain", &["who"], &[]);
    let (code, answer) = sandbox.json(&["reload"]);
    assert_eq!((code, &answer["hosts"]), (0, &json!(0)), "{answer:#}");
}

#[test]
fn calls_under_way_end_on_the_version_they_began_on() {
    let sandbox = with_odd();
    let mut host = sandbox.rpc(&[]);
    let before = pid_of_odd(&mut host);
    let slow = host.send(json!({ "type": "call_tool", "tool": "sleep", "args": { "ms": 1500 } }));
    // The new version is another one as soon as its manifest is.
    sandbox.misbehave_at(
        &sandbox.home().join("extensions/odd"),
        "odd",
        "cancellable",
        json!({ "description": "another" }),
    );
    let reload = host.ask(json!({ "type": "reload" }));
    assert_eq!(reload["data"]["reloaded"][0]["extension"], "odd", "{reload:#}");
    let after = pid_of_odd(&mut host);
    assert_ne!(before, after);
    assert_eq!(host.response(&slow)["data"]["content"][0]["text"], "slept 1500 ms");
    eventually("the old version goes when its last call has ended", || !is_alive(before));
    assert!(is_alive(after));
    assert_eq!(host.close(), 0);
}

#[test]
fn settings_can_switch_the_watcher_on() {
    let sandbox = sandbox();
    let yaml = "extensions:\n  watch:\n    enabled: true\n    debounce_ms: 50\n";
    sandbox.write(&sandbox.home().join("extensions.yaml"), yaml);
    // The directory's name is not the extension's, so a broken manifest hides even who it is.
    let dir = sandbox.home().join("extensions/folder");
    sandbox.plain_at(&dir, "plain", &["who"], &[]);
    let mut host = sandbox.rpc(&[]);
    assert_eq!(host.text("who", json!({})), "plain");
    sandbox.write(&dir.join("extension.json"), "{");
    let event = host.wait_for("word of the broken manifest", |line| {
        line["type"] == "ext_reloaded" && line["reload"]["error"].is_string()
    });
    assert_eq!(event["reload"]["extension"], "plain", "{event:#}");
    assert_eq!(host.text("who", json!({})), "plain");
    sandbox.plain_at(&dir, "plain", &["who", "more"], &[]);
    host.wait_for("the repaired one", |line| line["type"] == "ext_reloaded" && line["reload"]["error"].is_null());
    assert_eq!(host.text("more", json!({})), "plain");
    // What is new is taken up, what is gone goes.
    sandbox.plain("second", &["other"], &[]);
    eventually("the new one serves", || host.call("other", json!({}))["success"] == json!(true));
    fs::remove_dir_all(&dir).expect("removed");
    eventually("the old one is gone", || host.call("who", json!({}))["error"]["code"] == json!("not_found"));
    assert_eq!(host.close(), 0);
}

#[test]
fn the_watcher_changes_nothing_about_trust() {
    let sandbox = sandbox();
    let dir = sandbox.project().join(".zot/extensions/local");
    sandbox.plain_at(&dir, "local", &["who"], &[]);
    sandbox.run(&["trust"]).exits(0);
    let mut host = sandbox.rpc(&["--watch"]);
    assert_eq!(host.text("who", json!({})), "local");
    sandbox.plain_at(&dir, "local", &["who", "more"], &[]);
    // What was changed was not vouched for: it does not run, neither old nor new.
    let event = host.wait_for("word of it", |line| line["type"] == "ext_reloaded");
    assert!(event["reload"]["changes"].to_string().contains("trust"), "{event:#}");
    assert_eq!(host.call("more", json!({}))["success"], false);
    assert_eq!(host.close(), 0);
}

#[test]
fn the_watcher_reloads_what_is_another_and_not_what_was_only_written() {
    let sandbox = sandbox();
    sandbox.plain("plain", &["who"], &[]);
    sandbox.plain("other", &["what"], &[]);
    let mut host = sandbox.rpc(&["--watch"]);
    assert_eq!(host.text("who", json!({})), "plain");
    assert_eq!(host.text("what", json!({})), "other");
    // As editors do: the whole script appears at once.
    let save = |name: &str, tools: &[&str]| {
        let draft = sandbox.plain_at(&sandbox.path("drafts").join(name), name, tools, &[]).join("run.sh");
        fs::rename(draft, sandbox.home().join("extensions").join(name).join("run.sh")).expect("renamed");
    };
    save("plain", &["who"]);
    // When the watcher has seen what was written later, it has seen this one too.
    save("other", &["what", "further"]);
    let mut reloads = Vec::new();
    let mut until = |host: &mut Rpc, extension: &str| {
        let deadline = Instant::now() + PATIENCE;
        while reloads.last().is_none_or(|reload: &Value| reload["extension"] != extension) {
            let line = host.next_line(deadline.saturating_duration_since(Instant::now())).expect("a reload in time");
            if line["type"] == "ext_reloaded" {
                reloads.push(line["reload"].clone());
            }
        }
    };
    until(&mut host, "other");
    save("plain", &["who", "more"]);
    until(&mut host, "plain");
    let changes: Vec<&Value> = reloads.iter().map(|reload| &reload["changes"]).collect();
    assert_eq!(changes, [&json!(["tool further added"]), &json!(["tool more added"])], "{reloads:#?}");
    assert_eq!(host.text("more", json!({})), "plain");
    assert_eq!(host.close(), 0);
}
