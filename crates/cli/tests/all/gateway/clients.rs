//! Tools that clients bring while they are connected, over the WebSocket and over the RPC.

use std::thread;
use std::time::Instant;

use jackfield_test_support::eventually;
use serde_json::{Value, json};

use super::support::{Reply, Request, Served, Ws, sandbox, serve, with_odd};

fn open_schema() -> Value {
    json!({ "type": "object" })
}

fn call_later(served: &Served, tool: &str, params: Value, timeout_ms: Option<u64>) -> thread::JoinHandle<Reply> {
    let (place, token) = (served.place.clone(), served.token.clone());
    let body = json!({ "toolName": tool, "params": params, "timeoutMs": timeout_ms }).to_string();
    thread::spawn(move || Request::new("POST", "/api/tools/call").token(&token).body(body.as_bytes()).send(&place))
}

#[test]
fn a_client_brings_a_tool_serves_it_and_takes_it_back() {
    let sandbox = with_odd();
    let served = serve(&sandbox, &[]);
    let mut client = Ws::open(&served.place, &served.token);
    assert_eq!(client.ask(json!({ "type": "hello", "name": "desk lamp" }))["ok"], true);
    let schema = json!({ "type": "object", "properties": { "level": { "type": "integer" } }, "required": ["level"] });
    assert_eq!(client.register("dim", schema), "dim");

    let calling = call_later(&served, "dim", json!({ "level": 3 }), None);
    let request = client.request();
    assert_eq!((&request["tool"], &request["params"]), (&json!("dim"), &json!({ "level": 3 })));
    assert!(request["timeoutMs"].as_u64().is_some_and(|ms| ms > 1000), "{request}");
    let result = json!({ "content": [{ "type": "text", "text": "dimmed" }] });
    client.send(json!({ "type": "tool_call_response", "id": request["id"], "result": result }));
    let answer = calling.join().expect("called").json();
    assert_eq!(answer["result"]["content"][0]["text"], "dimmed", "{answer}");
    assert_eq!(answer["extension"], "client:desk-lamp");

    // An answer that nobody waits for any more is refused, and harms nothing.
    let late = json!({ "type": "tool_call_response", "id": request["id"], "result": "again" });
    client.send(late);
    let refusal = client.wait_for("a refusal", |message| message["method"] == "tool_call_response");
    assert_eq!((&refusal["ok"], &refusal["error"]["status"]), (&json!(false), &json!(404)), "{refusal}");

    // It is an extension like any other: validated, recorded, listed.
    served.call("dim", json!({ "level": "much" })).refuses(422, "invalid_request");
    let call_id = answer["callId"].as_str().expect("an id");
    let shown = sandbox.run(&["ledger", "show", call_id]).exits(0);
    assert!(shown.stdout.contains("client:desk-lamp"), "{}", shown.stdout);
    assert!(served.get("/api/extensions").text().contains("client:desk-lamp"));

    // A thrown error is an answer with isError.
    let calling = call_later(&served, "dim", json!({ "level": 1 }), None);
    let request = client.request();
    client.send(json!({ "type": "tool_call_response", "id": request["id"], "error": "the bulb is broken" }));
    let answer = calling.join().expect("called").json();
    assert_eq!((&answer["ok"], &answer["result"]["isError"]), (&json!(true), &json!(true)));

    // A reload of everything leaves it alone.
    sandbox.run(&["reload"]).exits(0);
    assert!(served.get("/api/tools").text().contains("\"dim\""));
    assert_eq!(client.ask(json!({ "type": "unregister_tool", "name": "dim" }))["ok"], true);
    assert_eq!(client.ask(json!({ "type": "unregister_tool", "name": "dim" }))["error"]["status"], 404);
    served.call("dim", json!({ "level": 1 })).refuses(404, "not_found");
}

