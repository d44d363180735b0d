//! Many calls at a time: none is lost, none is answered with another's answer.

use std::io::{BufReader, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use jackfield_test_support::rounds;
use serde_json::json;

use super::support::{Reply, Request, connect, serve, with_odd};

const IN_FLIGHT: usize = 64;

#[test]
fn many_calls_with_64_in_flight_lose_none() {
    let calls = rounds(2_000, 10_000);
    let sandbox = with_odd();
    let served = serve(&sandbox, &["--rate-limit", "0"]);
    assert_eq!(served.call("echo", json!({ "text": "warm" })).status, 200);
    let next = AtomicUsize::new(0);
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..IN_FLIGHT {
            scope.spawn(|| {
                let mut stream = BufReader::new(connect(&served.place));
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= calls {
                        return;
                    }
                    let text = format!("call {number}");
                    let body = json!({ "toolName": "echo", "params": { "text": text } }).to_string();
                    let request = Request::new("POST", "/api/tools/call").token(&served.token).body(body.as_bytes());
                    stream.get_mut().write_all(&request.bytes(&served.place)).expect("sent");
                    let reply = Reply::read(&mut stream).expect("an answer");
                    assert_eq!(reply.json()["result"]["content"][0]["text"], text, "{}", reply.text());
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(answered.load(Ordering::Relaxed), calls);
    let metrics = served.get("/metrics").text();
    let line = format!("jackfield_tool_calls_total{{tool=\"echo\",outcome=\"ok\"}} {}", calls + 1);
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
    assert!(metrics.contains("jackfield_tool_calls_in_flight 0\n"), "{metrics}");
}
