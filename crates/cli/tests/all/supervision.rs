//! How extensions are watched over: deaths, restarts and quarantine, the breaker, lazy starts from the catalogue, and
//! reloads under load.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jackfield_test_support::{Rpc, Sandbox, at_once, eventually, is_alive};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

/// Restarts come so quickly that a test can see all of them.
fn hurry(sandbox: &Sandbox) {
    let config = "[supervisor]\nmax_restarts = 5\nbackoff_ms = 20\nbackoff_cap_ms = 100\n";
    sandbox.write(&sandbox.home().join("config.toml"), config);
}

#[track_caller]
fn pid_of(host: &mut Rpc, extension: &str) -> u32 {
    host.text(&format!("ext_{extension}_pid"), json!({})).parse().expect("a pid")
}

/// Kills a process and waits until it is dead, whoever has noticed.
#[track_caller]
fn kill(pid: u32) {
    kill_process(Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid"), Signal::KILL).expect("killed");
    eventually("a killed process is dead", || !is_alive(pid));
}

fn is_state(line: &Value, extension: &str, state: &str) -> bool {
    line["type"] == "ext_state" && line["extension"] == extension && line["state"] == state
}

#[track_caller]
fn reason(line: &Value) -> &str {
    line["reason"].as_str().unwrap_or_else(|| panic!("no reason: {line:#}"))
}

#[track_caller]
fn failure(response: &Value) -> (&str, &str) {
    assert_eq!(response["success"], json!(false), "{response:#}");
    let text = |key: &str| response["error"][key].as_str().unwrap_or_else(|| panic!("no {key}: {response:#}"));
    (text("code"), text("message"))
}

#[test]
fn a_killed_extension_fails_its_calls_at_once_and_serves_the_next() {
    let sandbox = sandbox();
    sandbox.misbehave_native("prey", "ok", 500);
    let mut host = sandbox.rpc(&[]);
    let pid = pid_of(&mut host, "prey");
    // More than would open the breaker.
    let pending: Vec<String> =
        (0..8).map(|_| host.send(json!({ "type": "call_tool", "tool": "ext_prey_hang" }))).collect();
    host.text("ext_prey_stderr", json!({ "text": "last words" }));
    let begun = Instant::now();
    kill(pid);
    for id in pending {
        let response = host.response(&id);
        let (code, message) = failure(&response);
        assert_eq!(code, "unavailable");
        assert!(message.contains("prey is gone (signal 9 (SIGKILL)); stderr ends: last words"), "{message}");
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "calls take 60 s otherwise: {:?}", begun.elapsed());
    // The next call waits for the restart, with the usual pause of one second.
    assert_ne!(pid_of(&mut host, "prey"), pid);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let told = host.wait_for("it is being restarted", |line| is_state(line, "prey", "restarting"));
    assert_eq!(told["attempt"], json!(1));
    assert_eq!(reason(&told), "signal 9 (SIGKILL); stderr ends: last words");
    host.wait_for("it is ready again", |line| is_state(line, "prey", "ready"));
    assert_eq!(host.close(), 0);
}

#[test]
fn whoever_calls_before_the_host_has_seen_the_death_is_served_too() {
    let sandbox = sandbox();
    hurry(&sandbox);
    for (name, tool) in [("frames", "ext_frames_echo"), ("rpc", "ext_rpc_echo")] {
        match name {
            "frames" => sandbox.misbehave_native(name, "ok", 500),
            _ => sandbox.misbehave_rpc(name, "ok"),
        };
        let mut host = sandbox.rpc(&[]);
        for _ in 0..4 {
            let answer = host.call(&format!("ext_{name}_pid"), json!({}));
            let content = &answer["data"]["content"][0]["text"];
            let text = content.as_str().unwrap_or_else(|| panic!("{answer:#}"));
            let pid: Value = serde_json::from_str(text).expect("a pid");
            kill(u32::try_from(pid.as_u64().or(pid["pid"].as_u64()).expect("a pid")).expect("a pid"));
            assert_eq!(host.text(tool, json!({ "text": "again" })), "again");
        }
        assert_eq!(host.close(), 0);
    }
}

/// Keeps a core busy until it is dropped, so that what the others do is drawn out.
struct Burner {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Burner {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !asked.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it only spins");
        }
    }
}

