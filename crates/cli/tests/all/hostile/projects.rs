//! Repositories that ship extensions: nothing of a project runs before it is trusted, and nothing in it switches off what
//! the user has installed.

use std::fs;
use std::path::Path;

use jackfield_test_support::Sandbox;
use serde_json::json;

use super::support::{PRELUDE, row, sandbox};

/// A user with a guard that blocks and a tool.
fn user() -> Sandbox {
    let sandbox = sandbox();
    sandbox.misbehave("prey", "ok");
    sandbox.misbehave("guard", "guard_block");
    sandbox
}

#[track_caller]
fn is_blocked(sandbox: &Sandbox, when: &str) {
    let (code, answer) = sandbox.json(&["call", "ext_prey_echo", "text=hi"]);
    assert_eq!((code, &answer["error"]["code"]), (4, &json!("denied")), "{when}: {answer:#}");
    assert!(
        answer["error"]["message"].as_str().is_some_and(|text| text.contains("blocked by misbehave.py")),
        "{answer:#}"
    );
}

/// The guard blocks whatever `ship` puts into the project: before the project is trusted, and after it.
#[track_caller]
fn check(what: &str, ship: impl FnOnce(&Sandbox, &Path)) {
    let sandbox = user();
    ship(&sandbox, &sandbox.project().join(".zot/extensions/guard"));
    is_blocked(&sandbox, &format!("{what}, not trusted"));
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.call("ext_prey_echo", json!({}))["error"]["code"], "denied", "{what}");
    drop(rpc);
    sandbox.run(&["trust"]).exits(0);
    is_blocked(&sandbox, &format!("{what}, trusted"));
}

#[test]
fn a_guard_that_is_switched_off() {
    check("switched off", |sandbox, dir| {
        sandbox.misbehave_at(dir, "guard", "ok", json!({ "enabled": false }));
    });
}

#[test]
fn an_empty_directory() {
    check("empty", |_, dir| fs::create_dir_all(dir).expect("a folder"));
}

#[test]
fn a_broken_manifest() {
    check("broken", |sandbox, dir| sandbox.write(&dir.join("extension.json"), r#"{"name":"guard","#));
}

#[test]
fn a_guard_that_lacks_what_it_needs() {
    check("lacking", |sandbox, dir| {
        let extra = json!({ "requires": { "bins": ["no-such-program-anywhere"] } });
        sandbox.misbehave_at(dir, "guard", "ok", extra);
    });
}

#[test]
fn settings_that_switch_off() {
    for settings in [
        "extensions:\n  enabled: false\n",
        "extensions:\n  disabled: [guard]\n",
        "enabled: false\n",
        "disabled: [guard]\n",
    ] {
        check(settings, |sandbox, _| {
            sandbox.write(&sandbox.project().join("extensions.yaml"), settings);
            sandbox.write(&sandbox.project().join("config/extensions.yaml"), settings);
        });
    }
}

/// Before trust it neither runs nor hides anything; with trust it does what it is there for, and says so.
#[test]
fn a_working_guard_of_the_same_name() {
    let sandbox = user();
    let dir = sandbox.project().join(".zot/extensions/guard");
    sandbox.misbehave_at(&dir, "guard", "ok", json!({}));
    is_blocked(&sandbox, "not trusted");
    sandbox.run(&["trust"]).exits(0);
    let (_, listing) = sandbox.json(&["list"]);
    let rows: Vec<_> =
        listing["extensions"].as_array().expect("rows").iter().filter(|row| row["id"] == "guard").collect();
    assert_eq!(rows.len(), 2, "both are listed: {listing:#}");
    let shadowed = rows.iter().find(|row| row["scope"] == "global").expect("the user's own");
    assert_eq!(shadowed["state"], "shadowed", "{shadowed:#}");
    assert!(shadowed["error"].as_str().is_some_and(|error| error.contains(".zot/extensions/guard")), "{shadowed:#}");
}

#[test]
fn nothing_runs_before_trust() {
    let sandbox = user();
    let marker = sandbox.path("marker");
    let source = format!(
        "{PRELUDE}\nopen({marker:?}, 'a').write('ran')\nhello('own')\nfor frame in hear(): text(frame, 'ran')\n"
    );
    for folder in [".zot/extensions/evil", ".jackfield/extensions/evil2", "extensions/evil3"] {
        let dir = sandbox.project().join(folder);
        let name = dir.file_name().expect("a name").to_string_lossy().into_owned();
        sandbox.write(&dir.join("main.py"), &source);
        let manifest = json!({ "name": name, "exec": "python3", "args": ["main.py"], "version": "1.0.0" });
        sandbox.write(&dir.join("extension.json"), &manifest.to_string());
    }
    for args in [
        &["list"][..],
        &["tools"],
        &["call", "own"],
        &["call", "ext_evil_own"],
        &["call", "ext_prey_echo"],
        &["run", "own"],
        &["doctor"],
        &["doctor", "--runtime"],
        &["why", "own"],
        &["reload"],
        &["ext", "list"],
        &["check", ".zot/extensions/evil"],
    ] {
        sandbox.run(args);
        assert!(!marker.exists(), "{args:?} ran something of the project");
    }
    let mut rpc = sandbox.rpc(&["--watch"]);
    assert_eq!(rpc.ask(json!({ "type": "tools" }))["success"], true);
    assert_eq!(rpc.ask(json!({ "type": "reload" }))["success"], true);
    let refused = rpc.ask(json!({ "type": "reload", "extension": "evil" }));
    assert!(!marker.exists(), "{refused:#}");
    drop(rpc);
    let (code, answer) = sandbox.json(&["call", "ext_evil_own"]);
    assert_eq!((code, &answer["error"]["code"]), (4, &json!("denied")), "{answer:#}");
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("jackfield trust")), "{answer:#}");
    assert_eq!(row(&sandbox.json(&["list"]).1, "evil")["state"], "untrusted");

    sandbox.run(&["trust"]).exits(0);
    assert_eq!(sandbox.json(&["tools"]).0, 0);
    assert!(marker.exists(), "with trust it runs");

    // Trust is for what was seen, not for what comes later.
    fs::remove_file(&marker).expect("removed");
    sandbox.write(&sandbox.project().join(".zot/extensions/evil/main.py"), &format!("{source}# changed\n"));
    sandbox.run(&["tools"]);
    assert_eq!(row(&sandbox.json(&["list"]).1, "evil")["state"], "untrusted");
    assert!(!marker.exists(), "changed files are not trusted");
}
