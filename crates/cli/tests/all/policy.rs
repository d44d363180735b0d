//! Who may do what: the three modes, `config.toml`, grants and denials, spoofed capabilities, and trust in projects.

use std::fs;
use std::path::Path;

use jackfield_test_support::{Sandbox, example, keys};
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    sandbox.write(&sandbox.project().join("notes/a.txt"), "the content of a");
    sandbox.write(&sandbox.project().join("other/b.txt"), "the content of b");
    sandbox
}

/// Lets the extension `odd` ask the host to read a file; gives what came of it: the content, or code and message.
#[track_caller]
fn read_file(sandbox: &Sandbox, flags: &[&str], path: &str) -> Result<String, (String, String)> {
    sandbox
        .host_call(flags, &json!({ "method": "fs", "params": { "op": "read", "path": path } }))
        .map(|output| output["content"].as_str().unwrap_or_default().to_owned())
}

#[track_caller]
fn check_denied(outcome: Result<String, (String, String)>, part: &str) {
    let (code, message) = outcome.expect_err("it must be denied");
    assert_eq!(code, "denied", "{message}");
    assert!(message.contains(part) && message.contains("extension odd"), "{message}");
}

#[test]
fn the_modes_differ() {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "ok");
    let content = Ok("the content of a".to_owned());
    let a = "notes/a.txt";
    check_denied(read_file(&sandbox, &[], a), "no person said yes");
    check_denied(read_file(&sandbox, &["--policy", "strict"], a), "mode");
    // In strict mode there is no question, so there is nothing to say yes to.
    check_denied(read_file(&sandbox, &["--policy", "strict", "--yes"], a), "mode");
    assert_eq!(read_file(&sandbox, &["--policy", "permissive"], a), content);
    assert_eq!(read_file(&sandbox, &["--policy", "prompt", "--yes"], a), content);

    let config = sandbox.home().join("config.toml");
    sandbox.write(&config, "[policy]\nmode = \"permissive\"\n");
    assert_eq!(read_file(&sandbox, &[], a), content);
    // The flag wins over the file.
    check_denied(read_file(&sandbox, &["--policy", "strict"], a), "mode");
    sandbox.write(&config, "[policy]\nmode = \"strict\"\n");
    check_denied(read_file(&sandbox, &[], a), "jackfield grant odd read --path notes/a.txt");
    sandbox.write(&config, "[policy]\nmode = \"prompt\"\ndefault_caps = [\"read\"]\n");
    assert_eq!(read_file(&sandbox, &[], a), content);
    // A denial for all is stronger than everything else.
    sandbox.write(&config, "[policy]\nmode = \"permissive\"\ndeny_caps = [\"read\"]\ndefault_caps = [\"read\"]\n");
    sandbox.run(&["grant", "odd", "read"]).exits(0);
    check_denied(read_file(&sandbox, &["--yes"], a), "deny_caps");
    assert_eq!(sandbox.json(&["why", "host_call"]).1["powers"]["read"]["rule"], "deny_caps");
}

#[test]
fn tools_can_be_denied_by_name() {
    let sandbox = sandbox();
    sandbox.plain("plain", &["who", "what"], &[]);
    sandbox.write(&sandbox.home().join("config.toml"), "[policy]\ndeny_tools = [\"wh?\"]\n");
    let (code, answer) = sandbox.json(&["call", "who"]);
    assert_eq!((code, &answer["error"]["code"]), (4, &json!("denied")), "{answer:#}");
    assert!(answer["error"]["message"].as_str().is_some_and(|message| message.contains("deny_tools")), "{answer:#}");
    // The qualified name is the same tool.
    sandbox.run(&["call", "ext_plain_who"]).exits(4);
    sandbox.run(&["call", "what"]).exits(0);

    // Agents need more than persons in strict mode.
    sandbox.write(&sandbox.home().join("config.toml"), "[policy]\nmode = \"strict\"\nallow_tools = [\"what\"]\n");
    sandbox.run(&["call", "who"]).exits(0);
    let mut host = sandbox.rpc(&[]);
    assert_eq!(host.call("who", json!({}))["error"]["code"], "denied");
    assert_eq!(host.text("what", json!({})), "plain");
    sandbox.run(&["grant", "plain", "tool", "--tool", "who"]).exits(0);
    jackfield_test_support::eventually("the grant reaches a host that runs", || {
        host.call("who", json!({}))["success"] == json!(true)
    });
    assert_eq!(host.close(), 0);
}

