//! What is a frame, what is not, and how frames are written.

use serde_json::json;

use super::*;

#[test]
fn nulls_stand_for_nothing() {
    let frame = FromExtension::parse(
        br#"{"type":"event_intercept_response","id":"1","block":null,"reason":null,"modified_args":null}"#,
    );
    assert_eq!(
        frame,
        Ok(FromExtension::EventInterceptResponse {
            id: "1".into(),
            block: false,
            reason: String::new(),
            modified_args: None,
            replace_text: None,
            system_prompt: None,
        })
    );
}

#[test]
fn what_is_not_a_frame_says_why() {
    let check = |line: &str, expected: NotAFrame| assert_eq!(FromExtension::parse(line.as_bytes()), Err(expected));
    check("Starting up…", NotAFrame::Noise);
    check("[1,2]", NotAFrame::Noise);
    check("", NotAFrame::Noise);
    check("{}", NotAFrame::Unknown(String::new()));
    check(r#"{"type":"telemetry"}"#, NotAFrame::Unknown("telemetry".into()));
    let broken = FromExtension::parse(br#"{"type":"hello","name":"x","version":2}"#);
    assert!(matches!(broken, Err(NotAFrame::Invalid { kind, .. }) if kind == "hello"));
}

#[test]
fn the_tag_comes_first_and_empty_args_are_left_out() {
    let write = |frame: ToExtension| serde_json::to_string(&frame).expect("serialises");
    assert_eq!(
        write(ToExtension::CommandInvoked { id: "1".into(), name: "hi".into(), args: String::new() }),
        r#"{"type":"command_invoked","id":"1","name":"hi"}"#
    );
    assert_eq!(
        write(ToExtension::ToolCall { id: "2".into(), name: "t".into(), args: json!({"a": 1}) }),
        r#"{"type":"tool_call","id":"2","name":"t","args":{"a":1}}"#
    );
}

#[test]
fn a_result_reads_the_same_whichever_key_comes_first() {
    let first = br#"{"type":"tool_result","id":"1","content":[{"type":"text","text":"x"}],"is_error":null,"more":1}"#;
    let last = br#"{"id":"1","content":[{"type":"text","text":"x"}],"is_error":null,"more":1,"type":"tool_result"}"#;
    assert_eq!(FromExtension::parse(first), FromExtension::parse(last));
    let broken = FromExtension::parse(br#"{"type":"tool_result","id":"1","content":7}"#);
    assert!(matches!(broken, Err(NotAFrame::Invalid { kind, .. }) if kind == "tool_result"));
}
