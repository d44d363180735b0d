//! The catalogue, which spares a start from reading files and starting extensions again: it never lets a call past a guard,
//! and losing it costs nothing but time.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use jackfield_test_support::{Sandbox, eventually};
use serde_json::json;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    sandbox.plain("owner", &["work"], &[]);
    sandbox
}

/// Calls until every file is old enough to be known by its stamp: the content of a newer one is read at every start.
fn call_until_settled(sandbox: &Sandbox) {
    let written = SystemTime::now();
    eventually("the files are no longer new", || {
        assert_eq!(sandbox.run(&["call", "work"]).exits(0).stdout, "owner\n");
        written.elapsed().is_ok_and(|age| age > Duration::from_millis(2_500))
    });
    // This start reads no content.
    sandbox.run(&["call", "work"]).exits(0);
}

/// Replaces the content of a file by another of the same length, and restores its modification time.
fn edit_unseen(file: &Path, edit: impl FnOnce(&str) -> String) {
    let before = fs::metadata(file).expect("a file");
    let text = edit(&fs::read_to_string(file).expect("text"));
    fs::write(file, &text).expect("written");
    assert_eq!(text.len() as u64, before.len(), "the size stays");
    let modified = before.modified().expect("a time");
    File::options().write(true).open(file).expect("opened").set_modified(modified).expect("restored");
}

/// An extension that does nothing, and whose mode can be changed to that of a guard in place.
fn bystander(sandbox: &Sandbox) -> std::path::PathBuf {
    let dir = sandbox.home().join("extensions/other");
    sandbox.misbehave_at(&dir, "other", "ok", json!({ "description": "123456789" }));
    dir.join("extension.json")
}

/// The manifest of the bystander as a guard, in as many bytes.
fn as_guard(manifest: &str) -> String {
    let guard = manifest.replace("\"ok\"", "\"guard_block\"").replace("123456789", "");
    assert_ne!(guard, manifest);
    guard
}

#[test]
fn an_extension_that_becomes_a_guard_is_asked_by_the_very_next_call() {
    let sandbox = sandbox();
    let manifest = bystander(&sandbox);
    call_until_settled(&sandbox);
    // Edited in place: the directory does not look different.
    sandbox.misbehave_at(manifest.parent().expect("a folder"), "other", "guard_block", json!({}));
    let denied = sandbox.run(&["call", "work"]).exits(4);
    assert!(denied.stderr.contains("blocked by extension `other`"), "{denied:#?}");
    sandbox.run(&["call", "work"]).exits(4);
}

#[test]
fn a_guard_that_was_edited_in_unseen_is_asked_by_the_very_next_call() {
    let sandbox = sandbox();
    let manifest = bystander(&sandbox);
    call_until_settled(&sandbox);
    edit_unseen(&manifest, as_guard);
    let denied = sandbox.run(&["call", "work"]).exits(4);
    assert!(denied.stderr.contains("blocked by extension `other`"), "{denied:#?}");
}

#[test]
fn a_host_that_stays_asks_a_guard_once_it_was_reloaded() {
    let sandbox = sandbox();
    let manifest = bystander(&sandbox);
    let mut host = sandbox.rpc(&[]);
    assert_eq!(host.text("work", json!({})), "owner");
    edit_unseen(&manifest, as_guard);
    host.ask(json!({ "type": "reload" }));
    assert_eq!(host.call("work", json!({}))["error"]["code"], "denied");
    host.close();
}

#[test]
fn a_host_that_watches_asks_a_guard_that_was_edited_in() {
    let sandbox = sandbox();
    let manifest = bystander(&sandbox);
    let mut host = sandbox.rpc(&["--watch"]);
    assert_eq!(host.text("work", json!({})), "owner");
    edit_unseen(&manifest, as_guard);
    host.wait_for("a reload", |line| line["type"] == "ext_reloaded");
    assert_eq!(host.call("work", json!({}))["error"]["code"], "denied");
    host.close();
}

/// Deep below an installed package, where nothing else looks.
#[test]
fn an_installed_file_that_was_edited_unseen_is_noticed() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    let source = sandbox.plain_at(&sandbox.path("src/owner"), "owner", &["work"], &[]);
    sandbox.write(&source.join("node_modules/left/index.js"), "good");
    sandbox.run(&["ext", "install", &source.display().to_string()]).exits(0);
    call_until_settled(&sandbox);
    edit_unseen(&sandbox.home().join("extensions/owner/node_modules/left/index.js"), |_| "evil".to_owned());
    let refused = sandbox.run(&["call", "work"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("node_modules/left/index.js changed"), "{refused:#?}");
    let verified = sandbox.run(&["ext", "verify"]);
    assert!(verified.code != 0 && format!("{verified:?}").contains("left/index.js"), "{verified:#?}");
}

#[test]
fn an_owner_that_changes_is_met_by_the_next_call() {
    let sandbox = sandbox();
    call_until_settled(&sandbox);
    sandbox.plain("owner", &["play"], &[]);
    sandbox.run(&["call", "work"]).exits(3);
}