#[test]
fn a_client_that_vanishes_fails_its_calls_at_once_and_takes_its_tools_along() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let mut client = Ws::open(&served.place, &served.token);
    client.register("slow", open_schema());
    let before = served.get("/api/tools").json()["revision"].clone();
    let calling: Vec<_> = (0..10).map(|_| call_later(&served, "slow", json!({}), None)).collect();
    for _ in 0..10 {
        client.request();
    }
    let began = Instant::now();
    drop(client);
    for call in calling {
        let refusal = call.join().expect("called").refuses(503, "unavailable");
        assert_eq!(refusal["extension"], "client:session-main");
    }
    assert!(began.elapsed() < jackfield_test_support::PATIENCE / 2, "at once");
    eventually("the tool is gone", || !served.get("/api/tools").text().contains("\"slow\""));
    assert_ne!(served.get("/api/tools").json()["revision"], before);
    served.call("slow", json!({})).refuses(404, "not_found");
    assert_eq!(served.get("/health").status, 200);
}

#[test]
fn calls_of_a_client_time_out_and_are_cancelled() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let mut client = Ws::open(&served.place, &served.token);
    client.register("slow", open_schema());
    let calling = call_later(&served, "slow", json!({}), Some(200));
    let request = client.request();
    calling.join().expect("called").refuses(504, "timeout");
    let told = client.wait_for("a cancellation", |message| message["type"] == "tool_call_cancel");
    assert_eq!((&told["id"], &told["reason"]), (&request["id"], &json!("timeout")));

    // Whoever called over a WebSocket may give up; so does whoever goes.
    let mut caller = Ws::open(&served.place, &served.token);
    let id = caller.send(json!({ "method": "tools.call", "params": { "toolName": "slow", "params": {} } }));
    let request = client.request();
    assert_eq!(caller.ask(json!({ "type": "cancel", "target": id }))["result"]["cancelled"], true);
    let told = client.wait_for("a cancellation", |message| message["id"] == request["id"]);
    assert_eq!((&told["type"], &told["reason"]), (&json!("tool_call_cancel"), &json!("cancelled")));
    caller.send(json!({ "method": "tools.call", "params": { "toolName": "slow", "params": {} } }));
    let request = client.request();
    drop(caller);
    let told = client.wait_for("a cancellation", |message| message["id"] == request["id"]);
    assert_eq!(told["type"], "tool_call_cancel");
}

#[test]
fn requests_over_a_websocket() {
    let sandbox = with_odd();
    let served = serve(&sandbox, &[]);
    let mut socket = Ws::open(&served.place, &served.token);
    let listing = socket.ask(json!({ "method": "tools.list" }));
    assert_eq!(listing["result"]["tools"], served.get("/api/tools").json()["tools"]);
    let echo = json!({ "toolName": "echo", "params": { "text": "x" } });
    let answer = socket.ask(json!({ "method": "tools.call", "params": echo }));
    assert_eq!(answer["result"]["result"]["content"][0]["text"], "x", "{answer}");
    let flat = socket.ask(json!({ "type": "tools.call", "tool": "nope" }));
    assert_eq!(flat["error"]["status"], 404, "{flat}");
    let id = socket.send(json!({ "method": "tools.call", "params": { "tool": "progress", "params": {} } }));
    let told = socket.wait_for("progress", |message| message["type"] == "progress");
    assert_eq!((&told["id"], &told["message"]), (&json!(id), &json!("half way")));
    assert_eq!(socket.response(id)["result"]["result"]["content"][0]["text"], "told");

    for text in ["nonsense", "[]", "7", "{}", "{\"method\":7}", ""] {
        socket.send_text(text);
        let refusal = socket.wait_for("a refusal", |message| message["ok"] == false);
        assert_eq!(refusal["error"]["status"], 400, "{text}: {refusal}");
    }
    assert_eq!(socket.ask(json!({ "method": "levitate" }))["error"]["status"], 404);
    let wrong = socket.ask(json!({ "method": "tools.call", "params": { "tool": "echo", "sessionKey": "other" } }));
    assert_eq!(wrong["error"]["status"], 403);
    for tool in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": "x".repeat(300) }),
        json!(7),
        json!({ "name": "x", "parameters": 7 }),
        json!({ "name": "x", "parameters": { "type": "nonsense" } }),
    ] {
        let refusal = socket.ask(json!({ "type": "register_tool", "tool": tool }));
        assert_eq!(refusal["ok"], false, "{refusal}");
    }
    assert!(!served.get("/api/tools").text().contains("\"x\""));
    // A caller's token needs leave to bring tools.
    let plain = served.new_token(json!({}));
    let mut other = Ws::open(&served.place, plain["token"].as_str().expect("a token"));
    let refusal = other.ask(json!({ "type": "register_tool", "tool": { "name": "y" } }));
    assert_eq!(refusal["error"]["status"], 403);
    let leave = served.new_token(json!({ "registerTools": true, "session": "s" }));
    let mut other = Ws::open(&served.place, leave["token"].as_str().expect("a token"));
    // Names of tools that are there stay theirs.
    assert_eq!(other.register("echo", open_schema()), "ext_client_session-s_echo");
    assert_eq!(served.call("echo", json!({ "text": "still odd" })).json()["extension"], "odd");
    // Two of one name are two.
    let mut twin = Ws::open(&served.place, leave["token"].as_str().expect("a token"));
    twin.register("own", open_schema());
    assert!(served.get("/api/extensions").text().contains("client:session-s-2"));
}

