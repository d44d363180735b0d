//! Programs that behave as the quick start of zot and the Python template of nexo do, each through `list`, `inspect`,
//! `call` or `run`, `ext install`, `ext logs -f` and reload on save.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use jackfield_test_support::{PATIENCE, Sandbox, eventually, keys};
use serde_json::{Value, json};

/// Says hello, registers a command and serves it, without ever saying that it is ready.
const GREETER: &str = r#"#!/usr/bin/env python3
import json
import sys

PROMPT = "Say good morning in one line."


def send(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)


def serve(frame):
    if frame["type"] == "command_invoked":
        send("command_response", id=frame["id"], action="prompt", prompt=PROMPT)
    elif frame["type"] == "shutdown":
        send("shutdown_ack")
        return False
    return True


send("hello", name="hello-py", version="1.2.0", capabilities=["commands"])
send("register_command", name="hellopy", description="greets from Python")
while (received := sys.stdin.readline()) and serve(json.loads(received)):
    pass
"#;

const GREETER_MANIFEST: &str =
    r#"{ "name": "hello-py", "version": "1.2.0", "language": "python", "exec": "./greeter.py" }"#;

/// Two tools and a hook in JSON-RPC, with an error for whatever it does not know.
const TEMPLATE: &str = r#"#!/usr/bin/env python3
import json, sys, time

TOOLS = [
    {"name": "ping", "description": "answers pong, and when it was asked",
     "input_schema": {"type": "object", "additionalProperties": False}},
    {"name": "add", "description": "adds two numbers",
     "input_schema": {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}},
]

def reply(request, **outcome):
    print(json.dumps({"jsonrpc": "2.0", "id": request, **outcome}), flush=True)

def error(request, code, message):
    reply(request, error={"code": code, "message": message})

for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError as problem:
        error(None, -32700, f"parse error: {problem}")
        continue
    request, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    print(f"saw {method}", file=sys.stderr, flush=True)
    if method == "initialize":
        reply(request, result={"server_version": "template-python-0.1.0", "tools": TOOLS, "hooks": ["before_message"]})
    elif method == "tools/call" and params["name"] == "ping":
        reply(request, result={"pong": True, "received_at_unix": int(time.time())})
    elif method == "tools/call" and params["name"] == "add":
        try:
            reply(request, result={"sum": float(params["arguments"]["a"]) + float(params["arguments"]["b"])})
        except ValueError as problem:
            error(request, -32602, f"a and b must be numbers: {problem}")
    elif method == "tools/call":
        error(request, -32601, f"unknown tool: {params['name']}")
    elif method == "hooks/before_message":
        reply(request, result={"abort": False})
    elif method == "shutdown":
        reply(request, result={"ok": True})
        break
    else:
        error(request, -32601, f"unknown method: {method}")
"#;

const TEMPLATE_MANIFEST: &str = r#"
[plugin]
id = "template-python"
name = "Two tools in Python"
version = "0.1.0"
description = "Answers a ping and adds two numbers."
min_agent_version = "0.1.0"

[transport]
kind = "stdio"
command = "./main.py"

[capabilities]
hooks = ["before_message"]
tools = ["add", "ping"]

[meta]
license = "MIT"
"#;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

fn write_script(file: &Path, text: &str) {
    // As editors do: the whole file appears at once.
    let draft = file.with_extension("draft~");
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(&draft, text).expect("a file");
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).expect("permissions");
    fs::rename(&draft, file).expect("renamed");
}

fn greeter(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.path("src/hello-py");
    write_script(&dir.join("greeter.py"), GREETER);
    sandbox.write(&dir.join("extension.json"), GREETER_MANIFEST);
    dir
}

fn template(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.path("src/template-python");
    write_script(&dir.join("main.py"), TEMPLATE);
    sandbox.write(&dir.join("plugin.toml"), TEMPLATE_MANIFEST);
    dir
}

/// The binary at work, its output read line by line. Killed when dropped.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut child =
            sandbox.command(args).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the binary runs");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    #[track_caller]
    fn sees(&self, wanted: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(wanted) => return,
                Ok(_) => {}
                Err(_) => panic!("in vain: {wanted:?} in the log"),
            }
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[track_caller]
fn check_install(sandbox: &Sandbox, source: &Path, id: &str, version: &str) {
    let installed = sandbox.home().join("extensions").join(id);
    let (code, answer) = sandbox.json(&["ext", "install", &source.display().to_string()]);
    assert_eq!(code, 0, "{answer:#}");
    assert_eq!(keys(&answer), "hash id ok path version");
    assert_eq!(answer["path"], json!(installed));
    assert_eq!((&answer["id"], &answer["version"]), (&json!(id), &json!(version)));
    let (code, listing) = sandbox.json(&["list"]);
    assert_eq!(code, 0, "{listing:#}");
    let row = &listing["extensions"][0];
    assert_eq!((&row["id"], &row["scope"], &row["error"]), (&json!(id), &json!("global"), &Value::Null));
    assert_eq!(row["path"], json!(installed));
    assert_eq!(listing["diagnostics"], json!([]));
}

