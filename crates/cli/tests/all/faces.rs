//! What extensions say to and ask of the person, the session and the agent, as a listener of `jackfield rpc` sees it.

use std::fs;

use jackfield_test_support::{Rpc, Sandbox};
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    sandbox.misbehave("odd", "cancellable");
    sandbox
}

/// Lets the extension `odd` begin a host call.
fn begin(host: &mut Rpc, method: &str, params: Value) -> String {
    let args = json!({ "method": method, "params": params });
    host.send(json!({ "type": "call_tool", "tool": "host_call", "args": args }))
}

/// What came of it: the host's `host_result`.
#[track_caller]
fn end(host: &mut Rpc, id: &str) -> Value {
    let response = host.response(id);
    let text = response["data"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{response:#}"));
    serde_json::from_str(text).expect("a frame")
}

#[track_caller]
fn ask(host: &mut Rpc, method: &str, params: Value) -> Value {
    let id = begin(host, method, params);
    end(host, &id)
}

#[track_caller]
fn question(host: &mut Rpc, method: &str) -> Value {
    host.wait_for("a question", |line| line["type"] == "extension_ui_request" && line["method"] == method)
}

fn reply(host: &mut Rpc, id: &Value, answer: Value) {
    let mut line = json!({ "type": "extension_ui_response", "id": id });
    line.as_object_mut().expect("an object").extend(answer.as_object().expect("an object").clone());
    host.send_bytes(format!("{line}\n").as_bytes());
}

#[test]
fn questions_are_put_to_the_listener() {
    let sandbox = sandbox();
    let mut host = sandbox.rpc(&[]);
    for (params, shown, answer, result) in [
        (
            json!({ "op": "select", "title": "Which?", "options": ["a", "b"], "timeout": 20000 }),
            json!({ "title": "Which?", "options": ["a", "b"], "timeout": 20000 }),
            json!({ "value": "b" }),
            json!({ "value": "b" }),
        ),
        (
            json!({ "op": "confirm", "title": "Sure?", "message": "really\u{1b}[2J" }),
            json!({ "title": "Sure?", "message": "really" }),
            json!({ "confirmed": false }),
            json!({ "confirmed": false }),
        ),
        (
            json!({ "op": "input", "title": "Name", "placeholder": "Ada" }),
            json!({ "title": "Name", "placeholder": "Ada" }),
            json!({ "cancelled": true }),
            json!({ "cancelled": true }),
        ),
        (
            json!({ "op": "editor", "title": "Text", "prefill": "x\ny" }),
            json!({ "title": "Text", "prefill": "x\ny" }),
            json!({ "value": "z" }),
            json!({ "value": "z" }),
        ),
    ] {
        let id = begin(&mut host, "ui", params.clone());
        let mut line = question(&mut host, params["op"].as_str().expect("an op"));
        let line = line.as_object_mut().expect("an object");
        let dialog = line.remove("id").expect("an id");
        for key in ["type", "method"] {
            line.remove(key);
        }
        assert_eq!(line.remove("extension"), Some(json!("odd")));
        assert_eq!(Value::Object(line.clone()), shown);
        reply(&mut host, &dialog, answer);
        assert_eq!(end(&mut host, &id)["output"], result);
        // A second answer comes too late, and is said to.
        reply(&mut host, &dialog, json!({ "value": "late" }));
        let late = host.wait_for("a refusal", |line| line["command"] == "extension_ui_response");
        assert_eq!((&late["success"], &late["error"]["code"]), (&json!(false), &json!("not_found")));
    }
    // A question whose time is up is closed.
    let id = begin(&mut host, "ui", json!({ "op": "confirm", "title": "Quick", "timeout": 100 }));
    let dialog = question(&mut host, "confirm")["id"].clone();
    assert_eq!(end(&mut host, &id)["output"], json!({ "cancelled": true, "timed_out": true }));
    host.wait_for("its end", |line| line["type"] == "extension_ui_closed" && line["id"] == dialog);
    assert_eq!(host.close(), 0);
}

#[test]
fn notes_for_the_screen_are_passed_on_plain() {
    let sandbox = sandbox();
    let mut host = sandbox.rpc(&[]);
    for (params, method, fields) in [
        (
            json!({ "op": "set_status", "key": "k", "text": "\u{1b}[31mbusy" }),
            "setStatus",
            json!({ "statusKey": "k", "statusText": "busy" }),
        ),
        (
            json!({ "op": "set_widget", "key": "k", "lines": ["a"], "placement": "belowEditor" }),
            "setWidget",
            json!({ "widgetKey": "k", "widgetLines": ["a"], "widgetPlacement": "belowEditor" }),
        ),
        (json!({ "op": "set_title", "title": "t" }), "setTitle", json!({ "title": "t" })),
        (json!({ "op": "set_editor_text", "text": "t" }), "set_editor_text", json!({ "text": "t" })),
    ] {
        assert_eq!(ask(&mut host, "ui", params)["output"], json!({}));
        let line = question(&mut host, method);
        for (key, value) in fields.as_object().expect("an object") {
            assert_eq!(&line[key], value, "{line}");
        }
        assert!(line.get("id").is_none(), "nobody waits for an answer: {line}");
    }
    assert_eq!(host.close(), 0);
}

#[test]
fn without_a_face_a_question_says_so_at_once() {
    let sandbox = sandbox();
    let args = json!({ "method": "ui", "params": { "op": "confirm", "message": "?" } }).to_string();
    let (code, answer) = sandbox.json(&["call", "host_call", "--args", &args]);
    assert_eq!(code, 0, "{answer:#}");
    let frame: Value = serde_json::from_str(answer["content"][0]["text"].as_str().expect("a text")).expect("JSON");
    assert_eq!(frame["output"], json!({ "cancelled": true, "unanswered": true }));
}

#[test]
fn what_is_asked_of_an_agent_is_recorded_or_refused() {
    let sandbox = sandbox();
    let message = json!({ "op": "send_user_message", "content": "hello" });
    let mut host = sandbox.rpc(&["--policy", "permissive"]);
    let refused = ask(&mut host, "agent", message.clone());
    let text = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("send_user_message") && text.contains("no agent"), "{refused:#}");
    assert_eq!(host.close(), 0);

    let mut host = sandbox.rpc(&["--policy", "permissive", "--record-agent"]);
    assert_eq!(ask(&mut host, "agent", message.clone())["output"], json!({}));
    let line = host.wait_for("the record", |line| line["type"] == "agent_call");
    assert_eq!(
        line,
        json!({ "type": "agent_call", "extension": "odd", "op": "send_user_message", "params": { "content": "hello" } })
    );
    assert_eq!(host.close(), 0);
    // To make the agent speak is a power; to look at it is part of the session.
    let mut host = sandbox.rpc(&["--record-agent"]);
    assert_eq!(ask(&mut host, "agent", message)["error"]["code"], "denied");
    assert_eq!(ask(&mut host, "agent", json!({ "op": "model" }))["output"], json!({}));
    assert_eq!(host.close(), 0);
}

#[test]
fn an_agent_answers_from_a_file() {
    let sandbox = sandbox();
    let file = sandbox.path("answers.json");
    fs::write(&file, r#"{ "model": [{ "model": "first" }, { "model": "then" }] }"#).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let mut host = sandbox.rpc(&["--record-agent", "--agent-answers", file]);
    for expected in [json!({ "model": "first" }), json!({ "model": "then" }), json!({ "model": "then" })] {
        assert_eq!(ask(&mut host, "agent", json!({ "op": "model" }))["output"], expected);
    }
    assert_eq!(ask(&mut host, "agent", json!({ "op": "thinking" }))["output"], json!({}));
    assert_eq!(host.close(), 0);
    sandbox.run(&["rpc", "--agent-answers", file]).exits(2);
    fs::write(file, "[]").expect("a file");
    let output = sandbox.run(&["rpc", "--record-agent", "--agent-answers", file]);
    assert!(output.stderr.contains("answers.json"), "{output:#?}");
}

#[test]
fn a_session_is_kept_in_a_file() {
    let sandbox = sandbox();
    let file = sandbox.path("session.jsonl");
    let flags = ["--session", file.to_str().expect("UTF-8")];
    let entry = json!({ "op": "append", "entry": { "type": "custom", "customType": "t", "data": [1] } });
    let mut host = sandbox.rpc(&flags);
    let id = ask(&mut host, "session", entry)["output"]["id"].clone();
    let told = host.wait_for("the entry", |line| line["type"] == "session_entry");
    assert_eq!((&told["extension"], &told["entry"]["id"]), (&json!("odd"), &id));
    ask(&mut host, "session", json!({ "op": "set_name", "name": "mine" }));
    assert_eq!(host.close(), 0);
    let mut host = sandbox.rpc(&flags);
    let entries = ask(&mut host, "session", json!({ "op": "entries" }))["output"]["entries"].clone();
    assert_eq!(
        (&entries[0]["id"], &entries[0]["data"], &entries[1]["type"]),
        (&id, &json!([1]), &json!("session_info"))
    );
    assert_eq!(ask(&mut host, "session", json!({ "op": "name" }))["output"], json!({ "name": "mine" }));
    assert_eq!(host.close(), 0);
    fs::write(&file, "no session\n").expect("a file");
    let output = sandbox.run(&["rpc", "--session", file.to_str().expect("UTF-8")]).exits(7);
    assert!(output.stderr.contains("session.jsonl"), "{output:#?}");
}

#[test]
fn events_and_shortcuts_come_from_outside() {
    let sandbox = sandbox();
    let mut host = sandbox.rpc(&[]);
    let asked = host.ask(json!({ "type": "ask", "event": "context", "data": { "messages": [] } }));
    assert_eq!(asked["data"], json!({ "data": { "messages": [] }, "result": null, "stop": false }), "{asked:#}");
    assert_eq!(host.ask(json!({ "type": "emit", "event": "turn_end", "data": {} }))["data"], json!({}));
    let pressed = host.ask(json!({ "type": "shortcut", "key": "ctrl+x" }));
    assert_eq!(pressed["error"]["code"], "not_found", "{pressed:#}");
    assert_eq!(host.ask(json!({ "type": "ask" }))["error"]["code"], "invalid_request");
    assert_eq!(host.close(), 0);
}