#[test]
fn a_wrong_configuration_stops_everything_and_names_the_file() {
    let sandbox = sandbox();
    sandbox.plain("plain", &["who"], &[]);
    let config = sandbox.home().join("config.toml");
    for (text, part) in [
        ("[policy", "line 1"),
        ("[policy]\nmode = \"lax\"\n", "policy.mode"),
        ("[policy]\nmode = 7\n", "policy.mode"),
        ("[policy]\ndeny_caps = [\"fly\"]\n", "policy.deny_caps"),
        ("policy = 1\n", "policy"),
    ] {
        sandbox.write(&config, text);
        for words in [&["call", "who"][..], &["list"], &["tools"], &["doctor"], &["rpc"]] {
            let (code, answer) = sandbox.json(words);
            assert_eq!((code, &answer["error"]["code"]), (7, &json!("invalid_config")), "{words:?}: {answer:#}");
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(&config.display().to_string()) && message.contains(part), "{message}");
        }
    }
    // A key that nobody knows may be a slip that leaves a door open.
    sandbox.write(&config, "deny_caps = [\"read\"]\n[policy]\ndeny_cap = [\"exec\"]\n");
    let (code, listing) = sandbox.json(&["list"]);
    assert_eq!(code, 0, "{listing:#}");
    let said = listing["diagnostics"].to_string();
    assert!(
        said.contains("policy.deny_cap is unknown") && said.contains("deny_caps stands outside of [policy]"),
        "{said}"
    );
}

#[test]
fn grants_come_and_go() {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "ok");
    assert_eq!(sandbox.json(&["grants"]), (0, json!({ "grants": [] })));
    let (code, given) = sandbox.json(&["grant", "odd", "read", "--path", "notes/**"]);
    assert_eq!(code, 0, "{given:#}");
    assert_eq!(keys(&given["grant"]), "capability effect extension granted_at id");
    assert_eq!(given["grant"]["capability"], json!({ "capability": "read", "scope": { "paths": ["notes/**"] } }));
    assert_eq!(sandbox.json(&["grants"]).1["grants"], json!([given["grant"]]));
    assert_eq!(read_file(&sandbox, &[], "notes/a.txt"), Ok("the content of a".to_owned()));
    assert_eq!(
        read_file(&sandbox, &["--policy", "strict"], "notes/../notes/./a.txt"),
        Ok("the content of a".to_owned())
    );
    check_denied(read_file(&sandbox, &[], "other/b.txt"), "read other/b.txt");
    check_denied(read_file(&sandbox, &[], "notes/../other/b.txt"), "read other/b.txt");
    // Reading is not writing.
    let write = json!({ "method": "fs", "params": { "op": "write", "path": "notes/a.txt", "content": "x" } });
    assert_eq!(sandbox.host_call(&[], &write).expect_err("denied").0, "denied");

    // A denial is stronger than a grant, whatever the mode.
    sandbox.run(&["grant", "odd", "read", "--path", "notes/a.txt", "--deny"]).exits(0);
    check_denied(read_file(&sandbox, &["--policy", "permissive", "--yes"], "notes/a.txt"), "deny_grant");
    let grants = sandbox.json(&["grants"]).1;
    let id = grants["grants"][1]["id"].as_str().expect("an id");
    assert_eq!(grants["grants"][1]["effect"], "deny");
    let (code, revoked) = sandbox.json(&["revoke", id]);
    assert_eq!((code, &revoked["revoked"][0]["id"]), (0, &json!(id)), "{revoked:#}");
    assert_eq!(read_file(&sandbox, &[], "notes/a.txt"), Ok("the content of a".to_owned()));

    // One power, then all of an extension.
    sandbox.run(&["grant", "odd", "env", "--env", "LANG"]).exits(0);
    sandbox.run(&["revoke", "odd", "read"]).exits(0);
    check_denied(read_file(&sandbox, &[], "notes/a.txt"), "no person said yes");
    assert_eq!(sandbox.json(&["grants"]).1["grants"].as_array().map(Vec::len), Some(1));
    sandbox.run(&["revoke", "odd"]).exits(0);
    assert_eq!(sandbox.json(&["grants"]), (0, json!({ "grants": [] })));
    sandbox.run(&["revoke", "odd"]).exits(3);

    // Only in this project.
    let (_, given) = sandbox.json(&["grant", "odd", "read", "--here"]);
    assert_eq!(given["grant"]["project"], json!(sandbox.project().canonicalize().expect("a path")));
    assert!(read_file(&sandbox, &[], "notes/a.txt").is_ok());
    let other = sandbox.path("other");
    sandbox.write(&other.join("notes/a.txt"), "elsewhere");
    let mut command = sandbox.command(&["--json", "call", "host_call", "--args"]);
    command.arg(json!({ "method": "fs", "params": { "op": "read", "path": "notes/a.txt" } }).to_string());
    // A later `--project` is refused, so the command is built anew.
    let program = command.get_program().to_owned();
    let output = std::process::Command::new(program)
        .arg("--home")
        .arg(sandbox.home())
        .arg("--project")
        .arg(&other)
        .args(command.get_args().skip(4))
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("denied to extension odd"), "{said}");
}

