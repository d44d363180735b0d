//! Files that a rule denies, reached by way of their folder.

use std::process::Command;

use jackfield_test_support::{Sandbox, at_terminal};
use serde_json::{Value, json};

use super::{host_call, is_denied, sandbox_with_odd};

/// `odd` may read and write the project, except what is below `private`.
fn sandbox() -> Sandbox {
    let sandbox = sandbox_with_odd();
    sandbox.write(&sandbox.project().join("notes/open.txt"), "needle in the open");
    sandbox.write(&sandbox.project().join("notes/private/key.txt"), "needle of the person");
    for power in ["read", "write"] {
        sandbox.run(&["grant", "odd", power]).exits(0);
        sandbox.run(&["grant", "odd", power, "--path", "notes/private/**", "--deny"]).exits(0);
    }
    sandbox
}

const MODES: [&[&str]; 3] = [&["--policy", "strict"], &["--policy", "prompt", "--yes"], &["--policy", "permissive"]];

#[track_caller]
fn built_in(sandbox: &Sandbox, flags: &[&str], name: &str, input: Value) -> String {
    let answer = host_call(sandbox, flags, "tool", json!({ "name": name, "input": input })).expect("an answer");
    answer["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn searches_do_not_reach_what_is_denied() {
    let sandbox = sandbox();
    for flags in MODES {
        for path in [".", "notes"] {
            let found = built_in(&sandbox, flags, "grep", json!({ "pattern": "needle", "path": path }));
            assert_eq!(found, "notes/open.txt:1: needle in the open", "{flags:?} {path}");
        }
        assert_eq!(
            built_in(&sandbox, flags, "find", json!({ "pattern": "key*" })),
            "no file matches \"key*\"",
            "{flags:?}"
        );
        is_denied(host_call(
            &sandbox,
            flags,
            "tool",
            json!({ "name": "grep", "input": { "pattern": "n", "path": "notes/private/key.txt" } }),
        ));
    }
}

#[test]
fn searches_stay_within_a_narrow_grant() {
    let sandbox = sandbox_with_odd();
    sandbox.write(&sandbox.project().join("a/open.txt"), "needle");
    sandbox.write(&sandbox.project().join("a/b/closed.txt"), "needle");
    for path in ["a", "a/*"] {
        sandbox.run(&["grant", "odd", "read", "--path", path]).exits(0);
    }
    let strict = ["--policy", "strict"];
    let found = built_in(&sandbox, &strict, "grep", json!({ "pattern": "needle", "path": "a" }));
    assert_eq!(found, "a/open.txt:1: needle");
}

#[test]
fn the_hosts_secrets_are_not_searched() {
    let sandbox = sandbox_with_odd();
    sandbox.write(&sandbox.home().join("secrets/TOKEN"), "needle of the host");
    // The project holds the home: nothing that the person allows makes its secrets the extension's.
    let project = sandbox.home().parent().expect("a folder").to_path_buf();
    let search = |name: &str, input: Value| {
        let call = json!({ "method": "tool", "params": { "name": name, "input": input } });
        let output = Command::new(env!("CARGO_BIN_EXE_jackfield"))
            .args(["--home".as_ref(), sandbox.home().as_os_str(), "--project".as_ref(), project.as_os_str()])
            .args(["--policy", "permissive", "call", "host_call", "--args", &call.to_string()])
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let found = search("grep", json!({ "pattern": "of the host" }));
    assert!(found.contains("no line holds") && !found.contains("needle"), "{found}");
    let found = search("find", json!({ "pattern": "TOKEN" }));
    assert!(found.contains("no file matches"), "{found}");
}

#[test]
fn a_folder_is_not_moved_from_under_a_denial() {
    let sandbox = sandbox();
    for flags in MODES {
        let rename = json!({ "op": "rename", "path": "notes", "to": "elsewhere" });
        is_denied(host_call(&sandbox, flags, "fs", rename));
        assert!(sandbox.project().join("notes/private/key.txt").exists(), "{flags:?}");
    }
}

#[test]
fn listings_do_not_name_what_is_denied() {
    let sandbox = sandbox_with_odd();
    for name in ["open", "closed"] {
        sandbox.write(&sandbox.project().join("a").join(name), "");
    }
    sandbox.run(&["grant", "odd", "read", "--path", "a/closed", "--deny"]).exits(0);
    let permissive = ["--policy", "permissive"];
    let listed = host_call(&sandbox, &permissive, "fs", json!({ "op": "list", "path": "a" })).expect("a listing");
    assert_eq!(listed["entries"], json!([{ "name": "open", "kind": "file", "size": 0 }]));
    assert_eq!(built_in(&sandbox, &permissive, "ls", json!({ "path": "a" })), "open");
}

#[test]
fn a_yes_for_a_file_is_not_one_for_a_pattern() {
    let sandbox = sandbox_with_odd();
    sandbox.write(&sandbox.project().join("**"), "bait");
    sandbox.write(&sandbox.project().join("key.txt"), "the person's");
    let read = |path: &str| json!({ "method": "fs", "params": { "op": "read", "path": path } }).to_string();
    let asked = [("[n] no > ", "a\n")];
    let (seen, _) = at_terminal(&sandbox, &["call", "host_call", "--args", &read("**")], &asked);
    assert!(seen.contains("bait") && seen.contains(r"--path '\*\*'"), "{seen}");
    is_denied(host_call(&sandbox, &[], "fs", json!({ "op": "read", "path": "key.txt" })));
    let again = host_call(&sandbox, &[], "fs", json!({ "op": "read", "path": "**" })).expect("it was granted");
    assert_eq!(again["content"], "bait");
}