/// Kills the extension and calls at once, whatever the system has made of the kill by then: the call may find it in the middle
/// of its last read, dying, dead, or reaped.
#[track_caller]
fn check_kills(name: &str, pid_of: fn(&mut Rpc, &str) -> u32, install: impl FnOnce(&Sandbox)) {
    let sandbox = sandbox();
    let config = "[supervisor]\nmax_restarts = 100\nbackoff_ms = 20\nbackoff_cap_ms = 20\n";
    sandbox.write(&sandbox.home().join("config.toml"), config);
    install(&sandbox);
    let mut host = sandbox.rpc(&[]);
    let _burner = Burner::start();
    for round in 0..40 {
        let pid = i32::try_from(pid_of(&mut host, name)).expect("a pid");
        kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("killed");
        let response = host.call(&format!("ext_{name}_echo"), json!({ "text": "again" }));
        assert_eq!(response["success"], json!(true), "round {round}: {response:#}");
        assert_eq!(response["data"]["content"][0]["text"], "again", "round {round}: {response:#}");
    }
    assert_eq!(host.close(), 0);
}

#[test]
fn whoever_calls_while_it_is_dying_is_served() {
    check_kills("prey", pid_of, |sandbox| {
        sandbox.misbehave_native("prey", "ok", 500);
    });
}

#[test]
fn whoever_calls_while_it_is_dying_is_served_in_json_rpc() {
    let pid_of = |host: &mut Rpc, name: &str| {
        let said: Value = serde_json::from_str(&host.text(&format!("ext_{name}_pid"), json!({}))).expect("JSON");
        u32::try_from(said["pid"].as_u64().expect("a pid")).expect("a pid")
    };
    check_kills("prey", pid_of, |sandbox| {
        sandbox.misbehave_rpc("prey", "ok");
    });
}

