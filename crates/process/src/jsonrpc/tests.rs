use super::*;

#[test]
fn a_handshake_keeps_what_it_can_read() {
    let contributions = read_handshake(json!({
        "server_version": "1.2", "extra": true, "hooks": ["before_message", "on_full_moon", 7],
        "tools": ["greet", {"name": "add", "description": "adds", "input_schema": {"type": "object", "required": ["a"]}},
            {"name": "Bad Name!"}, 7, {"name": "big", "input_schema": {"x": "y".repeat(1024 * 1024)}}, {"name": "any", "input_schema": {}}],
    }));
    let add = ToolSpec {
        description: "adds".into(),
        parameters: json!({"type": "object", "required": ["a"]}),
        ..ToolSpec::open("add")
    };
    assert_eq!(contributions.tools, [ToolSpec::open("greet"), add, ToolSpec::open("any")]);
    assert_eq!(contributions.hooks, [HookPoint::BeforeMessage]);
    assert_eq!(contributions.version.as_deref(), Some("1.2"));
    assert_eq!(contributions.warnings.len(), 5, "{:?}", contributions.warnings);
}

#[test]
fn odd_handshakes_register_nothing() {
    for result in [json!(null), json!([]), json!({"tools": 7}), json!({"hooks": {}})] {
        let contributions = read_handshake(result);
        assert!(contributions.tools.is_empty());
        assert_eq!(contributions.warnings.len(), 1);
    }
    let lenient = read_handshake(json!({"name": "x", "server_version": 7, "tools": null}));
    assert_eq!(lenient, Contributions::default());
}

#[test]
fn meta_replaces_and_only_objects_carry_it() {
    let meta = Map::from_iter([("agent_id".to_owned(), json!("a"))]);
    assert_eq!(with_meta(json!({"x": 1, "_meta": 2}), &meta), json!({"x": 1, "_meta": {"agent_id": "a"}}));
    assert_eq!(with_meta(json!([1]), &meta), json!([1]));
    assert_eq!(with_meta(json!({"x": 1}), &Map::new()), json!({"x": 1}));
    assert_eq!(with_meta(json!(null), &meta), json!({}));
}
