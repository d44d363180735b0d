//! Listing and calling tools: each row of what a call may get.

use jackfield_test_support::{Sandbox, keys};
use serde_json::{Value, json};

use super::support::{Events, Request, serve, with_odd};

/// An extension with one tool that takes a number and nothing else.
fn strict(sandbox: &Sandbox) {
    let dir = sandbox.home().join("extensions/strict");
    let schema =
        r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#;
    let script = format!(
        r#"import json, sys
def say(**frame): print(json.dumps(frame), flush=True)
say(type="hello", name="strict", version="1.0.0", capabilities=["tools"])
say(type="register_tool", name="half", description="Halves.", schema=json.loads('{schema}'))
say(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        say(type="tool_result", id=frame["id"], content=[{{"type": "text", "text": str(frame["args"]["n"] / 2)}}])
    if frame["type"] == "shutdown":
        break
"#
    );
    sandbox.write(&dir.join("main.py"), &script);
    let manifest = json!({ "name": "strict", "version": "1.0.0", "exec": "python3", "args": ["main.py"], "description": "Exact." });
    sandbox.write(&dir.join("extension.json"), &manifest.to_string());
}

#[test]
fn tools_are_listed_by_extension_and_called_in_both_forms() {
    let sandbox = with_odd();
    strict(&sandbox);
    let served = serve(&sandbox, &[]);
    let reply = served.get("/api/tools");
    assert_eq!(reply.status, 200);
    let listing = reply.json();
    assert_eq!(keys(&listing), "revision tools");
    let group = listing["tools"].as_array().expect("groups").iter().find(|group| group["extension"] == "strict");
    let group = group.unwrap_or_else(|| panic!("{listing}"));
    assert_eq!((&group["plugin"], &group["description"]), (&json!("strict"), &json!("Exact.")));
    let tool = &group["tools"][0];
    assert_eq!((&tool["name"], &tool["description"]), (&json!("half"), &json!("Halves.")));
    assert_eq!(tool["parameters"]["required"], json!(["n"]));
    assert_eq!(tool["optional"], false);

    let answer = served.call("half", json!({ "n": 7 })).json();
    assert_eq!(answer["ok"], true, "{answer}");
    assert_eq!((&answer["toolName"], &answer["sessionKey"]), (&json!("half"), &json!("main")));
    assert_eq!(answer["result"], json!({ "content": [{ "type": "text", "text": "3.5" }], "isError": false }));
    assert_eq!(answer["extension"], "strict");

    // As the bridge was designed: the token in the body, and no header.
    let body = json!({ "token": served.token, "pid": 4711, "sessionKey": "", "tool": "half", "params": { "n": 8 } });
    let reply = Request::new("POST", "/api/tools/call").body(body.to_string().as_bytes()).send(&served.place);
    assert_eq!((reply.status, &reply.json()["result"]["content"][0]["text"]), (200, &json!("4.0")));

    // The call stands in the ledger under the id that the answer gave.
    let call_id = answer["callId"].as_str().expect("an id");
    sandbox.run(&["ledger", "show", call_id]).exits(0);
}

#[test]
fn every_row_of_the_table_of_calls() {
    let sandbox = with_odd();
    strict(&sandbox);
    let served = serve(&sandbox, &[]);
    let raw = |body: &[u8]| Request::new("POST", "/api/tools/call").token(&served.token).body(body).send(&served.place);
    let call = |body: Value| raw(body.to_string().as_bytes());

    // Without a token, with one that is none, with one in the URL, and with two.
    let body = json!({ "toolName": "half", "params": { "n": 7 } }).to_string();
    let bare = |request: Request| request.body(body.as_bytes()).send(&served.place);
    let path = format!("/api/tools/call?token={}", served.token);
    let two = Request::new("POST", "/api/tools/call").token(&served.token).token(&served.token);
    for request in [
        Request::new("POST", "/api/tools/call"),
        Request::new("POST", "/api/tools/call").token("0123"),
        Request::new("POST", "/api/tools/call").header("Authorization", "Basic eDp5"),
        Request::new("POST", &path),
        two,
    ] {
        let reply = bare(request);
        reply.refuses(401, "unauthorized");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"jackfield\""));
        assert!(!reply.text().contains(&served.token));
    }

    let missing = call(json!({ "params": {} })).refuses(400, "bad_request");
    assert_eq!(missing["error"], "toolName is required");
    call(json!({ "toolName": "", "params": {} })).refuses(400, "bad_request");
    call(json!({ "toolName": "nope", "params": {} })).refuses(404, "not_found");
    raw(b"{\"toolName\": ").refuses(400, "bad_request");
    raw(b"\xff\xfe").refuses(400, "bad_request");
    raw(b"[]").refuses(400, "bad_request");
    for name in [json!(7), json!({}), json!(["half"]), json!(true)] {
        let refusal = call(json!({ "toolName": name, "params": {} })).refuses(400, "bad_request");
        assert_eq!(refusal["error"], "`toolName` must be a string");
    }
    call(json!({ "toolName": "half", "tool": "echo" })).refuses(400, "bad_request");
    call(json!({ "toolName": "half", "params": { "n": 1 }, "timeoutMs": -1 })).refuses(400, "bad_request");
    call(json!({ "toolName": "half", "params": { "n": 1 }, "pid": "x" })).refuses(400, "bad_request");

    // Arguments that do not fit, with the place.
    for (params, path) in [
        (json!({}), "/n"),
        (json!({ "n": "seven" }), "/n"),
        (json!({ "n": 7, "more": 1 }), "/more"),
        (json!([1]), ""),
        (json!("n"), ""),
    ] {
        let refusal = call(json!({ "toolName": "half", "params": params })).refuses(422, "invalid_request");
        assert_eq!(refusal["path"], path, "{refusal}");
        assert!(!refusal["error"].as_str().expect("text").contains("seven"), "values are not repeated: {refusal}");
    }
    call(json!({ "toolName": "half" })).refuses(422, "invalid_request");

    // A wrong token in the body, somebody else's process, somebody else's session.
    call(json!({ "toolName": "half", "params": { "n": 7 }, "token": "wrong" })).refuses(403, "forbidden");
    let body = json!({ "token": "wrong", "pid": 1, "tool": "half", "params": { "n": 7 } }).to_string();
    let reply = Request::new("POST", "/api/tools/call").body(body.as_bytes()).send(&served.place);
    reply.refuses(403, "forbidden");
    assert_eq!(call(json!({ "toolName": "half", "params": { "n": 7 }, "pid": 10 })).status, 200);
    call(json!({ "toolName": "half", "params": { "n": 7 }, "pid": 11 })).refuses(403, "forbidden");
    call(json!({ "toolName": "half", "params": { "n": 7 }, "sessionKey": "agent:main:main:main" }))
        .refuses(403, "forbidden");

    // A tool that says that it failed has answered.
    let failed = call(json!({ "toolName": "fail", "params": {} }));
    assert_eq!((failed.status, &failed.json()["ok"]), (200, &json!(true)));
    assert_eq!(failed.json()["result"]["isError"], true);
    // One that dies has not, and one that takes too long neither.
    call(json!({ "toolName": "crash", "params": {} })).refuses(503, "unavailable");
    call(json!({ "toolName": "hang", "params": {}, "timeoutMs": 50 })).refuses(504, "timeout");

    // Nothing of all that ran the tool with bad arguments, and everything that was let in is in the ledger.
    sandbox.run(&["ledger", "verify"]).exits(0);
}