#[test]
fn one_that_dies_again_and_again_is_quarantined_until_it_is_reloaded() {
    let sandbox = sandbox();
    hurry(&sandbox);
    sandbox.misbehave_native("doomed", "ok", 500);
    sandbox.misbehave_native("healthy", "ok", 500);
    let mut host = sandbox.rpc(&[]);
    for death in 1..=6 {
        let pid = pid_of(&mut host, "doomed");
        host.text("ext_doomed_stderr", json!({ "text": format!("death {death}") }));
        kill(pid);
        let expected = if death <= 5 { "restarting" } else { "failed" };
        let told = host.wait_for(expected, |line| is_state(line, "doomed", expected));
        assert!(reason(&told).ends_with(&format!("signal 9 (SIGKILL); stderr ends: death {death}")), "{told:#}");
    }
    // Neither does the reason give way to another one, however often it is asked for.
    for _ in 0..10 {
        at_once(|_| {
            let response = host.call("ext_doomed_echo", json!({}));
            let (code, message) = failure(&response);
            assert_eq!(code, "unavailable");
            assert_eq!(
                message,
                "extension doomed is not available: started again 5 times and died again; the last time: \
                 signal 9 (SIGKILL); stderr ends: death 6"
            );
        });
    }
    let listing = host.ask(json!({ "type": "list" }));
    let states: Vec<(&Value, &Value)> = listing["data"]["extensions"]
        .as_array()
        .expect("extensions")
        .iter()
        .map(|extension| (&extension["id"], &extension["state"]))
        .collect();
    assert!(states.contains(&(&json!("doomed"), &json!("failed"))), "{states:?}");
    assert_eq!(host.text("ext_healthy_echo", json!({ "text": "fine" })), "fine");
    // A process of its own is told why, too.
    at_once(|_| {
        let (code, answer) = sandbox.json(&["call", "ext_doomed_echo"]);
        assert_eq!((code, &answer["error"]["code"]), (6, &json!("unavailable")), "{answer:#}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("death 6")), "{answer:#}");
    });

    let (code, reloaded) = sandbox.json(&["reload", "doomed"]);
    assert_eq!((code, &reloaded["ok"], &reloaded["hosts"]), (0, &json!(true), &json!(1)), "{reloaded:#}");
    assert_eq!(host.text("ext_doomed_echo", json!({ "text": "alive" })), "alive");
    // With a new count.
    kill(pid_of(&mut host, "doomed"));
    assert_eq!(host.text("ext_doomed_echo", json!({ "text": "alive" })), "alive");
    assert_eq!(host.close(), 0);
}

#[test]
fn a_tool_of_one_that_never_started_fails_with_the_reason() {
    let sandbox = sandbox();
    sandbox.misbehave_native("stillborn", "exit_before_hello", 500);
    // Once when it is tried, once when it is remembered.
    for _ in 0..2 {
        let (code, answer) = sandbox.json(&["call", "ext_stillborn_echo"]);
        let error = &answer["error"];
        assert_eq!((code, &error["code"], &error["extension"]), (6, &json!("unavailable"), &json!("stillborn")));
        let message = error["message"].as_str().expect("a message");
        assert!(
            message.contains("leaving before hello") && message.contains("jackfield reload stillborn"),
            "{message}"
        );
    }
    assert_eq!(starts(&sandbox, "stillborn"), 1);
    sandbox.run(&["run", "/stillborn:echo"]).exits(6);
    sandbox.run(&["call", "ext_other_echo"]).exits(3);
    sandbox.run(&["run", "/echo"]).exits(3);
}

#[test]
fn a_wrong_restart_rule_is_an_error_and_an_unknown_key_a_warning() {
    let sandbox = sandbox();
    let config = sandbox.home().join("config.toml");
    sandbox.write(&config, "[supervisor]\nmax_restarts = \"many\"\n");
    let output = sandbox.run(&["list"]).exits(7);
    assert!(output.stderr.contains("config.toml: supervisor.max_restarts: expected a number"), "{output:#?}");
    sandbox.write(&config, "[supervisor]\nrestarts = 3\n[policy]\nmodus = \"strict\"\n");
    let (code, listing) = sandbox.json(&["list"]);
    assert_eq!(code, 0, "{listing:#}");
    for key in ["supervisor.restarts is unknown", "policy.modus is unknown"] {
        let diagnostics = listing["diagnostics"].to_string();
        assert!(diagnostics.contains(key), "{diagnostics}");
    }
}

#[test]
fn the_breaker_opens_on_transport_failures_only() {
    let sandbox = sandbox();
    sandbox.misbehave_native("moody", "ok", 500);
    let mut host = sandbox.rpc(&[]);
    for _ in 0..20 {
        let response = host.call("ext_moody_fail", json!({}));
        assert_eq!((&response["success"], &response["data"]["is_error"]), (&json!(true), &json!(true)), "{response:#}");
    }
    assert_eq!(host.text("ext_moody_echo", json!({ "text": "closed" })), "closed");
    let hang = json!({ "type": "call_tool", "tool": "ext_moody_hang", "timeout_ms": 50 });
    for _ in 0..5 {
        assert_eq!(failure(&host.ask(hang.clone())).0, "timeout");
    }
    at_once(|_| {
        let response = host.call("ext_moody_echo", json!({ "text": "open" }));
        let (code, message) = failure(&response);
        assert_eq!(code, "unavailable");
        assert!(message.contains("moody is not available: its last calls failed in transport"), "{message}");
        assert!(message.contains("jackfield reload moody"), "{message}");
    });
    // A fresh instance has a clean record.
    sandbox.run(&["reload", "moody"]).exits(0);
    assert_eq!(host.text("ext_moody_echo", json!({ "text": "closed" })), "closed");
    assert_eq!(host.close(), 0);
}

/// How often an extension was started in this home.
fn starts(sandbox: &Sandbox, extension: &str) -> usize {
    let log = fs::read_to_string(sandbox.home().join(format!("logs/ext-{extension}.log"))).unwrap_or_default();
    log.lines().filter(|line| line.contains("[jackfield] starting ")).count()
}

#[test]
fn a_slow_extension_that_is_in_the_catalogue_delays_nobody() {
    let sandbox = sandbox();
    sandbox.misbehave_native("slow", "late_hello:3", 500);
    sandbox.misbehave_native("quick", "ok", 500);
    let names = |answer: &Value| -> Vec<String> {
        let tools = answer["tools"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
        tools.iter().map(|tool| tool["qualified_name"].as_str().expect("a name").to_owned()).collect()
    };
    let first = names(&sandbox.json(&["tools"]).1);
    assert!(first.contains(&"ext_slow_echo".to_owned()), "{first:?}");
    assert_eq!((starts(&sandbox, "slow"), starts(&sandbox, "quick")), (1, 1));

    assert_eq!(names(&sandbox.json(&["tools"]).1), first);
    sandbox.run(&["list"]).exits(0);
    assert_eq!((starts(&sandbox, "slow"), starts(&sandbox, "quick")), (1, 1), "listings start nothing");

    sandbox.run(&["call", "ext_quick_echo", "text=hi"]).exits(0);
    assert_eq!((starts(&sandbox, "slow"), starts(&sandbox, "quick")), (1, 2), "calls start only whom they call");

    let mut host = sandbox.rpc(&[]);
    assert_eq!(names(&host.ask(json!({ "type": "tools" }))["data"]), first);
    assert_eq!(host.text("ext_quick_echo", json!({ "text": "hi" })), "hi");
    assert_eq!((starts(&sandbox, "slow"), starts(&sandbox, "quick")), (1, 3));
    // While the slow one starts for its own caller, others are served.
    let slow = host.send(json!({ "type": "call_tool", "tool": "ext_slow_echo", "args": { "text": "slow" } }));
    eventually("it starts", || starts(&sandbox, "slow") == 2);
    assert_eq!(host.text("ext_quick_echo", json!({ "text": "quick" })), "quick");
    assert_eq!(names(&host.ask(json!({ "type": "tools" }))["data"]), first);
    assert_eq!(host.response(&slow)["data"]["content"][0]["text"], json!("slow"));
    assert_eq!(host.close(), 0);
}

#[test]
fn changed_files_are_noticed_and_damaged_caches_ignored() {
    let sandbox = sandbox();
    sandbox.misbehave_native("one", "ok", 500);
    let tools = || -> Value { sandbox.json(&["tools"]).1 };
    let before = tools();
    let has = |answer: &Value, name: &str| answer["tools"].as_array().expect("tools").iter().any(|t| t["name"] == name);
    assert!(has(&before, "echo") && !has(&before, "fine"), "{before:#}");
    sandbox.misbehave_native("one", "bad_schema", 500);
    let after = tools();
    assert!(has(&after, "echo") && has(&after, "fine"), "{after:#}");
    sandbox.misbehave_native("two", "ok", 500);
    let both = tools();
    assert!(both["tools"].as_array().expect("tools").iter().any(|tool| tool["extension"] == "two"), "{both:#}");

    let catalogue = || -> Vec<_> {
        let entries = fs::read_dir(sandbox.home().join("catalog/index")).expect("a catalogue");
        entries.flatten().map(|entry| entry.path()).collect()
    };
    let damages: [&[u8]; 7] = [b"", b"{", b"null", b"[]", b"{\"key\":7}", b"\xff\xfe\x00", &[b'['; 100_000]];
    for damage in damages {
        let files = catalogue();
        assert!(files.iter().any(|file| file.ends_with("catalog.sqlite")), "{files:?}");
        files.iter().for_each(|file| fs::write(file, damage).expect("written"));
        assert_eq!(tools(), both, "{:?}", String::from_utf8_lossy(&damage[..damage.len().min(20)]));
    }
    for file in catalogue() {
        fs::remove_file(&file).expect("removed");
        fs::create_dir(&file).expect("a folder in its place");
    }
    assert_eq!(tools(), both, "folders in place of files");
}

#[test]
fn processes_that_share_a_home_do_not_disturb_each_other() {
    let sandbox = sandbox();
    sandbox.misbehave_native("one", "ok", 500);
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..20)
            .map(|number| {
                let sandbox = &sandbox;
                // None of them finds a catalogue; all write one.
                scope.spawn(move || sandbox.json(&["call", "ext_one_echo", &format!("text:=call {number}")]))
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            let (code, answer) = call.join().expect("a call");
            assert_eq!((code, &answer["content"][0]["text"]), (0, &json!(format!("call {number}"))), "{answer:#}");
        }
    });
    let (code, report) = sandbox.json(&["ledger", "verify"]);
    assert_eq!((code, &report["ok"], &report["open_calls"]), (0, &json!(true), &json!([])), "{report:#}");
    assert!(report["records"].as_u64() >= Some(40), "{report:#}");
    eventually("nothing is left", || sandbox.processes().is_empty());
}

#[track_caller]
fn reload(host: &mut Rpc, extension: &str) -> Value {
    let response = host.ask(json!({ "type": "reload", "extension": extension }));
    assert_eq!(response["success"], json!(true), "{response:#}");
    response["data"]["reloaded"][0].clone()
}

#[test]
fn a_reload_lets_calls_under_way_finish_on_the_old_version() {
    let sandbox = sandbox();
    let dir = sandbox.misbehave_native("new", "ok", 500);
    let mut host = sandbox.rpc(&[]);
    let old = pid_of(&mut host, "new");
    let pending: Vec<String> = (0..3)
        .map(|_| host.send(json!({ "type": "call_tool", "tool": "ext_new_sleep", "args": { "ms": 5000 } })))
        .collect();
    host.ask(json!({ "type": "ping" }));
    fs::write(dir.join("version.txt"), "2").expect("written");
    let outcome = reload(&mut host, "new");
    assert!(
        outcome["old"].is_string() && outcome["new"].is_string() && outcome["old"] != outcome["new"],
        "{outcome:#}"
    );
    assert_eq!(outcome["error"], json!(null));
    assert_ne!(pid_of(&mut host, "new"), old, "new calls go to the new one");
    assert!(is_alive(old), "which has calls to finish");
    for id in pending {
        assert_eq!(host.response(&id)["data"]["content"][0]["text"], json!("slept 5000 ms"));
    }
    eventually("the old one goes", || !is_alive(old));

    // A version that does not start leaves the one that runs alone.
    let current = pid_of(&mut host, "new");
    sandbox.misbehave_native("new", "exit_before_hello", 500);
    let outcome = reload(&mut host, "new");
    let error = outcome["error"].as_str().expect("an error");
    assert!(error.contains("leaving before hello"), "{error}");
    assert_eq!(pid_of(&mut host, "new"), current);
    assert_eq!(host.close(), 0);
}

fn open_files(pid: u32) -> usize {
    fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")).expect("a process").count()
}

#[test]
fn reloads_under_load_lose_no_call_and_leak_nothing() {
    let sandbox = sandbox();
    sandbox.misbehave_native("again", "fork_bomb:1", 500);
    let mut host = sandbox.rpc(&[]);
    reload(&mut host, "again");
    host.text("ext_again_echo", json!({}));
    eventually("one instance runs: keeper, extension, grandchild", || sandbox.processes().len() == 3);
    let files = open_files(host.pid());
    for round in 0..20 {
        let calls: Vec<String> = (0..4)
            .map(|_| {
                let args = json!({ "text": format!("round {round}") });
                host.send(json!({ "type": "call_tool", "tool": "ext_again_echo", "args": args }))
            })
            .collect();
        let outcome = reload(&mut host, "again");
        assert_eq!(outcome["error"], json!(null), "{outcome:#}");
        for id in calls {
            let response = host.response(&id);
            assert_eq!(response["data"]["content"][0]["text"], json!(format!("round {round}")), "{response:#}");
        }
    }
    eventually("one instance is left", || sandbox.processes().len() == 3);
    eventually("files are closed", || open_files(host.pid()) <= files);
    assert_eq!(host.close(), 0);
}