/// Whatever stands in the catalogue's place: nobody sees an error, and the guard is asked.
#[test]
fn a_damaged_catalogue_is_made_anew() {
    let sandbox = sandbox();
    sandbox.run(&["call", "work"]).exits(0);
    let index = sandbox.home().join("catalog/index");
    let damages: [&dyn Fn(); 4] = [
        &|| fs::write(index.join("catalog.sqlite"), "nonsense").expect("written"),
        &|| fs::write(index.join("catalog.sqlite-wal"), "nonsense ".repeat(10_000)).expect("written"),
        &|| fs::remove_dir_all(&index).expect("removed"),
        &|| {
            fs::remove_dir_all(&index).expect("removed");
            fs::write(&index, "a file").expect("written");
        },
    ];
    for (number, damage) in damages.iter().enumerate() {
        damage();
        let output = sandbox.run(&["call", "work"]).exits(0);
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("owner\n", ""), "damage {number}");
        let listed = sandbox.run(&["tools"]).exits(0);
        assert!(listed.stdout.contains("work") && listed.stderr.is_empty(), "damage {number}: {listed:#?}");
    }
    sandbox.misbehave("guard", "guard_block");
    sandbox.run(&["call", "work"]).exits(4);
    fs::remove_dir_all(&index).expect("removed");
    sandbox.run(&["call", "work"]).exits(4);
}

#[test]
fn many_hosts_make_one_catalogue_together() {
    let sandbox = sandbox();
    sandbox.misbehave("guard", "guard_rewrite:text=x");
    let start = || sandbox.command(&["call", "work"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let hosts: Vec<Child> = (0..8).map(|_| start().expect("started")).collect();
    for host in hosts {
        let output = host.wait_with_output().expect("ended");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    sandbox.run(&["call", "work"]).exits(0);
}

/// The server never answers and is never waited for; with a limit of an hour for its start, a call that waited would not end.
#[test]
fn a_silent_server_beside_does_not_hold_up_a_call() {
    let sandbox = sandbox();
    let server = json!({ "mcpServers": { "mute": {
        "command": "sh", "args": ["-c", "exec sleep 3600"], "startup_timeout_ms": 3_600_000,
    } } });
    sandbox.write(&sandbox.home().join("mcp.json"), &server.to_string());
    assert_eq!(sandbox.run(&["call", "work"]).exits(0).stdout, "owner\n");
}

/// One that could be a guard is waited for until its start has failed, and the terminal says so.
#[test]
fn a_call_says_what_it_waits_for() {
    let sandbox = sandbox();
    let manifest = format!(
        "id = \"mute\"\nversion = \"1.0.0\"\n\n[run]\ncommand = \"sh\"\nargs = [\"-c\", \"exec sleep 3600\"]\n\n\
         [limits]\nstart_timeout_ms = {}\n",
        2_500
    );
    sandbox.write(&sandbox.home().join("extensions/mute/extension.toml"), &manifest);
    let output = sandbox.run(&["call", "work"]).exits(0);
    assert_eq!(output.stdout, "owner\n");
    assert!(output.stderr.contains("waiting for mute"), "{output:#?}");
    let again = sandbox.run(&["call", "work"]).exits(0);
    assert!(!again.stderr.contains("waiting"), "it failed a moment ago: {again:#?}");
}

#[test]
fn a_guard_that_is_added_is_met_by_the_next_call() {
    let sandbox = sandbox();
    call_until_settled(&sandbox);
    sandbox.misbehave("late", "guard_block");
    sandbox.run(&["call", "work"]).exits(4);
}

#[test]
fn a_guard_is_asked_by_every_call() {
    let sandbox = sandbox();
    sandbox.misbehave("guard", "guard_rewrite:text=x");
    call_until_settled(&sandbox);
    fs::remove_dir_all(sandbox.home().join("ledger")).expect("an empty ledger");
    sandbox.run(&["call", "work"]).exits(0);
    let (_, tail) = sandbox.json(&["ledger", "tail"]);
    let asked = tail["records"].as_array().expect("records").iter().filter(|r| r["event"] == "event_hook.end").count();
    assert_eq!(asked, 1, "{tail:#}");
}

#[test]
fn a_guard_that_cannot_run_denies_every_call() {
    let sandbox = sandbox();
    let dir = sandbox.home().join("extensions/guard");
    let needs = json!({ "on_timeout": "deny", "requires": { "bins": ["no-such-program-anywhere"] } });
    sandbox.misbehave_at(&dir, "guard", "guard_block", needs);
    for _ in 0..3 {
        sandbox.run(&["call", "work"]).exits(4);
    }
}

#[test]
fn a_tool_is_denied_under_both_of_its_names() {
    let sandbox = sandbox();
    for pattern in ["work", "ext_owner_work", "ext_*_work"] {
        sandbox.write(&sandbox.home().join("config.toml"), &format!("[policy]\ndeny_tools = [\"{pattern}\"]\n"));
        for name in ["work", "ext_owner_work"] {
            sandbox.run(&["call", name]).exits(4);
        }
    }
    sandbox.write(&sandbox.home().join("config.toml"), "[policy]\nmode = \"permissive\"\ndeny_tools = [\"work\"]\n");
    sandbox.misbehave("caller", "ok");
    let call = |tool: &str| {
        let args = json!({ "name": tool, "args": {} }).to_string();
        sandbox.run(&["call", "call_tool", "--args", &args])
    };
    for name in ["work", "ext_owner_work"] {
        let output = call(name);
        assert!(output.stdout.contains("denied"), "{name}: {output:#?}");
    }
    assert!(!call("ext_caller_echo").stdout.contains("denied"), "others are not concerned");
}
