use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;

fn parse(text: &str) -> Result<Value, String> {
    Document::read(without_mark(text).1).map(|document| document.value())
}

fn entry() -> Value {
    json!({ "command": "/bin/jackfield", "args": ["mcp"] })
}

#[track_caller]
fn there_and_back(text: &str, with: &str) {
    let made = put(text, "mcpServers", "jackfield", &entry()).unwrap();
    assert_eq!(made, with);
    assert_eq!(put(&made, "mcpServers", "jackfield", &entry()).unwrap(), made, "twice is once");
    let back = remove(&made, "mcpServers", "jackfield").unwrap().unwrap();
    let expected = parse(text).unwrap();
    let mut read = parse(&back).unwrap();
    if expected.get("mcpServers").is_none() {
        read.as_object_mut().unwrap().shift_remove("mcpServers");
    }
    assert_eq!(read, expected, "{back}");
}

#[test]
fn comments_and_forms_stay() {
    there_and_back(
        "{\n    // mine\n    \"theme\": \"dark\", /* really */\n    \"mcpServers\": {\n        \"a\": { \"command\": \"x\" } // first\n    }\n}\n",
        "{\n    // mine\n    \"theme\": \"dark\", /* really */\n    \"mcpServers\": {\n        \"a\": { \"command\": \"x\" }, // first\n        \"jackfield\": {\n            \"command\": \"/bin/jackfield\",\n            \"args\": [\"mcp\"]\n        }\n    }\n}\n",
    );
    there_and_back(
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {},\r\n\t},\r\n}",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {},\r\n\t\t\"jackfield\": {\r\n\t\t\t\"command\": \"/bin/jackfield\",\r\n\t\t\t\"args\": [\"mcp\"]\r\n\t\t},\r\n\t},\r\n}",
    );
    there_and_back(
        "{\"a\":1,\"mcpServers\":{\"b\":{}}}",
        "{\"a\":1,\"mcpServers\":{\"b\":{}, \"jackfield\": {\"command\":\"/bin/jackfield\",\"args\":[\"mcp\"]}}}",
    );
    there_and_back(
        "{\n  \"a\": [1, 2,],\n  \"mcpServers\": {}\n}",
        "{\n  \"a\": [1, 2,],\n  \"mcpServers\": {\n    \"jackfield\": {\n      \"command\": \"/bin/jackfield\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}",
    );
    there_and_back(
        "{\n  \"a\": 1 // the last\n}\n",
        "{\n  \"a\": 1, // the last\n  \"mcpServers\": {\n    \"jackfield\": {\n      \"command\": \"/bin/jackfield\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n",
    );
}

#[test]
fn nothing_becomes_a_file() {
    let made = put(" \n", "servers", "jackfield", &json!({})).unwrap();
    assert_eq!(made, "{\n  \"servers\": {\n    \"jackfield\": {}\n  }\n}\n");
    assert_eq!(put("{}", "servers", "x", &json!(1)).unwrap(), "{\n  \"servers\": {\n    \"x\": 1\n  }\n}");
}

#[test]
fn an_old_entry_gives_way() {
    let text = "{ \"mcpServers\": { \"jackfield\": { \"command\": \"old\" }, \"b\": 1 } } // end";
    let made = put(text, "mcpServers", "jackfield", &json!("new")).unwrap();
    assert_eq!(made, "{ \"mcpServers\": { \"jackfield\": \"new\", \"b\": 1 } } // end");
}

