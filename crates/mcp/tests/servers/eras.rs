//! Which era a server speaks is found out once, and both are spoken.

use std::time::{Duration, Instant};

use jackfield_protocol::{ErrorCode, McpEra};
use serde_json::{Value, json};

use crate::support::{Bed, call_as, cx, relay, text, tool};

fn methods(bed: &Bed) -> Vec<String> {
    let heard = bed.heard();
    heard.iter().filter_map(|message| Some(message["method"].as_str()?.to_owned())).collect()
}

#[tokio::test]
async fn an_older_server_is_asked_once_and_remembered() {
    let bed = Bed::of(&[]);
    let (server, offers) = bed.start().await;
    assert_eq!(methods(&bed)[..3], ["server/discover", "initialize", "notifications/initialized"]);
    let mcp = &offers.extra["mcp"];
    assert_eq!((&mcp["protocol_version"], &mcp["instructions"]), (&json!("2025-06-18"), &json!("be kind")));
    assert_eq!((&mcp["server_info"]["vendor"]["z"], offers.version.as_deref()), (&json!(1), Some("1.2.3")));
    assert_eq!(mcp["prompts"], json!([r#"{"name":"greet","arguments":[]}"#]));
    server.stop(Duration::from_secs(5)).await;
    std::fs::remove_file(bed.dir.path().join("heard")).expect("heard");
    bed.start().await;
    assert_eq!(methods(&bed)[0], "initialize", "another host remembers");
    // The server behind the same command is another one now.
    std::fs::write(bed.dir.path().join("now"), "modern").expect("a file");
    let (_, offers) = bed.start().await;
    assert_eq!(offers.extra["mcp"]["protocol_version"], "2026-07-28", "what was remembered is forgotten");
}

#[tokio::test]
async fn a_newer_server_is_spoken_to_without_a_handshake() {
    let bed = Bed::of(&["modern"]);
    let (server, offers) = bed.start().await;
    assert_eq!(offers.extra["mcp"]["protocol_version"], "2026-07-28");
    let meta = json!({ "traceparent": "t", "io.modelcontextprotocol/clientCapabilities": { "roots": {} } });
    call_as(&server, "c", "echo", json!({ "a": 1 }), meta, cx(20)).await.expect("an answer");
    let heard = bed.heard();
    let call = heard.iter().find(|message| message["method"] == "tools/call").expect("called");
    let meta = &call["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "jackfield");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({ "roots": {} }), "what the caller can");
    assert_eq!(meta["traceparent"], "t");
    assert!(!methods(&bed).contains(&"initialize".to_owned()));
    assert_eq!(relay(&server, "logging/setLevel", r#"{"level":"debug"}"#).await.as_deref(), Ok("{}"));
    text(&server, "echo", json!({})).await;
    let heard = bed.heard();
    let last = heard.iter().rfind(|message| message["method"] == "tools/call").expect("called");
    assert_eq!(last["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "debug");
}

#[tokio::test]
async fn a_newer_server_gets_the_input_it_requires() {
    let bed = Bed::of(&["modern"]);
    let (server, _) = bed.start().await;
    let said: Value = serde_json::from_str(&text(&server, "input", json!({})).await).expect("JSON");
    assert_eq!(
        said,
        json!([{ "q": { "action": "accept", "content": { "name": "Ada" } }, "r": { "roots": [{ "uri": "file:///p" }] } }, "state-1"])
    );
    let error = tool(&server, "loop", json!({})).await.expect_err("for ever");
    assert!(error.code == ErrorCode::Protocol && error.message.contains("10 times"), "{error}");
    assert_eq!(text(&server, "echo", json!({})).await, "{}");
}

#[tokio::test]
async fn a_server_that_is_upset_by_the_question_is_started_anew() {
    for mode in ["silent-probe", "exit-on-probe"] {
        let bed = Bed::of(&[mode]);
        let began = Instant::now();
        let (server, _) = bed.start().await;
        assert!(began.elapsed() < Duration::from_secs(15), "{mode}: {:?}", began.elapsed());
        assert_eq!(text(&server, "echo", json!({})).await, "{}", "{mode}");
        let began = Instant::now();
        bed.start().await;
        assert!(began.elapsed() < Duration::from_secs(5), "{mode} is remembered: {:?}", began.elapsed());
        assert_eq!(methods(&bed).iter().filter(|method| *method == "server/discover").count(), 1, "{mode}");
    }
}

#[tokio::test]
async fn what_the_settings_say_is_not_asked() {
    let mut bed = Bed::of(&["dual"]);
    bed.era = McpEra::Legacy;
    let (_, offers) = bed.start().await;
    assert_eq!(offers.extra["mcp"]["protocol_version"], "2025-06-18");
    let mut bed = Bed::of(&[]);
    bed.era = McpEra::Modern;
    let error = bed.fails().await;
    assert!(error.contains("2026-07-28"), "{error}");
}

#[tokio::test]
async fn bad_beginnings_say_what_happened() {
    let mut bed = Bed::of(&["hang"]);
    bed.start_timeout = Duration::from_secs(2);
    let error = bed.fails().await;
    assert!(
        error.contains("initialize") && error.contains("2000 ms") && error.contains("it thinks about it"),
        "{error}"
    );
    let error = Bed::of(&["exit"]).fails().await;
    assert!(error.contains("exit status 1") && error.contains("left_pad"), "{error}");
    let error = Bed::of(&["refuse"]).fails().await;
    assert!(error.contains("go away") && error.contains("-32000"), "{error}");
}
