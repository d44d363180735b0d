//! Case 8: an extension has the person asked for a secret.

use std::fs;
use std::path::PathBuf;

use jackfield_test_support::{Rpc, Sandbox, at_terminal};
use serde_json::{Value, json};

use super::support::{holding, mcp, sandbox, tool};

const VALUE: &str = "sesame-open-now";
const NOT_SHOWN: &str = "(it is not shown) > ";

const ASKS: &str = "def run(name: str, timeout_ms: int = 20000):\n    \
    return host.tool('store_secret', {'name': name, 'timeout_ms': timeout_ms})['content'][0]['text']\n";

fn with_asker() -> Sandbox {
    let sandbox = sandbox();
    tool(&sandbox, "asks", ASKS);
    tool(&sandbox, "plainly", "def run():\n    return host.tool('store_secret', {'name': 'WINDOW'})\n");
    tool(&sandbox, "names", "def run():\n    return host.tool('list_secrets')['content'][0]['text']\n");
    sandbox
}

fn begin(rpc: &mut Rpc, name: &str, timeout_ms: u64) -> String {
    rpc.send(json!({ "type": "call_tool", "tool": "asks", "args": { "name": name, "timeout_ms": timeout_ms } }))
}

#[track_caller]
fn question(rpc: &mut Rpc, name: &str) -> Value {
    rpc.wait_for("a question", |line| {
        line["type"] == "extension_ui_request" && line["title"].as_str().is_some_and(|title| title.contains(name))
    })
}

fn reply(rpc: &mut Rpc, question: &Value, mut answer: Value) {
    answer["type"] = json!("extension_ui_response");
    answer["id"] = question["id"].clone();
    rpc.send_bytes(format!("{answer}\n").as_bytes());
}

fn kept(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.home().join("secrets").join(name)
}

#[test]
fn case_08_a_client_is_asked_and_the_value_goes_to_the_store_alone() {
    let sandbox = with_asker();
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("names", json!({})), "[]");
    let call = begin(&mut rpc, "DOOR", 20_000);
    let asked = question(&mut rpc, "DOOR");
    assert_eq!((&asked["method"], &asked["secret"]), (&json!("input"), &json!(true)), "{asked:#}");
    assert_eq!((&asked["extension"], &asked["timeout"]), (&json!("tools.asks"), &json!(20_000)), "{asked:#}");
    assert!(asked["title"].as_str().is_some_and(|title| title.contains("tools.asks")), "{asked:#}");
    reply(&mut rpc, &asked, json!({ "value": VALUE }));
    let answer = rpc.response(&call);
    assert_eq!(answer["data"]["content"][0]["text"], "stored secret 'DOOR'", "{answer:#}");
    assert!(!answer.to_string().contains(VALUE), "{answer:#}");
    assert_eq!(fs::read_to_string(kept(&sandbox, "DOOR")).expect("a file"), VALUE);
    // Whoever does not say how long waits for a minute.
    let plainly = rpc.send(json!({ "type": "call_tool", "tool": "plainly", "args": {} }));
    let asked = question(&mut rpc, "WINDOW");
    assert_eq!(asked["timeout"], 60_000, "{asked:#}");
    reply(&mut rpc, &asked, json!({ "cancelled": true }));
    assert!(rpc.response(&plainly).to_string().contains("the person gave no value"));
    // Another value takes its place; there is one name.
    let call = begin(&mut rpc, "DOOR", 20_000);
    let asked = question(&mut rpc, "DOOR");
    reply(&mut rpc, &asked, json!({ "value": "another-value-now" }));
    assert!(rpc.response(&call).to_string().contains("stored secret 'DOOR'"));
    assert_eq!(fs::read_to_string(kept(&sandbox, "DOOR")).expect("a file"), "another-value-now");
    assert_eq!(rpc.text("names", json!({})), "[\"DOOR\"]");
    assert_eq!(rpc.close(), 0);
    // It is kept in the home, outside of the project, and nowhere else.
    for value in [VALUE, "another-value-now"] {
        assert_eq!(holding(&sandbox.home(), value), Vec::<String>::new());
        assert_eq!(holding(&sandbox.project(), value), Vec::<String>::new());
    }
    assert_eq!(sandbox.run(&["secret", "list"]).exits(0).stdout, "DOOR\n");
}

#[test]
fn case_08_no_value_in_time_no_value_at_all_and_nobody_there_are_errors() {
    let sandbox = with_asker();
    let mut rpc = sandbox.rpc(&[]);
    let call = begin(&mut rpc, "DOOR", 100);
    let asked = question(&mut rpc, "DOOR");
    let said = rpc.response(&call).to_string();
    assert!(said.contains("timed out after 100 ms") && said.contains("jackfield secret set DOOR"), "{said}");
    rpc.wait_for("the end of the question", |line| line["type"] == "extension_ui_closed" && line["id"] == asked["id"]);
    // What comes then is too late.
    reply(&mut rpc, &asked, json!({ "value": VALUE }));
    rpc.wait_for("a refusal", |line| line["command"] == "extension_ui_response" && line["success"] == false);
    for (answer, why) in [
        (json!({ "value": "" }), "no value provided"),
        (json!({ "value": " \n" }), "no value provided"),
        (json!({ "confirmed": true }), "no value provided"),
        (json!({ "cancelled": true }), "the person gave no value"),
        (json!({ "value": "a\0b-and-more" }), "cannot be kept"),
        (json!({ "value": "x".repeat(70_000) }), "cannot be kept"),
    ] {
        let call = begin(&mut rpc, "DOOR", 20_000);
        let asked = question(&mut rpc, "DOOR");
        reply(&mut rpc, &asked, answer);
        let said = rpc.response(&call).to_string();
        assert!(said.contains(why) && !said.contains("stored secret") && !said.contains("xxxx"), "{why}: {said}");
    }
    // A name that can be none is refused before anybody is asked.
    for name in ["A\nB", "PATH", "LD_PRELOAD", "", "../x", "a b"] {
        let call = begin(&mut rpc, name, 20_000);
        let said = rpc.response(&call).to_string();
        assert!(said.contains("cannot be the name of a secret"), "{name:?}: {said}");
    }
    assert!(!sandbox.home().join("secrets").exists());
    drop(rpc);
    let refused = sandbox.run(&["call", "asks", "name=DOOR"]).exits(1);
    assert!(refused.stdout.contains("nobody can be asked here"), "{refused:#?}");
    assert!(refused.stdout.contains("jackfield secret set DOOR"), "{refused:#?}");
    // Over MCP a secret is not asked for, whatever the client can do.
    let greeting = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} }, "clientInfo": { "name": "x", "version": "1" } } });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "asks", "arguments": { "name": "DOOR" } } });
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let said = json!(mcp(&sandbox, &[greeting, told, call])).to_string();
    assert!(said.contains("jackfield secret set DOOR") && !said.contains("elicitation/create"), "{said}");
}

