//! MCP on the gateway: `/mcp` with the gateway's tokens, and `jackfield mcp` that attaches to it.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::support::{Reply, Request, Served, serve, with_odd};

fn initialize() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

fn call_pid(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "pid", "arguments": {} } })
}

fn post(served: &Served, token: Option<&str>, session: Option<&str>, message: &Value) -> Reply {
    let mut request = Request::new("POST", "/mcp").header("Accept", "application/json, text/event-stream");
    if let Some(token) = token {
        request = request.token(token);
    }
    if let Some(session) = session {
        request = request.header("Mcp-Session-Id", session).header("Mcp-Protocol-Version", "2025-11-25");
    }
    request.body(message.to_string().as_bytes()).send(&served.place)
}

/// The message in an answer, as JSON or as an event.
fn message(reply: &Reply) -> Value {
    let text = reply.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).find(|data| data.contains("jsonrpc"));
    serde_json::from_str(data.unwrap_or(&text)).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn case_06_what_the_project_says_to_agents_is_said_over_http_too() {
    let sandbox = with_odd();
    sandbox.write(&sandbox.project().join("SOUL.md"), "You are a careful gardener.\n");
    sandbox.run(&["trust"]).exits(0);
    let served = serve(&sandbox, &[]);
    let caller = served.new_token(json!({ "session": "agent" }));
    let greeted = message(&post(&served, caller["token"].as_str(), None, &initialize()));
    let told = greeted["result"]["instructions"].as_str().unwrap_or_default();
    assert!(told.ends_with("\n\nYou are a careful gardener."), "{greeted:#}");
}

#[test]
fn one_host_behind_http_mcp_and_attached_agents() {
    let sandbox = with_odd();
    let mut served = serve(&sandbox, &[]);
    let pid = served.call("pid", json!({})).json()["result"]["content"][0]["text"].clone();

    post(&served, None, None, &initialize()).refuses(401, "unauthorized");
    let caller = served.new_token(json!({ "session": "agent" }));
    let token = caller["token"].as_str().expect("a token");
    let greeted = post(&served, Some(token), None, &initialize());
    assert_eq!(greeted.status, 200, "{}", greeted.text());
    let session = greeted.header("mcp-session-id").expect("a session").to_owned();
    let answer = message(&post(&served, Some(token), Some(&session), &call_pid(2)));
    assert_eq!(answer["result"]["content"][0]["text"], pid, "{answer}");
    let foreign = Request::new("POST", "/mcp").token(token).header("Origin", "http://evil.example");
    foreign.body(initialize().to_string().as_bytes()).send(&served.place).refuses(403, "forbidden");

    // An agent on a pipe is passed on to the same host.
    let mut agent = sandbox.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut input = agent.stdin.take().expect("a pipe");
    let lines = BufReader::new(agent.stdout.take().expect("a pipe")).lines();
    let mut answers = lines.map_while(Result::ok).map(|line| serde_json::from_str::<Value>(&line).expect("JSON"));
    let mut ask = |message: Value| {
        input.write_all(format!("{message}\n").as_bytes()).expect("sent");
        answers.find(|answer| answer["id"] == message["id"]).expect("an answer")
    };
    assert_eq!(ask(initialize())["result"]["serverInfo"]["name"], "jackfield");
    assert_eq!(ask(call_pid(2))["result"]["content"][0]["text"], pid);
    served.terminate();
    assert_eq!(served.gone().0, 0);
    drop(input);
    assert_eq!(agent.wait().expect("it ends").code(), Some(0));
}
