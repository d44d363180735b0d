use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

#[track_caller]
fn check(schema: Value, args: Value, problems: &[&str]) {
    let validator = Schemas::new().compile(&schema).expect("a usable schema");
    match validator.check(&args) {
        Ok(()) => assert!(problems.is_empty(), "{args} fits {schema}"),
        Err(message) => {
            assert!(!problems.is_empty(), "{args} does not fit {schema}: {message}");
            for problem in problems {
                assert!(message.contains(problem), "{message:?} lacks {problem:?}");
            }
        }
    }
}

#[track_caller]
fn refused(schema: Value, reason: &str) {
    let error = Schemas::new().compile(&schema).expect_err("refused");
    assert!(error.contains(reason), "{error:?} lacks {reason:?}");
    assert!(error.chars().count() < 400, "{error}");
}

#[test]
fn arguments_are_checked() {
    let schema = json!({"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}, "unit": {"enum": ["c", "f"]},
    }, "required": ["city"], "additionalProperties": false});
    check(schema.clone(), json!({"city": "Berlin", "days": 3}), &[]);
    check(schema.clone(), json!({}), &["arguments: ", "\"city\""]);
    check(schema.clone(), json!({"city": 7}), &["/city: ", "string"]);
    check(schema.clone(), json!({"city": "x", "unit": "k"}), &["/unit: ", "\"c\" or \"f\""]);
    check(schema.clone(), json!({"city": 1, "days": 0, "unit": 2, "more": 3}), &["/city", "; ", "and more"]);
    check(schema.clone(), json!("city"), &["must be a JSON object, not a string"]);
    check(schema, json!(null), &["must be a JSON object, not null"]);
}

#[test]
fn problems_do_not_repeat_values() {
    let schema = json!({"properties": {"key": {"type": "number"}, "mail": {"maxLength": 3}}});
    let validator = Schemas::new().compile(&schema).expect("usable");
    let problems = validator.check(&json!({"key": "sk-secret-value", "mail": "y".repeat(100_000)})).expect_err("wrong");
    assert!(!problems.contains("sk-secret-value") && problems.len() < 700, "{problems}");
}

#[test]
fn schemas_that_say_nothing_accept_every_object() {
    let nothing = [
        json!(null),
        json!(true),
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "required": [], "description": "d", "additionalProperties": true}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "title": "t"}),
    ];
    for schema in nothing {
        assert!(accepts_any_object(&schema), "{schema}");
        check(schema.clone(), json!({"anything": [1]}), &[]);
        check(schema, json!([1]), &["not a list"]);
    }
    for schema in [json!({"type": "object", "additionalProperties": false}), json!({"required": ["a"]}), json!(false)] {
        assert!(!accepts_any_object(&schema), "{schema}");
    }
}

#[test]
fn bad_schemas_say_why() {
    refused(json!(false), "no arguments could ever fit");
    refused(json!("object"), "neither an object nor a boolean");
    refused(json!([{}]), "neither an object nor a boolean");
    refused(json!({"type": "strin"}), "invalid at /type");
    refused(json!({"properties": {"a": {"type": "object", "required": true}}}), "/properties/a/required");
    refused(json!({"properties": {"a": {"pattern": "("}}}), "/properties/a/pattern");
    refused(json!({"properties": {"a": {"pattern": "((a{1,1000}){1,1000}){1,1000}"}}}), "pattern");
    refused(json!({"$ref": "#/$defs/none"}), "none");
    refused(json!({"title": "x".repeat(1_100_000), "minProperties": 1}), "more than the 1048576");
}

#[test]
fn nothing_is_fetched() {
    refused(json!({"$ref": "http://127.0.0.1:9/x.json"}), "disabled");
    refused(json!({"properties": {"a": {"$ref": "https://json.example.org/x"}}}), "disabled");
    refused(json!({"properties": {"a": {"$ref": "file:///etc/hostname"}}}), "disabled");
    refused(json!({"$id": "https://example.org/base", "$ref": "other.json"}), "disabled");
    // A dialect that nobody knows is not fetched either, and not held against the tool.
    check(json!({"$schema": "https://example.org/dialect", "required": ["a"]}), json!({}), &["\"a\""]);
}

