//! Cases that are one test each.

use std::fs;

use jackfield_test_support::{Sandbox, eventually};
use serde_json::{Value, json};

use super::support::{called, mcp, meta, sandbox, tool, tool_names};

/// All lines of the ledger.
fn events(sandbox: &Sandbox) -> Vec<Value> {
    let mut events = Vec::new();
    for entry in fs::read_dir(sandbox.home().join("ledger")).expect("a ledger").flatten() {
        if entry.path().extension().is_some_and(|end| end == "jsonl") {
            for line in fs::read_to_string(entry.path()).expect("a file").lines() {
                events.push(serde_json::from_str::<Value>(line).expect("a line of JSON"));
            }
        }
    }
    events
}

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
                  asked = [('read', {'path': 'new.txt'}), ('ls', {'path': '.'}), ('find', {'pattern': '*.txt'}),\n    \
                           ('grep', {'pattern': 'one'}), ('bash', {'command': 'echo four'}), ('list_secrets', {})]\n    \
                  return {name: host.tool(name, args)['content'][0]['text'] for name, args in asked}\n";
    tool(&sandbox, "uses", source);
    let (_, said) = sandbox.json(&["--yes", "call", "uses"]);
    for (name, part) in [
        ("read", "three"),
        ("ls", "notes.txt"),
        ("find", "new.txt"),
        ("grep", "notes.txt"),
        ("bash", "four"),
        ("list_secrets", "[\"TELEGRAM_BOT_TOKEN\"]"),
    ] {
        assert!(said["details"][name].as_str().is_some_and(|text| text.contains(part)), "{name}: {said:#}");
    }
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

