//! Where components are found, what is said of them, and what it costs to list them.

use std::fs;

use jackfield_test_support::Sandbox;
use serde_json::json;

use super::support::{actor, pure, put, row, sandbox};

/// Files of native code; the key beside them is none.
fn code_files(sandbox: &Sandbox) -> usize {
    let entries = fs::read_dir(sandbox.home().join("code")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_file() && entry.file_name() != "key").count()
}

#[test]
fn a_bare_file_is_an_extension_wherever_it_is_named() {
    let sandbox = sandbox();
    put(&sandbox, "loud", pure());
    let found = row(&sandbox, &[], "loud");
    assert_eq!((&found["runtime"], &found["scope"]), (&json!("wasm"), &json!("global")), "{found:#}");
    let said = sandbox.run(&["call", "shout", "text=hello"]).exits(0);
    assert!(said.stdout.contains("HELLO"), "{said:#?}");
    // By a flag, from anywhere.
    let file = sandbox.path("elsewhere.wasm");
    fs::write(&file, pure()).expect("written");
    let flag = file.to_str().expect("UTF-8");
    let said = sandbox.run(&["-e", flag, "call", "ext_elsewhere_shout", "text=again"]).exits(0);
    assert!(said.stdout.contains("AGAIN"), "{said:#?}");
    // Among others in a project: it waits for trust, and waits again after a change.
    let project = sandbox.project().join(".jackfield/extensions");
    fs::create_dir_all(&project).expect("a folder");
    fs::write(project.join("theirs.wasm"), pure()).expect("written");
    assert_eq!(row(&sandbox, &[], "theirs")["state"], "untrusted");
    sandbox.run(&["trust"]).exits(0);
    assert_eq!(row(&sandbox, &[], "theirs")["state"], "idle");
    fs::write(project.join("theirs.wasm"), actor()).expect("written");
    assert_eq!(row(&sandbox, &[], "theirs")["state"], "untrusted");
}

#[test]
fn a_manifest_says_more_and_contradictions_are_errors() {
    let sandbox = sandbox();
    let dir = sandbox.path("with manifest");
    let write = |text: &str| sandbox.write(&dir.join("extension.toml"), text);
    fs::create_dir_all(dir.join("target")).expect("a folder");
    fs::write(dir.join("target/it.wasm"), actor()).expect("written");
    let named = dir.to_str().expect("UTF-8").to_owned();
    write("id = \"it\"\nversion = \"9.9.9\"\n\n[run]\ncomponent = \"./target/it.wasm\"\n");
    let (code, checked) = sandbox.json(&["check", &named]);
    assert_eq!((code, &checked["manifest"]["launch"]), (0, &json!({"kind": "wasm", "component": "target/it.wasm"})));
    for (text, why) in [
        ("id = \"it\"\n[run]\n", "run.command is missing"),
        ("id = \"it\"\n[run]\ncomponent = \"\"\n", "run.component is empty"),
        ("id = \"it\"\n[run]\ncomponent = \"a.wasm\"\ncommand = \"sh\"\n", "one or the other"),
        ("id = \"it\"\n[run]\ncomponent = \"a.wasm\"\nargs = [\"x\"]\n", "for programs"),
        ("id = \"it\"\nruntime = \"process\"\n[run]\ncomponent = \"a.wasm\"\n", "runtime is `process`"),
    ] {
        write(text);
        let output = sandbox.run(&["check", &named]).exits(7);
        assert!(format!("{}{}", output.stdout, output.stderr).contains(why), "{why}: {output:#?}");
    }
}

