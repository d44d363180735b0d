use serde_json::json;

use super::*;

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
        ("{\"a\": 1 \"b\": 2}", "line 1: a comma is missing"),
        ("{\n\"a\": \"x", "line 2: a string that does not end"),
        ("{\"a\": /* ", "a comment that does not end"),
        ("{\"a\": nope}", "something that is no JSON"),
        ("{} {}", "something after the end"),
    ] {
        let error = put(text, "mcpServers", "jackfield", &entry()).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(parse(&deep).unwrap_err().contains("too deeply"));
}

#[test]
fn strings_may_look_like_anything() {
    let text = "{ \"a\": \"// no comment } \\\" {\", \"mcpServers\": { \"/*\": \"*/\" } }";
    let made = put(text, "mcpServers", "jackfield", &json!(1)).unwrap();
    assert_eq!(parse(&made).unwrap()["mcpServers"], json!({ "/*": "*/", "jackfield": 1 }));
    assert_eq!(remove(&made, "mcpServers", "jackfield").unwrap().unwrap(), text);
}
