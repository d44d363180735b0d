use super::*;

#[track_caller]
fn check_blocks(blocks: Value, expected: ToolResult) {
    let Value::Array(blocks) = blocks else { panic!("blocks are an array") };
    assert_eq!(tool_result("x", "t", blocks, false, None), expected);
}

#[test]
fn blocks() {
    check_blocks(json!([{"type": "text", "text": "a"}, {"type": "text", "text": ""}]), ToolResult::text("a"));
    check_blocks(json!([]), ToolResult::text("(extension returned no content)"));
    check_blocks(json!([{"type": "video"}]), ToolResult::text("[unknown block type \"video\" from extension x]"));
    check_blocks(json!([7]), ToolResult::text("[unknown block type \"\" from extension x]"));
    let image = Content::Image { mime_type: "image/png".into(), data: "aGk=".into() };
    check_blocks(
        json!([{"type": "image", "mime_type": "image/png", "data": "aGk="}]),
        ToolResult { content: vec![image], is_error: false, details: None, wire: None },
    );
    let broken = tool_result("x", "t", vec![json!({"type": "image", "data": "%%"})], false, None);
    assert!(broken.is_error);
    assert!(
        matches!(&broken.content[..], [Content::Text { text, .. }] if text.starts_with("extension x/t returned undecodable image: "))
    );
    let broken = tool_result("x", "t", vec![json!({"type": "text", "text": 7})], false, None);
    assert!(broken.is_error);
}

#[test]
fn free_forms() {
    let check = |value: Value, expected: ToolResult| assert_eq!(free_result("x", "t", value), expected);
    check(json!("hi"), ToolResult::text("hi"));
    check(json!(null), ToolResult::text("null"));
    let sum = ToolResult { details: Some(json!({"sum": 5.0})), ..ToolResult::text(r#"{"sum":5.0}"#) };
    check(json!({"sum": 5.0}), sum);
    check(json!({"content": [{"type": "text", "text": "a"}], "isError": true}), ToolResult::error("a"));
    let data = json!({"content": ["a"]});
    check(data.clone(), ToolResult { details: Some(data), ..ToolResult::text(r#"{"content":["a"]}"#) });
}

#[test]
fn commands() {
    let check = |response: Value, action: CommandAction, error: Option<&str>| {
        let reply = command_reply(serde_json::from_value(response).expect("a response"));
        assert_eq!(reply, CommandReply { action, error: error.map(str::to_owned) });
    };
    check(json!({"action": "prompt", "prompt": " hi "}), CommandAction::Prompt { prompt: " hi ".into() }, None);
    check(json!({"action": "prompt", "prompt": "  "}), CommandAction::Noop, None);
    check(json!({"action": "display", "display": "x"}), CommandAction::Display { display: "x".into() }, None);
    check(json!({"action": null}), CommandAction::Noop, None);
    check(json!({"action": "explode"}), CommandAction::Noop, Some("unknown action explode"));
    check(json!({"action": "explode", "error": "own"}), CommandAction::Noop, Some("own"));
    check(json!({"action": "open_panel"}), CommandAction::Noop, Some("action open_panel without a panel"));
    check(
        json!({"action": "tool_prompt", "prompt": "p", "tool_name": "t"}),
        CommandAction::ToolPrompt { prompt: "p".into(), tool_name: "t".into(), tool_args: json!({}) },
        None,
    );
}

#[test]
fn cutting_keeps_characters_whole() {
    let text = "é".repeat(MOST_FOR_EXTENSION / 2 + 5);
    let (kept, was_cut) = cut(vec![Content::text(text), Content::text("more")]);
    assert!(was_cut);
    assert!(matches!(&kept[..], [Content::Text { text, .. }] if text.len() == MOST_FOR_EXTENSION));
    let small = vec![Content::text("a"), Content::text("")];
    assert_eq!(cut(small.clone()), (small, false));
}