#[test]
fn check_shows_what_it_imports_and_asks_for() {
    let sandbox = sandbox();
    let file = sandbox.path("actor.wasm");
    fs::write(&file, actor()).expect("written");
    let said = sandbox.run(&["check", file.to_str().expect("UTF-8")]).exits(0).stdout;
    for part in ["ready to run", "jackfield:extension/host@1.0.0", "asks for env env=ACTOR_*", "to greet by name"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (code, checked) = sandbox.json(&["check", file.to_str().expect("UTF-8")]);
    assert_eq!((code, &checked["component"]["facts"]["world"]), (0, &json!("extension")));
    fs::write(&file, pure()).expect("written");
    let (_, checked) = sandbox.json(&["check", file.to_str().expect("UTF-8")]);
    assert_eq!(checked["component"]["facts"]["world"], "pure-tool");
    assert_eq!(checked["component"]["facts"]["imports"], json!(["jackfield:extension/log@1.0.0"]));
}

#[test]
fn build_strips_hashes_and_compiles() {
    let sandbox = sandbox();
    let file = sandbox.path("actor.wasm");
    fs::write(&file, actor()).expect("written");
    let out = sandbox.path("out");
    let (code, built) = sandbox.json(&["build", file.to_str().expect("UTF-8"), "--out", out.to_str().expect("UTF-8")]);
    assert_eq!(code, 0, "{built:#}");
    let about: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("artifact.json")).expect("there")).expect("JSON");
    assert_eq!(about["hash"], built["hash"]);
    let component = fs::read(out.join("actor.wasm")).expect("the component that is shipped");
    assert_eq!(about["artifact"]["bytes"], json!(component.len()));
    // What was built need not be compiled again.
    let shipped = out.join("actor.wasm");
    let (_, shown) = sandbox.json(&["inspect", shipped.to_str().expect("UTF-8")]);
    assert_eq!(shown["code"]["cached"], json!(1), "{shown:#}");
    let core = sandbox.path("core.wasm");
    fs::write(&core, b"\0asm\x01\0\0\0").expect("written");
    let refused = sandbox.run(&["build", core.to_str().expect("UTF-8")]).exits(7);
    assert!(refused.stderr.contains("core WASM module"), "{refused:#?}");
}

#[test]
fn to_list_what_is_known_neither_compiles_nor_runs() {
    let sandbox = sandbox();
    put(&sandbox, "loud", pure());
    let first = sandbox.run(&["tools"]).exits(0);
    assert!(first.stdout.contains("shout"), "{first:#?}");
    assert_eq!(code_files(&sandbox), 1, "it was compiled once");
    fs::remove_dir_all(sandbox.home().join("code")).expect("removed");
    let second = sandbox.run(&["tools"]).exits(0);
    assert!(second.stdout.contains("shout"), "{second:#?}");
    assert_eq!(code_files(&sandbox), 0, "nothing was compiled for the listing");
    sandbox.run(&["call", "shout", "text=x"]).exits(0);
    assert_eq!(code_files(&sandbox), 1, "the call needs it");
}

#[test]
fn it_is_installed_switched_and_removed() {
    let sandbox = sandbox();
    let file = sandbox.path("loud.wasm");
    fs::write(&file, pure()).expect("written");
    sandbox.run(&["ext", "install", file.to_str().expect("UTF-8")]).exits(0);
    assert!(sandbox.home().join("extensions/loud/loud.wasm").is_file());
    sandbox.run(&["call", "shout", "text=x"]).exits(0);
    sandbox.run(&["ext", "disable", "loud"]).exits(0);
    assert_eq!(row(&sandbox, &[], "loud")["state"], "disabled");
    sandbox.run(&["--yes", "ext", "remove", "loud"]).exits(0);
    // One without a manifest can be switched and removed, too.
    let bare = put(&sandbox, "bare", pure());
    sandbox.run(&["ext", "disable", "bare"]).exits(0);
    assert_eq!(row(&sandbox, &[], "bare")["state"], "disabled");
    sandbox.run(&["ext", "enable", "bare"]).exits(0);
    sandbox.run(&["--yes", "ext", "remove", "bare"]).exits(0);
    assert!(!bare.exists() && sandbox.home().join("extensions").is_dir());
}

#[test]
fn state_survives_in_storage_and_not_in_memory() {
    let sandbox = sandbox();
    put(&sandbox, "actor", actor());
    let mut host = sandbox.rpc(&[]);
    assert_eq!(host.text("ext_actor_load", json!({})), "nothing is kept");
    host.text("ext_actor_save", json!({ "kept": [1, 2] }));
    assert_eq!(host.text("ext_actor_count", json!({})), "1");
    host.call("ext_actor_trap", json!({}));
    assert_eq!(host.text("ext_actor_count", json!({})), "1", "a new instance");
    assert_eq!(host.text("ext_actor_load", json!({})), r#"{"kept":[1,2]}"#);
    drop(host);
    let said = sandbox.run(&["call", "ext_actor_load"]).exits(0);
    assert!(said.stdout.contains("kept"), "{said:#?}");
}