/// The paths of everything that is kept follow from the place of the home, and nothing is written elsewhere.
#[test]
fn case_10_all_paths_follow_from_the_home() {
    let sandbox = sandbox();
    let home = sandbox.path("another/home");
    let file = home.join("extensions/tools/keeps.py");
    let source = "import os\ndef run():\n    return os.environ['JACKFIELD_DATA_DIR']\n";
    sandbox.write(&file, source);
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_jackfield"));
        command.arg("--home").arg(&home).arg("--project").arg(sandbox.project()).args(words);
        let output = command.env("HOME", sandbox.user()).output().expect("the binary runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(run(&["call", "keeps"]), home.join("data/tools.keeps").display().to_string());
    assert_eq!(run(&["secret", "list"]).lines().count(), 1);
    for kept in ["ledger", "logs", "catalog"] {
        assert!(home.join(kept).exists(), "{kept}");
    }
    for elsewhere in [sandbox.home(), sandbox.project(), sandbox.user()] {
        let files = fs::read_dir(&elsewhere).into_iter().flatten().flatten().count();
        assert_eq!(files, 0, "{}", elsewhere.display());
    }
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
    let events = events(&sandbox);
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

/// A file that is broken when the host starts, and one that breaks while it runs.
#[test]
fn case_12_a_broken_file_is_marked_told_and_logged_and_the_host_lives() {
    let sandbox = sandbox();
    tool(&sandbox, "fine", "def run():\n    return 'fine'\n");
    tool(&sandbox, "broken", "def run(:\n");
    let file = tool(&sandbox, "breaks", "def run():\n    return 'good'\n");
    sandbox.write(&sandbox.home().join("extensions.yaml"), "extensions: {watch: {enabled: true, debounce_ms: 20}}\n");
    let mut rpc = sandbox.rpc(&["--watch"]);
    assert_eq!(rpc.text("fine", json!({})), "fine");
    assert_eq!(rpc.text("breaks", json!({})), "good");
    let answer = rpc.ask(json!({ "type": "call_tool", "tool": "broken", "args": {} }));
    assert_eq!(answer["success"], false, "{answer:#}");
    fs::write(&file, "def run():\n    return (\n").expect("saved");
    let told = rpc
        .wait_for("news of it", |line| line["type"] == "ext_reloaded" && line["reload"]["extension"] == "tools.breaks");
    assert!(told["reload"]["error"].as_str().is_some_and(|why| why.contains("breaks.py:2: SyntaxError")), "{told:#}");
    assert_eq!(rpc.text("breaks", json!({})), "good", "the old version is kept");
    assert_eq!(rpc.text("fine", json!({})), "fine");
    drop(rpc);
    // At the next start there is no old version: it is marked, with its line, and the others are there.
    let (_, listed) = sandbox.json(&["tools"]);
    assert_eq!(tool_names(&sandbox, &[]), ["fine"], "{listed:#}");
    let said = sandbox.run(&["list"]);
    for place in ["broken.py:1: SyntaxError", "breaks.py:2: SyntaxError"] {
        assert!(format!("{}{}", said.stdout, said.stderr).contains(place), "{place}: {said:#?}");
    }
    let events = events(&sandbox);
    for (event, id, place) in [
        ("extension.failed", "tools.broken", "broken.py:1: SyntaxError"),
        ("extension.not_reloaded", "tools.breaks", "breaks.py:2: SyntaxError"),
    ] {
        let fits = |line: &&Value| line["event"] == event && line["correlation"]["extension_id"] == id;
        let noted = events.iter().find(fits).unwrap_or_else(|| panic!("{event} of {id}: {events:#?}"));
        assert!(noted["message"].as_str().is_some_and(|text| text.contains(place)), "{noted:#}");
    }
    assert_eq!(called(&sandbox, &["call", "fine"]), "fine");
}

/// Which of two tools gets a name does not depend on the order in which they are found, and both can be called.
#[test]
fn case_13_collisions_are_told_and_always_won_by_the_same() {
    let winners: Vec<String> = [["my tool", "my_tool"], ["my_tool", "my tool"]]
        .into_iter()
        .map(|order| {
            let sandbox = sandbox();
            for name in order {
                tool(&sandbox, name, &format!("def run():\n    return {name:?}\n"));
            }
            let said = sandbox.run(&["tools"]).exits(0).stderr;
            assert!(said.contains("is offered as"), "{said}");
            let names = tool_names(&sandbox, &[]);
            assert_eq!(names.len(), 2, "{names:?}");
            let mut all: Vec<String> = names.iter().map(|name| called(&sandbox, &["call", name])).collect();
            all.sort();
            assert_eq!(all, ["my tool", "my_tool"], "both can be called");
            let winner = called(&sandbox, &["call", "my_tool"]);
            assert_eq!(winner, called(&sandbox, &["call", "my_tool"]));
            winner
        })
        .collect();
    assert_eq!(winners[0], winners[1]);
    // A name of the host's own is the host's, and a reserved one nobody's.
    let sandbox = sandbox();
    tool(&sandbox, "store_secret", "def run():\n    return 'mine'\n");
    tool(&sandbox, "MCP__bad", "def run():\n    return 'reserved'\n");
    let said = sandbox.run(&["tools"]).exits(0).stderr;
    assert!(said.contains("store_secret") && said.contains("the name belongs to the host"), "{said}");
    assert_eq!(called(&sandbox, &["call", "ext_tools_store_secret_store_secret"]), "mine");
    assert_eq!(sandbox.run(&["call", "MCP__bad"]).code, 3);
}

/// Nothing is `null`, whoever returns it and whoever asks.
#[test]
fn case_15_none_is_decided_once() {
    let sandbox = sandbox();
    tool(&sandbox, "plain", "def run():\n    pass\n");
    tool(&sandbox, "later", "async def run() -> None:\n    return None\n");
    let mut rpc = sandbox.rpc(&[]);
    for name in ["plain", "later"] {
        assert_eq!(called(&sandbox, &["call", name]), "null");
        assert_eq!(rpc.text(name, json!({})), "null");
        let params = json!({ "name": name, "arguments": {}, "_meta": meta() });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        let answer = mcp(&sandbox, &[call]).pop().expect("an answer");
        assert_eq!(answer["result"]["content"][0]["text"], "null", "{answer:#}");
    }
}