#[test]
fn a_program_like_the_quick_start_of_zot_works() {
    let sandbox = sandbox();
    let source = greeter(&sandbox);
    let (code, shown) = sandbox.json(&["inspect", &source.display().to_string()]);
    assert_eq!(code, 0, "{shown:#}");
    assert_eq!(shown["commands"], json!([{ "name": "hellopy", "description": "greets from Python" }]));
    assert_eq!((&shown["format"], &shown["version"]), (&json!("zot"), &json!("1.2.0")));
    let expected = |answer: &Value| {
        assert_eq!(keys(answer), "action call_id command extension notifications ok prompt");
        assert_eq!(answer["action"], "prompt");
        assert_eq!(answer["prompt"], "Say good morning in one line.");
    };
    let (code, answer) = sandbox.json(&["-e", &source.display().to_string(), "run", "hellopy"]);
    assert_eq!(code, 0, "{answer:#}");
    expected(&answer);
    check_install(&sandbox, &source, "hello-py", "1.2.0");
    // What is installed is a copy.
    fs::remove_dir_all(&source).expect("removed");
    let (code, answer) = sandbox.json(&["run", "hellopy", "--json"]);
    assert_eq!(code, 0, "{answer:#}");
    expected(&answer);
    assert_eq!(sandbox.run(&["run", "/hellopy"]).exits(0).stdout, "prompt: Say good morning in one line.\n");
}

#[test]
fn a_program_like_the_python_template_of_nexo_works() {
    let sandbox = sandbox();
    let source = template(&sandbox);
    let (code, shown) = sandbox.json(&["inspect", &source.display().to_string()]);
    assert_eq!(code, 0, "{shown:#}");
    assert_eq!((&shown["format"], &shown["version"]), (&json!("nexo"), &json!("0.1.0")));
    assert_eq!(shown["hooks"], json!(["before_message"]));
    check_install(&sandbox, &source, "template-python", "0.1.0");
    let (code, tools) = sandbox.json(&["tools"]);
    assert_eq!(code, 0, "{tools:#}");
    let names: Vec<&str> = tools["tools"].as_array().into_iter().flatten().filter_map(|t| t["name"].as_str()).collect();
    assert_eq!(names, ["ext_template-python_add", "ext_template-python_ping"]);
    assert_eq!(tools["tools"][1]["description"], "[ext:template-python] answers pong, and when it was asked");

    let (code, answer) = sandbox.json(&["call", "ext_template-python_ping"]);
    assert_eq!((code, &answer["details"]["pong"]), (0, &json!(true)), "{answer:#}");
    let (code, answer) = sandbox.json(&["call", "ext_template-python_add", "a=2", "b=3"]);
    assert_eq!((code, &answer["details"]), (0, &json!({ "sum": 5.0 })), "{answer:#}");
    // An error of the tool is its answer, word for word; the arguments were fine by its schema.
    let (code, answer) = sandbox.json(&["call", "ext_template-python_add", "a=x", "b=1"]);
    assert_eq!((code, &answer["is_error"]), (1, &json!(true)), "{answer:#}");
    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("a and b must be numbers: could not convert string to float: 'x'"), "{answer:#}");
    let log = sandbox.run(&["ext", "logs", "template-python"]).exits(0).stdout;
    assert!(log.contains("saw initialize") && log.contains("saw shutdown"), "{log}");
}

#[test]
fn the_log_can_be_followed() {
    let sandbox = sandbox();
    let source = template(&sandbox);
    sandbox.run(&["ext", "install", &source.display().to_string()]).exits(0);
    // Before the extension has ever run there is nothing to show, but there may be soon.
    sandbox.run(&["ext", "logs", "template-python"]).exits(3);
    let following = Following::start(&sandbox, &["ext", "logs", "template-python", "-f"]);
    sandbox.run(&["call", "ext_template-python_ping"]).exits(0);
    following.sees("saw initialize");
    following.sees("saw tools/call");
    sandbox.run(&["call", "ext_template-python_ping"]).exits(0);
    following.sees("saw initialize");
    following.sees("saw tools/call");

    // Of a program that writes nothing itself, what the host did with it.
    let source = greeter(&sandbox);
    sandbox.run(&["ext", "install", &source.display().to_string()]).exits(0);
    let following = Following::start(&sandbox, &["ext", "logs", "hello-py", "-f"]);
    sandbox.run(&["run", "hellopy"]).exits(0);
    following.sees("[jackfield] starting");
    sandbox.run(&["run", "hellopy"]).exits(0);
    following.sees("[jackfield] starting");
}