#[test]
fn damaged_grants_grant_nothing_and_are_reported() {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "ok");
    sandbox.run(&["grant", "odd", "read"]).exits(0);
    let file = sandbox.home().join("grants.json");
    let text = fs::read_to_string(&file).expect("grants");
    sandbox.write(&file, &text[..text.len() / 2]);
    check_denied(read_file(&sandbox, &[], "notes/a.txt"), "no person said yes");
    sandbox.run(&["grants"]).exits(7);
    sandbox.run(&["doctor"]).exits(7);
    let said = sandbox.json(&["list"]).1["diagnostics"].to_string();
    assert!(said.contains("grants.json") && said.contains("nothing counts as granted"), "{said}");
    // And the damaged file is not overwritten.
    assert_ne!(sandbox.run(&["grant", "odd", "read"]).code, 0);
    assert_eq!(fs::read_to_string(&file).expect("grants"), &text[..text.len() / 2]);
}

/// Claims the capability that it is told to claim, in the envelope dialect.
const SPOOFER: &str = r#"
import json, sys
def send(id, kind, payload):
    print(json.dumps({"id": id, "version": "1.0", "type": kind, "payload": payload}), flush=True)
send("register", "register", {"name": "spoofer", "version": "1.0.0", "api_version": "1.0", "capability_manifest":
    {"schema": "pi.ext.cap.v1", "capabilities": []}, "tools": [{"name": "spoof", "description": "Reads, claiming something.",
    "parameters": {"type": "object", "properties": {"claim": {"type": "string"}}}}], "slash_commands": [], "event_hooks": []})
parked = {}
for line in sys.stdin:
    message = json.loads(line)
    payload = message["payload"]
    if message["type"] == "tool_call":
        parked["h1"] = (message["id"], payload["call_id"])
        send("h1", "host_call", {"call_id": "h1", "capability": payload["input"]["claim"], "method": "fs",
            "params": {"op": "read", "path": "notes/a.txt"}, "context": {"call_id": payload["call_id"]}})
    elif message["type"] == "host_result":
        id, call_id = parked.pop("h1")
        text = json.dumps(payload)
        send(id, "tool_result", {"call_id": call_id, "output": {"content": [{"type": "text", "text": text}]}, "is_error": False})
"#;

