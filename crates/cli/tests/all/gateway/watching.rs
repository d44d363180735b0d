//! What is told to those who look on: events, changes of the tools, figures, extensions.

use std::io::{BufReader, Write};
use std::time::Instant;

use serde_json::{Value, json};

use super::support::{Events, MOMENT, Reply, Request, serve, with_odd};

#[test]
fn a_long_poll_returns_when_the_tools_change_and_not_before() {
    let sandbox = with_odd();
    let served = serve(&sandbox, &[]);
    let revision = served.get("/api/tools").json()["revision"].as_u64().expect("a number");
    let poll = |since: u64, timeout: u64| format!("/api/tools/changes?since={since}&timeoutMs={timeout}");

    // Nothing has changed.
    let same = served.get(&poll(revision, 50)).json();
    assert_eq!((&same["changed"], &same["revision"]), (&json!(false), &json!(revision)), "{same}");
    assert!(same.get("tools").is_none());
    // Whoever knows nothing, or something from another run, is told at once.
    for since in [0, revision + 1000] {
        let fresh = served.get(&poll(since, 60_000)).json();
        assert_eq!((&fresh["changed"], &fresh["revision"]), (&json!(true), &json!(revision)));
        assert_eq!(fresh["tools"], served.get("/api/tools").json()["tools"]);
    }

    let mut waiting = BufReader::new(served.connect());
    let request = Request::new("GET", &poll(revision, 60_000)).token(&served.token);
    waiting.get_mut().write_all(&request.bytes(&served.place)).expect("sent");
    waiting.get_mut().set_read_timeout(Some(MOMENT)).expect("a timeout");
    assert!(Reply::read(&mut waiting).is_none(), "not yet");
    waiting.get_mut().set_read_timeout(Some(jackfield_test_support::PATIENCE)).expect("a timeout");
    assert_eq!(served.call("offer", json!({})).status, 200);
    let began = Instant::now();
    let changed = Reply::read(&mut waiting).expect("an answer").json();
    assert!(began.elapsed() < jackfield_test_support::PATIENCE / 2, "at once");
    assert_eq!(changed["changed"], true);
    assert!(changed["revision"].as_u64().expect("a number") > revision);
    assert!(changed["tools"].to_string().contains("Came later."), "{changed}");

    for query in [
        "",
        "?since=",
        "?since=x",
        "?since=-1",
        "?since=1.5",
        "?since=1&since=2",
        "?since=%2B1",
        "?since=%ff",
        "?since=99999999999999999999",
        "?since=1&timeoutMs=60001",
    ] {
        served.get(&format!("/api/tools/changes{query}")).refuses(400, "bad_request");
    }
}

#[test]
fn events_tell_what_happens() {
    let sandbox = with_odd();
    let served = serve(&sandbox, &[]);
    assert_eq!(served.call("echo", json!({ "text": "warm" })).status, 200);
    let mut events = Events::open(&served.place, Request::new("GET", "/api/events").token(&served.token));
    let hello = events.next().expect("an event");
    assert_eq!((hello.0.as_str(), &hello.1["approvals"]), ("hello", &json!([])));
    served.call("offer", json!({}));
    let changed = events.wait_for("tools_changed");
    assert_eq!(changed["revision"], served.get("/api/tools").json()["revision"]);
    served.call("crash", json!({}));
    let state = events.wait_for("state");
    assert_eq!((&state["extension"], &state["state"]), (&json!("odd"), &json!("restarting")), "{state}");
}

#[test]
fn extensions_and_figures() {
    let sandbox = with_odd();
    sandbox.write(&sandbox.home().join("extensions/broken/extension.json"), "{");
    let served = serve(&sandbox, &[]);
    for text in ["one", "two"] {
        served.call("echo", json!({ "text": text }));
    }
    served.call("fail", json!({}));
    served.call("nope", json!({}));
    let listing = served.get("/api/extensions").json();
    let rows = listing["extensions"].as_array().expect("rows");
    let row = |id: &str| rows.iter().find(|row| row["id"] == id).cloned().unwrap_or(Value::Null);
    assert_eq!((&row("odd")["state"], &row("odd")["scope"]), (&json!("ready"), &json!("global")), "{listing}");
    assert!(row("odd")["tools"].as_array().is_some_and(|tools| tools.contains(&json!("echo"))));
    assert_eq!(row("broken")["state"], "invalid");
    assert!(row("broken")["error"].is_string(), "{listing}");

    let reply = served.get("/metrics");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = reply.text();
    for line in [
        "jackfield_tool_calls_total{tool=\"echo\",outcome=\"ok\"} 2",
        "jackfield_tool_calls_total{tool=\"fail\",outcome=\"tool_error\"} 1",
        "jackfield_tool_calls_total{tool=\"(other)\",outcome=\"not_found\"} 1",
        "jackfield_tool_call_seconds_bucket{tool=\"echo\",le=\"+Inf\"} 2",
        "jackfield_tool_call_seconds_count{tool=\"echo\"} 2",
        "jackfield_extensions{state=\"ready\"} 1",
        "jackfield_extensions{state=\"invalid\"} 1",
        "jackfield_http_requests_total{status=\"404\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    // Every figure has its kind, and every line is a figure or about one.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let family = name.split('{').next().expect("a name");
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| family.strip_suffix(end)).unwrap_or(family);
        assert!(text.contains(&format!("# TYPE {family} ")), "{line}");
    }
}