#[test]
fn saving_a_frames_script_reloads_it() {
    let sandbox = sandbox();
    let source = greeter(&sandbox);
    sandbox.run(&["ext", "install", &source.display().to_string()]).exits(0);
    // As one that was put there by hand: what is installed is held to its record.
    std::fs::remove_file(sandbox.home().join("jackfield.lock")).expect("there is a record");
    let script = sandbox.home().join("extensions/hello-py/greeter.py");
    let mut host = sandbox.rpc(&["--watch"]);
    let run = json!({ "type": "run_command", "command": "hellopy" });
    let answer = host.ask(run.clone());
    assert_eq!(answer["data"]["prompt"], "Say good morning in one line.", "{answer:#}");

    let edited = GREETER
        .replace("in one line", "at length")
        .replace(
            "while (",
            "send(\"register_tool\", name=\"wave\", description=\"waves\", schema={\"type\": \"object\"})\nwhile (",
        )
        .replace(
            "    elif frame[\"type\"] == \"shutdown\"",
            "    elif frame[\"type\"] == \"tool_call\":\n        send(\"tool_result\", id=frame[\"id\"], \
             content=[{\"type\": \"text\", \"text\": \"waved\"}])\n    elif frame[\"type\"] == \"shutdown\"",
        );
    write_script(&script, &edited);
    let event = host.wait_for("a reload", |line| line["type"] == "ext_reloaded");
    let reload = &event["reload"];
    assert_eq!(keys(reload), "changes extension new old");
    assert_eq!((&reload["extension"], &reload["changes"]), (&json!("hello-py"), &json!(["tool wave added"])));
    assert_ne!(reload["old"], reload["new"]);
    assert_eq!(host.text("wave", json!({})), "waved");
    assert_eq!(host.ask(run.clone())["data"]["prompt"], "Say good morning at length.");

    // A version that does not start changes nothing but says why.
    write_script(&script, "#!/usr/bin/env python3\nimport sys\nsys.exit('cannot work like this')\n");
    let event = host.wait_for("a failed reload", |line| line["type"] == "ext_reloaded");
    let broken = &event["reload"];
    assert_eq!(broken["old"], reload["new"]);
    assert!(broken["error"].as_str().is_some_and(|error| error.contains("cannot work like this")), "{event:#}");
    assert_eq!(host.text("wave", json!({})), "waved");

    // And the repaired one takes over.
    write_script(&script, GREETER);
    let event = host.wait_for("a third reload", |line| line["type"] == "ext_reloaded");
    assert_eq!(event["reload"]["changes"], json!(["tool wave removed"]), "{event:#}");
    assert_eq!(host.call("wave", json!({}))["error"]["code"], "not_found");
    assert_eq!(host.ask(run)["data"]["prompt"], "Say good morning in one line.");
    assert_eq!(host.close(), 0);
}

/// Whoever works on an extension installs a link to it: its saves are live, and no record holds them up.
#[test]
fn saving_what_a_link_leads_to_reloads_it() {
    let sandbox = sandbox();
    let source = greeter(&sandbox);
    sandbox.run(&["ext", "install", "--link", &source.display().to_string()]).exits(0);
    let mut host = sandbox.rpc(&["--watch"]);
    let run = json!({ "type": "run_command", "command": "hellopy" });
    assert_eq!(host.ask(run.clone())["data"]["prompt"], "Say good morning in one line.");
    write_script(&source.join("greeter.py"), &GREETER.replace("in one line", "at length"));
    let event = host.wait_for("a reload", |line| line["type"] == "ext_reloaded");
    assert_eq!(event["reload"]["extension"], "hello-py", "{event:#}");
    assert_eq!(host.ask(run)["data"]["prompt"], "Say good morning at length.");
}

#[test]
fn saving_a_json_rpc_script_reloads_it() {
    let sandbox = sandbox();
    let source = template(&sandbox);
    sandbox.run(&["ext", "install", &source.display().to_string()]).exits(0);
    // As one that was put there by hand: what is installed is held to its record.
    std::fs::remove_file(sandbox.home().join("jackfield.lock")).expect("there is a record");
    let dir = sandbox.home().join("extensions/template-python");
    let mut host = sandbox.rpc(&["--watch"]);
    assert_eq!(host.call("ext_template-python_ping", json!({}))["data"]["details"]["pong"], true);
    write_script(&dir.join("main.py"), &TEMPLATE.replace("\"pong\": True", "\"pong\": \"twice\""));
    let event = host.wait_for("a reload", |line| line["type"] == "ext_reloaded");
    assert_eq!(event["reload"]["extension"], "template-python", "{event:#}");
    assert_eq!(host.call("ext_template-python_ping", json!({}))["data"]["details"]["pong"], "twice");
    // A manifest that cannot be read stops nothing that runs.
    write_script(&dir.join("plugin.toml"), "[plugin\n");
    host.wait_for("word of the broken manifest", |line| line["type"] == "ext_reloaded");
    eventually("the old version still answers", || {
        host.call("ext_template-python_ping", json!({}))["data"]["details"]["pong"] == "twice"
    });
    assert_eq!(host.close(), 0);
}
