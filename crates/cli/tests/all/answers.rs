//! What the verbs print for people, and what they log, through the built binary.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jackfield_test_support::Sandbox;

use crate::sandbox;

const LONG: &str = "ext_mybot_very_long_tool_name_very_long_tool_name_very_lo_8b98e1";

/// A nexo extension that offers a tool with a name of 200 characters, one with a name that nobody accepts, and a short one.
fn mybot(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.path("mybot");
    sandbox.write(
        &dir.join("plugin.toml"),
        "[plugin]\nid = \"mybot\"\nversion = \"1.0.0\"\n[capabilities]\ntools = [\"ok\"]\n[transport]\nkind = \"stdio\"\ncommand = \"./run.py\"\n",
    );
    let run = dir.join("run.py");
    sandbox.write(
        &run,
        r#"#!/usr/bin/env python3
import json, sys
names = ["very_long_tool_name_" * 10, "x" * 300, "ok"]
for line in sys.stdin:
    request = json.loads(line)
    result = {}
    if request.get("method") == "initialize":
        tools = [{"name": name, "description": "d", "input_schema": {"type": "object"}} for name in names]
        result = {"server_version": "1.0.0", "tools": tools, "hooks": []}
    elif request.get("method") == "tools/call":
        result = {"content": [{"type": "text", "text": "ran " + request["params"]["name"]}], "is_error": False}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#,
    );
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    dir
}

#[test]
fn a_long_name_is_shortened_with_a_hash() {
    let sandbox = sandbox();
    let dir = mybot(&sandbox);
    let dir = dir.to_str().expect("UTF-8");
    let (_, listing) = sandbox.json(&["-e", dir, "tools"]);
    let names: BTreeSet<&str> =
        listing["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, BTreeSet::from(["ext_mybot_ok", LONG]), "{listing:#}");
    let ran = sandbox.run(&["--yes", "-e", dir, "call", LONG]).exits(0);
    assert_eq!(ran.stdout, format!("ran {}\n", "very_long_tool_name_".repeat(10)));
}

#[test]
fn the_last_line_ends_and_a_warning_is_said_once() {
    let sandbox = sandbox();
    let empty = sandbox.run(&["tools"]).exits(0);
    assert!(empty.stdout.starts_with("no tools") && empty.stdout.ends_with('\n'), "{:?}", empty.stdout);
    let dir = mybot(&sandbox);
    let shown = sandbox.run(&["inspect", dir.to_str().expect("UTF-8")]).exits(0);
    assert!(shown.stdout.ends_with('\n'), "{:?}", shown.stdout);
    assert!(shown.stderr.ends_with('\n'), "{:?}", shown.stderr);
    assert_eq!(shown.stderr.matches("was left out").count(), 1, "{}", shown.stderr);
    let lines: Vec<&str> = shown.stderr.lines().collect();
    assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len(), "{}", shown.stderr);
}

#[test]
fn revoke_says_what_it_revoked() {
    let sandbox = sandbox();
    sandbox.run(&["grant", "hello", "read", "--path", "/x/**"]).exits(0);
    let revoked = sandbox.run(&["revoke", "hello"]).exits(0);
    assert!(revoked.stdout.starts_with("revoked ") && revoked.stdout.contains(": allow hello "), "{}", revoked.stdout);
    assert!(!revoked.stdout.contains("EFFECT"), "{}", revoked.stdout);
    assert_eq!(revoked.stdout.lines().count(), 1);
}

#[test]
fn why_shows_the_decision_first_and_the_order_on_demand() {
    let sandbox = sandbox();
    sandbox.plain("one", &["first"], &[]);
    let brief = sandbox.run(&["why", "first"]).exits(0).stdout;
    assert!(brief.lines().count() < 15, "{brief}");
    let second = brief.lines().nth(1).expect("a decision");
    assert!(second.starts_with("a person calls it: allow ("), "{brief}");
    assert!(brief.contains("an agent calls it: ") && brief.contains("--all"), "{brief}");
    let all = sandbox.run(&["why", "first", "--all"]).exits(0).stdout;
    assert!(all.lines().count() > brief.lines().count() && all.contains(" goes on: "), "{all}");
    assert!(all.contains("it asks for read: "), "{all}");
    let (_, json) = sandbox.json(&["why", "first"]);
    assert!(!json["calls"]["person"]["chain"].as_array().expect("a chain").is_empty(), "{json:#}");
    assert!(!json["powers"]["read"]["chain"].as_array().expect("a chain").is_empty(), "{json:#}");
}

#[test]
fn ids_of_runs_and_calls_are_unique_for_good() {
    let sandbox = sandbox();
    sandbox.plain("one", &["first"], &[]);
    let ids: BTreeSet<String> = (0..3)
        .map(|_| {
            let (code, answer) = sandbox.json(&["--yes", "call", "first"]);
            assert_eq!(code, 0, "{answer:#}");
            answer["call_id"].as_str().expect("an id").to_owned()
        })
        .collect();
    assert_eq!(ids.len(), 3);
    for id in &ids {
        let (run, number) = id.rsplit_once('-').expect("a run and a number");
        assert_eq!((run.len(), run.as_bytes()[14], number), (36, b'7', "1"), "{id}: a UUIDv7 and a number");
        sandbox.run(&["why", id]).exits(0);
    }
}

#[test]
fn the_log_is_on_stderr_and_only_on_demand() {
    let sandbox = sandbox();
    sandbox.plain("one", &["first"], &[]);
    let call = ["--yes", "call", "first", "token=hunter2hunter2"];
    let quiet = sandbox.run(&call).exits(0);
    assert_eq!(quiet.stderr, "");
    let run = |args: &[&str], directive: Option<&str>| {
        let mut command = sandbox.command(args);
        if let Some(directive) = directive {
            command.env("JACKFIELD_LOG", directive);
        }
        let output = command.output().expect("the binary runs");
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (args, directive) in [
        (call.to_vec(), Some("debug")),
        (call.to_vec(), Some("jackfield=debug")),
        ([&["--verbose"], &call[..]].concat(), None),
    ] {
        let (stdout, stderr) = run(&args, directive);
        assert_eq!(stdout, quiet.stdout, "stdout is the same byte for byte");
        let span = stderr
            .lines()
            .find(|line| line.contains("tool_call{call_id=") && line.contains("tool=first}"))
            .unwrap_or_default();
        let id = span.split("call_id=").nth(1).and_then(|rest| rest.split(['}', ' ']).next()).unwrap_or_default();
        assert!(id.len() > 36 && id.ends_with("-1"), "{stderr}");
        assert!(!stderr.contains("hunter2"), "{stderr}");
    }
    let (stdout, stderr) = run(&call, Some("hyper=trace,\u{1b}[2Jloud"));
    assert_eq!(stdout, quiet.stdout);
    assert_eq!(stderr.lines().filter(|line| line.contains("was ignored")).count(), 2, "{stderr}");
    assert!(!stderr.contains('\u{1b}'), "{stderr}");
    assert_eq!(run(&call, Some("off")), (quiet.stdout.clone(), String::new()));
}
