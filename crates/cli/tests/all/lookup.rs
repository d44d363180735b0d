//! The lookup that spares a call from looking at every extension: it is kept, and it never lets a call past a guard that
//! somebody who looks at everything would have met.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jackfield_test_support::{Sandbox, eventually};
use serde_json::json;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    sandbox.plain("owner", &["work"], &[]);
    sandbox
}

fn lookups(sandbox: &Sandbox) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(sandbox.home().join("catalog")) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lookup-"))).collect()
}

/// Calls until what the call learnt is kept: nothing is kept of files that changed a moment ago.
fn call_until_kept(sandbox: &Sandbox) {
    eventually("a lookup is kept", || {
        sandbox.run(&["call", "work"]).exits(0);
        !lookups(sandbox).is_empty()
    });
    // This one goes by the lookup.
    assert_eq!(sandbox.run(&["call", "work"]).exits(0).stdout, "owner\n");
}

/// What was seen a moment ago is not looked at again, so an edit in place may count a second later; never more.
#[test]
fn an_extension_that_becomes_a_guard_is_met_within_a_second() {
    let sandbox = sandbox();
    let other = sandbox.misbehave("other", "ok");
    call_until_kept(&sandbox);
    // Edited in place: the directory does not look different.
    sandbox.misbehave_at(&other, "other", "guard_block", json!({}));
    let edited = Instant::now();
    let denied = loop {
        let since = edited.elapsed();
        let output = sandbox.run(&["call", "work"]);
        if output.code == 4 {
            break output;
        }
        assert_eq!((output.code, output.stdout.as_str()), (0, "owner\n"), "{output:#?}");
        assert!(since < Duration::from_secs(1), "a call that began {since:?} after the edit went past the guard");
    };
    assert!(denied.stderr.contains("blocked by extension `other`"), "{denied:#?}");
    sandbox.run(&["call", "work"]).exits(4);
}

/// The owner and the guards are looked at by every call.
#[test]
fn an_owner_that_changes_is_met_by_the_next_call() {
    let sandbox = sandbox();
    call_until_kept(&sandbox);
    sandbox.plain("owner", &["play"], &[]);
    sandbox.run(&["call", "work"]).exits(3);
}

#[test]
fn a_guard_that_is_added_is_met_by_the_next_call() {
    let sandbox = sandbox();
    call_until_kept(&sandbox);
    sandbox.misbehave("late", "guard_block");
    sandbox.run(&["call", "work"]).exits(4);
}

#[test]
fn a_guard_is_asked_by_every_call() {
    let sandbox = sandbox();
    sandbox.misbehave("guard", "guard_rewrite:text=x");
    call_until_kept(&sandbox);
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
    // Long enough for a lookup to be kept if somebody kept one.
    let until = Instant::now() + Duration::from_secs(4);
    while Instant::now() < until {
        sandbox.run(&["call", "work"]).exits(4);
    }
    assert_eq!(lookups(&sandbox), Vec::<PathBuf>::new());
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
