//! Files outside the project: what an extension reaches there through the host, and what it never does.

use std::fs;
use std::os::unix::fs::symlink;

use jackfield_test_support::Sandbox;
use serde_json::{Value, json};

/// Lets the extension `odd` ask the host for something; gives the answer, or code and message.
#[track_caller]
fn ask(sandbox: &Sandbox, flags: &[&str], method: &str, params: Value) -> Result<Value, (String, String)> {
    sandbox.host_call(flags, &json!({ "method": method, "params": params }))
}

#[track_caller]
fn denied(outcome: Result<Value, (String, String)>, part: &str) {
    let (code, message) = outcome.expect_err("it must be denied");
    assert!(code == "denied" && message.contains(part), "{code}: {message}");
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    sandbox.misbehave("odd", "ok");
    sandbox.write(&sandbox.path("else/where.txt"), "far away");
    sandbox
}

fn real(sandbox: &Sandbox, name: &str) -> String {
    sandbox.path("").canonicalize().expect("a folder").join(name).to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_file_outside_is_judged_by_its_real_path() {
    let mut sandbox = sandbox();
    sandbox.env("HOME", &real(&sandbox, ""));
    symlink(sandbox.path("else"), sandbox.project().join("link")).expect("a link");
    let file = real(&sandbox, "else/where.txt");
    let read = |flags: &[&str], path: &str| ask(&sandbox, flags, "fs", json!({ "op": "read", "path": path }));
    for path in [file.as_str(), "link/where.txt", "../else/where.txt"] {
        denied(read(&[], path), "no person said yes");
        denied(read(&["--policy", "strict"], path), &format!("jackfield grant odd read --path {file}"));
        assert_eq!(read(&["--policy", "permissive"], path).expect("allowed")["content"], "far away");
        assert_eq!(read(&["--yes"], path).expect("allowed")["content"], "far away");
    }
    // A grant for the project's files is not one for others, and a default neither.
    sandbox.run(&["grant", "odd", "read"]).exits(0);
    sandbox.run(&["grant", "odd", "read", "--path", "**"]).exits(0);
    sandbox.write(&sandbox.home().join("config.toml"), "[policy]\ndefault_caps = [\"read\"]\n");
    denied(read(&[], "link/where.txt"), "no person said yes");
    sandbox.run(&["grant", "odd", "read", "--path", "~/else/**"]).exits(0);
    assert_eq!(read(&["--policy", "strict"], "link/where.txt").expect("granted")["content"], "far away");
    denied(ask(&sandbox, &[], "fs", json!({ "op": "write", "path": file, "content": "x" })), "no person said yes");
    // A denial without a scope is for all.
    sandbox.run(&["grant", "odd", "read", "--deny"]).exits(0);
    denied(read(&["--yes"], &file), "deny_grant");
    assert_eq!(fs::read_to_string(sandbox.path("else/where.txt")).expect("a file"), "far away");
}

#[test]
fn an_extension_uses_its_own_files_without_a_grant() {
    let sandbox = sandbox();
    let strict = ["--policy", "strict"];
    let fs = |params: Value| ask(&sandbox, &strict, "fs", params);
    let own = |name: &str| real(&sandbox, &format!("home/{name}"));
    let manifest = own("extensions/odd/extension.json");
    assert!(fs(json!({ "op": "read", "path": manifest })).expect("its own")["content"].as_str().is_some());
    denied(fs(json!({ "op": "write", "path": manifest, "content": "{}" })), "host_files");
    for folder in ["data/odd", "tmp/odd"] {
        let file = own(&format!("{folder}/notes/a.txt"));
        fs(json!({ "op": "mkdir", "path": own(&format!("{folder}/notes")) })).expect("its own");
        fs(json!({ "op": "write", "path": file, "content": "mine" })).expect("its own");
        assert_eq!(fs(json!({ "op": "read", "path": file })).expect("its own")["content"], "mine");
        // The folder itself stays what it is.
        denied(fs(json!({ "op": "rename", "path": own(folder), "to": own("data/odd2") })), "host_files");
        denied(fs(json!({ "op": "remove", "path": own(folder), "recursive": true })), "host_files");
    }
    // A link in it is judged by what it points at.
    let link = own("data/odd/link");
    denied(fs(json!({ "op": "link", "path": link, "target": real(&sandbox, "else/where.txt") })), "else/where.txt");
    symlink(sandbox.path("else"), &link).expect("a link");
    denied(fs(json!({ "op": "read", "path": format!("{link}/where.txt") })), "else/where.txt");
    // The record says why.
    let (_, tail) = sandbox.json(&["ledger", "tail", "-n", "200"]);
    let rule = |rule: &str| tail.to_string().contains(&format!("\"decision\":\"{rule}\""));
    assert!(rule("own_files") && rule("host_files"), "{tail:#}");
}

#[test]
fn the_hosts_own_files_are_nobody_elses() {
    let sandbox = sandbox();
    sandbox.run(&["grant", "odd", "write", "--path", "/**"]).exits(0);
    sandbox.run(&["grant", "odd", "read", "--path", "/**"]).exits(0);
    let fs = |params: Value| ask(&sandbox, &["--policy", "permissive", "--yes"], "fs", params);
    let home = |name: &str| real(&sandbox, &format!("home/{name}"));
    let files = ["grants.json", "trust.json", "jackfield.lock", "config.toml", "extensions.yaml", "mcp.json", ".env"];
    let folders = ["ledger/x", "run/x", "extensions/y/x", "catalog/x", "pins/x", "channels/x", "code/x", "secrets/x"];
    for name in files.into_iter().chain(folders) {
        denied(fs(json!({ "op": "write", "path": home(name), "content": "{}" })), "no grant allows it");
    }
    sandbox.write(&sandbox.home().join(".env"), "TOKEN=x\n");
    for name in [".env", "secrets/token", "code/key"] {
        denied(fs(json!({ "op": "read", "path": home(name) })), "no grant allows it");
    }
    for params in [
        json!({ "op": "rename", "path": home(""), "to": real(&sandbox, "moved") }),
        json!({ "op": "rename", "path": real(&sandbox, ""), "to": "/tmp/moved" }),
        json!({ "op": "remove", "path": real(&sandbox, ""), "recursive": true }),
        json!({ "op": "read", "path": home("data/other/secret") }),
        json!({ "op": "read", "path": "/proc/self/environ" }),
        json!({ "op": "copy", "path": home("grants.json"), "to": home("trust.json") }),
        json!({ "op": "link", "path": home("config.toml"), "target": "x" }),
    ] {
        let (code, message) = fs(params.clone()).expect_err("refused");
        assert_eq!(code, "denied", "{params}: {message}");
    }
    assert!(sandbox.path("else/where.txt").exists() && sandbox.home().join("grants.json").exists());
}

#[test]
fn errors_carry_the_systems_own_name() {
    let sandbox = sandbox();
    let args = |method: &str, params: Value| json!({ "method": method, "params": params }).to_string();
    for (method, params, errno) in [
        ("fs", json!({ "op": "read", "path": "none" }), "ENOENT"),
        ("fs", json!({ "op": "mkdir", "path": "/proc/nothing" }), "ENOENT"),
        ("exec", json!({ "command": "no-such-program" }), "ENOENT"),
    ] {
        let (_, answer) = sandbox.json(&["--yes", "call", "host_call", "--args", &args(method, params)]);
        let frame: Value = serde_json::from_str(answer["content"][0]["text"].as_str().expect("a text")).expect("JSON");
        assert_eq!((&frame["error"]["code"], &frame["error"]["details"]["errno"]), (&json!("io"), &json!(errno)));
    }
}