#[test]
fn a_spoofed_capability_is_refused() {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "ok");
    let dir = sandbox.home().join("extensions/spoofer");
    sandbox.write(&dir.join("main.py"), SPOOFER);
    let manifest = json!({ "schema": "pi.ext.manifest.v1", "name": "spoofer", "version": "1.0.0", "exec": "python3", "args": ["main.py"] });
    sandbox.write(&dir.join("extension.json"), &manifest.to_string());
    sandbox.run(&["grant", "spoofer", "log"]).exits(0);
    sandbox.run(&["grant", "odd", "log"]).exits(0);
    // What is granted does not stretch to what is done under its name, and no mode and no yes changes that.
    for flags in [&[][..], &["--yes"], &["--policy", "permissive"]] {
        let mut words = flags.to_vec();
        words.extend(["call", "spoof", "claim=log"]);
        let (code, answer) = sandbox.json(&words);
        assert_eq!(code, 0, "{answer:#}");
        let result: Value =
            serde_json::from_str(answer["content"][0]["text"].as_str().unwrap_or_default()).expect("JSON");
        assert_eq!(
            (&result["is_error"], &result["error"]["code"]),
            (&json!(true), &json!("invalid_request")),
            "{result:#}"
        );
        let message = result["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(message, "the claimed capability \"log\" is not \"read\", which this call needs");

        let call = json!({ "method": "fs", "params": { "op": "read", "path": "notes/a.txt" }, "capability": "log" });
        assert_eq!(sandbox.host_call(flags, &call).expect_err("refused").0, "invalid_request");
    }
    // An honest claim is served.
    let (code, answer) = sandbox.json(&["--yes", "call", "spoof", "claim=read"]);
    assert_eq!(code, 0, "{answer:#}");
    assert!(answer["content"][0]["text"].as_str().is_some_and(|text| text.contains("the content of a")), "{answer:#}");
}

#[test]
fn a_declared_scope_binds_even_when_everything_is_allowed() {
    let sandbox = sandbox();
    let dir = sandbox.path("native");
    fs::create_dir_all(&dir).expect("a folder");
    for file in ["notes.py", "extension.toml"] {
        let text = fs::read_to_string(example("notes-py").join(file)).expect("the example");
        sandbox.write(&dir.join(file), &text.replace("paths = [\"**\"]", "paths = [\"notes/*\"]"));
    }
    let manifest = fs::read_to_string(dir.join("extension.toml")).expect("the manifest");
    let manifest = manifest.replace("\"./notes.py\"", "\"python3\"").replace("args = []", "args = [\"notes.py\"]");
    sandbox.write(&dir.join("extension.toml"), &manifest);
    let dir = dir.display().to_string();
    let import =
        |path: &str| sandbox.run(&["-e", &dir, "--policy", "permissive", "--yes", "call", "note_import", path]);
    assert_eq!(import("path=notes/a.txt").exits(0).stdout, "imported 1 notes from notes/a.txt\n");
    let said = import("path=other/b.txt").exits(1).stdout;
    assert!(said.contains("read other/b.txt denied to extension notes-py: declared"), "{said}");
}

#[track_caller]
fn check_trust(place: &str, write: impl Fn(&Sandbox, &Path, &str), tool: &str) {
    let sandbox = sandbox();
    let dir = sandbox.project().join(place);
    write(&sandbox, &dir, "first");
    let row = || sandbox.json(&["list"]).1["extensions"][0].clone();
    assert_eq!((&row()["state"], &row()["scope"]), (&json!("untrusted"), &json!("project")));
    assert!(row()["error"].as_str().is_some_and(|error| error.contains("jackfield trust")), "{}", row());
    sandbox.run(&["call", tool]).exits(4);
    assert_eq!(sandbox.json(&["tools"]).1["tools"], json!([]));
    assert_eq!(sandbox.json(&["doctor", "--runtime"]).1["results"][0]["outcome"], "skip");
    assert!(!sandbox.project().join("ran").exists(), "nothing of the project has run");

    let project = sandbox.project().canonicalize().expect("a path");
    assert_eq!(sandbox.json(&["trust"]), (0, json!({ "ok": true, "project": project, "state": "trusted" })));
    sandbox.run(&["call", tool]).exits(0);
    assert!(sandbox.project().join("ran").exists(), "the test would have seen it run");

    // Whatever changes, the person is asked again.
    fs::remove_file(sandbox.project().join("ran")).expect("removed");
    write(&sandbox, &dir, "second");
    assert_eq!(row()["state"], "untrusted");
    sandbox.run(&["call", tool]).exits(4);
    assert!(sandbox.json(&["list"]).1["diagnostics"].to_string().contains("changed since you trusted them"));
    assert!(!sandbox.project().join("ran").exists());
    sandbox.run(&["trust", &project.display().to_string()]).exits(0);
    sandbox.run(&["call", tool]).exits(0);
    let (code, answer) = sandbox.json(&["trust", "--revoke"]);
    assert_eq!((code, &answer["state"]), (0, &json!("untrusted")), "{answer:#}");
    sandbox.run(&["call", tool]).exits(4);
    // A flag is the person's own word.
    sandbox.run(&["-e", &dir.display().to_string(), "call", tool]).exits(0);
}