#[test]
fn the_same_over_the_rpc() {
    let sandbox = sandbox();
    let mut host = sandbox.rpc(&[]);
    let tool = json!({ "name": "dim", "description": "Dims.", "parameters": { "type": "object" } });
    let registered = host.ask(json!({ "type": "register_tool", "tool": tool }));
    assert_eq!(registered["data"]["name"], "dim", "{registered}");
    let calling = host.send(json!({ "type": "call_tool", "tool": "dim", "args": { "level": 1 } }));
    let request = host.wait_for("a call", |line| line["type"] == "tool_call_request");
    assert_eq!(request["params"], json!({ "level": 1 }));
    let response = json!({ "type": "tool_call_response", "id": request["id"], "result": "dimmed" });
    host.send_bytes(format!("{response}\n").as_bytes());
    assert_eq!(host.response(&calling)["data"]["content"][0]["text"], "dimmed");

    // A second listener of the same host goes, and its tools with it.
    let socket = sandbox.home().join(format!("run/host-{}.sock", host.pid()));
    eventually("the socket", || socket.exists());
    let mut other = std::os::unix::net::UnixStream::connect(&socket).expect("it listens");
    let offer = json!({ "id": "r", "type": "register_tool", "tool": { "name": "second" } });
    std::io::Write::write_all(&mut other, format!("{offer}\n").as_bytes()).expect("sent");
    let tools = |host: &mut jackfield_test_support::Rpc| host.ask(json!({ "type": "tools" })).to_string();
    eventually("its tool", || tools(&mut host).contains("\"second\""));
    let calling = host.send(json!({ "type": "call_tool", "tool": "second", "args": {} }));
    // It has read the request before it goes.
    let mut reader = std::io::BufReader::new(other.try_clone().expect("a second handle"));
    let mut line = String::new();
    while !line.contains("tool_call_request") {
        line.clear();
        std::io::BufRead::read_line(&mut reader, &mut line).expect("a line");
    }
    drop((other, reader));
    assert_eq!(host.response(&calling)["error"]["code"], "unavailable");
    eventually("its tool goes", || !tools(&mut host).contains("\"second\""));
    assert_eq!(host.ask(json!({ "type": "unregister_tool", "name": "dim" }))["success"], true);
    assert_eq!(host.call("dim", json!({}))["error"]["code"], "not_found");
    assert_eq!(host.close(), 0);
}