#[test]
fn what_cannot_be_understood_is_left_alone() {
    for (text, why) in [
        ("[1]", "no JSON object"),
        ("{\"mcpServers\": 7}", "is no object"),
        ("{\"mcpServers\": {}, \"mcpServers\": {}}", "stands there twice"),
        ("{\"a\": 1 \"b\": 2}", "line 1: Expected comma"),
        ("{\n\"a\": \"x", "line 2: Unterminated string"),
        ("{\"a\": /* ", "Unterminated comment"),
        ("{\"a\": nope}", "Unexpected token"),
        ("{} {}", "more than one JSON value"),
    ] {
        let error = put(text, "mcpServers", "jackfield", &entry()).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn strings_may_look_like_anything() {
    let text = "{ \"a\": \"// no comment } \\\" {\", \"mcpServers\": { \"/*\": \"*/\" } }";
    let made = put(text, "mcpServers", "jackfield", &json!(1)).unwrap();
    assert_eq!(parse(&made).unwrap()["mcpServers"], json!({ "/*": "*/", "jackfield": 1 }));
    assert_eq!(remove(&made, "mcpServers", "jackfield").unwrap().unwrap(), text);
}

#[test]
fn a_byte_order_mark_stays_in_front() {
    let made = put("\u{feff}{}", "servers", "x", &json!(1)).unwrap();
    assert_eq!(made, "\u{feff}{\n  \"servers\": {\n    \"x\": 1\n  }\n}");
    assert_eq!(put(&made, "servers", "x", &json!(1)).unwrap(), made);
    assert_eq!(remove(&made, "servers", "x").unwrap().unwrap(), "\u{feff}{\n  \"servers\": {\n  }\n}");
    assert!(put("\u{feff}\u{feff}{}", "servers", "x", &json!(1)).is_err(), "one mark, in front");
}

#[test]
fn comments_may_stand_anywhere() {
    let parts =
        ["{", "\"a\"", ":", "[", "1", ",", "2", ",", "]", ",", "\"mcpServers\"", ":", "{", "\"b\"", ":", "{", "}"];
    let ends = ["}", "}"];
    for comment in ["/* , } \" */", "// , } \"\n", "//\r\n"] {
        for comma in ["", ","] {
            let inside = [&parts[..], &[comma], &ends[..1], &[comma], &ends[1..]].concat();
            let text: String = inside.iter().map(|part| format!("{comment}{part}")).collect();
            let before = parse(&text).unwrap();
            let made = put(&text, "mcpServers", "jackfield", &entry()).unwrap();
            assert_eq!(parse(&made).unwrap()["mcpServers"]["jackfield"], entry(), "{made}");
            assert_eq!(made.matches(comment).count(), text.matches(comment).count(), "{made}");
            let back = remove(&made, "mcpServers", "jackfield").unwrap().unwrap();
            assert_eq!(parse(&back).unwrap(), before, "{back}");
        }
    }
}

#[test]
fn hostile_texts_stay_bounded() {
    for levels in [600, 100_000] {
        for open in ["[", "{\"a\":", "[/**/", "[[],"] {
            assert!(put(&open.repeat(levels), "mcpServers", "jackfield", &entry()).is_err());
            assert!(remove(&open.repeat(levels), "mcpServers", "jackfield").is_err());
        }
    }
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(500), "]".repeat(500));
    let made = put(&deep, "mcpServers", "jackfield", &entry()).unwrap();
    assert!(remove(&made, "mcpServers", "jackfield").unwrap().unwrap().contains(&"[".repeat(500)));
    let wide = format!("{{{}}}", "\"a\": [1, {\"b\": null},], // x\n".repeat(100_000));
    let made = put(&wide, "mcpServers", "jackfield", &entry()).unwrap();
    assert!(made.starts_with(wide.trim_end_matches('}')));
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(MAX_CONFIG_BYTES));
    assert!(put(&long, "mcpServers", "jackfield", &entry()).unwrap_err().contains("MiB"));
}

/// Every prefix of a text, and the text with any one byte changed, is edited or refused; nothing panics.
#[test]
fn damaged_texts_are_edited_or_refused() {
    let text =
        "{ // a\n \"x\\u00e9\\ud83d\\ude00\": [1.5e3, -0, true, null,],\n /* b */ \"mcpServers\": {\"é\": {},},\n}\r\n";
    for (end, _) in text.char_indices() {
        put(&text[..end], "mcpServers", "jackfield", &entry()).ok();
        remove(&text[..end], "mcpServers", "jackfield").ok();
    }
    for at in 0..text.len() {
        for byte in [0, b'"', b'\\', b'{', b'}', b',', b'/', b'*', b'\n', b'\'', b'-', b'u'] {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = byte;
            let Ok(text) = String::from_utf8(bytes) else { continue };
            if let Ok(made) = put(&text, "mcpServers", "jackfield", &entry()) {
                assert_eq!(parse(&made).unwrap()["mcpServers"]["jackfield"], entry());
                assert!(remove(&made, "mcpServers", "jackfield").unwrap().is_some());
            }
        }
    }
}

#[test]
fn white_space_at_the_end_of_a_comment_stays() {
    let text = "{\n  \"mcpServers\": {\n    \"a\": 1 // wide\u{3000}\n  }\n}";
    let made = put(text, "mcpServers", "jackfield", &json!(1)).unwrap();
    assert_eq!(made, text.replace("1 //", "1, //").replace("\n  }", "\n    \"jackfield\": 1\n  }"));
    assert_eq!(remove(&made, "mcpServers", "jackfield").unwrap().unwrap(), text);
}

