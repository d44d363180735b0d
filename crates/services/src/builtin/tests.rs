use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use jackfield_protocol::{Content, ErrorCode, HostCall, ToolResult};
use jackfield_runtime::HostCallCx;
use serde_json::{Value, json};

use crate::tests::{Judge, Place, fails, within};
use crate::{ServiceLimits, Services};

async fn tool(place: &Place, name: &str, input: Value) -> ToolResult {
    let result = place.call("tool", json!({"name": name, "input": input})).await.expect("an answer");
    serde_json::from_value(result).expect("a tool result")
}

fn text(result: &ToolResult) -> &str {
    match result.content.as_slice() {
        [Content::Text { text, .. }] => text,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn says(result: &ToolResult, expected: &str) {
    assert!(!result.is_error, "{result:?}");
    assert_eq!(text(result), expected);
}

#[track_caller]
fn complains(result: &ToolResult, holds: &str) {
    assert!(result.is_error && text(result).contains(holds), "{result:?} should complain about {holds:?}");
}

#[test]
fn every_tool_is_described_and_its_description_is_its_own() {
    let specs = Services::builtin_tools();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, [&super::NAMES[..], &super::SECRETS].concat());
    for spec in &specs {
        assert!(Services::is_builtin_tool(&spec.name));
        assert!(!spec.description.is_empty());
        let properties = spec.parameters["properties"].as_object().unwrap();
        assert!(
            spec.parameters["required"]
                .as_array()
                .unwrap()
                .iter()
                .all(|r| properties.contains_key(r.as_str().unwrap()))
        );
        assert_eq!(properties.contains_key("path"), super::takes_path(&spec.name), "{}", spec.name);
    }
    assert!(!Services::is_builtin_tool("weather"));
}

#[tokio::test]
async fn read_gives_parts() {
    let place = Place::new();
    std::fs::write(place.inside("three"), "one\ntwo\nthree").unwrap();
    std::fs::write(place.inside("empty"), "").unwrap();
    std::fs::write(place.inside("binary"), b"\xff\x00").unwrap();
    std::fs::write(place.inside("picture"), b"\x89PNG\r\n\x1a\n\xff").unwrap();
    std::fs::write(place.inside("long"), (1..=3000).map(|n| format!("{n}\n")).collect::<String>()).unwrap();
    std::fs::write(place.inside("wide"), format!("{}\nnext\n", "✓".repeat(50_000))).unwrap();

    says(&tool(&place, "read", json!({"path": "three"})).await, "one\ntwo\nthree");
    says(&tool(&place, "read", json!({"path": "empty"})).await, "");
    let part = tool(&place, "read", json!({"path": "three", "offset": 2, "limit": 1})).await;
    says(&part, "two\n[lines 2 to 2 of 3; go on with offset 3]");
    says(&tool(&place, "read", json!({"path": "three", "offset": 3})).await, "three");
    complains(&tool(&place, "read", json!({"path": "three", "offset": 4})).await, "3 lines");
    complains(&tool(&place, "read", json!({"path": "binary"})).await, "not text");
    complains(&tool(&place, "read", json!({"path": "none"})).await, "none");
    let long = tool(&place, "read", json!({"path": "long"})).await;
    assert!(text(&long).ends_with("2000\n[lines 1 to 2000 of 3000; go on with offset 2001]"), "{long:?}");
    let wide = tool(&place, "read", json!({"path": "wide"})).await;
    assert!(text(&wide).starts_with('✓') && text(&wide).contains("was cut") && text(&wide).len() < 70_000);
    let picture = tool(&place, "read", json!({"path": "picture"})).await;
    let expected = Content::Image { mime_type: "image/png".into(), data: "iVBORw0KGgr/".into() };
    assert_eq!(picture.content, [expected]);
}

#[tokio::test]
async fn write_and_edit() {
    let place = Place::new();
    says(&tool(&place, "write", json!({"path": "a", "content": "one two two aXaXa"})).await, "wrote 17 bytes to a");
    let edit = |old: &str, new: &str| {
        let input = json!({"path": "a", "old_text": old, "new_text": new});
        tool(&place, "edit", input)
    };
    says(&edit("one", "1\n").await, "edited a at line 1");
    complains(&edit("two", "2").await, "more than once");
    complains(&edit("aXa", "b").await, "more than once");
    complains(&edit("three", "3").await, "does not stand");
    complains(&edit("", "x").await, "empty");
    assert_eq!(std::fs::read_to_string(place.inside("a")).unwrap(), "1\n two two aXaXa");
    complains(&tool(&place, "edit", json!({"path": "none", "old_text": "a", "new_text": "b"})).await, "none");
    complains(&tool(&place, "write", json!({"path": "none/a", "content": ""})).await, "none/a");
    let camel = json!({"path": "a", "oldText": "1", "newText": "one"});
    says(&tool(&place, "edit", camel).await, "edited a at line 1");
}

#[tokio::test]
async fn ls_lists() {
    let place = Place::new();
    says(&tool(&place, "ls", json!(null)).await, "(empty)");
    std::fs::create_dir(place.inside("src")).unwrap();
    std::fs::write(place.inside("b"), "").unwrap();
    symlink("b", place.inside("a")).unwrap();
    says(&tool(&place, "ls", json!({})).await, "a@\nb\nsrc/");
    says(&tool(&place, "ls", json!({"path": "src"})).await, "(empty)");
    complains(&tool(&place, "ls", json!({"path": "none"})).await, "none");
}

fn forest(place: &Place) {
    for folder in ["src/deep", ".git", "node_modules/x", "target"] {
        std::fs::create_dir_all(place.inside(folder)).unwrap();
    }
    for file in ["src/a.rs", "src/deep/b.rs", "src/c.txt", ".git/x.rs", "node_modules/x/y.rs", "target/z.rs", "top.rs"]
    {
        std::fs::write(place.inside(file), "fn Needle() {}\nother\n").unwrap();
    }
    std::fs::write(place.outside("evil.rs"), "Needle").unwrap();
    symlink(place.outside(""), place.inside("src/escape")).unwrap();
    symlink(place.outside("evil.rs"), place.inside("src/evil.rs")).unwrap();
    symlink("..", place.inside("src/up")).unwrap();
}

#[tokio::test]
async fn find_stays_inside() {
    let place = Place::new();
    forest(&place);
    let find = |input: Value| tool(&place, "find", input);
    says(&find(json!({"pattern": "*.rs"})).await, "src/a.rs\nsrc/deep/b.rs\nsrc/evil.rs\ntop.rs");
    says(&find(json!({"pattern": "src/*.txt"})).await, "src/c.txt");
    says(&find(json!({"pattern": "deep"})).await, "src/deep/");
    says(&find(json!({"pattern": "deep/*", "path": "src"})).await, "src/deep/b.rs");
    says(&find(json!({"pattern": "*.none"})).await, "no file matches \"*.none\"");
    complains(&find(json!({"pattern": "*", "path": "none"})).await, "none");
    for file in 0..1001 {
        std::fs::write(place.inside(&format!("src/deep/f{file}.many")), "").unwrap();
    }
    let many = find(json!({"pattern": "*.many"})).await;
    assert_eq!(text(&many).lines().count(), 1001);
    assert!(text(&many).ends_with("narrow the search]"));
}

#[tokio::test]
async fn grep_stays_inside() {
    let place = Place::new();
    forest(&place);
    std::fs::write(place.inside("src/binary"), b"Needle\0").unwrap();
    std::fs::write(place.inside("src/huge"), format!("Needle{}", " ".repeat(1024 * 1024))).unwrap();
    std::fs::write(place.inside("src/wide"), format!("{}needle", "x".repeat(1000))).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(place.inside("src/pipe")).status().unwrap();
    assert!(pipe.success());
    let grep = |input: Value| tool(&place, "grep", input);
    let all = "src/a.rs:1: fn Needle() {}\nsrc/c.txt:1: fn Needle() {}\nsrc/deep/b.rs:1: fn Needle() {}";
    says(&grep(json!({"pattern": "Needle", "path": "src"})).await, all);
    says(&grep(json!({"pattern": "Needle()", "path": "top.rs"})).await, "top.rs:1: fn Needle() {}");
    says(&grep(json!({"pattern": "N.*e", "path": "src"})).await, "no line holds \"N.*e\"");
    let wide = grep(json!({"pattern": "NEEDLE", "path": "src/wide", "ignore_case": true})).await;
    says(&wide, &format!("src/wide:1: {}…", "x".repeat(500)));
    complains(&grep(json!({"pattern": ""})).await, "empty");
    complains(&grep(json!({"pattern": "a", "regex": true})).await, "literal");
    complains(&grep(json!({"pattern": "a", "path": "none"})).await, "none");
    std::fs::write(place.inside("many"), "Needle\n".repeat(201)).unwrap();
    let many = grep(json!({"pattern": "Needle", "path": "many"})).await;
    assert_eq!(text(&many).lines().count(), 201);
    assert!(text(&many).ends_with("narrow the search]"));
}

#[tokio::test]
async fn bash_runs_a_line() {
    let place = Place::new();
    let result = tool(&place, "bash", json!({"command": "echo a | tr a b; echo c >&2"})).await;
    says(&result, "b\nc\n");
    assert_eq!(result.details, Some(json!({"code": 0, "truncated": false})));
    says(&tool(&place, "bash", json!({"command": "true"})).await, "(no output)");
    let failed = tool(&place, "bash", json!({"command": "echo x; exit 7"})).await;
    complains(&failed, "x\n\n[exit code 7]");
    assert_eq!(failed.details, Some(json!({"code": 7, "truncated": false})));

    let before = Instant::now();
    let slow =
        place.call("tool", json!({"name": "bash", "input": {"command": "echo x; sleep 300", "timeout_ms": 300}}));
    let error = fails(slow.await, ErrorCode::Timeout, "300 ms");
    assert_eq!(error.details.unwrap()["output"], "x\n");
    // The call's own time stands above what the arguments wish.
    let input = json!({"name": "bash", "input": {"command": "sleep 300", "timeout_ms": 300_000}});
    let cx = within(Duration::from_millis(100));
    fails(place.call_within("tool", input, &cx).await, ErrorCode::Timeout, "100 ms");
    assert!(before.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn bash_does_without_bash() {
    let place = Place::with(ServiceLimits::default(), &[]);
    let bin = place.inside("bin");
    std::fs::create_dir(&bin).unwrap();
    symlink("/bin/sh", bin.join("sh")).unwrap();
    let place = Place::with(ServiceLimits::default(), &[("PATH", bin.to_str().unwrap())]);
    says(&tool(&place, "bash", json!({"command": "echo hello"})).await, "hello\n");
}

#[tokio::test]
async fn bad_arguments_are_errors_of_the_call() {
    let place = Place::new();
    for (name, input) in [
        ("read", json!({})),
        ("read", json!(null)),
        ("read", json!("a")),
        ("read", json!({"path": ["a"]})),
        ("read", json!({"path": "a", "offset": -1})),
        ("ls", json!({"path": 1})),
        ("ls", json!({"path": null})),
        ("write", json!({"path": "a"})),
        ("grep", json!({"path": "."})),
        ("bash", json!({"cmd": "ls"})),
    ] {
        let call = json!({"name": name, "input": input});
        fails(place.call("tool", call.clone()).await, ErrorCode::InvalidRequest, name);
        // Also where nobody resolved the call before.
        let call = HostCall::parse("tool", call).unwrap();
        let result = place.perform(&call, &Judge::default(), &HostCallCx::default()).await;
        fails(result, ErrorCode::InvalidRequest, name);
    }
    for (name, more) in [("read", json!({})), ("write", json!({"content": "x"})), ("find", json!({"pattern": "*"}))] {
        let mut input = more;
        input["path"] = json!("../outside/secret");
        let call = json!({"name": name, "input": input});
        fails(place.call("tool", call.clone()).await, ErrorCode::Denied, "rooted");
        let call = HostCall::parse("tool", call).unwrap();
        fails(place.perform(&call, &Judge::default(), &HostCallCx::default()).await, ErrorCode::Denied, "resolved");
    }
}

/// Runs a tool under rules that deny every need which holds `secret`.
async fn with_denial(place: &Place, name: &str, input: Value) -> (String, Vec<String>) {
    let judge = Judge { denies: Some("secret"), ..Judge::default() };
    let call = place.services.resolve(HostCall::parse("tool", json!({"name": name, "input": input})).unwrap()).unwrap();
    let result = place.perform(&call, &judge, &HostCallCx::default()).await.expect("an answer");
    let result: ToolResult = serde_json::from_value(result).expect("a tool result");
    assert!(!result.is_error, "{result:?}");
    (text(&result).to_owned(), judge.asked.into_inner().unwrap())
}

#[tokio::test]
async fn what_a_rule_denies_is_neither_named_nor_read() {
    let place = Place::new();
    std::fs::create_dir_all(place.inside("src/secrets")).unwrap();
    for file in ["src/a", "src/secrets/key", "src/my.secret"] {
        std::fs::write(place.inside(file), "needle").unwrap();
    }
    for (tool, input, expected) in [
        ("ls", json!({"path": "src"}), "a"),
        ("find", json!({"pattern": "*"}), "src/\nsrc/a"),
        ("find", json!({"pattern": "**/key"}), "no file matches \"**/key\""),
        ("grep", json!({"pattern": "needle"}), "src/a:1: needle"),
        ("grep", json!({"pattern": "needle", "path": "src"}), "src/a:1: needle"),
    ] {
        assert_eq!(with_denial(&place, tool, input.clone()).await, (expected.to_owned(), vec![]), "{tool} {input}");
    }
}

#[tokio::test]
async fn a_search_asks_once_for_everything_below() {
    let place = Place::new();
    forest(&place);
    let call = json!({"name": "grep", "input": {"pattern": "Needle", "path": "src"}});
    let call = place.services.resolve(HostCall::parse("tool", call).unwrap()).unwrap();
    let judge = Judge { refuses: true, ..Judge::default() };
    fails(place.perform(&call, &judge, &HostCallCx::default()).await, ErrorCode::Denied, "read src/**");
    assert_eq!(*judge.asked.lock().unwrap(), ["read src/**"]);
}
