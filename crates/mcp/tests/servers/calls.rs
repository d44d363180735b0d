//! Calls: what is passed on, and what misbehaves.

use std::time::{Duration, Instant};

use jackfield_protocol::{CallId, ErrorCode, Notice, Wire};
use jackfield_runtime::{CallCx, ExtensionCall, Reply};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Bed, call_as, cx, eventually, relay, text, tool};

#[tokio::test]
async fn what_was_written_arrives_as_it_was_written() {
    let bed = Bed::of(&[]);
    let (server, _) = bed.start().await;
    let wire = tool(&server, "odd", json!({})).await.expect("an answer").wire.expect("kept");
    assert_eq!(
        wire.as_str(),
        r#"{"zeta":12345678901234567890123,"content":[{"type":"hologram","depth":3.10,"x":null},{"type":"text","text":"after"}],"alpha":{"b":1,"a":2},"tools":[],"structuredContent":{"n":1}}"#
    );
    // The arguments of the caller, too.
    let arguments = r#"{"z":"x", "big":12345678901234567890123,"a":1.0}"#;
    let call = ExtensionCall::Tool {
        call_id: CallId::new("c"),
        name: "echo".to_owned(),
        args: serde_json::from_str::<Value>(arguments).expect("JSON").into(),
        wire: Some(Wire::new(arguments)),
        meta: Map::new().into(),
    };
    let Ok(Reply::Tool(result)) = server.call(call, cx(20)).await else { panic!("an answer") };
    let said = result.wire.expect("kept");
    assert!(said.as_str().contains(r#"{\"z\": \"x\", \"big\": 12345678901234567890123, \"a\": 1.0}"#), "{said:?}");
    let prompt = relay(&server, "prompts/get", r#"{"name":"greet","x":98765432109876543210}"#).await.expect("a prompt");
    assert!(prompt.contains("98765432109876543210"), "{prompt}");
    assert_eq!(relay(&server, "ping", "{}").await.as_deref(), Ok("{}"));
}

#[tokio::test]
async fn errors_keep_their_code_and_data() {
    let bed = Bed::of(&[]);
    let (server, _) = bed.start().await;
    let error = tool(&server, "refuse", json!({})).await.expect_err("refused");
    assert_eq!(
        error.details,
        Some(json!({ "rpc": { "code": -32050, "message": "not today", "data": { "why": ["a", 1] } } }))
    );
    assert!(!error.is_transport_failure(), "the transport is not to blame: {error}");
    let error = relay(&server, "no/such", "{}").await.expect_err("refused");
    assert_eq!((error.code, &error.details.expect("said")["rpc"]["code"]), (ErrorCode::Unsupported, &json!(-32601)));
    let error = relay(&server, "prompts/get", "[]").await.expect_err("no object");
    assert_eq!(error.code, ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn progress_comes_in_order_and_before_the_result() {
    let bed = Bed::of(&[]);
    let (server, _) = bed.start().await;
    let meta = json!({ "progressToken": "mine" });
    call_as(&server, "c1", "progress", json!({ "steps": 200 }), meta, cx(20)).await.expect("an answer");
    let notices = bed.host.notices.lock().expect("no panic").clone();
    assert_eq!(notices.len(), 201, "all of them before the result");
    for (step, notice) in notices.iter().take(200).enumerate() {
        let Notice::Mcp { call_id, method, params } = notice else { panic!("{notice:?}") };
        assert_eq!((call_id.as_deref(), method.as_str()), (Some("c1"), "notifications/progress"));
        assert_eq!((&params["progress"], &params["progressToken"]), (&json!(step), &json!("mine")));
    }
    assert!(
        matches!(&notices[200], Notice::Mcp { call_id: Some(id), method, .. } if id == "c1" && method == "notifications/message")
    );
}

#[tokio::test]
async fn answers_out_of_order_twice_and_unasked_find_nobody_else() {
    let bed = Bed::of(&[]);
    let (server, _) = bed.start().await;
    let (slow, quick) = tokio::join!(
        text(&server, "wait", json!({ "seconds": 0.4 })),
        text(&server, "wait", json!({ "seconds": 0.1 }))
    );
    assert_eq!((slow.as_str(), quick.as_str()), ("0.4", "0.1"));
    assert_eq!(text(&server, "twice", json!({})).await, "first");
    assert_eq!(text(&server, "echo", json!({})).await, "{}", "the second answer is nobody's");
    eventually("a note", || bed.log().contains("that nobody waits for")).await;
}

#[tokio::test]
async fn what_is_cancelled_or_late_is_taken_back() {
    let bed = Bed::of(&[]);
    let (server, _) = bed.start().await;
    let cancel = CancellationToken::new();
    let call = CallCx { deadline: Instant::now() + Duration::from_secs(20), cancel: cancel.clone() };
    let calling = call_as(&server, "c", "late", json!({}), json!({}), call);
    let stopping = async {
        eventually("the call arrives", || bed.heard().iter().any(|message| message["params"]["name"] == "late")).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(calling, stopping);
    assert_eq!(outcome.expect_err("given up").code, ErrorCode::Cancelled);
    let timeout = CallCx::within(Duration::from_millis(200));
    let outcome = call_as(&server, "t", "late", json!({}), json!({}), timeout).await;
    assert_eq!(outcome.expect_err("too late").code, ErrorCode::Timeout);
    let is_cancel = |message: &&Value| message["method"] == "notifications/cancelled";
    eventually("both are taken back", || bed.heard().iter().filter(is_cancel).count() == 2).await;
    // The answers that come now, and the progress, are nobody's.
    assert_eq!(text(&server, "echo", json!({})).await, "{}");
    let told = bed.host.notices.lock().expect("no panic").len();
    assert_eq!(told, 0, "late progress is not passed on");
}

#[tokio::test]
async fn a_result_of_15_mib_arrives_and_one_of_17_is_an_error() {
    let bed = Bed::of(&[]);
    let (server, _) = bed.start().await;
    assert_eq!(text(&server, "size", json!({ "bytes": 15 << 20 })).await.len(), 15 << 20);
    for mib in [17, 50] {
        let error = tool(&server, "size", json!({ "bytes": mib << 20 })).await.expect_err("too long");
        assert_eq!(error.code, ErrorCode::Protocol);
        assert!(error.message.contains("16 MiB"), "{error}");
        assert_eq!(text(&server, "echo", json!({})).await, "{}", "the next call works");
    }
    let error = tool(&server, "line", json!({ "mib": 20 })).await.expect_err("junk that is too long");
    assert_eq!(error.code, ErrorCode::Protocol, "an answer may be lost in it");
}

#[tokio::test]
async fn junk_and_bytes_that_are_no_text_cost_nothing() {
    let bed = Bed::of(&["junk"]);
    let (server, _) = bed.start().await;
    assert_eq!(text(&server, "bytes", json!({})).await, "a\u{fffd}\u{fffd}b");
    assert_eq!(text(&server, "flood", json!({})).await, "flooded");
    let log = bed.log();
    assert!(log.contains("Starting the server"), "{log}");
    assert!(log.lines().count() < 100, "a flood is counted, not kept: {}", log.lines().count());
}

#[tokio::test]
async fn questions_go_to_the_only_call_under_way() {
    let bed = Bed::of(&[]);
    let (server, _) = bed.start().await;
    assert_eq!(text(&server, "elicit", json!({})).await, r#"{"action": "accept", "content": {"name": "Ada"}}"#);
    let refused = text(&server, "sample", json!({})).await;
    assert!(refused.contains("a person said no") && refused.contains("-1"), "{refused}");
    let said = text(&server, "roots", json!({})).await;
    assert!(said.starts_with(r#"[{"roots": [{"uri": "file:///p"}]}, {}, {"code": -32601"#), "{said}");
    let asked = bed.host.asked.lock().expect("no panic").clone();
    let whose: Vec<_> = asked.iter().map(|(_, call)| call.as_ref().map(CallId::as_str)).collect();
    assert_eq!(whose, [Some("call-elicit"), Some("call-sample"), Some("call-roots")]);
    // With two calls under way nobody can tell whose question it is.
    let (_, refused) = tokio::join!(text(&server, "wait", json!({ "seconds": 1 })), text(&server, "elicit", json!({})));
    assert!(refused.contains("any of 2 calls"), "{refused}");
}

#[tokio::test]
async fn death_says_why_at_once() {
    let bed = Bed::of(&[]);
    let (server, _) = bed.start().await;
    let error = tool(&server, "die", json!({})).await.expect_err("dead");
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(error.message.contains("exit status 3") && error.message.contains("asked to die"), "{error}");
    assert!(!error.is_undelivered(), "it was read: nobody may repeat it");
    let error = tool(&server, "echo", json!({})).await.expect_err("dead");
    assert!(error.is_undelivered(), "{error}");
    assert!(server.exited().await.reason.contains('3'));
}

#[tokio::test]
async fn secrets_of_the_settings_reach_the_server_and_no_log() {
    let mut bed = Bed::of(&[]);
    bed.env.insert("API_KEY".to_owned(), "${MY_TOKEN}".to_owned());
    bed.env.insert("PLAIN".to_owned(), "${NOT_SET:-fallback}".to_owned());
    let (server, _) = bed.start().await;
    let seen = text(&server, "where", json!({ "names": ["API_KEY", "PLAIN", "MY_TOKEN"] })).await;
    let seen: Value = serde_json::from_str(&seen).expect("JSON");
    assert_eq!((&seen["API_KEY"], &seen["PLAIN"]), (&json!("hunter2hunter2"), &json!("fallback")));
    assert_eq!(seen["MY_TOKEN"], Value::Null, "only what is named is passed on");
    let error = tool(&server, "secret", json!({})).await.expect_err("refused");
    assert!(!error.message.contains("hunter2"), "{error}");
    eventually("stderr is kept", || bed.log().contains("the key is")).await;
    assert!(!bed.log().contains("hunter2"), "{}", bed.log());
    bed.env.insert("BAD".to_owned(), "${NOT_SET}".to_owned());
    let error = bed.fails().await;
    assert!(error.contains("NOT_SET") && error.contains("env.BAD"), "{error}");
}
