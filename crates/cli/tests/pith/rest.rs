//! Cases that are one test each.

use std::fs;

use jackfield_test_support::eventually;
use serde_json::{Value, json};

use crate::support::{called, sandbox, tool, tool_names};

/// Who is let in can be written to, and nothing is installed. The others are there for extensions, each by its name.
#[test]
fn case_04_the_hosts_own_tools_are_there_one_by_one() {
    let sandbox = sandbox();
    assert_eq!(tool_names(&sandbox, &[]), Vec::<String>::new());
    sandbox.run_with_input(&["secret", "set", "TELEGRAM_BOT_TOKEN"], "123456:not-a-real-token").exits(0);
    sandbox.run(&["channel", "allow", "telegram", "42"]).exits(0);
    assert_eq!(tool_names(&sandbox, &[]), ["send_media", "send_message"]);
    sandbox.write(&sandbox.project().join("notes.txt"), "one\n");
    let source = "def run():\n    \
                  host.tool('write', {'path': 'new.txt', 'content': 'two'})\n    \
                  host.tool('edit', {'path': 'new.txt', 'old_text': 'two', 'new_text': 'three'})\n    \
                  found = host.tool('read', {'path': 'new.txt'})['content'][0]['text']\n    \
                  return found + ' ' + host.tool('ls', {'path': '.'})['content'][0]['text']\n";
    tool(&sandbox, "uses", source);
    let said = called(&sandbox, &["--yes", "call", "uses"]);
    assert!(said.contains("three") && said.contains("notes.txt"), "{said}");
    assert_eq!(tool_names(&sandbox, &[]), ["send_media", "send_message", "uses"]);
}

#[test]
fn case_05_a_path_stays_inside_or_is_refused() {
    let sandbox = sandbox();
    sandbox.write(&sandbox.project().join("sub/notes.txt"), "written down");
    let source = "def run(path: str):\n    return host.call('fs', {'op': 'read', 'path': path})['content']\n";
    tool(&sandbox, "look", source);
    sandbox.run(&["grant", "tools.look", "read"]).exits(0);
    for path in ["sub/notes.txt", "./sub/../sub/notes.txt"] {
        assert_eq!(called(&sandbox, &["call", "look", &format!("path={path}")]), "written down");
    }
    std::os::unix::fs::symlink("/etc", sandbox.project().join("link")).expect("a link");
    for path in ["../../etc/passwd", "../../../../../../../../etc/passwd", "/etc/passwd", "link/passwd", "sub/../../x"]
    {
        let (code, answer) = sandbox.json(&["call", "look", &format!("path={path}")]);
        let said = answer["content"][0]["text"].as_str().unwrap_or_default();
        assert_eq!((code, &answer["is_error"]), (1, &json!(true)), "{path}: {answer:#}");
        assert!(said.contains("HostError") && said.contains("denied") && said.contains("tools.look"), "{path}: {said}");
        assert!(!said.contains("root:"), "{path}: {said}");
    }
    // The host's own tools take nothing from outside, whatever is granted.
    let source = "def run(path: str):\n    return host.tool('read', {'path': path})['content'][0]['text']\n";
    tool(&sandbox, "peek", source);
    let (code, answer) = sandbox.json(&["--yes", "call", "peek", "path=../../etc/passwd"]);
    assert_eq!(code, 1, "{answer:#}");
    assert!(answer.to_string().contains("leads out of the project"), "{answer:#}");
}

#[test]
fn case_10_what_is_missing_in_a_configuration_is_named_with_its_file() {
    let sandbox = sandbox();
    let manifest = sandbox.home().join("extensions/half/extension.toml");
    sandbox.write(&manifest, "id = \"half\"\nversion = \"1.0.0\"\n\n[run]\nargs = []\n");
    let server = sandbox.home().join("extensions/mcp/half-server.yaml");
    sandbox.write(&server, "headers: {}\n");
    let (_, listed) = sandbox.json(&["list"]);
    let said = listed["diagnostics"].to_string();
    assert!(said.contains(&manifest.display().to_string()) && said.contains("run.command is missing"), "{said}");
    assert!(said.contains(&server.display().to_string()) && said.contains("missing `url`"), "{said}");
    let config = sandbox.home().join("config.toml");
    sandbox.write(&config, "[policy]\nmode = \"whatever\"\n");
    let refused = sandbox.run(&["tools"]).exits(7);
    assert!(refused.stderr.contains(&config.display().to_string()) && refused.stderr.contains("mode"), "{refused:#?}");
}

#[test]
fn case_10_every_event_is_a_line_of_json() {
    let sandbox = sandbox();
    tool(&sandbox, "greet", "def run(name: str = 'world'):\n    return f'hello {name}'\n");
    tool(&sandbox, "fails", "def run():\n    raise ValueError('no')\n");
    assert_eq!(called(&sandbox, &["call", "greet", "name=pith"]), "hello pith");
    sandbox.run(&["call", "fails"]).exits(1);
    let mut events = Vec::new();
    for entry in fs::read_dir(sandbox.home().join("ledger")).expect("a ledger").flatten() {
        if entry.path().extension().is_some_and(|end| end == "jsonl") {
            for line in fs::read_to_string(entry.path()).expect("a file").lines() {
                events.push(serde_json::from_str::<Value>(line).expect("a line of JSON"));
            }
        }
    }
    let of = |tool: &str| events.iter().filter(|event| event["data"]["tool"] == tool).count();
    assert!(of("greet") >= 2 && of("fails") >= 2, "{events:#?}");
    for event in &events {
        assert!(event["ts"].is_string() && event["level"].is_string() && event["event"].is_string(), "{event:#}");
    }
    assert!(events.iter().any(|event| event["data"]["tool"] == "fails" && event["level"] == "warn"), "{events:#?}");
}

/// Byte code that is told by second and size would be the old version's.
#[test]
fn case_11_an_edit_of_the_same_size_in_the_same_second_is_seen() {
    let sandbox = sandbox();
    let file = tool(&sandbox, "says", "def run():\n    return 'version 0'\n");
    let stamp = fs::metadata(&file).and_then(|facts| facts.modified()).expect("a time");
    let mut rpc = sandbox.rpc(&["--watch"]);
    for number in 0..5 {
        if number > 0 {
            fs::write(&file, format!("def run():\n    return 'version {number}'\n")).expect("saved");
            fs::File::options()
                .write(true)
                .open(&file)
                .and_then(|file| file.set_modified(stamp))
                .expect("the same time");
        }
        eventually("the new version", || {
            let answer = rpc.ask(json!({ "type": "call_tool", "tool": "says", "args": {} })).to_string();
            answer.contains(&format!("version {number}"))
        });
    }
}