#[test]
fn case_08_two_questions_at_once_and_those_who_go_in_the_middle() {
    let sandbox = with_asker();
    tool(
        &sandbox,
        "dies",
        "import os, threading\ndef run():\n    threading.Timer(0.3, os._exit, [9]).start()\n    \
         host.tool('store_secret', {'name': 'GONE', 'timeout_ms': 20000})\n",
    );
    let mut rpc = sandbox.rpc(&[]);
    let (one, two) = (begin(&mut rpc, "FIRST", 20_000), begin(&mut rpc, "SECOND", 20_000));
    let (first, second) = (question(&mut rpc, "FIRST"), question(&mut rpc, "SECOND"));
    reply(&mut rpc, &second, json!({ "value": "the-second-value" }));
    reply(&mut rpc, &first, json!({ "value": "the-first-value" }));
    assert!(rpc.response(&one).to_string().contains("stored secret 'FIRST'"));
    assert!(rpc.response(&two).to_string().contains("stored secret 'SECOND'"));
    assert_eq!(fs::read_to_string(kept(&sandbox, "FIRST")).expect("a file"), "the-first-value");
    assert_eq!(fs::read_to_string(kept(&sandbox, "SECOND")).expect("a file"), "the-second-value");
    // An extension that dies takes its question along.
    let call = rpc.send(json!({ "type": "call_tool", "tool": "dies", "args": {} }));
    let asked = question(&mut rpc, "GONE");
    rpc.wait_for("the end of the question", |line| line["type"] == "extension_ui_closed" && line["id"] == asked["id"]);
    assert_eq!(rpc.response(&call)["success"], false);
    reply(&mut rpc, &asked, json!({ "value": VALUE }));
    assert!(!kept(&sandbox, "GONE").exists());
    // A client that goes leaves nothing behind.
    begin(&mut rpc, "THIRD", 20_000);
    question(&mut rpc, "THIRD");
    rpc.close();
    assert!(!kept(&sandbox, "THIRD").exists());
    assert!(sandbox.processes().is_empty());
}

#[test]
fn case_08_who_may_not_ask_people_asks_for_no_secret() {
    let sandbox = sandbox();
    let block = "# /// script\n# [tool.jackfield]\n# capabilities = [\"read\"]\n# ///\n";
    tool(&sandbox, "asks", &format!("{block}{ASKS}"));
    let mut rpc = sandbox.rpc(&[]);
    let call = begin(&mut rpc, "DOOR", 20_000);
    let said = rpc.response(&call).to_string();
    assert!(said.contains("ui denied to extension tools.asks"), "{said}");
    drop(rpc);
    tool(&sandbox, "asks", ASKS);
    let mut rpc = sandbox.rpc(&["--policy", "strict"]);
    let call = rpc.send(json!({ "type": "call_tool", "tool": "asks", "args": { "name": "DOOR" } }));
    let said = rpc.response(&call).to_string();
    assert!(said.contains("denied"), "{said}");
    assert!(!sandbox.home().join("secrets").exists());
}

#[test]
fn case_08_at_a_terminal_the_question_names_who_asks_and_shows_nothing() {
    let sandbox = with_asker();
    let call = ["call", "asks", "name=DOOR"];
    let typed = format!("wrong\u{15}{VALUE}!\u{7f}\r");
    let (seen, code) = at_terminal(&sandbox, &call, &[(NOT_SHOWN, &typed)]);
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("extension \"tools.asks\" asks: value for DOOR"), "{seen}");
    assert!(seen.contains("stored secret 'DOOR'") && !seen.contains(VALUE) && !seen.contains("wrong"), "{seen}");
    assert_eq!(fs::read_to_string(kept(&sandbox, "DOOR")).expect("a file"), VALUE);
    for (typed, why) in [("other\u{3}", "the person gave no value"), ("\r", "no value provided")] {
        let (seen, code) = at_terminal(&sandbox, &call, &[(NOT_SHOWN, typed)]);
        assert_ne!(code, 0, "{seen}");
        assert!(seen.contains(why) && !seen.contains("other"), "{seen}");
    }
    let (seen, code) =
        at_terminal(&sandbox, &["call", "asks", "name=DOOR", "timeout_ms=200"], &[(NOT_SHOWN, "never sent")]);
    assert_ne!(code, 0, "{seen}");
    assert!(seen.contains("timed out after 200 ms") && seen.contains("that question is closed"), "{seen}");
    assert_eq!(fs::read_to_string(kept(&sandbox, "DOOR")).expect("a file"), VALUE);
}