#[test]
fn deep_schemas_do_not_overflow_the_stack() {
    let nest = |levels: usize| {
        let mut schema = json!({"type": "string"});
        for _ in 0..levels {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        schema
    };
    check(nest(30), json!({"a": {"a": 1}}), &["/a/a"]);
    refused(nest(40), "nested more than 64");
    refused(nest(300), "nested more than 64");
    let negate = |levels: usize| (0..levels).fold(json!({"minProperties": 1}), |schema, _| json!({"not": schema}));
    check(negate(62), json!({"a": 1}), &[]);
    check(negate(62), json!({}), &["arguments: "]);
    refused(negate(300), "nested more than 64");
}

#[test]
fn references_and_circles() {
    let tree = json!({"$defs": {"node": {"type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"}}}},
        "$ref": "#/$defs/node"});
    check(tree.clone(), json!({"name": "a", "left": {"name": "b"}}), &[]);
    check(tree, json!({"name": "a", "left": {"name": "b", "right": {}}}), &["/left/right", "\"name\""]);
    check(json!({"$ref": "#"}), json!({}), &[]);
    check(json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}], "required": ["a"]}), json!({"a": 1}), &[]);
    let spaced = json!({"$defs": {"a b": {"required": ["x"]}}, "$ref": "#/$defs/a%20b"});
    check(spaced, json!({}), &["\"x\""]);
}

#[test]
fn schemas_that_multiply_are_refused() {
    let doubling = |levels: usize, by_anchor: bool| {
        let mut definitions = Map::new();
        for level in 0..=levels {
            let next = if by_anchor { format!("#c{}", level + 1) } else { format!("#/$defs/c{}", level + 1) };
            let schema = if level == levels {
                json!({"$anchor": format!("c{level}"), "type": "object"})
            } else {
                json!({"$anchor": format!("c{level}"), "allOf": [{"$ref": next}, {"$ref": next}]})
            };
            definitions.insert(format!("c{level}"), schema);
        }
        json!({"$defs": definitions, "$ref": "#/$defs/c0"})
    };
    check(doubling(5, false), json!({}), &[]);
    check(doubling(5, true), json!({}), &[]);
    refused(doubling(40, false), "more than 10000");
    refused(doubling(40, true), "more than 10000");
    let chain: Map<String, Value> =
        (0..5_000).map(|n| (format!("c{n}"), json!({"allOf": [{"$ref": format!("#/$defs/c{}", n + 1)}]}))).collect();
    refused(json!({"$defs": chain, "$ref": "#/$defs/c0"}), "in a row");
}

#[test]
fn patterns_end() {
    let started = Instant::now();
    let hostile = format!("{}b", "a".repeat(50_000));
    check(json!({"properties": {"a": {"pattern": "^(a+)+$"}}}), json!({"a": hostile}), &["/a"]);
    // Looking ahead works, and is bounded.
    let ahead = json!({"properties": {"a": {"pattern": "^(?!x)[a-z]+$"}}});
    check(ahead.clone(), json!({"a": "abc"}), &[]);
    check(ahead, json!({"a": "xbc"}), &["/a"]);
    check(json!({"properties": {"a": {"pattern": "^(?!x)((a|aa)+)+$"}}}), json!({"a": hostile}), &["/a"]);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn the_same_schema_is_compiled_once_while_in_use() {
    let schemas = Schemas::new();
    let schema = json!({"required": ["a"]});
    let first = schemas.compile(&schema).expect("usable");
    assert!(Arc::ptr_eq(&first, &schemas.compile(&schema.clone()).expect("usable")));
    let other = schemas.compile(&json!({"required": ["b"]})).expect("usable");
    assert!(!Arc::ptr_eq(&first, &other));
    drop((first, other));
    schemas.compile(&json!({"required": ["c"]})).map(drop).expect("usable");
    assert_eq!(schemas.lock().len(), 1, "what nobody uses is forgotten");
}

#[test]
fn arguments_become_objects() {
    assert_eq!(coerce_object(json!(null)), Ok(json!({})));
    assert_eq!(coerce_object(json!({"a": 1})), Ok(json!({"a": 1})));
    for (args, found) in
        [(json!([]), "a list"), (json!("x"), "a string"), (json!(1), "a number"), (json!(true), "a boolean")]
    {
        assert_eq!(coerce_object(args), Err(format!("arguments must be a JSON object, not {found}")));
    }
}