#[test]
fn a_comma_at_the_end_of_one_line_stays() {
    let text = "{ \"mcpServers\": { \"a\": 1, } }";
    let made = put(text, "mcpServers", "jackfield", &json!(1)).unwrap();
    assert_eq!(made, "{ \"mcpServers\": { \"a\": 1, \"jackfield\": 1, } }");
    assert_eq!(remove(&made, "mcpServers", "jackfield").unwrap().unwrap(), text);
}

fn members() -> impl Strategy<Value = Map<String, Value>> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z{},\"\\\\/*é]{0,6}".prop_map(Value::from),
    ];
    let value = scalar.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-c]{0,2}", inner), 0..3).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    vec(("[a-z\"/é]{0,4}", value), 0..4).prop_map(|members| members.into_iter().collect())
}

/// Writes a value as a person may: with something between two tokens, and with commas after the last members or without.
struct Hand {
    text: String,
    between: Vec<&'static str>,
    written: usize,
    trailing_comma: bool,
}

impl Hand {
    fn token(&mut self, token: &str) {
        self.text.push_str(self.between[self.written % self.between.len()]);
        self.text.push_str(token);
        self.written += 1;
    }

    fn value(&mut self, value: &Value) {
        let (open, close, count) = match value {
            Value::Object(members) => ("{", "}", members.len()),
            Value::Array(items) => ("[", "]", items.len()),
            scalar => return self.token(&scalar.to_string()),
        };
        self.token(open);
        let members = value.as_object().into_iter().flatten().map(|(key, value)| (Some(key), value));
        let items = value.as_array().into_iter().flatten().map(|value| (None, value));
        for (number, (key, value)) in members.chain(items).enumerate() {
            if let Some(key) = key {
                self.token(&json!(key).to_string());
                self.token(":");
            }
            self.value(value);
            if number + 1 < count || self.trailing_comma {
                self.token(",");
            }
        }
        self.token(close);
    }
}

fn between() -> impl Strategy<Value = Vec<&'static str>> {
    let gaps = ["", "", " ", "\n", "\n    ", "\r\n\t", "/* , } \" */", "// , } \"\n", " // é\u{3000}\r\n"];
    vec(select(gaps.to_vec()), 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_and_its_undo_touch_nothing_else(
        root in members(),
        servers in proptest::option::of(members()),
        between in between(),
        trailing_comma in any::<bool>(),
        mark in select(vec!["", "\u{feff}"]),
    ) {
        let mut root = root;
        let had_members = servers.as_ref().is_some_and(|servers| !servers.is_empty());
        let had_servers = servers.is_some();
        root.extend(servers.map(|servers| ("mcpServers".to_owned(), Value::Object(servers))));
        let before = Value::Object(root);
        let mut hand = Hand { text: mark.to_owned(), between, written: 0, trailing_comma };
        hand.value(&before);
        let text = hand.text;

        let made = put(&text, "mcpServers", "jackfield", &entry()).unwrap();
        let mut wanted = before.clone();
        wanted["mcpServers"]["jackfield"] = entry();
        prop_assert_eq!(parse(&made), Ok(wanted));
        prop_assert_eq!(put(&made, "mcpServers", "jackfield", &entry()), Ok(made.clone()), "twice is once");
        for comment in ["/* , } \" */", "// , } \"", "// é\u{3000}"] {
            prop_assert_eq!(made.matches(comment).count(), text.matches(comment).count(), "{}", &made);
        }

        let back = remove(&made, "mcpServers", "jackfield").unwrap().unwrap();
        if had_members {
            prop_assert_eq!(back, text, "the same bytes");
        } else {
            let mut wanted = before;
            if !had_servers {
                wanted["mcpServers"] = json!({});
            }
            prop_assert_eq!(parse(&back), Ok(wanted));
        }
    }

    #[test]
    fn any_text_is_edited_or_refused(text in any::<String>(), inside in "[{}\\[\\],:\"/*a1 \n]{0,24}") {
        let framed = format!("{{\"mcpServers\":{{{inside}}}}}");
        for text in [text, inside, framed] {
            if let Ok(made) = put(&text, "mcpServers", "jackfield", &entry()) {
                prop_assert_eq!(&parse(&made).unwrap()["mcpServers"]["jackfield"], &entry());
                prop_assert!(remove(&made, "mcpServers", "jackfield").unwrap().is_some());
            }
            remove(&text, "mcpServers", "jackfield").ok();
        }
    }
}
