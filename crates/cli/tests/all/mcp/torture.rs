//! Servers that misbehave: each costs itself and no more, and says what happened.

use std::process::Command;
use std::time::{Duration, Instant};

use jackfield_test_support::{Rpc, eventually, is_alive, processes_mentioning};
use serde_json::{Value, json};

use super::support::{called, entry, own_file, sandbox, tools, with, write};

#[test]
fn a_server_that_hangs_in_initialize_costs_its_time_and_no_more() {
    let sandbox = sandbox();
    let mut hanging = entry(&["hang"]);
    hanging["startup_timeout_ms"] = json!(2000);
    write(&sandbox, &own_file(&sandbox), json!({ "stuck": hanging, "odd": entry(&[]) }));
    let began = Instant::now();
    let (code, answer) = sandbox.json(&["call", "stuck__echo", "{}"]);
    assert_ne!(code, 0);
    let said = answer.to_string();
    assert!(said.contains("initialize") && said.contains("2000 ms") && said.contains("it thinks about it"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(called(&sandbox, "odd__echo", &json!({ "z": "x" })), r#"{"z": "x"}"#, "the other one works");
}

#[test]
fn a_server_that_ends_while_it_starts_shows_its_last_words() {
    let sandbox = with(&["exit"]);
    let (code, answer) = sandbox.json(&["call", "odd__echo", "{}"]);
    assert_ne!(code, 0);
    let said = answer.to_string();
    assert!(said.contains("left_pad") && said.contains("exit status 1"), "{said}");
    let log = sandbox.run(&["ext", "logs", "odd"]).exits(0).stdout;
    assert!(log.contains("left_pad"), "{log}");
}

#[test]
fn a_missing_program_and_a_missing_variable_say_what_to_do() {
    let sandbox = sandbox();
    write(
        &sandbox,
        &own_file(&sandbox),
        json!({
            "gone": { "command": "no-such-program-anywhere" },
            "unset": { "command": "python3", "env": { "TOKEN": "${JACKFIELD_TEST_NOT_SET}" } },
        }),
    );
    let (_, diagnostics) = tools(&sandbox);
    assert!(diagnostics.contains("no-such-program-anywhere") && diagnostics.contains("install it"), "{diagnostics}");
    assert!(diagnostics.contains("JACKFIELD_TEST_NOT_SET") && diagnostics.contains("set it"), "{diagnostics}");
}

#[test]
fn names_and_schemas_that_nobody_accepts_cost_their_own_tool() {
    let sandbox = with(&["names", "schemas", "junk"]);
    let (names, diagnostics) = tools(&sandbox);
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
    let long: Vec<&String> = names.iter().filter(|name| name.starts_with("odd__a_name_that_is_longer")).collect();
    assert_eq!(long.len(), 2, "{names:?}");
    assert_ne!(long[0], long[1]);
    for name in ["odd__echo", "odd__with_space_and_dots", "odd__none", "odd__text"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    assert!(!names.contains(&"odd__bad".to_owned()) && diagnostics.contains("odd__bad"), "{diagnostics}");
    let (code, answer) = sandbox.json(&["call", "odd__bad", "{}"]);
    assert!(code != 0 && answer.to_string().contains("quarantined"), "{answer:#}");
    let (code, answer) = sandbox.json(&["call", long[0], "{}"]);
    assert!(
        code != 0 && answer.to_string().contains("no tool a_name_that_is_longer"),
        "its own name is called: {answer:#}"
    );
    assert_eq!(called(&sandbox, "odd__echo", &json!({})), "{}");
}

#[test]
fn answers_out_of_order_twice_late_and_too_large() {
    let sandbox = with(&["junk"]);
    let mut host = sandbox.rpc(&[]);
    let slow = host.send(json!({ "type": "call_tool", "tool": "odd__wait", "args": { "seconds": 1 } }));
    assert_eq!(host.text("odd__wait", json!({ "seconds": 0.1 })), "0.1", "does not wait for the slow one");
    assert_eq!(host.text("odd__twice", json!({})), "first");
    assert_eq!(host.response(&slow)["data"]["content"][0]["text"], "1");
    let late = host.send(json!({ "type": "call_tool", "tool": "odd__late", "args": {}, "timeout_ms": 300 }));
    assert_eq!(host.response(&late)["error"]["code"], "timeout");
    for bytes in [17 << 20, 50 << 20] {
        let response = host.call("odd__size", json!({ "bytes": bytes }));
        assert_eq!(response["error"]["code"], "protocol", "{response:#}");
        let said = response["error"]["message"].as_str().expect("said");
        assert!(said.contains("16 MiB") && said.contains("odd"), "{said}");
        assert_eq!(host.text("odd__echo", json!({})), "{}", "the next call works");
    }
    assert_eq!(host.text("odd__size", json!({ "bytes": 1 << 20 })).len(), 1 << 20);
    assert_eq!(host.text("odd__bytes", json!({})), "a\u{fffd}\u{fffd}b");
    assert_eq!(host.text("odd__flood", json!({})), "flooded");
    // The server heard of the call that nobody waited for.
    let seen = host.text("odd__seen", json!({}));
    assert_eq!(serde_json::from_str::<Vec<String>>(&seen).expect("JSON").len(), 1, "{seen}");
    assert_eq!(host.close(), 0);
}

/// The process of the server.
#[track_caller]
fn pid(host: &mut Rpc) -> u32 {
    host.text("odd__pid", json!({})).parse().expect("a number")
}

#[test]
fn after_kill_9_the_next_call_works() {
    let sandbox = with(&[]);
    let mut host = sandbox.rpc(&[]);
    for _ in 0..3 {
        let before = pid(&mut host);
        let killed = Command::new("kill").args(["-9", &before.to_string()]).status().expect("kill");
        assert!(killed.success());
        let now = pid(&mut host);
        assert_ne!(before, now, "the very next call is served");
    }
    // One that dies of a call fails that call, says why, and is there for the next.
    let response = host.call("odd__die", json!({}));
    assert_eq!(response["error"]["code"], "unavailable");
    assert!(response["error"]["message"].as_str().expect("said").contains("asked to die"), "{response:#}");
    assert_eq!(host.text("odd__echo", json!({})), "{}");
    assert_eq!(host.close(), 0);
}

#[test]
fn a_tool_list_that_changes_is_there_within_200_ms() {
    for modes in [&[][..], &["modern"]] {
        let sandbox = with(modes);
        let mut host = sandbox.rpc(&[]);
        host.text("odd__echo", json!({}));
        let has_new = |host: &mut Rpc| {
            let tools = host.ask(json!({ "type": "tools" }));
            tools["data"]["tools"].as_array().expect("tools").iter().any(|tool| tool["name"] == "odd__new")
        };
        assert!(!has_new(&mut host));
        // A subscription may still be on its way, so more than one change is made.
        let mut best = Duration::MAX;
        let mut there = false;
        for _ in 0..4 {
            let began = Instant::now();
            host.text("odd__change", json!({}));
            there = !there;
            eventually("the change", || has_new(&mut host) == there);
            best = best.min(began.elapsed());
        }
        assert!(best < Duration::from_millis(200), "{modes:?}: {best:?}");
        assert_eq!(host.close(), 0);
    }
}

#[test]
fn progress_and_log_messages_reach_whoever_watches() {
    let sandbox = with(&[]);
    let mut host = sandbox.rpc(&[]);
    let id = host.send(json!({ "type": "call_tool", "tool": "odd__progress", "args": { "steps": 3 } }));
    let is_step = |line: &Value, step: u64| line.to_string().contains(&format!("\"message\":\"step {step}\""));
    for step in 0..3 {
        host.wait_for("progress", |line| is_step(line, step));
    }
    host.wait_for("the log message", |line| line.to_string().contains("notifications/message"));
    assert_eq!(host.response(&id)["success"], true);
    assert_eq!(host.close(), 0);
}

#[test]
fn questions_without_anybody_to_answer_are_refused_clearly() {
    for modes in [&[][..], &["modern"]] {
        let sandbox = with(modes);
        let (_, answer) = sandbox.json(&["call", "odd__elicit", "{}"]);
        if modes.is_empty() {
            assert!(answer.to_string().contains("nobody is there"), "{answer:#}");
            let roots = called(&sandbox, "odd__roots", &json!({}));
            assert!(
                roots.contains(&format!("file://{}", sandbox.project().canonicalize().expect("a path").display())),
                "{roots}"
            );
        }
        let (_, answer) = sandbox.json(&["call", "odd__input", "{}"]);
        if !modes.is_empty() {
            assert!(answer.to_string().contains("nobody is there"), "{answer:#}");
        }
    }
}

#[test]
fn secrets_are_passed_on_and_shown_nowhere() {
    let mut sandbox = with(&[]);
    sandbox.env("JACKFIELD_TEST_SECRET", "correct-horse-battery");
    let mut server = entry(&[]);
    server["env"] = json!({ "API_KEY": "${JACKFIELD_TEST_SECRET}", "OTHER": "${NOT_THERE:-default}" });
    write(&sandbox, &own_file(&sandbox), json!({ "odd": server }));
    let names = json!({ "names": ["API_KEY", "OTHER", "JACKFIELD_TEST_SECRET", "JACKFIELD_DATA_DIR"] });
    let seen: Value = serde_json::from_str(&called(&sandbox, "odd__where", &names)).expect("JSON");
    assert_eq!((&seen["API_KEY"], &seen["OTHER"]), (&json!("correct-horse-battery"), &json!("default")));
    assert_eq!(seen["JACKFIELD_TEST_SECRET"], Value::Null, "only under the name that the settings give it");
    assert!(seen["JACKFIELD_DATA_DIR"].is_string());
    let output = sandbox.run(&["call", "odd__secret", "{}"]);
    assert!(output.stderr.contains("the key is") && !output.stderr.contains("correct-horse"), "{output:?}");
    let found = Command::new("grep").args(["-rl", "correct-horse-battery"]).arg(sandbox.home()).output().expect("grep");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "no file of the home has it");
}

#[test]
fn nothing_is_left_when_the_host_goes() {
    let sandbox = sandbox();
    let marker = format!("marker:{}", sandbox.home().display());
    write(&sandbox, &own_file(&sandbox), json!({ "odd": entry(&[&marker]) }));
    let mut host = sandbox.rpc(&[]);
    let server = pid(&mut host);
    assert_eq!(host.close(), 0);
    eventually("the end of the server", || !is_alive(server));
    let mut host = sandbox.rpc(&[]);
    let server = pid(&mut host);
    host.kill();
    eventually("the end of the server of a killed host", || {
        !is_alive(server) && processes_mentioning(&marker).is_empty()
    });
}
