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
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(LONGEST));
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