/// Leaves a mark in the project when it runs.
fn zot_extension(sandbox: &Sandbox, dir: &Path, mark: &str) {
    sandbox.plain_at(dir, "local", &["who"], &[]);
    let script = fs::read_to_string(dir.join("run.sh")).expect("a script");
    let mark = format!("#!/bin/sh\n: {mark}\ntouch '{}'\n", sandbox.project().join("ran").display());
    sandbox.write(&dir.join("run.sh"), &script.replacen("#!/bin/sh\n", &mark, 1));
}

fn nexo_extension(sandbox: &Sandbox, dir: &Path, mark: &str) {
    let script = fs::read_to_string(example("weather-nexo").join("weather.py")).expect("the example");
    let ran = sandbox.project().join("ran").display().to_string();
    sandbox.write(&dir.join("main.py"), &format!("# {mark}\nopen({ran:?}, 'w').close()\n{script}"));
    let manifest = fs::read_to_string(example("weather-nexo").join("plugin.toml")).expect("the example");
    let manifest = manifest.replace("\"./weather.py\"", "\"python3\"\nargs = [\"main.py\"]");
    sandbox.write(&dir.join("plugin.toml"), &manifest);
}

#[test]
fn a_projects_frames_extensions_wait_for_trust() {
    check_trust(".zot/extensions/local", zot_extension, "ext_local_who");
}

#[test]
fn a_projects_own_extensions_wait_for_trust() {
    check_trust(".jackfield/extensions/local", zot_extension, "ext_local_who");
}

#[test]
fn a_projects_json_rpc_extensions_wait_for_trust() {
    check_trust("extensions/weather", nexo_extension, "ext_weather-nexo_echo_meta");
}

#[test]
fn an_extension_that_eats_memory_is_held_to_the_limit() {
    let sandbox = sandbox();
    let dir = sandbox.home().join("extensions/hungry");
    sandbox.write(&dir.join("extension.json"), r#"{"name":"hungry","exec":"python3","args":["hungry.py"]}"#);
    let script = r#"
import json, sys
def say(**frame): print(json.dumps(frame), flush=True)
say(type="hello", name="hungry")
say(type="register_tool", name="eat", description="Takes so many MiB.")
say(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        try:
            taken = bytearray(frame["args"]["mb"] << 20)
            text = f"took {len(taken) >> 20}"
        except MemoryError:
            text = "out of memory"
        say(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
"#;
    sandbox.write(&dir.join("hungry.py"), script);
    sandbox.write(&sandbox.home().join("config.toml"), "[policy]\nmax_memory_mb = 128\n");
    assert_eq!(sandbox.run(&["call", "eat", "mb=16"]).exits(0).stdout, "took 16\n");
    assert_eq!(sandbox.run(&["call", "eat", "mb=512"]).exits(0).stdout, "out of memory\n");
    sandbox.write(&sandbox.home().join("config.toml"), "");
    assert_eq!(sandbox.run(&["call", "eat", "mb=512"]).exits(0).stdout, "took 512\n");
}
