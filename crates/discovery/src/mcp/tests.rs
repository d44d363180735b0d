mod files;

use std::fs;

use jackfield_protocol::{McpEra, McpTransport};
use serde_json::json;

use super::*;

fn read(text: &str) -> (Vec<Found>, Vec<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("mcp.json");
    fs::write(&file, text).expect("a file");
    let mut diagnostics = Vec::new();
    let found = in_file(&file, Origin::Flag, &mut diagnostics);
    (found, diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect())
}

fn server(found: &Found) -> &jackfield_protocol::McpServer {
    match &found.manifest.launch {
        Launch::Mcp(server) => server,
        other => panic!("no server: {other:?}"),
    }
}

#[test]
fn every_way_to_write_servers_down() {
    let one = r#"{"command":"x","args":["-a"],"env":{"A":"${B}","N":1}}"#;
    for text in [
        format!(r#"{{"mcpServers":{{"a b":{one}}}}}"#),
        format!("{{ // a comment\n\"servers\":{{\"a b\":{one},}},}}"),
        format!(r#"{{"a b":{one}}}"#),
        format!(r#"{{"inputs":[],"servers":{{"a b":{one}}}}}"#),
    ] {
        let (found, messages) = read(&text);
        assert_eq!((found.len(), messages.len()), (1, 0), "{text}: {messages:?}");
        assert_eq!((found[0].manifest.id.as_str(), found[0].manifest.name.as_str()), ("a-b", "a b"));
        assert!(found[0].is_active());
        let McpTransport::Stdio { command, args, env, cwd } = &server(&found[0]).transport else { panic!("{text}") };
        assert_eq!((command.as_str(), args.as_slice(), cwd), ("x", ["-a".to_owned()].as_slice(), &None));
        assert_eq!(json!(env), json!({ "A": "${B}", "N": "1" }), "variables are filled in when it starts");
    }
}

#[test]
fn a_bad_entry_costs_itself_only() {
    let (found, messages) = read(
        r#"{"mcpServers":{"none":{},"both":{"command":"x","url":"http://x"},"odd":7,"kind":{"type":"carrier-pigeon","url":"http://x"},
        "args":{"command":"x","args":"-a"},"!!":{"command":"x"},"empty":{"command":" "},"era":{"command":"x","protocol":"stone"},
        "old":{"type":"sse","url":"http://x"},"off":{"command":"x","disabled":true},
        "web":{"type":"http","url":"https://example.org/mcp","headers":{"A":"b"},"protocol":"modern","prefix":""},"good":{"command":"x","surprise":1}}}"#,
    );
    let standing = |name: &str| {
        let found = found.iter().find(|found| found.manifest.name == name).unwrap_or_else(|| panic!("{name}"));
        found.standing.name()
    };
    for name in ["none", "both", "odd", "kind", "args", "!!", "empty", "era"] {
        assert_eq!(standing(name), "invalid", "{name}: {messages:?}");
        assert!(messages.iter().any(|message| message.contains(&format!("{name:?}"))), "{name}: {messages:?}");
    }
    assert_eq!((standing("old"), standing("good"), standing("web")), ("unsupported", "active", "active"));
    assert!(messages.iter().any(|message| message.contains("`surprise`")), "{messages:?}");
    let web = found.iter().find(|found| found.manifest.name == "web").expect("web");
    assert_eq!((server(web).era, server(web).prefix.as_deref()), (McpEra::Modern, Some("")));
    assert!(!found.iter().find(|found| found.manifest.name == "off").expect("off").manifest.enabled);
}

#[test]
fn files_that_hold_no_servers_say_so() {
    for text in ["", "[]", "{", "7", r#"{"mcpServers":[]}"#, r#"{"a":1}"#] {
        let (found, messages) = read(text);
        assert_eq!((found.len(), messages.len()), (0, 1), "{text}: {messages:?}");
    }
    assert_eq!(read("{}").1, Vec::<String>::new(), "an empty file is fine");
}

#[test]
fn an_agent_plugin_gives_its_name() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("plugin.json"), r#"{"name":"tools","version":"1.0.0"}"#).expect("a file");
    fs::write(dir.path().join("mcp.json"), r#"{"mcpServers":{"a":{"command":"x"},"tools":{"command":"x"}}}"#)
        .expect("a file");
    let found = in_dir(dir.path(), Origin::Flag, &mut Vec::new());
    let ids: Vec<&str> = found.iter().map(|found| found.manifest.id.as_str()).collect();
    assert_eq!(ids, ["tools.a", "tools"]);
}
