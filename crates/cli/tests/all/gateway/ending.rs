//! How the gateway ends: calls under way are finished, what is open for ever ends, and nothing is left behind.

use std::io::{BufReader, Write};
use std::time::{Duration, Instant};

use jackfield_test_support::eventually;
use serde_json::json;

use super::support::{Events, Reply, Request, Served, Ws, serve, with_odd};

/// Sends a call and leaves its answer in the reader.
fn begin(served: &Served, tool: &str, params: serde_json::Value) -> BufReader<std::net::TcpStream> {
    let mut stream = BufReader::new(served.connect());
    let body = json!({ "toolName": tool, "params": params }).to_string();
    let request = Request::new("POST", "/api/tools/call").token(&served.token).body(body.as_bytes());
    stream.get_mut().write_all(&request.bytes(&served.place)).expect("sent");
    stream
}

fn wait_for_calls(served: &Served, count: usize) {
    let line = format!("jackfield_tool_calls_in_flight {count}\n");
    eventually("the calls are under way", || served.get("/metrics").text().contains(&line));
}

#[test]
fn a_gateway_that_is_told_to_end_finishes_its_calls() {
    let sandbox = with_odd();
    let mut served = serve(&sandbox, &[]);
    assert_eq!(served.call("echo", json!({ "text": "warm" })).status, 200);
    let mut client = Ws::open(&served.place, &served.token);
    client.register("brought", json!({ "type": "object" }));
    let mut calls: Vec<_> = (0..8).map(|_| begin(&served, "sleep", json!({ "ms": 1000 }))).collect();
    let mut brought = begin(&served, "brought", json!({}));
    let request = client.request();
    let mut poll = BufReader::new(served.connect());
    let revision = served.get("/api/tools").json()["revision"].clone();
    let path = format!("/api/tools/changes?since={revision}&timeoutMs=60000");
    let bytes = Request::new("GET", &path).token(&served.token).bytes(&served.place);
    poll.get_mut().write_all(&bytes).expect("sent");
    let mut events = Events::open(&served.place, Request::new("GET", "/api/events").token(&served.token));
    events.wait_for("hello");
    wait_for_calls(&served, 9);
    served.terminate();
    // What would stay open for ever ends.
    Reply::read(&mut poll).expect("an answer").refuses(503, "closing");
    while events.next().is_some() {}
    // New calls are not taken.
    let late = client.ask(json!({ "method": "tools.call", "params": { "tool": "echo", "params": {} } }));
    assert_eq!(late["error"]["status"], 503, "{late}");
    // Those under way are, also those that clients serve.
    client.send(json!({ "type": "tool_call_response", "id": request["id"], "result": "in time" }));
    for call in &mut calls {
        let answer = Reply::read(call).expect("an answer");
        assert_eq!(answer.json()["result"]["content"][0]["text"], "slept 1000 ms");
    }
    assert_eq!(Reply::read(&mut brought).expect("an answer").json()["result"]["content"][0]["text"], "in time");
    let (code, said) = served.gone();
    assert_eq!(code, 0, "{said}");
    sandbox.run(&["ledger", "verify"]).exits(0);
    let left: Vec<_> = std::fs::read_dir(sandbox.home().join("run")).expect("a folder").flatten().collect();
    let left: Vec<_> = left.iter().map(std::fs::DirEntry::file_name).collect();
    assert!(
        left.iter().all(|name| !name.to_string_lossy().contains("serve") && !name.to_string_lossy().ends_with(".sock")),
        "{left:?}"
    );
    serve(&sandbox, &[]);
}

#[test]
fn the_wait_for_calls_has_an_end_and_a_second_signal_ends_it_sooner() {
    let sandbox = with_odd();
    let mut served = serve(&sandbox, &["--drain-ms", "300"]);
    assert_eq!(served.call("echo", json!({ "text": "warm" })).status, 200);
    let mut hanging = begin(&served, "hang", json!({}));
    wait_for_calls(&served, 1);
    served.terminate();
    Reply::read(&mut hanging).expect("an answer").refuses(503, "cancelled");
    assert_eq!(served.gone().0, 0);

    let mut served = serve(&sandbox, &["--drain-ms", "600000"]);
    assert_eq!(served.call("echo", json!({ "text": "warm" })).status, 200);
    let mut hanging = begin(&served, "hang", json!({}));
    wait_for_calls(&served, 1);
    let began = Instant::now();
    served.terminate();
    eventually("it takes no more", || std::net::TcpStream::connect(&served.place).is_err());
    served.terminate();
    Reply::read(&mut hanging).expect("an answer").refuses(503, "cancelled");
    assert_eq!(served.gone().0, 0);
    assert!(began.elapsed() < Duration::from_secs(60));
}