#[test]
fn a_script_that_throws_has_answered_with_an_error() {
    let sandbox = with_odd();
    let script = r#"export default function (pi) {
  pi.registerTool({ name: "throws", description: "Throws.", parameters: { type: "object", properties: {} },
    async execute() { throw new Error("thrown on purpose"); } });
}"#;
    sandbox.write(&sandbox.home().join("extensions/thrower/index.ts"), script);
    let served = serve(&sandbox, &["-e", &sandbox.home().join("extensions/thrower/index.ts").display().to_string()]);
    let reply = served.call("throws", json!({}));
    assert_eq!(reply.status, 200, "{}", reply.text());
    let answer = reply.json();
    assert_eq!((&answer["ok"], &answer["result"]["isError"]), (&json!(true), &json!(true)));
    assert!(answer["result"]["content"][0]["text"].as_str().expect("text").contains("thrown on purpose"), "{answer}");
    assert!(!answer.to_string().contains("index.ts:"), "no stack: {answer}");
}

#[test]
fn progress_is_told_to_those_who_accept_events() {
    let sandbox = with_odd();
    let served = serve(&sandbox, &[]);
    let request = |tool: &str| {
        Request::new("POST", "/api/tools/call")
            .token(&served.token)
            .header("Accept", "text/event-stream")
            .body(json!({ "toolName": tool, "params": {} }).to_string().as_bytes())
    };
    let mut events = Events::open(&served.place, request("progress"));
    let (name, data) = events.next().expect("progress");
    assert_eq!((name.as_str(), &data["message"]), ("progress", &json!("half way")), "{data}");
    let result = events.wait_for("result");
    assert_eq!(result["result"]["content"][0]["text"], "told");
    assert!(events.next().is_none());
    let refusal = Events::open(&served.place, request("nope")).wait_for("error");
    assert_eq!((&refusal["status"], &refusal["code"]), (&json!(404), &json!("not_found")));
}

#[test]
fn a_caller_that_hangs_up_gives_its_call_up() {
    use std::io::Write;
    let sandbox = with_odd();
    let served = serve(&sandbox, &[]);
    assert_eq!(served.call("echo", json!({ "text": "warm" })).status, 200);
    let mut stream = served.connect();
    let body = json!({ "toolName": "hang", "params": {} }).to_string();
    let request = Request::new("POST", "/api/tools/call").token(&served.token).body(body.as_bytes());
    stream.write_all(&request.bytes(&served.place)).expect("sent");
    let in_flight = || served.get("/metrics").text().contains("jackfield_tool_calls_in_flight 1\n");
    jackfield_test_support::eventually("the call is under way", in_flight);
    drop(stream);
    jackfield_test_support::eventually("the call is over", || !in_flight());
    let metrics = served.get("/metrics").text();
    assert!(metrics.contains("jackfield_tool_calls_total{tool=\"hang\",outcome=\"cancelled\"} 1"), "{metrics}");
}
