//! Ten thousand notices a second: the host stays responsive, other extensions are not held up, and what was dropped is
//! counted.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::{sandbox, script, within};

fn is_dropped(line: &Value) -> bool {
    line["type"] == "ext_notify" && line["message"].as_str().is_some_and(|text| text.contains("were dropped"))
}

/// Ten thousand at once and then silence.
#[test]
fn a_burst() {
    let sandbox = sandbox();
    sandbox.misbehave("loud", "notify_flood");
    sandbox.misbehave("quiet", "ok");
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("ext_quiet_echo", json!({ "text": "hi" })), "hi");
    assert_eq!(rpc.text("ext_loud_echo", json!({ "text": "hi" })), "hi");
    let mut dropped = 0;
    while dropped < 9_000 {
        let line = rpc.wait_for("the number of dropped notices", is_dropped);
        assert_eq!((&line["extension"], &line["level"]), (&json!("loud"), &json!("warn")));
        let message = line["message"].as_str().expect("a message");
        dropped += message.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).expect("a number");
    }
    assert!(dropped <= 10_000, "{dropped}");
}

/// At least ten thousand a second for as long as it runs.
#[test]
fn a_flood_that_does_not_end() {
    let sandbox = sandbox();
    let source = r#"
hello("count")
sent = 0
def flood():
    global sent
    line = json.dumps({"type": "notify", "level": "info", "message": "still here"}) + "\n"
    while True:
        began = time.monotonic()
        for _ in range(20):
            os.write(1, line.encode() * 50)
            sent += 50
        time.sleep(max(0, 0.05 - (time.monotonic() - began)))
threading.Thread(target=flood, daemon=True).start()
for frame in hear():
    os.write(1, (json.dumps({"type": "tool_result", "id": frame["id"], "content": [{"type": "text", "text": str(sent)}]}) + "\n").encode())
os._exit(0)
"#;
    script(&sandbox, "loud", source, "");
    sandbox.misbehave("quiet", "ok");
    let mut rpc = sandbox.rpc(&[]);
    assert_eq!(rpc.text("ext_quiet_echo", json!({ "text": "hi" })), "hi");
    assert!(rpc.text("count", json!({})).parse::<u64>().is_ok(), "the flood has begun");
    let began = Instant::now();
    let mut slowest = Duration::ZERO;
    while began.elapsed() < Duration::from_secs(3) {
        let asked = Instant::now();
        assert_eq!(rpc.ask(json!({ "type": "ping" }))["success"], true);
        assert_eq!(rpc.text("ext_quiet_echo", json!({ "text": "hi" })), "hi");
        slowest = slowest.max(asked.elapsed());
    }
    assert!(slowest < Duration::from_secs(2), "the slowest answer took {slowest:?}");
    let line = rpc.wait_for("the number of dropped notices", is_dropped);
    assert_eq!(line["extension"], "loud");
    let sent: u64 = rpc.text("count", json!({})).parse().expect("a number");
    assert!(sent > 5_000, "only {sent} notices were sent");
    assert_eq!(within(Duration::from_secs(20), || rpc.close()), 0);
}
